// What is called to learn whether a function goes on to us.
#include "compat/trial.hpp"

#include <gtest/gtest.h>

namespace blaslift::trial_tests {
namespace {

int calls = 0;
Symbol answering;
bool answered = false;

/// Stands for functions of any arguments.
void count_call() { ++calls; }
void go_on() {
  ++calls;
  answered = answers_trial(answering);
}

TEST(Trial, CallsEverySymbolThatOthersHave) {
  for (int s = 0; s < symbol_count; ++s) {
    const Symbol symbol = static_cast<Symbol>(s);
    const bool of_others = info(symbol).routine != Routine::wsymv;
    calls = 0;
    EXPECT_FALSE(comes_back(symbol, reinterpret_cast<void*>(count_call))) << info(symbol).name;
    EXPECT_EQ(calls, of_others ? 1 : 0) << info(symbol).name;
    answering = symbol;
    answered = false;
    EXPECT_EQ(comes_back(symbol, reinterpret_cast<void*>(go_on)), of_others) << info(symbol).name;
    EXPECT_EQ(answered, of_others) << info(symbol).name;
    EXPECT_FALSE(answers_trial(symbol));
  }
}

TEST(Trial, TakesOnlyItsOwnNameForAnAnswer) {
  answering = static_cast<Symbol>(1);
  EXPECT_FALSE(comes_back(static_cast<Symbol>(0), reinterpret_cast<void*>(go_on)));
  EXPECT_TRUE(answered);  // it belongs to a trial, and does nothing
}

}  // namespace
}  // namespace blaslift::trial_tests
