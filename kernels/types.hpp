// The words that every layer shares: sizes, op(), precision, one product.
#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>

namespace blaslift {

using index = std::int64_t;

/// op(X): as it is, transposed, conjugate-transposed.
enum class Op : char { none = 'N', transpose = 'T', conjugate = 'C' };

/// Which of op(A) and op(B) are transposed, conjugated or not: what a product's speed depends on.
enum class Transposes : std::uint8_t { nn, nt, tn, tt };
inline constexpr int transposes_count = 4;
constexpr Transposes transposes_of(Op a, Op b) {
  return static_cast<Transposes>(2 * (a != Op::none) + (b != Op::none));
}

/// Which triangle of a symmetric or Hermitian matrix is stored.
enum class Uplo : char { upper = 'U', lower = 'L' };

/// Where an operand stands that is not square: of two factors.
enum class Side : char { left = 'L', right = 'R' };

/// What of a square matrix counts: where it is a triangle, the other one may hold anything.
enum class Part : std::uint8_t { whole, upper, lower };
constexpr Part part_of(Uplo uplo) { return uplo == Uplo::upper ? Part::upper : Part::lower; }

/// What a product of which one triangle is computed is made of: one matrix (syrk, herk), two matrices (gemmt), or two
/// either way round (syr2k, her2k).
enum class Update : std::uint8_t { rank_k, product, rank_2k };
/// Whether B is an operand of its own, and not A.
constexpr bool has_own_b(Part part, Update update) { return part == Part::whole || update != Update::rank_k; }

enum class Precision : std::uint8_t { s, d, c, z };
inline constexpr int precision_count = 4;

template <class T>
inline constexpr Precision precision_of = Precision::d;
template <>
inline constexpr Precision precision_of<float> = Precision::s;
template <>
inline constexpr Precision precision_of<std::complex<float>> = Precision::c;
template <>
inline constexpr Precision precision_of<std::complex<double>> = Precision::z;

/// float or double, of real and complex elements.
template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using type = R;
};
template <class T>
using Real = typename RealOf<T>::type;

constexpr std::size_t element_size(Precision p) {
  constexpr std::size_t bytes[] = {4, 8, 8, 16};
  return bytes[static_cast<int>(p)];
}
constexpr bool is_complex(Precision p) { return p == Precision::c || p == Precision::z; }
constexpr char letter(Precision p) { return "sdcz"[static_cast<int>(p)]; }

/// What SYMV's elements are: of one of the precisions or, w, pairs of doubles (kernels/double_double.hpp), which
/// nothing else takes.
struct Element {
  enum Name : std::uint8_t { s, d, c, z, w } name;

  Element() = default;
  constexpr Element(Name n) : name(n) {}
  constexpr Element(Precision p) : name(static_cast<Name>(p)) {}
  constexpr operator Name() const { return name; }
};
inline constexpr int element_count = 5;
/// DoubleDouble's is where it is defined.
template <class T>
inline constexpr Element element_of = precision_of<T>;
constexpr std::size_t element_size(Element p) {
  return p == Element::w ? 16 : element_size(static_cast<Precision>(p.name));
}
constexpr bool is_complex(Element p) { return p == Element::c || p == Element::z; }
constexpr char letter(Element p) { return "sdczw"[p]; }

/// One product by addresses, whatever its precision: C := alpha * op(A) * op(B) + beta * C, column-major, BLAS
/// semantics to the letter (alpha = 0 or k = 0 read neither A nor B, beta = 0 never reads C).  The scalars are in host
/// memory.  With E: C := alpha * op(A) * op(B) + beta * E; E is m x n, only read, and shares nothing with C.
///
/// With a triangle for its part, C is n x n, and only this triangle of it is read and written:
///
/// - rank_k: xSYRK, or xHERK where an op is a conjugate transpose: B is A, op(B) is op(A) transposed or
///   conjugate-transposed;
/// - rank_2k: xSYR2K, or xHER2K likewise: B is of A's shape, op(B) is of op(A)' shape, and the same product with A and
/// B
///   exchanged, by alpha or, Hermitian, by its conjugate, is added;
/// - product: of any A and B.
///
/// In the Hermitian cases alpha (of rank_k) and beta are real, and the diagonal's imaginary parts are not read, and
/// become zero.
struct Gemm {
  Precision precision;
  Op transa, transb;
  index m, n, k;
  const void* alpha;
  const void* A;
  index lda;
  const void* B;
  index ldb;
  const void* beta;
  void* C;
  index ldc;
  const void* E = nullptr;
  index lde = 0;
  std::int8_t stream = 0;  ///< of the device's two for products and combinations, 0 or 1
  bool awaited = true;     ///< false: only what follows in its own stream comes after it, which spares a mark
  Part part = Part::whole;
  Update update = Update::rank_k;  ///< with a triangle for its part

  bool hermitian() const {
    return part != Part::whole && update != Update::product && is_complex(precision) &&
           (transa == Op::conjugate || transb == Op::conjugate);
  }
};

/// Device memory for what operands are split into: residues::Layout says how much, aligned to 256 bytes; whatever it
/// holds.
struct ResidueMemory {
  void* at = nullptr;
  index count = 0;  ///< of rows of op(A), or columns of op(B), that it has room for
};

/// A product as kernels/residues.hpp defines it, if its guard accepts the operands; otherwise as Gemm has it.  Without
/// E; m, n and k are at least 1, k at most residues::most_k, alpha is not zero.  Of a triangle all of C may be written,
/// and a herk's diagonal, of which C is not read, becomes real.
struct GemmByResidues : Gemm {
  ResidueMemory split_a{}, split_b{};
  index first_a = 0, first_b = 0;     ///< in these, the product's first row and column
  bool make_a = true, make_b = true;  ///< false: an earlier such product of the same k in the same stream has split it
  bool kept = false;                  ///< what is split is for later ones, too, also if this one is declined
  void* sums = nullptr;               ///< sums_bytes on the device, aligned to 256; clobbered
  std::size_t sums_bytes = 0;
  bool* declined = nullptr;  ///< becomes true, before the lane has been asked, if the guard does not accept
};

/// `count` products as Gemm has them, of whole matrices and without E.  Matrices of the same kind have their first
/// elements `stride` apart; with a stride of 0, which C has not, it is the same matrix for all.  No two of C overlap.
struct GemmBatch {
  Precision precision;
  Op transa, transb;
  index m, n, k, count;
  const void* alpha;
  const void* A;
  index lda, stride_a;
  const void* B;
  index ldb, stride_b;
  const void* beta;
  void* C;
  index ldc, stride_c;
  std::int8_t stream = 0;
  bool awaited = true;
  bool systolic = false;  ///< by systolic arrays: what systolic::can_multiply() accepts, in the order of k

  /// Number i of them.
  Gemm product(index i) const {
    const auto element = static_cast<index>(element_size(precision));
    return {.precision = precision,
            .transa = transa,
            .transb = transb,
            .m = m,
            .n = n,
            .k = k,
            .alpha = alpha,
            .A = static_cast<const char*>(A) + i * stride_a * element,
            .lda = lda,
            .B = static_cast<const char*>(B) + i * stride_b * element,
            .ldb = ldb,
            .beta = beta,
            .C = static_cast<char*>(C) + i * stride_c * element,
            .ldc = ldc,
            .stream = stream,
            .awaited = awaited};
  }
};

/// One pass over memory: each target, a rows x cols matrix, becomes a sum of some of the sources, element by element,
/// all of them from what the sources held before.  A target may be one of the sources; otherwise none of them overlap.
/// All column-major.
struct Combination {
  static constexpr int most_sources = 8, most_targets = 4;
  struct Source {
    const void* at;
    index ld;
    bool scaled;  ///< multiplied by `scale`
  };
  struct Target {
    void* at;
    index ld;
    signed char sign[most_sources];  ///< by source: 1, -1, or 0, which does not read it for this target
  };
  Precision precision;
  index rows, cols;
  int sources, targets;
  Source source[most_sources];
  Target target[most_targets];
  const void* scale;  ///< a scalar in host memory; may be null where nothing is scaled
  std::int8_t stream = 0;
  bool awaited = true;
};

/// The largest magnitudes in each row and column of a rows x cols block, column-major: what row_max[i] and col_max[j]
/// hold becomes larger where an element of the row or column is.  They hold reals of the precision, none negative; NaN
/// counts as larger than infinity.  A complex element counts as the larger one of its parts.
struct Survey {
  Precision precision;
  index rows, cols;
  const void* at;
  index ld;
  void *row_max, *col_max;
  std::int8_t stream = 0;
  bool awaited = true;
};

/// How a SYMV is cut up: what its result's last bits, and its speed, depend on.  kernels/symv.hpp says how.
struct SymvBlocking {
  int U = 0;   ///< columns of a panel; 0: no panels, but strips of whole rows, in one kernel
  int Tx = 0;  ///< threads down a panel, each with 16 bytes of a column at a time
  int Ty = 0;  ///< threads across a panel, each with U / Ty columns
  int H = 0;   ///< rows of a chunk

  friend bool operator==(const SymvBlocking&, const SymvBlocking&) = default;
};

/// How the row parts of different panels come together.  The bits are the same.
enum class SymvWay : std::uint8_t {
  parts,   ///< each is written to the workspace, and added by a second kernel
  tickets  ///< each is added when its turn comes (Imamura et al., CUDA-xSYMV, 2014): less memory, some waiting
};

/// y := alpha * A * x + beta * y with a symmetric or Hermitian n x n matrix A of which one triangle is read, each
/// element once but for small n; BLAS semantics to the letter (alpha = 0 reads neither A nor x, beta = 0 never reads y,
/// a negative increment starts at the far end, the imaginary parts of a Hermitian diagonal are not read as such).  The
/// scalars are in host memory.  A, x and y are aligned to their element's size and share nothing.
struct Symv {
  Element precision;
  bool hermitian;  ///< of c and z, as in xHEMV; otherwise symmetric, as in xSYMV
  Uplo uplo;
  index n;  ///< below 2^31
  const void* alpha;
  const void* A;
  index lda;
  const void* x;
  index incx;  ///< not 0, nor incy
  const void* beta;
  void* y;
  index incy;
  SymvBlocking blocking;      ///< one of those that kernels/symv.hpp lists
  void* workspace = nullptr;  ///< symv_workspace() bytes on the device, aligned to 256, whatever they hold; clobbered
  SymvWay way = SymvWay::parts;
  bool conjugated = false;  ///< the product of A conjugated: with row-major storage a Hermitian A's other triangle
  std::int8_t stream = 0;
  bool awaited = true;
};

/// y := alpha * op(A) * x + beta * y with an m x n matrix A, op(A) being A or its transpose, conjugated or not; BLAS
/// semantics to the letter (alpha = 0 reads neither A nor x, beta = 0 never reads y, with m = 0 or n = 0 y stays as it
/// is, a negative increment starts at the far end).  The scalars are in host memory.  A, x and y are aligned to their
/// element's size and share nothing.
struct Gemv {
  Precision precision;
  bool transposed;
  bool conjugated;  ///< of complex elements
  index m, n;       ///< below 2^31
  const void* alpha;
  const void* A;
  index lda;
  const void* x;  ///< n elements, m if transposed; y has as many as the other
  index incx;     ///< not 0, nor incy
  const void* beta;
  void* y;
  index incy;
  void* workspace = nullptr;  ///< gemv_workspace() bytes on the device, aligned to 256, whatever they hold; clobbered
  std::int8_t stream = 0;
  bool awaited = true;

  constexpr index results() const { return transposed ? n : m; }
  constexpr index terms() const { return transposed ? m : n; }  ///< of each result
};

/// Widest panel of a QR.
inline constexpr index most_panel_columns = 128;

/// A panel of a QR in LAPACK's own format: A (m x n) = Q R, 1 <= n <= m and most_panel_columns; R in A's upper triangle
/// with real numbers on the diagonal, n reflectors below it, with ones on the diagonal that are not stored, and in tau;
/// such that Q is made of them in the order of the columns, I - tau v v^H each.  Whatever A holds: NaN, say, spreads as
/// in LAPACK's.  And both factors as products take them, Q = I - V T V^H: a panel is a part of a block of columns,
/// whose V begins `above` rows further up, and whose T has `above` columns before the panel's.
struct QrPanel {
  Precision precision;
  index m, n;
  void* A;
  index lda;
  void* tau;    ///< n
  index above;  ///< above + n <= block
  index block;
  void* V;  ///< (above + m) x n: the reflectors with ones on the diagonal, zeros above
  index ldv;
  void* T;  ///< block x n: upper triangular in the rows from `above` on, zeros elsewhere
  index ldt;
  bool factored = false;  ///< A and tau hold the result already, are only read, and V and T are made from them
  std::int8_t stream = 0;
  bool awaited = true;
};

/// How a device solves a triangular system.
enum class TrsmWay : std::uint8_t {
  substitution,  ///< as the vendor's library does it: without a workspace, and with nothing prepared
  blocks         ///< by inverses of the diagonal's blocks, where they can be trusted, and products
};

/// op(A) X = alpha B, or X op(A) = alpha B with A on the right: X replaces B (m x n).  A is triangular, of order m, or
/// n on the right; BLAS semantics to the letter: A's other triangle is not read, nor its diagonal where that is of
/// ones; alpha = 0 makes B zero and reads neither.  The scalar is in host memory.  A and B share nothing.  Nothing is
/// tested for singularity: zeros on the diagonal, NaN and Inf come to where substitution takes them.
///
/// Either way, |alpha B - op(A) X| <= c n eps |op(A)| |X| in every element, n being A's order and c moderate, however
/// ill-conditioned A is (Higham, Accuracy and Stability, theorem 8.5; for blocks see kernels/cuda/trsm/trsm.hpp).
struct Trsm {
  Precision precision;
  Side side;
  Uplo uplo;
  Op trans;
  bool unit;  ///< the diagonal is of ones
  index m, n;
  const void* alpha;
  const void* A;
  index lda;
  void* B;
  index ldb;
  TrsmWay way = TrsmWay::substitution;  ///< trsm_way() in kernels/trsm.hpp says which is the faster one
  index block = 0;  ///< order of the diagonal's blocks: 64, 128 or 256; 0: what is usual for A's order
  /// By blocks: trsm_workspace() bytes on the device, aligned to 256, whatever they hold; clobbered.  The caller's, who
  /// may keep it for others with the same A.
  void* workspace = nullptr;
  /// By blocks: an earlier one has been here with the same A, uplo, unit, order and block, and nothing has written to
  /// the workspace since but such others; side, op, alpha and B may be different ones.
  bool prepared = false;
  std::int8_t stream = 0;
  bool awaited = true;

  /// Of A.
  constexpr index order() const { return side == Side::left ? m : n; }
  /// B's columns, or its rows where A is on the right.
  constexpr index others() const { return side == Side::left ? n : m; }
};

/// A = L L^H, or U^H U, of a symmetric or Hermitian positive definite matrix (n x n): the factor takes the place of the
/// triangle that A is stored in, nothing else is read or written, nor the imaginary parts of A's diagonal.  As LAPACK's
/// xPOTRF, a pivot that is not above zero, or NaN, ends it; the triangle may hold anything then.
struct Potrf {
  Precision precision;
  Uplo uplo;
  index n;
  void* A;
  index lda;
  void* failed;  ///< an element on the device, whose real part becomes 0, or the number of that pivot from 1 on
  std::int8_t stream = 0;
  bool awaited = true;
};

/// P A = L U (m x n) with partial pivoting, in A's place: L with ones on its diagonal, which are not stored, and U. A
/// pivot is the first of its column's largest elements by |re| + |im|, or one that differs from these by roundings.
///
/// A pivot that is zero ends it, or an element that is not finite, of A or on the way: A and the pivots may hold
/// anything then.
struct Getrf {
  Precision precision;
  index m, n;
  void* A;
  index lda;
  void* pivots;  ///< min(m, n) elements on the device: their real parts become numbers of rows, from 1 on, with which
                 ///< each row in turn has been exchanged, as LAPACK's ipiv; so rows are fewer than 2^24
  void* failed;  ///< an element on the device, whose real part becomes 0, or the number of such a column from 1 on
  std::int8_t stream = 0;
  bool awaited = true;

  constexpr index factored() const { return m < n ? m : n; }
};

/// A = V diag(w) V^H of a symmetric or Hermitian matrix (n x n): of its eigenvalues in ascending order `count` from
/// number `first` (from 0) on, and with `vectors` orthonormal eigenvectors of these.  All of them take A's place if V
/// is A; or V (n x count) lies apart, and A is only read, as it is without vectors.  One triangle of A is read, without
/// its diagonal's imaginary parts.
///
/// As LAPACK's xSYEVD and xHEEVD, |A - V diag(w) V^H| <= c n eps |A| and |V^H V - I| <= c n eps, whatever A's scale. If
/// the triangle or the result is not finite, or the iteration does not converge, w and, with vectors, V may hold
/// anything.
struct Syevd {
  Precision precision;
  bool vectors;
  Uplo uplo;
  index n, first, count;
  void* A;
  index lda;
  void* V;  ///< without vectors nothing
  index ldv;
  void* w;       ///< exactly `count` reals on the device
  void* failed;  ///< an element on the device, whose real part becomes 0, or 1 if there is no result
  std::int8_t stream = 0;
  bool awaited = true;
};

/// A = Q B P^H (m x n) with a real bidiagonal B, upper where m >= n and lower otherwise, in LAPACK's format (xGEBRD): B
/// in its place, the reflectors of Q below it and of P^H right of it, min(m, n) of each, the last ones of P or Q being
/// none.
///
/// If A or the result is not finite, or A's largest number has squares that overflow or vanish, all of these may hold
/// anything.
struct Gebrd {
  Precision precision;
  index m, n;
  void* A;
  index lda;
  void* d;       ///< min(m, n) reals on the device: B's diagonal
  void* e;       ///< min(m, n) reals on the device: beside it, and a last one, which may become anything
  void* tauq;    ///< min(m, n) elements on the device
  void* taup;    ///< likewise
  void* failed;  ///< an element on the device, whose real part becomes 0, or 1 if there is no result
  std::int8_t stream = 0;
  bool awaited = true;

  constexpr index factored() const { return m < n ? m : n; }
};

/// A = Q T Q^H of a symmetric or Hermitian A (n x n) of which a triangle is stored, with a real tridiagonal T, in
/// LAPACK's format (xSYTRD, xHETRD): T in the triangle's place, and n - 1 reflectors of Q beside it.  The other
/// triangle is neither read nor written, nor are the diagonal's imaginary parts read.
///
/// If A or the result is not finite, or A's largest number has squares that overflow or vanish, the triangle and all of
/// these may hold anything.
struct Sytrd {
  Precision precision;
  Uplo uplo;
  index n;
  void* A;
  index lda;
  void* d;       ///< n reals on the device: T's diagonal
  void* e;       ///< n reals on the device: beside it, and a last one, which may become anything
  void* tau;     ///< n elements on the device, likewise
  void* failed;  ///< an element on the device, whose real part becomes 0, or 1 if there is no result
  std::int8_t stream = 0;
  bool awaited = true;
};

/// A = Q H Q^H of a square part of a matrix, in LAPACK's format (xGEHRD): of rows x cols elements those of the first
/// size() columns from row `above` on.  There H is zero below what is beside its diagonal, and size() - 1 reflectors of
/// Q lie in that place.  What is above these columns is multiplied by Q, and what is right of their rows by Q^H.  The
/// first column above what is reduced of it, and other columns above the square's second row, are neither read nor
/// written.
///
/// If A or the result is not finite, all of these may hold anything.
struct Gehrd {
  Precision precision;
  index rows, cols;
  index above;  ///< rows; with the square at most `rows`, and the square's columns at most `cols`
  void* A;
  index lda;
  void* tau;     ///< size() - 1 elements on the device
  void* failed;  ///< an element on the device, whose real part becomes 0, or 1 if there is no result
  std::int8_t stream = 0;
  bool awaited = true;

  constexpr index size() const { return rows - above; }
  constexpr index reflectors() const { return size() > 1 ? size() - 1 : 0; }
  /// The first row of a column that is read or written.
  constexpr index first_of(index col) const { return col == 0 || col >= size() ? above + 1 : 0; }
};

/// A P = Q R (m x n) with pivoting of columns, in LAPACK's format (xGEQP3): R in A's upper triangle or trapezoid,
/// min(m, n) reflectors of Q below it.  Columns that are fixed come first, and are exchanged with what is in their
/// place, from left to right.  Then each column of R begins as the first of the longest ones of what is left of A, or
/// one that differs from these by what norms are off that were brought down from longer ones (LAPACK Working Note 176).
///
/// If A or the result is not finite, all of these may hold anything.
struct Geqp3 {
  Precision precision;
  index m, n;
  void* A;
  index lda;
  const void* fixed;  ///< n elements on the device: a column is fixed if its one is not zero
  void* order;        ///< n elements on the device: their real parts become numbers of A's columns from 1 on, in the
                      ///< order in which these are now; so columns are fewer than 2^24
  void* tau;          ///< min(m, n) elements on the device
  void* failed;       ///< an element on the device, whose real part becomes 0, or 1 if there is no result
  std::int8_t stream = 0;
  bool awaited = true;

  constexpr index factored() const { return m < n ? m : n; }
};

/// A = U diag(s) V^H (m x n): its singular values in descending order, and with them singular vectors of either side:
/// U's first columns and V^H's first rows, min(m, n) of them or all.  Those of one side may take A's place, where the
/// rest of A then stays as it was; otherwise A is only read.
///
/// As LAPACK's xGESDD, |A - U diag(s) V^H| <= c max(m, n) eps |A|, and U and V are as near to unitary, whatever A's
/// rank.  If A or the result is not finite, A is zero or its norm has squares that overflow or vanish, or the iteration
/// does not converge, s, U and V^H may hold anything.
struct Svd {
  Precision precision;
  index m, n;
  index u_cols, vt_rows;  ///< 0: none
  bool u_in_a, vt_in_a;   ///< U is A, or V^H is; not both
  void* A;
  index lda;
  void* U;  ///< m x u_cols
  index ldu;
  void* VT;  ///< vt_rows x n: V^H
  index ldvt;
  void* s;       ///< exactly min(m, n) reals on the device
  void* failed;  ///< an element on the device, whose real part becomes 0, or 1 if there is no result
  std::int8_t stream = 0;
  bool awaited = true;

  constexpr index count() const { return m < n ? m : n; }
};

/// All eigenvalues of a general matrix A (n x n) and, if asked for, its right eigenvectors: A V = V diag(w).  A is only
/// read.
///
/// Backward stable, without balancing: |A V - V diag(w)| <= c n eps |A|, and without V the eigenvalues are those of a
/// matrix so near to A.  Of a real matrix they come as LAPACK has them: complex ones as pairs x + iy, x - iy with y >
/// 0, whose vectors' real and imaginary parts are two columns; real ones with an imaginary part of exactly 0.  Each
/// vector has Euclidean norm 1 and a largest element without an imaginary part.  If A or the result is not finite, A's
/// largest number is one with which LAPACK would scale A, or the iteration does not converge, w and V may hold
/// anything.
struct Geev {
  Precision precision;
  bool vectors;
  index n;
  const void* A;
  index lda;
  void* VR;  ///< n x n
  index ldvr;
  void* w;       ///< exactly n elements on the device: eigenvalues, or real parts of a real matrix's
  void* wi;      ///< of a real matrix likewise the imaginary parts
  void* failed;  ///< an element on the device, whose real part becomes 0, or 1 if there is no result
  std::int8_t stream = 0;
  bool awaited = true;
};

/// Exchanges rows of A (m x n): row i with row pivots[i] - 1, for all i below `count` in turn, or in the opposite
/// order, which undoes it.
struct RowSwaps {
  Precision precision;
  index m, n;
  void* A;
  index lda;
  index count;
  const void* pivots;  ///< count elements on the device, as a Getrf leaves them: rows of A, none before its own; what
                       ///< is no such row, as one that has ended early may leave, exchanges nothing outside of A
  void* moves = nullptr;  ///< row_swaps_workspace() bytes on the device, aligned to 256; clobbered
  /// An earlier one has been here with the same pivots and count, and nothing has written to `moves` since but such
  /// others; the rest may be different.
  bool prepared = false;
  bool backward = false;
  std::int8_t stream = 0;
  bool awaited = true;
};

/// C := A, or A transposed, or its adjoint; or, where A is null, what an identity has there.  C (m x n) is a block of
/// a matrix on or beside whose diagonal it lies: of a triangle of that nothing else is written, nor the diagonal itself
/// if `strict`.  A and C share nothing.
struct Assign {
  Precision precision;
  Part part;
  bool strict;
  bool transposed;
  index m, n;
  index below;    ///< rows from the diagonal down to C's first element; negative: that lies above it
  const void* A;  ///< m x n, or n x m if transposed; of a triangle only what is written is read
  index lda;
  void* C;
  index ldc;
  bool conjugated = false;  ///< as well as transposed
  std::int8_t stream = 0;
  bool awaited = true;

  /// Whether an element is written.
  constexpr bool covers(index i, index j) const {
    const index under = i + below - j;
    return (part == Part::whole || (part == Part::lower ? under >= 0 : under <= 0)) && !(strict && under == 0);
  }
};

/// Makes a whole matrix of a symmetric or Hermitian one (n x n) of which a triangle is stored: the other triangle
/// becomes the adjoint of that, whatever it holds, and the diagonal's imaginary parts become zero.
struct Mirror {
  Precision precision;
  Uplo uplo;  ///< the stored triangle
  index n;
  void* A;
  index lda;
  std::int8_t stream = 0;
  bool awaited = true;
};

/// Exchanges that become one pass over a column.
inline constexpr index row_swaps_at_once = 1024;
/// Bytes, for so many exchanges: of each the rows that change, two at most, and where their contents come from.
constexpr std::size_t row_swaps_workspace(index count) {
  return static_cast<std::size_t>((count + row_swaps_at_once - 1) / row_swaps_at_once * row_swaps_at_once) * 4 *
         sizeof(std::int32_t);
}

}  // namespace blaslift
