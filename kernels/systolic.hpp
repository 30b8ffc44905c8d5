// Systolic products: the schedule that the kernels on the device and the interpreter on the host follow, as data.
//
// Motegi, "Design and implementation of systolic algorithms on GPGPU", Hosei University, 2016.  An array of m x n cells
// computes C := C + A B.  Row i of A comes in at the left edge, i steps late, and column j of B at the top, j steps
// late.  At each step a cell multiplies what it has from its left neighbour by what it has from above, adds that to its
// element of C, and passes both on.  At step T cell (i, j) multiplies A(i, v) B(v, j) with v = T - i - j, if there is
// such a term.  Products in a row follow each other every g steps: of product s it is v = T - i - j - s g.  The thesis
// has g = 2k - 1 for squares.  g = k is enough, and keeps every cell at work; with less, two products meet in a cell.
//
// A block of cells reads what enters at its own edges from global memory, so no block waits for another one.  Then
// each may begin its own clock when the first term reaches it: it `skips` the steps in which it has nothing to do.
//
// Every variant adds the terms of an element of C in the order of k, each fused with its addition, so all have the same
// bits.
#pragma once
#include <cstring>

#include "kernels/arithmetic.hpp"
#include "kernels/types.hpp"

namespace blaslift::systolic {

enum class Variant : std::uint8_t {
  g1,       ///< all in global memory, one step at a time
  gt,       ///< t steps at a time: C comes to a register, and goes back, once in t steps
  s1,       ///< what enters a block waits in shared memory, and so does C; one step at a time
  st,       ///< t steps at a time: what enters in t steps is loaded together
  l1,       ///< no array: a loop over k, with C in global memory
  lr,       ///< the same with the sum in a register
  ls,       ///< a loop over square tiles in shared memory
  shuffled  ///< cells of a warp pass on by registers and shuffles
};
inline constexpr int variants = 8;
inline constexpr const char* name_of(Variant x) {
  constexpr const char* names[] = {"G1", "Gt", "S1", "St", "L1", "Lr", "LS", "shuffle"};
  return names[static_cast<int>(x)];
}
constexpr bool is_array(Variant x) { return x <= Variant::st || x == Variant::shuffled; }
constexpr bool has_steps(Variant x) { return x == Variant::gt || x == Variant::st; }  ///< t may be more than 1

inline constexpr int edge = 16;         ///< of a block's square of cells
inline constexpr int most_steps = 32;   ///< for t
inline constexpr int warp = 32;         ///< shuffled: rows of cells, a lane each
inline constexpr int warp_columns = 8;  ///< shuffled: columns of cells, all of them a lane's own

/// Cells that belong together: a block's, or a warp's.
struct Cells {
  int row, col, rows, cols;
};

/// Where a cell, or an edge of a block, is in the row of products.
struct Cursor {
  index product = 0;
  int at;  ///< v: before the first product's begin it is negative, and it stays below g

  BLASLIFT_BOTH void advance(int steps, int g) {
    at += steps;
    while (at >= g) {
      at -= g;
      ++product;
    }
  }
  /// Where a cell is that is so many steps behind.
  BLASLIFT_BOTH Cursor behind(int steps, int g) const {
    Cursor x{product, at - steps};
    while (x.at < 0 && x.product > 0) {
      x.at += g;
      --x.product;
    }
    return x;
  }
};

/// Of an array.  m, n, k, count, g and t are at least 1, m + n + k and g at most largest.
struct Schedule {
  static constexpr int largest = 1 << 29;

  int m, n, k;   ///< cells are m x n, terms k
  index count;   ///< products in a row
  int g;         ///< steps from a product's begin to the next one's
  int t = 1;     ///< steps at a time
  bool skips{};  ///< a block begins its clock when the first term reaches it, and ends it with the last one

  BLASLIFT_BOTH Cells cells(int block_row, int block_col, int rows = edge, int cols = edge) const {
    const int row = block_row * rows, col = block_col * cols;
    return {row, col, m - row < rows ? m - row : rows, n - col < cols ? n - col : cols};
  }
  BLASLIFT_BOTH int block_rows(int rows = edge) const { return (m - 1) / rows + 1; }
  BLASLIFT_BOTH int block_cols(int cols = edge) const { return (n - 1) / cols + 1; }

  /// Of a block's clock.
  BLASLIFT_BOTH int first_step(const Cells& x) const { return skips ? x.row + x.col : 0; }
  /// From the first to the last one, both counted.
  BLASLIFT_BOTH index steps(const Cells& x) const {
    return (skips ? index{x.rows} + x.cols : index{m} + n) + k - 2 + (count - 1) * g;
  }
  BLASLIFT_BOTH index chunks(const Cells& x) const { return (steps(x) - 1) / t + 1; }

  /// What cell (i, j) is at, at step T.
  BLASLIFT_BOTH Cursor at(int i, int j, index T) const {
    const index u = T - i - j;
    return u < 0 ? Cursor{0, static_cast<int>(u)} : Cursor{u / g, static_cast<int>(u % g)};
  }
  BLASLIFT_BOTH bool works(const Cursor& x) const { return x.at >= 0 && x.at < k && x.product < count; }
  /// Whether it has a term at each of the next steps, all of the same product.
  BLASLIFT_BOTH bool works(const Cursor& x, int steps) const {
    return x.at >= 0 && x.at <= k - steps && x.product < count;
  }
};

/// Products that have a term for cell (i, j) at step T: with g < k there are several.
constexpr index meeting(const Schedule& s, int i, int j, index T) {
  index found = 0;
  for (index product = 0; product < s.count; ++product) {
    const index v = T - i - j - product * s.g;
    found += v >= 0 && v < s.k;
  }
  return found;
}

/// What enters a block at step T waits in slot T mod `slots` of a ring, one for each row (A) and column (B): cell (r,
/// c) takes from A's what entered c steps ago, from B's what entered r steps ago.
BLASLIFT_BOTH constexpr int shortest_ring(int t) { return edge + t - 1; }
/// A power of two, so that a slot is found without a division.
BLASLIFT_BOTH constexpr int ring_slots(int t) {
  int slots = edge;
  while (slots < shortest_ring(t)) slots *= 2;
  return slots;
}
/// From one column's ring of B to the next: 16 rows and 2 columns of cells, a warp, read from different banks.
BLASLIFT_BOTH constexpr int ring_pitch(int slots) { return slots % 32 == 0 ? slots + 16 : slots; }

/// A batch of products, column-major.  Matrices of a kind lie `stride` apart; of A and B it may be the same matrix.
template <class T>
struct Operands {
  const T* A;
  index lda, stride_a;
  const T* B;
  index ldb, stride_b;
  T* C;
  index ldc, stride_c;
  bool from_c = true;  ///< the sum begins with C, and is the result; else it begins with 0, and alpha and beta count
  T alpha = T(1), beta = T(1);

  BLASLIFT_BOTH const T& a(index product, int i, int v) const { return A[i + v * lda + product * stride_a]; }
  BLASLIFT_BOTH const T& b(index product, int v, int j) const { return B[v + j * ldb + product * stride_b]; }
  BLASLIFT_BOTH T& c(index product, int i, int j) const { return C[i + j * ldc + product * stride_c]; }

  BLASLIFT_BOTH T first(const T& c) const { return from_c ? c : T(0); }
  BLASLIFT_BOTH T last(T sum, const T& c) const { return from_c ? sum : arithmetic::updated(alpha, sum, beta, &c); }

  BLASLIFT_BOTH Operands from(index product) const {
    Operands x = *this;
    x.A += product * stride_a;
    x.B += product * stride_b;
    x.C += product * stride_c;
    return x;
  }
};

/// Products may also be dealt out to arrays beside each other, each with a row of its own; with one array it is the
/// thesis's.  Array number i has the products from i * row on.
struct Deal {
  index count;       ///< products in all
  index arrays = 1;  ///< at most count
  BLASLIFT_BOTH index row() const { return (count - 1) / arrays + 1; }
  BLASLIFT_BOTH index begin(index array) const { return array * row(); }
  BLASLIFT_BOTH index size(index array) const {
    const index left = count - begin(array);
    return left < row() ? left < 0 ? 0 : left : row();
  }
};

/// As few arrays as have blocks for all of a device.
constexpr Deal filling(int m, int n, index count) {
  constexpr index enough = 2048, most = 65535;
  const index blocks = (index{m} + edge - 1) / edge * ((index{n} + edge - 1) / edge),
              arrays = (enough - 1) / blocks + 1;
  return {count, arrays < count ? arrays < most ? arrays : most : count < most ? count : most};
}

/// Whether arrays may compute the products of a batch: of reals, neither A nor B transposed, within the limits of
/// Schedule and of a grid.
constexpr bool can_multiply(Precision precision, Op transa, Op transb, index m, index n, index k) {
  constexpr index largest = Schedule::largest / 3, most_columns = index{65535} * edge;
  return !is_complex(precision) && transa == Op::none && transb == Op::none && m >= 1 && n >= 1 && k >= 1 &&
         m <= largest && n <= most_columns && k <= largest;
}
/// As St, of one product: many steps at a time, products as near as can be, nothing idle.
inline Schedule schedule_of(const GemmBatch& p) {
  constexpr index worth_more_steps = 128;
  return {static_cast<int>(p.m),
          static_cast<int>(p.n),
          static_cast<int>(p.k),
          1,
          static_cast<int>(p.k),
          p.k < worth_more_steps ? most_steps / 2 : most_steps,
          true};
}
template <class T>
Operands<T> operands_of(const GemmBatch& p) {
  Operands<T> x{static_cast<const T*>(p.A),
                p.lda,
                p.stride_a,
                static_cast<const T*>(p.B),
                p.ldb,
                p.stride_b,
                static_cast<T*>(p.C),
                p.ldc,
                p.stride_c,
                false};
  std::memcpy(&x.alpha, p.alpha, sizeof x.alpha);
  std::memcpy(&x.beta, p.beta, sizeof x.beta);
  return x;
}

}  // namespace blaslift::systolic
