// Rectangles of matrices.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/part.hpp"

namespace blaslift {

/// A rectangle of a matrix, in elements.
struct Block {
  index row, col, rows, cols;
  friend bool operator==(const Block&, const Block&) = default;
};

inline bool overlap(const Block& x, const Block& y) {
  return x.row < y.row + y.rows && y.row < x.row + x.rows && x.col < y.col + y.cols && y.col < x.col + x.cols;
}

inline Block intersection(const Block& x, const Block& y) {
  const index row = std::max(x.row, y.row), col = std::max(x.col, y.col);
  return {row, col, std::min(x.row + x.rows, y.row + y.rows) - row, std::min(x.col + x.cols, y.col + y.cols) - col};
}

/// Whether any element of the block, or all of it, is in this part of the matrix.
inline bool meets(Part part, const Block& x) {
  return part == Part::whole || (part == Part::upper ? x.row < x.col + x.cols : x.col < x.row + x.rows);
}
inline bool contains(Part part, const Block& x) {
  return part == Part::whole || (part == Part::upper ? x.row + x.rows <= x.col + 1 : x.col + x.cols <= x.row + 1);
}
inline bool on_diagonal(const Block& x) { return x.row == x.col && x.rows == x.cols; }

/// How many elements of the block are in the part.
inline double elements_in(Part part, const Block& x) {
  if (contains(part, x)) return static_cast<double>(x.rows) * static_cast<double>(x.cols);
  double sum = 0;
  for (index j = 0; j < x.cols; ++j) sum += static_cast<double>(rows_in(part, x.row - x.col - j, x.rows).count);
  return sum;
}

inline bool inside(const Block& x, const Block& y) {
  return x.row >= y.row && x.col >= y.col && x.row + x.rows <= y.row + y.rows && x.col + x.cols <= y.col + y.cols;
}

/// Parts of a matrix, disjoint, that become fewer: what of an operand is still to be uploaded, say.
struct Missing {
  std::vector<Block> blocks;

  bool any_in(const Block& x) const {
    return std::any_of(blocks.begin(), blocks.end(), [&](const Block& b) { return overlap(b, x); });
  }

  /// The parts that lie in x, which are missing no longer.
  std::vector<Block> take(const Block& x) {
    std::vector<Block> taken, left;
    for (const Block& b : blocks) {
      if (!overlap(b, x)) {
        left.push_back(b);
        continue;
      }
      const Block t = intersection(b, x);
      taken.push_back(t);
      auto leave = [&left](const Block& rest) {
        if (rest.rows > 0 && rest.cols > 0) left.push_back(rest);
      };
      leave({b.row, b.col, b.rows, t.col - b.col});
      leave({b.row, t.col + t.cols, b.rows, b.col + b.cols - t.col - t.cols});
      leave({b.row, t.col, t.row - b.row, t.cols});
      leave({t.row + t.rows, t.col, b.row + b.rows - t.row - t.rows, t.cols});
    }
    blocks = std::move(left);
    return taken;
  }
};

/// Calls each(Block, index group) with the parts of a block that lie in one group of so many columns each, until that
/// returns something else than `done`, which it returns.
template <class Result, class Each>
Result for_each_group(const Block& x, index cols, Result done, const Each& each) {
  for (index col = x.col; col < x.col + x.cols;) {
    const index group = col / cols, end = std::min(x.col + x.cols, (group + 1) * cols);
    if (const Result result = each(Block{x.row, col, x.rows, end - col}, group); result != done) return result;
    col = end;
  }
  return done;
}

/// The block in pieces of at most `elements` (or one): whole columns where a piece holds one, else parts of a column.
inline std::vector<Block> pieces(const Block& x, index elements) {
  elements = std::max<index>(1, elements);
  const index rows = std::min(x.rows, elements), cols = std::max<index>(1, elements / x.rows);
  std::vector<Block> all;
  for (index q = 0; q < x.cols; q += cols)
    for (index r = 0; r < x.rows; r += rows)
      all.push_back({x.row + r, x.col + q, std::min(rows, x.rows - r), std::min(cols, x.cols - q)});
  return all;
}

/// The same of what is in a part of the matrix.  Of a block on the diagonal, a piece that crosses it begins there
/// (lower) or ends there (upper), with a square.
inline std::vector<Block> pieces(const Block& x, index elements, Part part) {
  std::vector<Block> all = pieces(x, elements);
  std::erase_if(all, [part](const Block& b) { return !meets(part, b); });
  for (Block& b : all) {
    const index above = part == Part::lower ? std::max<index>(0, b.col - b.row) : 0;
    b.row += above;
    b.rows -= above;
    if (part == Part::upper) b.rows = std::min(b.rows, b.col + b.cols - b.row);
  }
  return all;
}

}  // namespace blaslift
