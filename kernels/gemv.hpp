// GEMV's order of additions, which every backend follows to the bit, and how the work is cut up.
//
// Each result is a sum of terms: of y(i) the terms are a(i,j) x(j), and with A transposed of y(j) they are a(i,j) x(i).
// A block of 256 threads, 8 warps, takes some results and a chunk of their terms.  V is how many elements 16 bytes
// hold.
//
// Not transposed, a thread has V rows.  The order of a row's sum in a chunk is:
//  - either 8 warps share 32 V rows, and take the chunk's columns 8 at a time in turn: each warp adds its columns one
//    after the other; then the warps' sums, in their order;
//  - or, where there are few columns, each warp has 32 V rows of its own, and adds the columns one after the other.
//
// Transposed, 32 or all 256 threads go down 4 columns together, V rows each at a time.  The order of a column's sum in
// a chunk is: each thread adds its rows one after the other; then the sums of 32 threads by halves (t and t + 16, then
// t + 8, ...); then those of the 8 warps, in their order.
//
// Each product is fused with its addition, and every sum begins with +0.  Of several chunks, chain g = 0 ... 31 adds
// the sums of chunks g, g + 32, ...; then the chains are added, in their order.  Of a conjugated matrix it is the
// product of A and conj(x), whose sums are conjugated before alpha: cheaper than to conjugate each a.
//
// The cut is a function of m and n alone, so the same call has the same bits, wherever its operands lie.
#pragma once
#include <algorithm>
#include <cstddef>

#include "kernels/arithmetic.hpp"
#include "kernels/types.hpp"

namespace blaslift {
namespace gemv_order {

using namespace arithmetic;

inline constexpr int threads = 256, warps = threads / 32;
inline constexpr int columns_at_once = 8;  ///< not transposed: of which a thread has a load on its way
inline constexpr int columns_together = 4, steps_at_once = 2;  ///< transposed: likewise, of columns and steps down them
inline constexpr index few_columns = 32;                       ///< not transposed: so many a thread adds by itself
inline constexpr int chains = 32;

/// Several times as many as a device holds, which keeps all of it busy to the end.
inline constexpr index enough_blocks = 1024;
/// Of a chunk, since the last blocks are alone in the end: with these a block reads about 1 MiB.
inline constexpr index most_columns = 2048, most_rows = 32768;
/// The sums of chunks are written and read again.
inline constexpr index most_chunks = 1024;

/// The cut of a product with m and n at least 1.
struct Order {
  explicit Order(const Gemv& p)
      : transposed(p.transposed),
        V(static_cast<int>(16 / element_size(p.precision))),
        together(!transposed              ? p.n > few_columns ? warps : 1
                 : p.m >= 2 * threads * V ? threads
                                          : 32),
        results(p.results()),
        terms(p.terms()),
        blocks(up(results, results_of_block())) {
    const index steps = up(terms, step()), most = transposed ? most_rows : most_columns;
    const index wanted = std::min(std::max(up(enough_blocks, blocks), up(terms, most)), most_chunks);
    chunk = up(steps, std::min(wanted, steps)) * step();
    chunks = up(terms, chunk);
  }

  bool transposed;
  int V;
  int together;             ///< warps that share rows, 1 or 8; transposed: threads down a column, 32 or 256
  index results, terms;     ///< in all
  index blocks;             ///< that share the results
  index chunk{}, chunks{};  ///< terms in a chunk, the last one apart; and how many of these

  index results_of_block() const {
    return transposed ? index{threads} / together * columns_together : index{32} * V * (warps / together);
  }
  /// A chunk's terms are a multiple of it.
  index step() const { return transposed ? index{together} * V * steps_at_once : index{columns_at_once} * together; }
  // The workspace: the sums of each chunk, ld elements apart; none where one chunk is all.
  BLASLIFT_BOTH index ld() const { return (results + 31) / 32 * 32; }
  index parts() const { return chunks == 1 ? 0 : ld() * chunks; }

 private:
  static constexpr index up(index x, index by) { return (x + by - 1) / by; }
};

}  // namespace gemv_order

/// Bytes of workspace; 0 where none is needed.
inline std::size_t gemv_workspace(const Gemv& p) {
  if (p.m == 0 || p.n == 0) return 0;
  return static_cast<std::size_t>(gemv_order::Order(p).parts()) * element_size(p.precision);
}

}  // namespace blaslift
