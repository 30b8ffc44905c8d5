// Which elements of a matrix belong to a part of it.
#pragma once
#include "kernels/types.hpp"

namespace blaslift {

/// The rows of a column that belong to a part of a matrix.
struct Rows {
  index first, count;
};
/// @param below  rows from the diagonal down to the column's first element; negative above it
constexpr Rows rows_in(Part part, index below, index rows) {
  const auto within = [rows](index at) { return at < 0 ? 0 : at > rows ? rows : at; };
  if (part == Part::upper) return {0, within(1 - below)};
  const index first = part == Part::lower ? within(-below) : 0;
  return {first, rows - first};
}

}  // namespace blaslift
