// Args: what a call asks for, free of ABI.  Column-major, 64-bit sizes, the element type as a template parameter.
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>

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

/// C := alpha * op(A) * op(B) + beta * C with op(A) m x k, op(B) k x n, C m x n, all column-major.  With a triangle for
/// its part, as SyrkArgs say it.
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
  Part part = Part::whole;  ///< of C: what is computed, and read

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
struct QArgs {
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

/// A product as the decision sees it: sizes without pointers.
struct Product {
  Routine routine;
  Precision precision;
  index m, n, k;
  bool alpha_zero;          ///< neither A nor B is read
  bool beta_zero;           ///< C is not read
  bool overlaps;            ///< C shares bytes with A or B
  Part part = Part::whole;  ///< a triangle: C is n x n, B is A
  Transposes transposes = Transposes::nn;
  bool alpha_finite = true;

  /// There is no C.
  bool empty() const { return m == 0 || n == 0; }
  /// Neither A nor B is read.
  bool only_scales() const { return k == 0 || alpha_zero; }
  /// Of C, what is computed.
  double results() const {
    const double rows = static_cast<double>(m), cols = static_cast<double>(n);
    return part == Part::whole ? rows * cols : cols * (cols + 1) / 2;
  }
  /// What the gate compares: m * n * k, or for a triangle half of it.
  double volume() const {
    return (part == Part::whole ? 1.0 : 0.5) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  double flops() const { return (is_complex(precision) ? 8.0 : 2.0) * results() * static_cast<double>(k); }
  double bytes_in() const {
    const double elements = static_cast<double>(m) * static_cast<double>(k) +
                            (part == Part::whole ? static_cast<double>(k) * static_cast<double>(n) : 0.0) +
                            (beta_zero ? 0.0 : results());
    return elements * static_cast<double>(element_size(precision));
  }
  double bytes_out() const { return results() * static_cast<double>(element_size(precision)); }
};

/// The same for a product of a symmetric or Hermitian matrix with a vector.
struct SymmetricProduct {
  Routine routine;
  SymvPrecision precision;
  index n;
  bool alpha_zero;  ///< neither A nor x is read
  bool beta_zero;   ///< y is not read
  bool overlaps;    ///< y shares bytes with A or x
  bool alpha_finite = true;

  double flops() const { return (is_complex(precision) ? 8.0 : 2.0) * static_cast<double>(n) * static_cast<double>(n); }
  double bytes_of_triangle() const {
    return static_cast<double>(n) * static_cast<double>(n + 1) / 2 * static_cast<double>(element_size(precision));
  }
  double bytes_in() const { return bytes_of_triangle() + (beta_zero ? 1 : 2) * bytes_out(); }
  double bytes_out() const { return static_cast<double>(n) * static_cast<double>(element_size(precision)); }
};

/// The same for a QR factorisation.
struct Factorisation {
  Routine routine;
  Precision precision;
  index m, n;
  bool overlaps;  ///< tau shares bytes with A

  index factored() const { return m < n ? m : n; }
  double flops() const {
    const double k = static_cast<double>(factored()), l = static_cast<double>(m < n ? n : m);
    return (is_complex(precision) ? 4.0 : 1.0) * (2 * l * k * k - 2.0 / 3.0 * k * k * k);
  }
  double bytes_in() const {
    return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(element_size(precision));
  }
  double bytes_out() const {
    return bytes_in() + static_cast<double>(factored()) * static_cast<double>(element_size(precision));
  }
};

/// The same for a product with the Q of a factorisation.
struct Application {
  Routine routine;
  Precision precision;
  QProduct product;
  bool overlaps;  ///< C shares bytes with the reflectors or tau

  /// LAPACK Working Note 41.
  double flops() const {
    const double m = static_cast<double>(product.m), n = static_cast<double>(product.n),
                 k = static_cast<double>(product.k);
    const double count = product.of_identity ? 4 * m * n * k - 2 * (m + n) * k * k + 4.0 / 3.0 * k * k * k
                                             : (product.left ? n : m) * (4 * (product.left ? m : n) * k - 2 * k * k);
    return (is_complex(precision) ? 4.0 : 1.0) * count;
  }
  double bytes_of_reflectors() const {
    return static_cast<double>(product.order()) * static_cast<double>(product.k) *
           static_cast<double>(element_size(precision));
  }
  double bytes_in() const { return bytes_of_reflectors() + (product.of_identity ? 0.0 : bytes_out()); }
  double bytes_out() const {
    return static_cast<double>(product.m) * static_cast<double>(product.n) *
           static_cast<double>(element_size(precision));
  }
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

template <class T>
Product product_of(Routine routine, const GemmArgs<T>& a) {
  return {.routine = routine,
          .precision = precision_of<T>,
          .m = a.m,
          .n = a.n,
          .k = a.k,
          .alpha_zero = a.alpha == T(0),
          .beta_zero = a.beta == T(0),
          .overlaps = overlap(a.C, a.m, a.n, a.ldc, a.A, a.rows_a(), a.cols_a(), a.lda, sizeof(T)) ||
                      overlap(a.C, a.m, a.n, a.ldc, a.B, a.rows_b(), a.cols_b(), a.ldb, sizeof(T)),
          .part = a.part,
          .transposes = transposes_of(a.transa, a.transb),
          .alpha_finite = is_finite(a.alpha)};
}

template <class T>
SymmetricProduct product_of(Routine routine, const SymvArgs<T>& a) {
  const auto in_y = [&a, y = stored_vector(a.y, a.n, a.incy, a.lda)](const void* at, index rows, index cols, index ld) {
    return overlap(y.at, y.rows, y.cols, y.ld, at, rows, cols, ld, sizeof(T));
  };
  const StoredVector x = stored_vector(a.x, a.n, a.incx, a.lda);
  return {.routine = routine,
          .precision = symv_precision_of<T>,
          .n = a.n,
          .alpha_zero = a.alpha == T(0),
          .beta_zero = a.beta == T(0),
          .overlaps = in_y(a.A, a.n, a.n, a.lda) || in_y(x.at, x.rows, x.cols, x.ld),
          .alpha_finite = is_finite(a.alpha)};
}

template <class T>
Factorisation factorisation_of(Routine routine, const GeqrfArgs<T>& a) {
  const index k = a.factored();
  return {.routine = routine,
          .precision = precision_of<T>,
          .m = a.m,
          .n = a.n,
          .overlaps = overlap(a.A, a.m, a.n, a.lda, a.tau, k, 1, k, sizeof(T))};
}

template <class T>
Application application_of(Routine routine, const QArgs<T>& a) {
  const QProduct& p = a.product;
  const auto in_c = [&](const T* at, index rows, index cols, index ld) {
    return overlap(a.C, p.m, p.n, a.ldc, at, rows, cols, ld, sizeof(T));
  };
  return {.routine = routine,
          .precision = precision_of<T>,
          .product = p,
          .overlaps = in_c(a.tau, p.k, 1, p.k) || (!p.of_identity && in_c(a.A, p.order(), p.k, a.lda))};
}

/// "dgemm m=.. n=.. k=..", "dsyrk n=.. k=.."
std::string to_string(const Product& product);
/// "dsymv n=.."
std::string to_string(const SymmetricProduct& product);
/// "dgeqrf m=.. n=.."
std::string to_string(const Factorisation& factorisation);
/// "dormqr LC m=.. n=.. k=.."
std::string to_string(const Application& application);

}  // namespace blaslift
