// How calls are cut up in which a square matrix A stands on a side of others: into tiles on A's diagonal, and the
// others across, into panels that do not know each other (trsm, symm, trmm).
#pragma once
#include <algorithm>

#include "kernels/types.hpp"

namespace blaslift::panels {

// Fewer and larger parts begin later, but take less time: of order 2,048 an H100 solves 15 Tflop/s, of 4,096 twice
// that.
inline constexpr index most_tiles = 4, least_tile = 4096, most_panels = 8, least_width = 1024, round = 64;
inline constexpr index most_slots = 3;  ///< one panel moves in, one is computed, one moves home
inline constexpr index strips = 2;      ///< of an A that is streamed

inline index rounded_up(index x) { return (x + round - 1) / round * round; }

/// One of so many parts of x, at least so large.
inline index share(index x, index parts, index least) {
  return x <= least ? x : std::min(x, std::max(least, rounded_up((x + parts - 1) / parts)));
}
inline index smaller(index x) { return x >= 2 * round ? x / 2 / round * round : std::max<index>(1, x / 2); }

/// Columns or rows of a panel, if there is room for them.
inline index across(index others) { return share(others, most_panels, least_width); }

/// @tparam Cut        {tile, width, streamed}: of A's order, of the others across, whether A comes again for each panel
/// @param width       of a panel, if there is room for it
/// @param others      columns or rows of all of them
/// @param may_stream  A does not stay where it does not fit
/// @param fits        bool(const Cut&)
/// @return without a tile: it does not fit
template <class Cut, class Fits>
Cut cut_to(index order, index width, index others, bool may_stream, const Fits& fits) {
  Cut cut{share(order, most_tiles, least_tile), width};
  while (!fits(cut) && cut.width > round) cut.width = smaller(cut.width);
  if (fits(cut)) return cut;
  // Panels as wide as there is room for, since each takes all of A.
  cut = {share(order, most_tiles, least_tile), others, may_stream};
  while (!fits(cut) && (cut.tile > 1 || cut.width > 1)) {
    const bool narrow = cut.width <= 2 * cut.tile;
    index& next = (narrow && cut.tile > 1) || cut.width == 1 ? cut.tile : cut.width;
    next = smaller(next);
  }
  return fits(cut) ? cut : Cut{};
}

}  // namespace blaslift::panels
