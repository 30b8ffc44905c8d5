// SYMV's order of additions, which every backend follows to the bit, and what it takes to cut the work up.
//
// The stored triangle is cut into panels of U columns and chunks of H rows, H a multiple of U; a tile is where they
// meet.  Here for the upper triangle, U = 1, H = 2; a digit is the panel's rank, the order in which panels are begun
// and in which what they say about a row is added: long ones first, for either triangle.
//
//        chunk 0  | 4 3 2 1 0       Each stored element serves twice: a(i,j) x(j) belongs to y(i), the row part, which
//                 |   3 2 1 0       the panels share; a(i,j) x(i), its conjugate if Hermitian, to y(j), the column
//        chunk 1  |     2 1 0       part, which the chunks share.
//                 |       1 0
//        chunk 2  |         0       The ranks that have something to say about a row are 0, 1, ... to some last one.
//
// Within a tile Tx x Ty threads walk down in steps of R = Tx V rows, V = 16 bytes' worth, and the order is:
//  - row part of row i: thread ty adds its U / Ty columns one after the other; then the Ty sums, ty ascending;
//  - column part of column j: thread tx adds its V rows of each step one after the other; then the sums of 32 threads
//    by halves (tx and tx + 16, then tx + 8, ...); then those of the Tx / 32 groups.  Where Hermitian, a conj(x(i)) is
//    added, and the part is the conjugate of the sum: cheaper than to conjugate each a.
// Each product is fused with its addition (of pairs of doubles: added before it is normalised), and every sum begins
// with +0.  For y(i), chain g = 0 ... 7 adds the row parts of ranks g, g + 8, ..., then the column parts of chunks
// first + g, first + g + 8, ...; then the chains, g ascending.  That is what leaves the second kernel, or the tickets,
// something to do at the same time.
//
// Of a conjugated matrix it is the product of A and conj(x), whose sums are conjugated before alpha.
//
// Without panels (small n): row i of the whole matrix, element by element from whichever triangle; columns in blocks of
// 16, of which warp w of share s adds blocks s W + w, (S + s) W + w, ... one element after the other; then the W warps'
// sums, w ascending; then those of the S shares, s ascending.  S depends on n: a share is what one block of a cluster
// takes, and where there are no clusters one block takes one after the other.
#pragma once
#include <cstdint>
#include <span>

#include "kernels/arithmetic.hpp"
#include "kernels/types.hpp"

namespace blaslift {

// ---- the blockings

/// Those that the device has kernels for, H apart: that may be any multiple of U and of R that symv_fits() accepts.
inline constexpr SymvBlocking symv_blockings[] = {{128, 32, 8}, {64, 64, 4}, {64, 32, 8},
                                                  {64, 32, 4},  {32, 64, 2}, {32, 32, 4}};
/// Of z and w: 16-byte elements.
inline constexpr SymvBlocking symv_blockings_16[] = {{64, 32, 8}, {32, 64, 4}, {32, 32, 4}};

constexpr int symv_rows_a_step(const SymvBlocking& b, std::size_t element) {
  return b.Tx * static_cast<int>(16 / element);
}

/// Whether the device can do it; what has no panels always can be.
constexpr bool symv_fits(const SymvBlocking& b, Element precision) {
  if (b.U == 0) return true;
  constexpr std::size_t most_chunk_bytes = std::size_t{16} << 10;  // the tickets keep a chunk's row parts on the chip
  const std::size_t element = element_size(precision);
  const auto is_this = [&b](const SymvBlocking& x) { return x.U == b.U && x.Tx == b.Tx && x.Ty == b.Ty; };
  bool listed = false;
  if (element == 16)
    for (const SymvBlocking& x : symv_blockings_16) listed = listed || is_this(x);
  else
    for (const SymvBlocking& x : symv_blockings) listed = listed || is_this(x);
  return listed && b.H > 0 && b.H % b.U == 0 && b.H % symv_rows_a_step(b, element) == 0 &&
         static_cast<std::size_t>(b.H) * element <= most_chunk_bytes;
}

/// What is taken below some n.
struct SymvRule {
  index below;
  SymvBlocking blocking;
  SymvWay way = SymvWay::parts;

  friend bool operator==(const SymvRule&, const SymvRule&) = default;
};

// By the bytes of an element: of 4 and 8 what `bench/symv_time --blockings all` found on an H100 to be within 3.5 % of
// the best, of 16 the best of few. While one block of columns is all that a warp has, strips, which take one launch;
// then tiles of which there are several times as many as blocks that the device can hold, and which, alone in the end,
// take a few microseconds; and panels as wide as that allows, since row parts cost 2 / U of the matrix's traffic.  Once
// they are more than its second-level cache keeps until they are added, tickets.
inline constexpr index any_n = INT64_MAX;
inline constexpr SymvRule symv_rules_4[] = {{1025, {}},
                                            {1793, {32, 32, 4, 128}},
                                            {5121, {64, 32, 8, 128}},
                                            {20481, {128, 32, 8, 256}},
                                            {36865, {128, 32, 8, 512}},
                                            {any_n, {128, 32, 8, 512}, SymvWay::tickets}};
inline constexpr SymvRule symv_rules_8[] = {{897, {}},
                                            {1281, {32, 32, 4, 64}},
                                            {1793, {32, 32, 4, 128}},
                                            {7169, {64, 32, 8, 128}},
                                            {20481, {128, 32, 8, 256}},
                                            {24577, {128, 32, 8, 512}},
                                            {any_n, {128, 32, 8, 512}, SymvWay::tickets}};
inline constexpr SymvRule symv_rules_16[] = {{769, {}},
                                             {3072, {32, 32, 4, 64}},
                                             {6144, {64, 32, 8, 128}},
                                             {14337, {64, 32, 8, 256}},
                                             {any_n, {64, 32, 8, 256}, SymvWay::tickets}};

/// The built-in ones; `blaslift tune --only symv` finds a machine's own (impl/symv/symv_section.hpp).
constexpr std::span<const SymvRule> symv_rules(Element precision, Uplo) {
  const std::size_t element = element_size(precision);
  if (element == 4) return symv_rules_4;
  if (element == 8) return symv_rules_8;
  return symv_rules_16;
}

/// The first that n is below, or else the last.
/// @param rules  at least one, ascending
constexpr const SymvRule& symv_rule(std::span<const SymvRule> rules, index n) {
  for (const SymvRule& rule : rules)
    if (n < rule.below) return rule;
  return rules.back();
}

constexpr SymvBlocking symv_blocking(Element precision, Uplo uplo, index n) {
  return symv_rule(symv_rules(precision, uplo), n).blocking;
}

// ---- elements, the same on either side

namespace symv_order {

using namespace arithmetic;

/// a x + sum for an element of the diagonal: only its real part counts if Hermitian, and not as one with +0 i, which
/// would make NaN of infinite x.
template <class R>
BLASLIFT_BOTH R add_diagonal(R a, R x, R sum, bool) {
  return fused(a, x, sum);
}
template <class R>
BLASLIFT_BOTH Complex<R> add_diagonal(Complex<R> a, Complex<R> x, Complex<R> sum, bool hermitian) {
  return hermitian ? Complex<R>{fused(a.re, x.re, sum.re), fused(a.re, x.im, sum.im)} : add_product(a, x, sum);
}

// ---- the order

inline constexpr int chains = 8;

inline constexpr int strip = 32, block = 16;  ///< small n: rows, and columns that a warp takes at a time
BLASLIFT_BOTH constexpr int warps(std::size_t element) { return element > 8 ? 4 : 8; }
inline constexpr int most_shares = 8;  ///< of a strip's columns: what any device takes for a cluster
/// As many as let each warp have one block of columns, up to n = 1,024 where elements are not of 16 bytes.
constexpr int shares(int n, std::size_t element) {
  int count = 1;
  while (count < most_shares && count * warps(element) * block < n) count *= 2;
  return count;
}

struct Tile {
  int rank, panel, chunk;
  int begin, end;  ///< its rows: from the first to behind the last that may hold a stored element
};

/// Whose turn it is to add to a chain of a chunk's row parts: turn t is rank g + 8 t's of chain g.
struct Turn {
  int chain, turn;
};

/// The cut of one problem with n >= 1.  Without panels only n and upper mean something.
struct Order {
  int n, U, H, R;
  bool upper;
  int panels, chunks;
  int shares;  ///< without panels

  Order(const Symv& p)
      : n(static_cast<int>(p.n)),
        U(p.blocking.U),
        H(p.blocking.H),
        R(symv_rows_a_step(p.blocking, element_size(p.precision))),
        upper(p.uplo == Uplo::upper),
        panels(U == 0 ? 0 : n / U + (n % U != 0)),
        chunks(U == 0 ? 0 : n / H + (n % H != 0)),
        shares(symv_order::shares(n, element_size(p.precision))) {}

  /// Panels whose diagonal is in the chunk that is the g-th by rank.
  BLASLIFT_BOTH int panels_of(int g) const {
    const int most = H / U;
    return g == (upper ? 0 : chunks - 1) ? panels - (chunks - 1) * most : most;
  }
  BLASLIFT_BOTH int panel_of(int rank) const { return upper ? panels - 1 - rank : rank; }

  int tiles() const {
    int count = 0;
    for (int g = 0; g < chunks; ++g) count += panels_of(g) * (chunks - g);
    return count;
  }

  /// Tiles are numbered by rank, so that what one of them waits for has a lower number.
  BLASLIFT_BOTH Tile tile(int number) const {
    // Group g of panels has panels_of(g) times chunks - g tiles.  After group 0, which may be short, all have as many
    // panels, but for the very last: its tiles come last anyway.
    int g = 0, first = 0;  // rank
    if (const int in_group_0 = panels_of(0) * chunks; number >= in_group_0) {
      const int most = H / U, others = chunks - 1, row = (number - in_group_0) / most;
      g = rows_before(others, row);
      first = panels_of(0) + g * most;
      number -= in_group_0 + most * triangle_part(others, g);
      ++g;
    }
    const int down = chunks - g;
    Tile x{};
    x.rank = first + number / down;
    x.panel = panel_of(x.rank);
    x.chunk = (upper ? 0 : g) + number % down;
    const int top = x.chunk * H, diagonal = x.panel * U;
    x.begin = upper || top > diagonal ? top : diagonal;
    x.end = n - top < H ? n : top + H;
    if (upper && x.end - diagonal > U) x.end = diagonal + U;
    return x;
  }

  /// Elements of the first `count` rows of a triangle whose rows have size, size - 1, ... of them.
  BLASLIFT_BOTH static int triangle_part(int size, int count) { return count * size - count * (count - 1) / 2; }
  /// The most `count` with triangle_part(size, count) <= element: a square root, and where that is rounded a step.
  BLASLIFT_BOTH static int rows_before(int size, int element) {
    const float b = static_cast<float>(2 * size + 1), under = b * b - 8 * static_cast<float>(element);
    int count = static_cast<int>((b - sqrtf(under > 0 ? under : 0)) / 2);
    while (triangle_part(size, count) > element) --count;
    while (count < size && triangle_part(size, count + 1) <= element) ++count;
    return count;
  }

  /// Whether all these rows of the tile are stored in all these columns, off the diagonal.
  BLASLIFT_BOTH bool is_whole(const Tile& x, int row, int rows, int column, int columns) const {
    return n - column >= columns && x.end - row >= rows && (upper ? row + rows <= column : row >= column + columns);
  }
  BLASLIFT_BOTH bool is_stored(int i, int j) const { return upper ? i <= j : i >= j; }

  /// How many ranks have a part of row i, from 0 on.
  BLASLIFT_BOTH int ranks_of_row(int i) const { return upper ? panels - i / U : i / U + 1; }

  /// The chunks that have a part of column j.
  BLASLIFT_BOTH int first_chunk(int j) const { return upper ? 0 : j / H; }
  BLASLIFT_BOTH int last_chunk(int j) const { return upper ? j / H : chunks - 1; }

  /// Ranks that have a tile in a chunk are those from 0 to some last one, too: so the turns of each chain begin with 0
  /// and leave none out, for either triangle.
  BLASLIFT_BOTH Turn turn_of(int rank) const { return {rank % chains, rank / chains}; }

  // The workspace: row parts (by panel, or by chain with tickets), then column parts by chunk, each n elements, ld
  // apart; then, with tickets, the counter and the chunks' tickets by chain.
  BLASLIFT_BOTH index ld() const { return (static_cast<index>(n) + 31) / 32 * 32; }
  index row_parts(SymvWay way) const { return ld() * (way == SymvWay::parts ? panels : chains); }
  index column_parts() const { return ld() * chunks; }
  index counters(SymvWay way) const { return way == SymvWay::parts ? 0 : 1 + index{chunks} * chains; }
};

}  // namespace symv_order

/// Bytes of workspace; 0 where none is needed.
inline std::size_t symv_workspace(const Symv& p) {
  if (p.n == 0) return 0;
  const symv_order::Order order(p);
  return static_cast<std::size_t>(order.row_parts(p.way) + order.column_parts()) * element_size(p.precision) +
         static_cast<std::size_t>(order.counters(p.way)) * sizeof(unsigned);
}

}  // namespace blaslift
