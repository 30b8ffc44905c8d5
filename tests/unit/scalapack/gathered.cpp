// What processes agree on, by a BLACS of one process that has the others' words.
#include "impl/scalapack/gathered.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace blaslift::scalapack::gathered_tests {
namespace {

std::vector<std::int32_t> others;  ///< of another process, for the next reduction
std::vector<std::int32_t> mine;    ///< what was brought to it

void least_of_both(const std::int32_t*, const char*, const char*, const std::int32_t* m, const std::int32_t*,
                   std::int32_t* a, const std::int32_t*, std::int32_t*, std::int32_t*, const std::int32_t*,
                   const std::int32_t*, const std::int32_t*, std::size_t, std::size_t) {
  mine.assign(a, a + *m);
  for (std::size_t i = 0; i < others.size() && i < mine.size(); ++i) a[i] = std::min(a[i], others[i]);
}

const Grid grid{3, 1, 2, 0, 0};
Blacs blacs() {
  Blacs made{};
  made.igamn2d = least_of_both;
  return made;
}

/// A call with a matrix whose descriptor these words are; what the other process says in its turn is `change`d.
bool agreed(std::vector<std::int32_t> words, bool willing, void (*change)(std::vector<std::int32_t>&)) {
  double element = 0;
  std::int32_t one = 1;
  Arguments arguments{};
  arguments.at = {&element, &one, &one, words.data()};
  Meeting meeting;
  const auto ask = [&](bool is_willing) {
    GatheredCall call(grid, arguments, meeting);
    (void)call.matrix<double>(0, 4, 4, Access::both);
    return call.agree(blacs(), is_willing);
  };
  others.clear();
  (void)ask(true);  // the other process's, if it has the same
  others = mine;
  change(others);
  return ask(willing);
}

const std::vector<std::int32_t> descriptor{1, 3, 10, 10, 2, 2, 0, 0, 10};

TEST(Gathered, AllAgreeOrNobodyGoes) {
  const auto nothing = [](std::vector<std::int32_t>&) {};
  EXPECT_TRUE(agreed(descriptor, true, nothing));
  EXPECT_FALSE(agreed(descriptor, false, nothing));
  EXPECT_FALSE(
      agreed(descriptor, true, [](std::vector<std::int32_t>& x) { x[0] = 0; }));  // the other one is not willing
  std::vector<std::int32_t> bad = descriptor;
  bad[4] = 0;
  EXPECT_FALSE(agreed(bad, true, nothing));
}

TEST(Gathered, AnotherCallOrAnotherNodeIsNoticedWhicheverNumberIsLarger) {
  for (const int word : {1, 3})  // the call, the node
    for (const int by : {-1, 1}) {
      static int changed, difference;
      changed = word;
      difference = by;
      EXPECT_FALSE(agreed(descriptor, true,
                          [](std::vector<std::int32_t>& x) {
                            x[static_cast<std::size_t>(changed)] += difference;
                            x[static_cast<std::size_t>(changed) + 1] -= difference;
                          }))
          << word << " " << by;
    }
}

TEST(Gathered, HandlesOfTheContextMayDifferAndSizesMayNot) {
  const auto said = [](std::vector<std::int32_t> words, const Grid& of) {
    double element = 0;
    std::int32_t one = 1;
    Arguments arguments{};
    arguments.at = {&element, &one, &one, words.data()};
    Meeting meeting;
    GatheredCall call(of, arguments, meeting);
    (void)call.matrix<double>(0, 4, 4, Access::both);
    others.clear();
    (void)call.agree(blacs(), true);
    return mine;
  };
  std::vector<std::int32_t> handle = descriptor, size = descriptor;
  handle[1] = 7;
  size[3] = 11;
  EXPECT_EQ(said(descriptor, grid), said(handle, Grid{7, 1, 2, 0, 0}));
  EXPECT_NE(said(descriptor, grid), said(size, grid));
}

}  // namespace
}  // namespace blaslift::scalapack::gathered_tests
