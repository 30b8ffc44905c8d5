// The parts of a product that is dealt out: blocks of C, with the rows of op(A) and the columns of op(B) that they
// need.
#pragma once
#include <vector>

#include "impl/core/args.hpp"
#include "impl/route/dealing.hpp"

namespace blaslift {

/// A block of C.
template <class T>
GemmArgs<T> block_of(const GemmArgs<T>& x, const Share& rows, const Share& cols) {
  GemmArgs<T> block = x;
  block.m = rows.count;
  block.n = cols.count;
  block.A += x.transa == Op::none ? rows.first : rows.first * x.lda;
  block.B += x.transb == Op::none ? cols.first * x.ldb : cols.first;
  block.C += rows.first + cols.first * x.ldc;
  return block;
}

/// Into how many rows of blocks C is cut, so that as little as possible of A and B is sent to several places.
inline int rows_of_blocks(index m, index n, int places) {
  int best = 1;
  const auto sent = [&](int rows) {  // a place's rows of op(A) and columns of op(B)
    return static_cast<double>(m) / rows + static_cast<double>(n) * rows / places;
  };
  for (int rows = 2; rows <= places; ++rows)
    if (places % rows == 0 && sent(rows) < sent(best)) best = rows;
  return best;
}

/// As a Dealing has them: a block for each place; of a triangle the squares beside the diagonal, and then the triangles
/// on it.  What is made of two products has no squares that are one.
template <class T>
std::vector<GemmArgs<T>> parts_of(const GemmArgs<T>& x, int places) {
  std::vector<GemmArgs<T>> parts;
  if (x.part == Part::whole) {
    const int across = rows_of_blocks(x.m, x.n, places);
    for (const Share& rows : shares_of(x.m, across))
      for (const Share& cols : shares_of(x.n, places / across)) parts.push_back(block_of(x, rows, cols));
    return parts;
  }
  if (x.update == Update::rank_2k) return parts;
  const std::vector<Share> shares = shares_of(x.n, places);
  for (std::size_t i = 0; i < shares.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      parts.push_back(x.part == Part::lower ? block_of(x, shares[i], shares[j]) : block_of(x, shares[j], shares[i]));
      parts.back().part = Part::whole;
    }
  for (const Share& share : shares) parts.push_back(block_of(x, share, share));
  return parts;
}

}  // namespace blaslift
