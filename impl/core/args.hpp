// Args: what a call asks for, free of ABI.  Column-major, 64-bit sizes, the element type as a template parameter.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

#include "compat/symbols.hpp"
#include "kernels/types.hpp"

namespace blaslift {

/// Whether columns of so many rows may lie `ld` elements apart.
constexpr bool ld_suffices(index ld, index rows) { return ld >= (rows > 1 ? rows : 1); }

/// Element 0 of BLAS's vector of n elements.
template <class T>
constexpr T* first_of(T* at, index n, index inc) {
  return inc < 0 ? at + (1 - n) * inc : at;
}

// What the gate compares, of calls whose sizes may be invalid: as m * n * k of a product.

/// For a triangle of an n x n product.
constexpr double triangle_volume(double n, double k) { return n * n * k / 2; }
/// Matrices below n = 512 stay on the CPU unseen, whose caches hold them: here this is below small_product, with which
/// the gate compares.
constexpr double symmetric_volume(double n) { return 64 * n * n; }
/// For the QR of an m x n matrix, and for products with Q of k reflectors: about half of the flops.
constexpr double reflectors_volume(double m, double n, double k) { return m * n * k; }

/// C := alpha * op(A) * op(B) + beta * C with op(A) m x k, op(B) k x n, C m x n, all column-major.  With a triangle for
/// its part, as GemmtArgs, SyrkArgs or Syr2kArgs say it.
template <class T>
struct GemmArgs {
  Op transa, transb;
  index m, n, k;
  T alpha;
  const T* A;
  index lda;
  const T* B;
  index ldb;
  T beta;
  T* C;
  index ldc;
  Part part = Part::whole;         ///< of C: what is computed, and read
  Update update = Update::rank_k;  ///< with a triangle for its part

  bool own_b() const { return has_own_b(part, update); }
  index rows_a() const { return transa == Op::none ? m : k; }
  index cols_a() const { return transa == Op::none ? k : m; }
  index rows_b() const { return transb == Op::none ? k : n; }
  index cols_b() const { return transb == Op::none ? n : k; }

  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const {
    return m >= 0 && n >= 0 && k >= 0 && ld_suffices(lda, rows_a()) && ld_suffices(ldb, rows_b()) &&
           ld_suffices(ldc, m);
  }
};

/// The product as the layers below take it.
template <class T>
Gemm as_gemm(const GemmArgs<T>& a) {
  Gemm product{precision_of<T>, a.transa, a.transb, a.m,     a.n, a.k,  &a.alpha, a.A,
               a.lda,           a.B,      a.ldb,    &a.beta, a.C, a.ldc};
  product.part = a.part;
  product.update = a.update;
  return product;
}

/// C := alpha * op(A) * op(A)' + beta * C with op(A) n x k, of which one triangle is read and written, column-major.
/// The second factor is transposed (xSYRK) or conjugate-transposed (xHERK: alpha and beta are real, the diagonal's
/// imaginary parts are not read and become zero).
template <class T>
struct SyrkArgs {
  bool hermitian;
  Uplo uplo;
  Op trans;  ///< none, or what the second factor is otherwise
  index n, k;
  T alpha;
  const T* A;
  index lda;
  T beta;
  T* C;
  index ldc;

  index rows_a() const { return trans == Op::none ? n : k; }
  index cols_a() const { return trans == Op::none ? k : n; }

  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const { return n >= 0 && k >= 0 && ld_suffices(lda, rows_a()) && ld_suffices(ldc, n); }

  /// The same as a product of two matrices: B is A.
  GemmArgs<T> product() const {
    const Op other = trans != Op::none ? Op::none : hermitian ? Op::conjugate : Op::transpose;
    return {trans, other, n, n, k, alpha, A, lda, A, lda, beta, C, ldc, part_of(uplo)};
  }
};

/// C := alpha * op(A) * op(B) + beta * C with op(A) n x k and op(B) k x n, of which one triangle is read and written,
/// column-major.
template <class T>
struct GemmtArgs {
  Uplo uplo;
  Op transa, transb;
  index n, k;
  T alpha;
  const T* A;
  index lda;
  const T* B;
  index ldb;
  T beta;
  T* C;
  index ldc;

  index rows_a() const { return transa == Op::none ? n : k; }
  index cols_a() const { return transa == Op::none ? k : n; }
  index rows_b() const { return transb == Op::none ? k : n; }
  index cols_b() const { return transb == Op::none ? n : k; }

  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const { return product().valid(); }

  GemmArgs<T> product() const {
    return {transa, transb, n, n, k, alpha, A, lda, B, ldb, beta, C, ldc, part_of(uplo), Update::product};
  }
};

/// C := alpha * op(A) * op(B)' + alpha * op(B) * op(A)' + beta * C with op(A) and op(B) n x k, of which one triangle is
/// read and written, column-major.  The second factors are transposed (xSYR2K) or conjugate-transposed (xHER2K: the
/// second alpha is the first one's conjugate, beta is real, the diagonal's imaginary parts are not read and become
/// zero).
template <class T>
struct Syr2kArgs {
  bool hermitian;
  Uplo uplo;
  Op trans;  ///< none, or what the second factors are otherwise
  index n, k;
  T alpha;
  const T* A;
  index lda;
  const T* B;
  index ldb;
  T beta;
  T* C;
  index ldc;

  index rows() const { return trans == Op::none ? n : k; }  ///< of A and B
  index cols() const { return trans == Op::none ? k : n; }

  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const {
    return n >= 0 && k >= 0 && ld_suffices(lda, rows()) && ld_suffices(ldb, rows()) && ld_suffices(ldc, n);
  }

  GemmArgs<T> product() const {
    const Op other = trans != Op::none ? Op::none : hermitian ? Op::conjugate : Op::transpose;
    return {trans, other, n, n, k, alpha, A, lda, B, ldb, beta, C, ldc, part_of(uplo), Update::rank_2k};
  }
};

/// y := alpha * A * x + beta * y with a symmetric or, where T is complex, Hermitian n x n matrix A of which one
/// triangle is stored, column-major; BLAS increments.
template <class T>
struct SymvArgs {
  Uplo uplo;
  index n;
  T alpha;
  const T* A;
  index lda;
  const T* x;
  index incx;
  T beta;
  T* y;
  index incy;
  /// y := alpha * conj(A) * x + beta * y instead.  So is xHEMV in row-major: A's other triangle in column-major,
  /// conjugated.
  bool conjugated = false;

  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const { return n >= 0 && ld_suffices(lda, n) && incx != 0 && incy != 0; }
};

/// op(A) X = alpha B or, with A on the right, X op(A) = alpha B: X replaces B (m x n).  A is triangular: its other
/// triangle is not read, nor its diagonal where that is of ones.
template <class T>
struct TrsmArgs {
  bool left;  ///< A's side
  Uplo uplo;
  Op trans;
  bool unit;
  index m, n;
  T alpha;
  const T* A;
  index lda;
  T* B;
  index ldb;

  index order() const { return left ? m : n; }
  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const { return m >= 0 && n >= 0 && ld_suffices(lda, order()) && ld_suffices(ldb, m); }
};

/// LAPACK's arrays of integers, which are of the caller's width.
struct Integers {
  void* at;
  bool wide;  ///< 64 bits each

  index get(index i) const {
    return wide ? static_cast<const std::int64_t*>(at)[i] : static_cast<const std::int32_t*>(at)[i];
  }
  void set(index i, index value) const {
    if (wide)
      static_cast<std::int64_t*>(at)[i] = value;
    else
      static_cast<std::int32_t*>(at)[i] = static_cast<std::int32_t>(value);
  }
};

/// A = L L^H or U^H U of a symmetric or Hermitian positive definite A (n x n, column-major), in the place of the
/// triangle that it is stored in; the other one is neither read nor written.
template <class T>
struct PotrfArgs {
  Uplo uplo;
  index n;
  T* A;
  index lda;

  bool valid() const { return n >= 0 && ld_suffices(lda, n); }
};

/// P A = L U (m x n, column-major) with partial pivoting, in A's place; row i has been exchanged with row ipiv[i], from
/// 1 on.
template <class T>
struct GetrfArgs {
  index m, n;
  T* A;
  index lda;
  Integers ipiv;

  index factored() const { return m < n ? m : n; }
  bool valid() const { return m >= 0 && n >= 0 && ld_suffices(lda, m); }
};

/// op(A) X = B without its matrices: A by its factors, which are there or are made first.
struct SystemShape {
  bool lu;        ///< or else Cholesky
  bool factored;  ///< A holds its factors
  Op trans;       ///< of LU
  Uplo uplo;      ///< of Cholesky
  index n, nrhs;
  bool in_order = false;  ///< of factors by LU: no rows are exchanged

  bool exchanges() const { return lu && !in_order; }
  Part part() const { return lu ? Part::whole : part_of(uplo); }  ///< of A
};

/// op(A) X = B: X (n x nrhs, column-major) replaces B. Of Cholesky only a triangle of A is read and written.
template <class T>
struct SystemArgs {
  SystemShape shape;
  T* A;  ///< only read if factored
  index lda;
  Integers ipiv;  ///< of LU, as GetrfArgs have it
  T* B;
  index ldb;

  bool valid() const {
    return shape.n >= 0 && shape.nrhs >= 0 && ld_suffices(lda, shape.n) && ld_suffices(ldb, shape.n);
  }
};

/// 1 / (|A| |A^-1|), estimated, with the factors of A (n x n, column-major): of LU, P A = L U without P, whose norm is
/// the same, or of Cholesky.
template <class T>
struct ConditionArgs {
  bool lu;       ///< or else Cholesky
  bool by_rows;  ///< of LU: the infinity norm, or else the 1-norm
  Uplo uplo;     ///< of Cholesky
  index n;
  const T* A;
  index lda;
  T anorm;  ///< |A|, a real number
  Real<T>* rcond;
  T* work = nullptr;  ///< workspaces, that whoever computes the call may use
  Real<T>* rwork = nullptr;
  Integers iwork{};

  Part part() const { return lu ? Part::whole : part_of(uplo); }  ///< of A
  /// What the reference routines' own checks accept; anything else is for their xerbla.
  bool valid() const { return n >= 0 && ld_suffices(lda, n) && std::real(anorm) >= 0; }
  index work_size() const { return (is_complex(precision_of<T>) ? 2 : lu ? 4 : 3) * n; }
  index rwork_size() const { return (lu ? 2 : 1) * n; }
};

/// LAPACK's drivers of symmetric eigenproblems, by the ends of their names: xSYEVD and xHEEVD (division into halves),
/// xSYEV (QR iteration), xSYEVR (relatively robust representations), xSYEVX (bisection and inverse iteration).
enum class EigenDriver : std::uint8_t { evd, ev, evr, evx };
enum class EigenRange : char { all = 'A', interval = 'V', indices = 'I' };

/// A symmetric eigenproblem without its matrices: n eigenvalues in ascending order, of which `count` are asked for,
/// from number `first` (from 0) on.
struct EigenShape {
  bool vectors;
  bool apart;  ///< vectors go to a matrix of their own, and not to A's place
  Uplo uplo;
  index n, first, count;

  bool all() const { return count == n; }
};

/// A = V diag(w) V^H of a symmetric or Hermitian A (n x n, column-major) of which a triangle is read: w ascending.  V
/// takes A's place, or with evr and evx that of Z; these compute the eigenvalues in (vl, vu], or numbers il to iu (from
/// 1 on), if `range` says so, and as many vectors.  Where V does not take A's place, A's triangle may hold anything
/// afterwards, and the other one is not touched.
template <class T>
struct SyevdArgs {
  bool vectors;
  Uplo uplo;
  index n;
  T* A;
  index lda;
  Real<T>* w;
  T* work = nullptr;  ///< workspaces, that whoever computes the call may use
  index lwork = 0;
  Real<T>* rwork = nullptr;  ///< of complex matrices
  index lrwork = 0;
  Integers iwork{};
  index liwork = 0;
  EigenDriver driver = EigenDriver::evd;
  // Of evr and evx.
  EigenRange range = EigenRange::all;
  Real<T> vl{}, vu{};
  index il = 0, iu = 0;
  Real<T> abstol{};  ///< allows less accuracy
  Integers m{};      ///< becomes the number of eigenvalues
  T* Z = nullptr;
  index ldz = 1;
  Integers of_vectors{};  ///< evr's isuppz, of all vectors: of each its first and its last row that are not zero; evx's
                          ///< ifail, of each a zero

  bool chooses() const { return driver == EigenDriver::evr || driver == EigenDriver::evx; }
  /// In an interval there are as many as there are: n at most.
  EigenShape shape() const {
    const bool some = range == EigenRange::indices;
    return {vectors, vectors && chooses(), uplo, n, some ? il - 1 : 0, some ? iu - il + 1 : n};
  }
  index vector_rows() const { return vectors ? n : 0; }  ///< of Z
  index count_of_vectors() const {                       ///< in `of_vectors`
    const EigenShape x = shape();
    if (!x.apart) return 0;
    if (driver == EigenDriver::evx) return x.count;
    return x.all() && range != EigenRange::interval ? 2 * n : 0;
  }
  /// Of A: what the library underneath may write.
  Part written() const { return vectors && !chooses() ? Part::whole : part_of(uplo); }
  /// What the reference routine's own checks accept, but for workspaces; anything else is for its xerbla.
  bool valid() const {
    if (n < 0 || !ld_suffices(lda, n) || (chooses() && !ld_suffices(ldz, vector_rows()))) return false;
    if (range == EigenRange::interval) return n == 0 || !(vu <= vl);
    return range == EigenRange::all || (il >= 1 && il <= std::max<index>(1, n) && iu >= std::min(n, il) && iu <= n);
  }
  index least_work() const {
    const bool is_real = !is_complex(precision_of<T>);
    switch (driver) {
      case EigenDriver::ev: return std::max<index>(1, is_real ? 3 * n - 1 : 2 * n - 1);
      case EigenDriver::evr: return std::max<index>(1, is_real ? 26 * n : 2 * n);
      case EigenDriver::evx: return n <= 1 ? 1 : is_real ? 8 * n : 2 * n;
      case EigenDriver::evd: break;
    }
    if (n <= 1) return 1;
    if (!is_real) return vectors ? 2 * n + n * n : n + 1;
    return vectors ? 1 + 6 * n + 2 * n * n : 2 * n + 1;
  }
  index least_rwork() const {
    switch (driver) {
      case EigenDriver::ev: return std::max<index>(1, 3 * n - 2);
      case EigenDriver::evr: return std::max<index>(1, 24 * n);
      case EigenDriver::evx: return 7 * n;
      case EigenDriver::evd: break;
    }
    return n <= 1 ? 1 : vectors ? 1 + 5 * n + 2 * n * n : n;
  }
  index least_iwork() const {
    switch (driver) {
      case EigenDriver::ev: return 0;
      case EigenDriver::evr: return std::max<index>(1, 10 * n);
      case EigenDriver::evx: return 5 * n;
      case EigenDriver::evd: break;
    }
    return n <= 1 || !vectors ? 1 : 3 + 5 * n;
  }
};

/// A (m x n, column-major) = Q B P^H in LAPACK's format: a real bidiagonal B in its place and in d and e, upper where
/// m >= n and lower otherwise, and beside it min(m, n) reflectors of each of Q and P.
template <class T>
struct GebrdArgs {
  index m, n;
  T* A;
  index lda;
  Real<T>* d;  ///< min(m, n)
  Real<T>* e;  ///< one less
  T* tauq;
  T* taup;
  T* work = nullptr;  ///< lwork elements, that whoever computes the call may use
  index lwork = 0;

  index factored() const { return m < n ? m : n; }
  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const { return m >= 0 && n >= 0 && ld_suffices(lda, m); }
  index least_workspace() const {
    const index longer = m > n ? m : n;
    return longer > 1 ? longer : 1;
  }
};

/// A (m x n, column-major) = Q R in LAPACK's format: R in A's upper triangle or trapezoid, min(m, n) reflectors below
/// it and in tau.
template <class T>
struct GeqrfArgs {
  index m, n;
  T* A;
  index lda;
  T* tau;
  T* work = nullptr;  ///< lwork elements, that whoever computes the call may use
  index lwork = 0;

  index factored() const { return m < n ? m : n; }
  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const { return m >= 0 && n >= 0 && ld_suffices(lda, m); }
  index least_workspace() const { return n > 1 ? n : 1; }
};

/// C (m x n) := Q C, Q^H C, C Q or C Q^H with the Q of k reflectors.
struct QProduct {
  bool left;  ///< Q's side
  bool adjoint;
  index m, n, k;
  bool of_identity = false;  ///< C begins as an identity's first n columns and, in memory, takes the reflectors' place

  index order() const { return left ? m : n; }   ///< of Q
  index length() const { return left ? n : m; }  ///< of C, the other way
};

/// A product with Q as ormqr and orgqr have it.
template <class T>
struct OrmqrArgs {
  QProduct product;
  const T* A;  ///< order x k: reflectors below the diagonal, as geqrf leaves them
  index lda;
  const T* tau;
  T* C;
  index ldc;
  T* work = nullptr;  ///< lwork elements, that whoever computes the call may use
  index lwork = 0;

  /// What the reference routines' own checks accept; anything else is for their xerbla.
  bool valid() const {
    const auto [left, adjoint, m, n, k, of_identity] = product;
    if (m < 0 || n < 0 || k < 0 || k > product.order() || !ld_suffices(lda, product.order()) || !ld_suffices(ldc, m))
      return false;
    return !of_identity || (n <= m && k <= n);
  }
  index least_workspace() const { return product.length() > 1 ? product.length() : 1; }
};

/// BLAS's vector of n elements (at least one) as a matrix of one row, or one column where its elements are adjacent.
struct StoredVector {
  const void* at;  ///< the lowest address
  index rows, cols, ld;
};

/// @param ld  of a single column; at least n
template <class T>
StoredVector stored_vector(const T* at, index n, index inc, index ld) {
  if (inc == 1 || inc == -1 || n <= 1) return {at, n, 1, ld};
  return {at, 1, n, inc >= 0 ? inc : inc < -INT64_MAX ? INT64_MAX : -inc};
}

inline bool is_finite(double x) { return std::isfinite(x); }
inline bool is_finite(float x) { return std::isfinite(x); }
template <class R>
bool is_finite(const std::complex<R>& x) {
  return std::isfinite(x.real()) && std::isfinite(x.imag());
}

/// Whether two column-major matrices share a byte.  Exact for blocks of one array (equal leading dimensions), LAPACK's
/// normal pattern, where the address ranges interleave; elsewhere interleaving ranges count as shared.
bool overlap(const void* x, index rows_x, index cols_x, index ldx, const void* y, index rows_y, index cols_y, index ldy,
             std::size_t element);

}  // namespace blaslift
