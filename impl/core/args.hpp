// Args: what a call asks for, free of ABI.  Column-major, 64-bit sizes, the element type as a template parameter.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

#include "compat/symbols.hpp"
#include "impl/core/letters.hpp"
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
/// The same of m x n elements that are read once.
constexpr double vector_volume(double m, double n) { return 64 * m * n; }
/// Copies stay as they are unless their elements lie in cache lines, and pages, of their own: of vectors that run
/// forward, one of them in steps of 256 bytes or more, this is small_product from n = 2,048 on.
constexpr double copy_volume(double n, double incx, double incy, std::size_t element) {
  constexpr double step = 256;
  const bool forward = incx > 0 && incy > 0;
  return forward && std::max(incx, incy) * static_cast<double>(element) >= step ? 8192 * n : 0;
}
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

/// A routine's arrays of integers, which are of the caller's width.
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

/// How the matrices of a batch lie in memory, if they are one matrix there.
enum class BatchForm : std::uint8_t {
  apart,             ///< they are not: beside those between columns there are other gaps, or they overlap
  alone,             ///< there is one, or the same one for all
  side_by_side,      ///< each has the columns behind those of the one before it
  as_columns,        ///< each, without gaps, is a column
  one_below_another  ///< each has the rows below those of the one before it
};

/// That matrix, column-major.
struct BatchLayout {
  BatchForm form;
  index rows, cols, ld;
};

/// Of `count` matrices of rows x cols, each `stride` elements behind the one before it.
constexpr BatchLayout layout_of_batch(index rows, index cols, index ld, index stride, index count) {
  if (rows == 0 || cols == 0 || count == 0) return {BatchForm::alone, 0, 0, ld};
  if (count == 1 || stride == 0) return {BatchForm::alone, rows, cols, ld};
  // What nobody has memory for does not overflow either.
  constexpr index most = INT64_MAX / 16;
  const auto is_product = [](index x, index y, index z) { return static_cast<__int128>(x) * y == z; };
  const auto at_most = [](index x, index y, index z) { return static_cast<__int128>(x) * y <= z; };
  if (stride < 0 || !at_most(stride, count, most)) return {BatchForm::apart, 0, 0, ld};
  if (is_product(ld, cols, stride)) return {BatchForm::side_by_side, rows, cols * count, ld};
  if ((ld == rows || cols == 1) && at_most(rows, cols, stride))
    return {BatchForm::as_columns, rows * cols, count, stride};
  if (stride == rows && at_most(rows, count, ld)) return {BatchForm::one_below_another, rows * count, cols, ld};
  return {BatchForm::apart, 0, 0, ld};
}

/// `count` products C := alpha * op(A) * op(B) + beta * C of the same sizes, whose matrices lie so many elements apart,
/// or where arrays of addresses say; all else is as in GemmArgs.
template <class T>
struct GemmBatchArgs {
  Op transa, transb;
  index m, n, k;
  T alpha;
  const T* A;
  index lda, stride_a;
  const T* B;
  index ldb, stride_b;
  T beta;
  T* C;
  index ldc, stride_c;
  index count;
  const T* const* each_a = nullptr;  ///< the addresses, in place of A and its stride
  const T* const* each_b = nullptr;
  T* const* each_c = nullptr;

  const T* a_at(index i) const { return each_a ? each_a[i] : A + i * stride_a; }
  const T* b_at(index i) const { return each_b ? each_b[i] : B + i * stride_b; }
  T* c_at(index i) const { return each_c ? each_c[i] : C + i * stride_c; }
  /// Number i of them.
  GemmArgs<T> product(index i) const {
    return {transa, transb, m, n, k, alpha, a_at(i), lda, b_at(i), ldb, beta, c_at(i), ldc};
  }
  /// Of what arrays say nothing is known, even if it follows a rule: see evenly().
  BatchLayout a() const { return layout(each_a, sizes().rows_a(), sizes().cols_a(), lda, stride_a); }
  BatchLayout b() const { return layout(each_b, sizes().rows_b(), sizes().cols_b(), ldb, stride_b); }
  BatchLayout c() const { return layout(each_c, m, n, ldc, stride_c); }

  bool multiplies() const { return alpha != T(0) && k > 0; }
  bool empty() const { return m == 0 || n == 0 || count == 0; }
  /// What each product's own checks accept, and no batch of less than nothing; anything else is for xerbla.
  bool valid() const { return sizes().valid() && count >= 0; }
  /// Whether the matrices of each kind are one matrix.  Results in the same place are not.
  bool regular() const {
    const auto apart = [](const BatchLayout& x) { return x.form == BatchForm::apart; };
    return !apart(a()) && !apart(b()) && !apart(c()) && !same_results();
  }
  bool same_results() const { return count > 1 && !each_c && stride_c == 0 && m > 0 && n > 0; }

  /// The same batch with a stride in place of each array whose addresses have one.
  GemmBatchArgs evenly() const {
    GemmBatchArgs x = *this;
    settle(x.A, x.stride_a, x.each_a);
    settle(x.B, x.stride_b, x.each_b);
    settle(x.C, x.stride_c, x.each_c);
    return x;
  }

  /// As GemmGroupsArgs has it: the only batch here.
  template <class Each>
  void for_each(const Each& each) const {
    each(*this);
  }

 private:
  GemmArgs<T> sizes() const { return {transa, transb, m, n, k, alpha, nullptr, lda, nullptr, ldb, beta, nullptr, ldc}; }
  BatchLayout layout(const void* each, index rows, index cols, index ld, index stride) const {
    if (each) return {BatchForm::apart, 0, 0, ld};
    return layout_of_batch(rows, cols, ld, stride, count);
  }
  template <class At, class All>
  void settle(At& first, index& stride, All& each) const {
    if (!each || count == 0) return;
    const auto address = [&each](index i) { return reinterpret_cast<std::intptr_t>(each[i]); };
    const std::intptr_t apart = count > 1 ? address(1) - address(0) : 0, size = sizeof(T);
    if (apart % size != 0) return;
    for (index i = 2; i < count; ++i)
      if (address(i) - address(i - 1) != apart) return;
    first = each[0];
    stride = apart / size;
    each = nullptr;
  }
};

/// Groups of such batches, the caller's arrays: one group after the other, of each an element of what its products have
/// in common, and so many addresses of each kind as it has products.
template <class T>
struct GemmGroupsArgs {
  bool letters;  ///< transa and transb are characters, as Fortran has them; or CBLAS's numbers
  const void *transa, *transb;
  Integers m, n, k;
  const T* alpha;
  const T* const* A;
  Integers lda;
  const T* const* B;
  Integers ldb;
  const T* beta;
  T* const* C;
  Integers ldc;
  index groups;
  Integers sizes;

  bool valid() const {
    for (index i = 0; i < groups; ++i)
      if (!choice(transa, i) || !choice(transb, i) || !group(i, 0).valid()) return false;
    return groups >= 0;
  }
  /// Calls each(GemmBatchArgs<T>) with the groups of valid Args.  Addresses that such a batch does not need are null.
  template <class Each>
  void for_each(const Each& each) const {
    index first = 0;
    for (index i = 0; i < groups; ++i) {
      const GemmBatchArgs<T> x = group(i, first);
      first += x.count;
      each(x);
    }
  }

 private:
  const Choice* choice(const void* of, index i) const {
    return letters ? chosen(transposes, static_cast<const char*>(of)[i])
                   : chosen(transposes, static_cast<const int*>(of)[i]);
  }
  GemmBatchArgs<T> group(index i, index first) const {
    const auto op = [&](const void* of) { return static_cast<Op>(choice(of, i)->letter); };
    GemmBatchArgs<T> x{op(transa), op(transb), m.get(i), n.get(i), k.get(i), alpha[i],   nullptr, lda.get(i),  0,
                       nullptr,    ldb.get(i), 0,        beta[i],  nullptr,  ldc.get(i), 0,       sizes.get(i)};
    if (x.empty()) return x;
    x.each_c = C + first;
    if (x.multiplies()) x.each_a = A + first, x.each_b = B + first;
    return x;
  }
};

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

/// C := alpha * A * B + beta * C or, with A on the right, alpha * B * A + beta * C (m x n), column-major: of a
/// symmetric A (xSYMM) or a Hermitian one (xHEMM: the diagonal's imaginary parts are not read) one triangle is read.
template <class T>
struct SymmArgs {
  bool hermitian;
  bool left;  ///< A's side
  Uplo uplo;
  index m, n;
  T alpha;
  const T* A;
  index lda;
  const T* B;
  index ldb;
  T beta;
  T* C;
  index ldc;

  index order() const { return left ? m : n; }
  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const {
    return m >= 0 && n >= 0 && ld_suffices(lda, order()) && ld_suffices(ldb, m) && ld_suffices(ldc, m);
  }

  /// The same with all of A, which is somewhere else.
  GemmArgs<T> product(const T* whole, index ld) const {
    if (left) return {Op::none, Op::none, m, n, m, alpha, whole, ld, B, ldb, beta, C, ldc};
    return {Op::none, Op::none, m, n, n, alpha, B, ldb, whole, ld, beta, C, ldc};
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
  bool hermitian = is_complex(element_of<T>);  ///< of complex elements: xHEMV, and not LAPACK's xSYMV

  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const { return n >= 0 && ld_suffices(lda, n) && incx != 0 && incy != 0; }
  index terms() const { return n; }    ///< in x
  index results() const { return n; }  ///< in y
};

/// y := alpha * op(A) * x + beta * y with an m x n matrix A, column-major; BLAS increments.
template <class T>
struct GemvArgs {
  Op trans;
  index m, n;
  T alpha;
  const T* A;
  index lda;
  const T* x;
  index incx;
  T beta;
  T* y;
  index incy;
  /// y := alpha * conj(A) * x + beta * y instead; only of complex elements, and where A is not transposed.  So is a
  /// conjugate transpose in row-major.
  bool conjugated = false;

  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const { return m >= 0 && n >= 0 && ld_suffices(lda, m) && incx != 0 && incy != 0; }
  index terms() const { return trans == Op::none ? n : m; }    ///< in x
  index results() const { return trans == Op::none ? m : n; }  ///< in y
};

/// y := x, with BLAS increments.
template <class T>
struct CopyArgs {
  index n;
  const T* x;
  index incx;
  T* y;
  index incy;

  /// The reference routine refuses nothing.
  static bool valid() { return true; }
};

/// A triangle beside m x n elements: what TriangularArgs say of it besides its elements.
struct TriangularShape {
  bool left;  ///< A's side
  Uplo uplo;
  Op trans;
  bool unit;
  index m, n;

  index order() const { return left ? m : n; }
  index others() const { return left ? n : m; }
  bool plain() const { return left == (trans == Op::none); }
};

/// A triangular A on the left or right of B (m x n), which the result replaces.  A's other triangle is not read, nor
/// its diagonal where that is of ones.
template <class T>
struct TriangularArgs {
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

  TriangularShape shape() const { return {left, uplo, trans, unit, m, n}; }
  index order() const { return left ? m : n; }
  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const { return m >= 0 && n >= 0 && ld_suffices(lda, order()) && ld_suffices(ldb, m); }
};

/// op(A) X = alpha B or, with A on the right, X op(A) = alpha B: X replaces B.
template <class T>
struct TrsmArgs : TriangularArgs<T> {
  bool checked = false;  ///< xTRTRS: A on the left, alpha is 1; nothing is solved with a zero on the diagonal
};

/// B := alpha op(A) B or, with A on the right, alpha B op(A).
template <class T>
struct TrmmArgs : TriangularArgs<T> {};

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
  bool triangle = false;  ///< A is no factor of anything, but a triangular matrix: op(A) X = B, with `uplo`
  bool unit = false;      ///< and its diagonal is of ones

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

/// What is inverted: a general or a definite matrix by its factors, of LU or Cholesky, or a triangular one.  Or
/// nothing: a triangular matrix is multiplied by its adjoint, L^H L or U U^H, as the inverse of a factor by Cholesky is
/// in the end.
enum class InverseOf : std::uint8_t { lu, cholesky, triangle, none };

/// An inverse without its matrix.
struct InverseShape {
  InverseOf of;
  Uplo uplo;  ///< not of LU
  bool unit;  ///< of a triangular matrix: its diagonal is of ones
  index n;

  Part part() const { return of == InverseOf::lu ? Part::whole : part_of(uplo); }  ///< that is read and written
};

/// The inverse of a matrix (n x n, column-major) takes the place of its factors, or of a triangle.  With a zero on
/// their diagonal, on that of LU's U, nothing is written; but a product has no use for what is not zero.
template <class T>
struct InverseArgs {
  InverseShape shape;
  T* A;
  index lda;
  Integers ipiv{};    ///< of LU, as GetrfArgs have it
  T* work = nullptr;  ///< of LU: lwork elements, that whoever computes the call may use
  index lwork = 0;

  bool valid() const { return shape.n >= 0 && ld_suffices(lda, shape.n); }
  index least_workspace() const { return shape.n > 1 ? shape.n : 1; }
};

/// 1 / (|A| |A^-1|), estimated, with the factors of A (n x n, column-major): of LU, P A = L U without P, whose norm is
/// the same, or of Cholesky.  Or of a triangular A, whose norm whoever computes the call finds.
template <class T>
struct ConditionArgs {
  InverseOf of;
  bool by_rows;  ///< not of Cholesky: the infinity norm, or else the 1-norm
  Uplo uplo;     ///< not of LU
  bool unit;     ///< of a triangular matrix: its diagonal is of ones
  index n;
  const T* A;
  index lda;
  T anorm;  ///< |A|, a real number; of a triangular matrix 1, which says nothing
  Real<T>* rcond;
  T* work = nullptr;  ///< workspaces, that whoever computes the call may use
  Real<T>* rwork = nullptr;
  Integers iwork{};

  bool lu() const { return of == InverseOf::lu; }
  Part part() const { return lu() ? Part::whole : part_of(uplo); }  ///< of A
  /// What the reference routines' own checks accept; anything else is for their xerbla.
  bool valid() const { return n >= 0 && ld_suffices(lda, n) && std::real(anorm) >= 0; }
  index work_size() const { return (is_complex(precision_of<T>) ? 2 : lu() ? 4 : 3) * n; }
  index rwork_size() const { return (lu() ? 2 : 1) * n; }
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

/// A V = B V diag(w) with a symmetric or Hermitian A and such a B that is positive definite (n x n, column-major, of
/// both the same triangle is read), V^H B V = I; or, by `itype`, A B V = V diag(w) (2) or B A V = V diag(w) (3).  B's
/// triangle becomes its Cholesky factor; everything else is as SyevdArgs have it, evr apart.
template <class T>
struct SygvArgs {
  index itype;
  SyevdArgs<T> eigen;
  T* B;
  index ldb;

  /// What the reference routines' own checks accept, but for workspaces; anything else is for their xerbla.
  bool valid() const { return itype >= 1 && itype <= 3 && eigen.valid() && ld_suffices(ldb, eigen.n); }
  index least_work() const {
    if (eigen.driver != EigenDriver::evx) return eigen.least_work();
    return std::max<index>(1, (is_complex(precision_of<T>) ? 2 : 8) * eigen.n);
  }
};

/// Such a problem's A (n x n, column-major, of which a triangle is read and written) becomes that of the standard
/// problem with the same eigenvalues: with B = L L^H it is L^-1 A L^-H, or by `itype` L^H A L (2 and 3); with B = U^H U
/// it is U^-H A U^-1, or U A U^H.  B's triangle holds that factor, whose diagonal is real.
template <class T>
struct SygstArgs {
  index itype;
  Uplo uplo;
  index n;
  T* A;
  index lda;
  const T* B;
  index ldb;

  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const { return itype >= 1 && itype <= 3 && n >= 0 && ld_suffices(lda, n) && ld_suffices(ldb, n); }
};

/// A = Q T Q^H of a symmetric or Hermitian A (n x n, column-major, of which a triangle is read and written) in LAPACK's
/// format: a real tridiagonal T in its place and in d and e, and beside it n - 1 reflectors of Q.
template <class T>
struct SytrdArgs {
  Uplo uplo;
  index n;
  T* A;
  index lda;
  Real<T>* d;         ///< n
  Real<T>* e;         ///< one less
  T* tau;             ///< likewise
  T* work = nullptr;  ///< lwork elements, that whoever computes the call may use
  index lwork = 0;

  index beside() const { return n > 1 ? n - 1 : 0; }
  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const { return n >= 0 && ld_suffices(lda, n); }
  static index least_workspace() { return 1; }
};

/// A (n x n, column-major) = Q H Q^H in LAPACK's format, in rows and columns `ilo` to `ihi`: there H is zero below what
/// is beside its diagonal, and a reflector of Q less than there are columns lies in that place.  Other rows and columns
/// are multiplied by Q and Q^H as far as a matrix goes that is an upper triangle outside.
template <class T>
struct GehrdArgs {
  index n, ilo, ihi;  ///< counted from 1
  T* A;
  index lda;
  T* tau;             ///< n - 1, zero for columns that have no reflector
  T* work = nullptr;  ///< lwork elements, that whoever computes the call may use
  index lwork = 0;

  index beside() const { return n > 1 ? n - 1 : 0; }
  index reflectors() const { return ihi > ilo ? ihi - ilo : 0; }
  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const {
    return n >= 0 && ilo >= 1 && ilo <= std::max<index>(1, n) && ihi >= std::min(ilo, n) && ihi <= n &&
           ld_suffices(lda, n);
  }
  index least_workspace() const { return n > 1 ? n : 1; }
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

/// LAPACK's drivers of singular value decompositions, by their names: xGESDD (division into halves) and xGESVD (QR
/// iteration).
enum class SvdDriver : std::uint8_t { gesdd, gesvd };
/// Which singular vectors of a side are asked for: all, the first min(m, n), these in A's place, or none.
enum class SvdJob : char { all = 'A', some = 'S', in_a = 'O', none = 'N' };

/// A singular value decomposition without its matrices.
struct SvdShape {
  index m, n;
  index u_cols, vt_rows;  ///< 0: none
  bool u_in_a, vt_in_a;   ///< these take A's place

  constexpr index count() const { return m < n ? m : n; }
  bool replaced() const { return u_in_a || vt_in_a; }
  bool vectors() const { return u_cols > 0 || vt_rows > 0; }
  bool both_sides() const { return u_cols > 0 && vt_rows > 0; }
  // In matrices of their own.
  index cols_of_u() const { return u_in_a ? 0 : u_cols; }
  index rows_of_vt() const { return vt_in_a ? 0 : vt_rows; }
};

/// A = U diag(s) V^H (m x n, column-major), s descending; V^H goes to VT.  A may hold anything afterwards, unless U or
/// V^H takes its place.
template <class T>
struct SvdArgs {
  SvdJob jobu, jobvt;  ///< of gesdd both are its jobz
  index m, n;
  T* A;
  index lda;
  Real<T>* s;  ///< min(m, n)
  T* U;
  index ldu;
  T* VT;
  index ldvt;
  T* work = nullptr;  ///< workspaces, that whoever computes the call may use
  index lwork = 0;
  Real<T>* rwork = nullptr;  ///< of complex matrices
  Integers iwork{};          ///< of gesdd
  SvdDriver driver = SvdDriver::gesdd;

  index count() const { return m < n ? m : n; }
  index longer() const { return m < n ? n : m; }
  // With jobz O gesdd puts the vectors of A's longer side into its place, and computes all of the other side.
  SvdJob job_of_u() const { return driver == SvdDriver::gesdd && jobu == SvdJob::in_a && m < n ? SvdJob::all : jobu; }
  SvdJob job_of_vt() const {
    return driver == SvdDriver::gesdd && jobvt == SvdJob::in_a && m >= n ? SvdJob::all : jobvt;
  }
  SvdShape shape() const {
    const auto vectors = [this](SvdJob job, index all) {
      return job == SvdJob::all ? all : job == SvdJob::none ? 0 : count();
    };
    const SvdJob u = job_of_u(), vt = job_of_vt();
    return {m, n, vectors(u, m), vectors(vt, n), u == SvdJob::in_a, vt == SvdJob::in_a};
  }
  /// What the reference routine's own checks accept, but for workspaces; anything else is for its xerbla.
  bool valid() const {
    if (m < 0 || n < 0 || !ld_suffices(lda, m)) return false;
    const SvdJob u = job_of_u(), vt = job_of_vt();
    if (u == SvdJob::in_a && vt == SvdJob::in_a) return false;
    return ld_suffices(ldu, u == SvdJob::all || u == SvdJob::some ? m : 1) &&
           ld_suffices(ldvt, vt == SvdJob::all    ? n
                             : vt == SvdJob::some ? count()
                                                  : 1);
  }
  /// What LAPACK's documentation says is enough; its code may take less.
  /// As the drivers themselves have it, which is less than their documentation says: a query's answer is the larger one
  /// of this and theirs.
  index least_work() const {
    const index k = count(), l = longer();
    const bool is_real = !is_complex(precision_of<T>);
    index least = 1;
    if (driver == SvdDriver::gesvd) {
      least = is_real ? std::max(3 * k + l, 5 * k) : 2 * k + l;
    } else {
      const bool in_a = jobu == SvdJob::in_a, some = jobu == SvdJob::some, none = jobu == SvdJob::none;
      // Of the bidiagonal matrix's vectors; complex drivers have these in rwork.
      const index halves = !is_real ? 0 : none ? 7 * k : 3 * k * k + 4 * k, square = k * k;
      if (const bool much_longer = is_real ? 6 * l >= 11 * k : 9 * l >= 17 * k; !much_longer)
        least = is_real ? 3 * k + std::max(l, halves + (in_a ? square : 0)) : 2 * k + l + (in_a ? square : 0);
      else if (none)
        least = is_real ? k + halves : 3 * k;
      else if (in_a || some)
        least = (in_a ? 2 : 1) * square + 3 * k + halves;
      else
        least = square + std::max(3 * k + halves, k + l);
    }
    return std::max<index>(1, least);
  }
  /// What any of its versions takes.
  index rwork_size() const {
    const index k = count(), l = longer();
    if (driver == SvdDriver::gesvd) return std::max<index>(1, 5 * k);
    if (jobu == SvdJob::none) return std::max<index>(1, 7 * k);
    return std::max({index{1}, 5 * k * k + 7 * k, 2 * l * k + 2 * k * k + k});
  }
  index iwork_size() const { return std::max<index>(1, 8 * count()); }
};

/// A V = V diag(w) (n x n, column-major) of a general matrix, all of it; left eigenvectors go to VL and right ones to
/// VR. A may hold anything afterwards.
template <class T>
struct GeevArgs {
  bool left, right;  ///< whether there are vectors of that side
  index n;
  T* A;
  index lda;
  T* w;   ///< n eigenvalues, or real parts of a real matrix's
  T* wi;  ///< of a real matrix the imaginary parts
  T* VL;
  index ldvl;
  T* VR;
  index ldvr;
  T* work = nullptr;  ///< workspaces, that whoever computes the call may use
  index lwork = 0;
  Real<T>* rwork = nullptr;  ///< of complex matrices

  static constexpr bool parts = !is_complex(precision_of<T>);  ///< eigenvalues come as two arrays
  /// What the reference routine's own checks accept, but for workspaces; anything else is for its xerbla.
  bool valid() const {
    return n >= 0 && ld_suffices(lda, n) && ld_suffices(ldvl, left ? n : 1) && ld_suffices(ldvr, right ? n : 1);
  }
  index least_work() const {
    if (n == 0) return 1;
    return (!parts ? 2 : left || right ? 4 : 3) * n;
  }
  index rwork_size() const { return std::max<index>(1, 2 * n); }
};

/// LAPACK's drivers for least squares: for matrices of full rank (gels), by an orthogonal factorisation with pivoting
/// (gelsy), or by singular values, from division into halves (gelsd) or QR iterations (gelss).
enum class LeastSquaresDriver : std::uint8_t { gelsy, gelsd, gelss, gels };

/// X (n x nrhs) of least norm among those for which |B - A X| is least, column by column, with A (m x n) and B (m x
/// nrhs), column-major: X replaces B, which has max(m, n) rows.  Singular values below rcond times the largest one
/// count as zeros, or what gelsy has in their place; the number of the others is the rank.  Where that is n, what is
/// left in B below X has the residual's norms.  A is destroyed, but gelss leaves its right singular vectors in its
/// first rows, and gels its QR as geqrf does, or an LQ.
template <class T>
struct LeastSquaresArgs {
  index m, n, nrhs;
  T* A;
  index lda;
  T* B;
  index ldb;
  Integers jpvt{};  ///< gelsy: n; columns that are not zero there come first; becomes the columns' order, from 1 on
  Real<T>* s = nullptr;  ///< gelsd and gelss: min(m, n) singular values in descending order
  Real<T> rcond{};       ///< below zero the precision's; of gelsy 0
  Integers rank{};
  T* work = nullptr;  ///< workspaces, that whoever computes the call may use
  index lwork = 0;
  Real<T>* rwork = nullptr;  ///< of complex matrices
  Integers iwork{};          ///< of gelsd
  LeastSquaresDriver driver = LeastSquaresDriver::gelsy;
  bool adjoint = false;  ///< gels: with A^H in A's place

  index count() const { return m < n ? m : n; }
  index longer() const { return m < n ? n : m; }
  /// What the reference routine's own checks accept, but for workspaces; anything else is for its xerbla.
  bool valid() const { return m >= 0 && n >= 0 && nrhs >= 0 && ld_suffices(lda, m) && ld_suffices(ldb, longer()); }
  /// As the drivers themselves have it.
  index least_work() const {
    const bool is_real = !is_complex(precision_of<T>);
    const index k = count();
    // From there on they begin with a QR, as LAPACK's ILAENV says.
    const bool tall = m >= n && m >= static_cast<index>(static_cast<float>(k) * 1.6f);
    switch (driver) {
      case LeastSquaresDriver::gelsy:
        // Of real elements the driver takes less, and then its own call of geqp3 fails: as documented.
        if (is_real) return k == 0 || nrhs == 0 ? 1 : k + std::max(3 * n + 1, k + nrhs);
        return k + std::max({2 * k, n + 1, k + nrhs});
      case LeastSquaresDriver::gelsd: {
        const index rows = tall ? n : m >= n || is_real ? m : n;
        if (!is_real) return std::max<index>(1, 2 * k + std::max(rows, k * nrhs));
        const index of_halves =
            9 * k + 2 * k * smallest + 8 * k * levels() + k * nrhs + (smallest + 1) * (smallest + 1);
        return 3 * std::max<index>(1, k) + std::max({rows, nrhs, of_halves});
      }
      case LeastSquaresDriver::gels: return std::max<index>(1, k + std::max(k, nrhs));
      case LeastSquaresDriver::gelss: break;
    }
    if (k == 0) return 1;
    if (!is_real) return 2 * k + std::max(nrhs, longer());
    return std::max({3 * k + (tall ? n : longer()), 3 * k + nrhs, 5 * k});
  }
  index rwork_size() const {
    const index k = count();
    switch (driver) {
      case LeastSquaresDriver::gelsy: return 2 * n;
      case LeastSquaresDriver::gelss: return 5 * k;
      case LeastSquaresDriver::gels: return 0;
      case LeastSquaresDriver::gelsd: break;
    }
    return 10 * k + 2 * k * smallest + 8 * k * levels() + 3 * smallest * nrhs +
           std::max((smallest + 1) * (smallest + 1), k * (1 + nrhs) + 2 * nrhs);
  }
  index iwork_size() const { return std::max<index>(1, 3 * count() * levels() + 11 * count()); }

 private:
  static constexpr index smallest = 25;  ///< ILAENV: order of a problem that is not divided
  /// How often one is divided.
  index levels() const {
    const double parts = static_cast<double>(std::max<index>(1, count())) / static_cast<double>(smallest + 1);
    return std::max<index>(0, static_cast<index>(std::log2(parts)) + 1);
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

/// A P = Q R (m x n, column-major) with pivoting of columns, in the format of GeqrfArgs.
template <class T>
struct Geqp3Args {
  index m, n;
  T* A;
  index lda;
  Integers jpvt;  ///< n: columns that are not zero there come first; becomes the columns' order, from 1 on
  T* tau;
  T* work = nullptr;  ///< workspaces, that whoever computes the call may use
  index lwork = 0;
  Real<T>* rwork = nullptr;  ///< of complex matrices

  index factored() const { return m < n ? m : n; }
  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const { return m >= 0 && n >= 0 && ld_suffices(lda, m); }
  index least_workspace() const { return factored() == 0 ? 1 : (is_complex(precision_of<T>) ? 1 : 3) * n + 1; }
  index rwork_size() const { return 2 * n; }
};

/// A (m x n, column-major) = L Q in LAPACK's format: L in A's lower triangle or trapezoid, min(m, n) reflectors right
/// of it, as conjugate rows, and in tau.  Or (orglq) Q's first m rows in the place of k such reflectors.
template <class T>
struct LqArgs {
  index m, n;
  T* A;
  index lda;
  T* tau;             ///< of orglq only read
  T* work = nullptr;  ///< lwork elements, that whoever computes the call may use
  index lwork = 0;
  index k = 0;  ///< of orglq
  bool makes_q = false;

  index reflectors() const { return makes_q ? k : m < n ? m : n; }
  /// What the reference routines' own checks accept; anything else is for their xerbla.
  bool valid() const {
    return m >= 0 && n >= (makes_q ? m : 0) && k >= 0 && k <= (makes_q ? m : 0) && ld_suffices(lda, m);
  }
  index least_workspace() const { return m > 1 ? m : 1; }
};

/// C (m x n) := Q C, Q^H C, C Q or C Q^H with the Q of k reflectors.
struct QProduct {
  bool left;  ///< Q's side
  bool adjoint;
  index m, n, k;
  bool of_identity = false;  ///< C begins as an identity's first n columns and, in memory, takes the reflectors' place
  bool rows = false;         ///< the reflectors are conjugate rows, as gelqf leaves them
  /// They are as geqlf leaves them, k = order: with rows and columns in reverse they, and Q, would be a QR's.
  bool reversed = false;

  index order() const { return left ? m : n; }   ///< of Q
  index length() const { return left ? n : m; }  ///< of C, the other way
  /// C's adjoint is what is in memory: what takes the place of rows are rows.
  bool turned() const { return rows && of_identity; }
  index stored_rows() const { return turned() ? n : m; }
  index stored_cols() const { return turned() ? m : n; }
};

/// A product with Q as ormqr and orgqr have it.
template <class T>
struct OrmqrArgs {
  QProduct product;
  const T* A;  ///< order x k: reflectors below the diagonal, as geqrf leaves them, or above it; or as rows of k x order
  index lda;
  const T* tau;
  T* C;
  index ldc;
  T* work = nullptr;  ///< lwork elements, that whoever computes the call may use
  index lwork = 0;
  // Of an identity that is made in the reflectors' place: C may be a part of a larger one that is square.  It then lies
  // a column behind the reflectors; a row below them if these are rows; or a column before them if they are reversed.
  index before = 0, after = 0;  ///< rows and columns

  /// What is around C, in blocks, by their place in terms of C's first element.
  /// @param act  void(index row, index col, index rows, index cols)
  template <class Act>
  void around(const Act& act) const {
    const index order = before + product.m + after;
    if (before > 0) act(-before, -before, order, before);
    if (after > 0) act(-before, product.n, order, after);
    if (before > 0) act(-before, 0, before, product.n);
    if (after > 0) act(product.m, 0, after, product.n);
  }

  /// What the reference routines' own checks accept; anything else is for their xerbla.
  bool valid() const {
    const auto [left, adjoint, m, n, k, of_identity, rows, reversed] = product;
    if (m < 0 || n < 0 || k < 0 || k > product.order() || (reversed && k != product.order()) ||
        !ld_suffices(lda, rows ? k : product.order()) || !ld_suffices(ldc, product.stored_rows()))
      return false;
    return !of_identity || (n <= m && k <= n);
  }
  index least_workspace() const { return product.length() > 1 ? product.length() : 1; }
};

/// The reductions that leave reflectors: xSYTRD, xGEHRD and xGEBRD.
enum class Reduction : std::uint8_t { tridiagonal, hessenberg, bidiagonal };

/// A product with a reduction's Q as ormtr, ormhr and ormbr have it; or Q itself as orgtr, orghr and orgbr make it, in
/// its reflectors' place.
template <class T>
struct ReductionQArgs {
  Reduction of;
  bool of_identity;  ///< Q itself; C is A
  Uplo uplo;         ///< tridiagonal: the triangle that its reflectors are in
  bool rows;         ///< bidiagonal: P, whose reflectors are rows, in place of Q
  bool left, adjoint;
  index m, n;      ///< of C
  index k;         ///< bidiagonal: of the reduced matrix the columns, or with P the rows
  index ilo, ihi;  ///< hessenberg: from where to where it was reduced, counted from 1
  const T* A;
  index lda;
  const T* tau;
  T* C;
  index ldc;
  T* work = nullptr;  ///< lwork elements, that whoever computes the call may use
  index lwork = 0;

  index order() const { return of_identity && rows ? n : left ? m : n; }  ///< of Q
  index reflectors() const {
    return of == Reduction::bidiagonal ? std::min(order(), k) : std::max<index>(0, order() - 1);
  }

  /// What the reference routines' own checks accept; anything else is for their xerbla.
  bool valid() const {
    if (m < 0 || n < 0 || !ld_suffices(ldc, m)) return false;
    switch (of) {
      case Reduction::tridiagonal: return ld_suffices(lda, order());
      case Reduction::hessenberg:
        return ilo >= 1 && ilo <= std::max<index>(1, order()) && ihi >= std::min(ilo, order()) && ihi <= order() &&
               ld_suffices(lda, order());
      case Reduction::bidiagonal: break;
    }
    if (k < 0) return false;
    if (!of_identity) return ld_suffices(lda, rows ? reflectors() : order());
    const index longer = rows ? n : m, shorter = rows ? m : n;
    return shorter <= longer && shorter >= std::min(longer, k);
  }
  index least_workspace() const {
    const index size = !of_identity                  ? (left ? n : m)
                       : of == Reduction::hessenberg ? ihi - ilo
                       : of == Reduction::bidiagonal ? std::min(m, n)
                                                     : n - 1;
    return std::max<index>(1, size);
  }

  /// What is not an identity of Q, and what there is to do with that.
  OrmqrArgs<T> part() const {
    // Reflectors that begin below the diagonal leave the first row as it is; those that end above it the last one.
    const bool whole = of == Reduction::bidiagonal && (rows ? k < order() : k <= order()),
               reversed = of == Reduction::tridiagonal && uplo == Uplo::upper;
    const index first = of == Reduction::hessenberg ? ilo - 1 : 0, before = whole || reversed ? 0 : first + 1,
                size = std::max<index>(0, of == Reduction::hessenberg ? ihi - ilo
                                          : whole                     ? order()
                                                                      : order() - 1);
    // Without reflectors all of Q is an identity: as orgqr's of none.
    if (of_identity && (size == 0 || (whole && k == 0)))
      return {{true, false, m, n, 0, true}, A, lda, tau, C, ldc, work, lwork};
    const index length = !of_identity ? (left ? n : m) : whole ? std::min(m, n) : size;
    const QProduct product{left, adjoint, left ? size : length, left ? length : size, whole ? k : size, of_identity,
                           rows, reversed};
    return {product,
            A + (rows       ? before * lda
                 : reversed ? lda
                            : before + first * lda),
            lda,
            tau + first,
            C + (left ? before : 0) + (!left || of_identity ? before * ldc : 0),
            ldc,
            work,
            lwork,
            of_identity ? before : 0,
            of_identity && !whole ? order() - before - size : 0};
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

}  // namespace blaslift
