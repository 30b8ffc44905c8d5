// Who waits for whom in a plan: a list of steps, in an order in which it could run step by step.  What may overlap
// follows from what each step reads and writes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/types.hpp"

namespace blaslift {

/// Part of something that a step reads or writes: columns [first, first + count) of matrix number `what`, say, or
/// whatever else a plan counts by.
struct Touched {
  int what;
  index first, count;
  bool written;
};

/// By step: the earlier ones that must have ended before it.
using Order = std::vector<std::vector<std::int32_t>>;

/// By step: the earlier ones that write what it reads or writes, or read what it writes; none that another one of these
/// comes after, but for some where there are thousands of steps.
Order order_of(const std::vector<std::vector<Touched>>& parts);

/// The same of what each step comes after, in any order: without those that another one of these comes after.
Order order_of(Order conflicts);

/// A line a step, with whom it comes after.
/// @param text  std::string(std::size_t step)
template <class Text>
std::string listed(const Order& after, const Text& text) {
  std::string all;
  for (std::size_t i = 0; i < after.size(); ++i) {
    all += std::to_string(i) + ": " + text(i);
    for (std::size_t e = 0; e < after[i].size(); ++e) all += (e == 0 ? " after " : " ") + std::to_string(after[i][e]);
    all += "\n";
  }
  return all;
}

}  // namespace blaslift
