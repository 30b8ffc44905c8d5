// Spread: the steps of a schedule by levels over the device's two streams.
#pragma once
#include "impl/product/product_plan.hpp"

namespace blaslift {

/// How long steps take, roughly.
struct Speeds {
  double flops;    ///< of products, a second
  double bytes;    ///< that passes and surveys read and write, a second
  double bus;      ///< bytes that are uploaded, a second
  double step;     ///< seconds of any step besides
  double waiting;  ///< seconds that following a step of the other stream takes longer than one of the same
};

/// Puts each step that computes into the stream where it can begin earlier, in the order of the list.  Products run
/// beside passes and beside each other: a product's last blocks leave multiprocessors idle that the next one fills.
/// What is computed does not change, to the last bit.
/// @param s        its `after` has to be there
/// @param element  bytes
void spread(GemmSchedule& s, std::size_t element, bool complex, const Speeds& speeds);

}  // namespace blaslift
