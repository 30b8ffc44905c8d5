#include "compat/builtin.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

#include "compat/call.hpp"
#include "compat/jacobi.hpp"
#include "compat/scalar.hpp"
#include "kernels/schur.hpp"
#include "kernels/types.hpp"

namespace blaslift {
namespace {

template <class T>
using Real = decltype(std::real(T()));

template <class T>
constexpr bool complex = !std::is_floating_point_v<T>;

template <class T>
T conjugate(T x) {
  if constexpr (complex<T>)
    return std::conj(x);
  else
    return x;
}
template <class T>
T conjugate_if(bool is, T x) {
  return is ? conjugate(x) : x;
}

char letter(const char* x) { return static_cast<char>(std::toupper(static_cast<unsigned char>(*x))); }
bool is_op(char x) { return x == 'N' || x == 'T' || x == 'C'; }

/// op(X), of which X is stored by columns.
template <class T>
struct Matrix {
  const T* at;
  index ld;
  char op;
  T operator()(index i, index j) const { return op == 'N' ? at[i + j * ld] : conjugate_if(op == 'C', at[j + i * ld]); }
};

/// beta y, which is not read where beta is 0.
template <class T>
T scaled(T beta, T y) {
  return beta == T(0) ? T(0) : beta * y;
}

template <class T>
void gemm(char ta, char tb, index m, index n, index k, T alpha, const T* A, index lda, const T* B, index ldb, T beta,
          T* C, index ldc) {
  if (m == 0 || n == 0 || ((alpha == T(0) || k == 0) && beta == T(1))) return;
  const Matrix<T> a{A, lda, ta}, b{B, ldb, tb};
  for (index j = 0; j < n; ++j) {
    T* c = C + j * ldc;
    for (index i = 0; i < m; ++i) c[i] = scaled(beta, c[i]);
    for (index l = 0; alpha != T(0) && l < k; ++l) {
      const T factor = alpha * b(l, j);
      for (index i = 0; i < m; ++i) c[i] += factor * a(i, l);
    }
  }
}

/// `count` of them, by a library's gemm with Fortran's interface, if there is one and its integers are wide enough.
template <class T>
void gemm_batch(LibraryGemm by, char ta, char tb, index m, index n, index k, T alpha, const T* A, index lda,
                index stride_a, const T* B, index ldb, index stride_b, T beta, T* C, index ldc, index stride_c,
                index count) {
  for (const index x : {m, n, k, lda, ldb, ldc})
    if (!by.wide && x != static_cast<std::int32_t>(x)) by.function = nullptr;
  for (index i = 0; i < count; ++i, A += stride_a, B += stride_b, C += stride_c) {
    if (!by.function) {
      gemm(ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
      continue;
    }
    const void* const all[] = {&ta, &tb, &m, &n, &k, &alpha, A, &lda, B, &ldb, &beta, C, &ldc};
    constexpr int count_of_all = std::size(all), with_lengths = count_of_all + 2;
    CallWords words;
    for (int j = 0; j < count_of_all; ++j) words.set(j, all[j]);
    for (int j = count_of_all; j < with_lengths; ++j) words.word[j] = 1;
    call<with_lengths>(by.function, words);
  }
}

/// One triangle of it, of n x n.
template <class T>
void gemmt(char uplo, char ta, char tb, index n, index k, T alpha, const T* A, index lda, const T* B, index ldb, T beta,
           T* C, index ldc) {
  for (index j = 0; j < n; ++j) {
    const index from = uplo == 'U' ? 0 : j, to = uplo == 'U' ? j + 1 : n;
    gemm(ta, tb, to - from, index{1}, k, alpha, ta == 'N' ? A + from : A + from * lda, lda,
         tb == 'N' ? B + j * ldb : B + j, ldb, beta, C + from + j * ldc, ldc);
  }
}

/// beta y, as an element of a Hermitian matrix' diagonal: its imaginary part is not read.
template <class T>
T scaled_diagonal(T beta, T y) {
  return beta == T(0) ? T(0) : T(std::real(beta) * std::real(y));
}

/// alpha op(A) op(A)' + beta C, or with the conjugate transpose, and a diagonal that is real.
template <class T>
void syrk(char uplo, char trans, bool hermitian, index n, index k, T alpha, const T* A, index lda, T beta, T* C,
          index ldc) {
  if (n == 0 || ((alpha == T(0) || k == 0) && beta == T(1))) return;
  const Matrix<T> a{A, lda, trans == 'N' ? 'N' : 'T'};
  // Where A is transposed, the first factor is conjugated, otherwise the second.
  const bool first = hermitian && trans != 'N', second = hermitian && trans == 'N';
  for (index j = 0; j < n; ++j) {
    T* c = C + j * ldc;
    const index from = uplo == 'U' ? 0 : j, to = uplo == 'U' ? j + 1 : n;
    for (index i = from; i < to; ++i) c[i] = hermitian && i == j ? scaled_diagonal(beta, c[i]) : scaled(beta, c[i]);
    for (index l = 0; alpha != T(0) && l < k; ++l) {
      const T factor = alpha * conjugate_if(second, a(j, l));
      for (index i = from; i < to; ++i) c[i] += factor * conjugate_if(first, a(i, l));
    }
    if (hermitian) c[j] = T(std::real(c[j]));
  }
}

/// alpha op(A) op(B)' + alpha op(B) op(A)' + beta C, or with conjugate transposes, alpha's conjugate, and a diagonal
/// that is real.
template <class T>
void syr2k(char uplo, char trans, bool hermitian, index n, index k, T alpha, const T* A, index lda, const T* B,
           index ldb, T beta, T* C, index ldc) {
  if (n == 0 || ((alpha == T(0) || k == 0) && beta == T(1))) return;
  const char stored = trans == 'N' ? 'N' : 'T';
  const Matrix<T> a{A, lda, stored}, b{B, ldb, stored};
  const bool first = hermitian && trans != 'N', second = hermitian && trans == 'N';
  const T other = conjugate_if(hermitian, alpha);
  for (index j = 0; j < n; ++j) {
    T* c = C + j * ldc;
    const index from = uplo == 'U' ? 0 : j, to = uplo == 'U' ? j + 1 : n;
    for (index i = from; i < to; ++i) c[i] = hermitian && i == j ? scaled_diagonal(beta, c[i]) : scaled(beta, c[i]);
    for (index l = 0; alpha != T(0) && l < k; ++l) {
      const T of_a = alpha * conjugate_if(second, b(j, l)), of_b = other * conjugate_if(second, a(j, l));
      for (index i = from; i < to; ++i)
        c[i] += of_a * conjugate_if(first, a(i, l)) + of_b * conjugate_if(first, b(i, l));
    }
    if (hermitian) c[j] = T(std::real(c[j]));
  }
}

/// alpha A B + beta C, or alpha B A + beta C, with a symmetric or Hermitian A of which a triangle is stored.
template <class T>
void symm(bool left, char uplo, bool hermitian, index m, index n, T alpha, const T* A, index lda, const T* B, index ldb,
          T beta, T* C, index ldc) {
  if (alpha == T(0) && beta == T(1)) return;
  const auto a = [&](index i, index j) {
    const bool stored = uplo == 'U' ? i <= j : i >= j;
    const T x = stored ? A[i + j * lda] : conjugate_if(hermitian, A[j + i * lda]);
    return hermitian && i == j ? T(std::real(x)) : x;
  };
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i) {
      T& c = C[i + j * ldc];
      T sum(0);
      for (index l = 0; alpha != T(0) && l < (left ? m : n); ++l)
        sum += left ? a(i, l) * B[l + j * ldb] : B[i + l * ldb] * a(l, j);
      c = alpha == T(0) ? scaled(beta, c) : alpha * sum + scaled(beta, c);
    }
}

/// @param conjugated  A is the conjugate of what is stored
template <class T>
void symv(char uplo, bool hermitian, bool conjugated, index n, T alpha, const T* A, index lda, const T* x, index incx,
          T beta, T* y, index incy) {
  if (n == 0 || (alpha == T(0) && beta == T(1))) return;
  const auto start = [n](index inc) { return inc < 0 ? (1 - n) * inc : 0; };
  x += start(incx);
  y += start(incy);
  for (index i = 0; i < n; ++i) y[i * incy] = scaled(beta, y[i * incy]);
  if (alpha == T(0)) return;
  for (index j = 0; j < n; ++j) {
    const T from_x = alpha * x[j * incx];
    T sum(0);
    const index from = uplo == 'U' ? 0 : j + 1, to = uplo == 'U' ? j : n;
    for (index i = from; i < to; ++i) {
      const T a = conjugate_if(conjugated, A[i + j * lda]);
      y[i * incy] += from_x * a;
      sum += conjugate_if(hermitian, a) * x[i * incx];
    }
    const T diagonal = hermitian ? T(std::real(A[j + j * lda])) : A[j + j * lda];
    y[j * incy] += from_x * diagonal + alpha * sum;
  }
}

/// @param conjugated  A, which is not transposed then, is the conjugate of what is stored
template <class T>
void gemv(char trans, bool conjugated, index m, index n, T alpha, const T* A, index lda, const T* x, index incx, T beta,
          T* y, index incy) {
  if (m == 0 || n == 0 || (alpha == T(0) && beta == T(1))) return;
  const Matrix<T> a{A, lda, trans};
  const index results = trans == 'N' ? m : n, terms = trans == 'N' ? n : m;
  if (incx < 0) x += (1 - terms) * incx;
  if (incy < 0) y += (1 - results) * incy;
  for (index i = 0; i < results; ++i) y[i * incy] = scaled(beta, y[i * incy]);
  if (alpha == T(0)) return;
  for (index j = 0; j < n; ++j)
    if (trans == 'N') {
      const T from_x = alpha * x[j * incx];
      for (index i = 0; i < m; ++i) y[i * incy] += from_x * conjugate_if(conjugated, a(i, j));
    } else {
      T sum(0);
      for (index i = 0; i < m; ++i) sum += a(j, i) * x[i * incx];
      y[j * incy] += alpha * sum;
    }
}

template <class T>
void copy(index n, const T* x, index incx, T* y, index incy) {
  if (incx < 0) x += (1 - n) * incx;
  if (incy < 0) y += (1 - n) * incy;
  for (index i = 0; i < n; ++i) y[i * incy] = x[i * incx];
}

/// B := alpha op(A) B, or alpha B op(A), in an order in which what is read is still there.
template <class T>
void trmm(bool left, char uplo, char trans, bool unit, index m, index n, T alpha, const T* A, index lda, T* B,
          index ldb) {
  const Matrix<T> a{A, lda, trans};
  const index order = left ? m : n, step = left ? 1 : ldb;
  const bool backward = (uplo == 'L') == (left == (trans == 'N'));
  for (index j = 0; j < (left ? n : m); ++j) {
    T* const x = left ? B + j * ldb : B + j;
    for (index done = 0; done < order; ++done) {
      const index i = backward ? order - 1 - done : done;
      T sum = alpha == T(0) ? T(0) : unit ? x[i * step] : a(i, i) * x[i * step];
      for (index l = backward ? 0 : i + 1; alpha != T(0) && l < (backward ? i : order); ++l)
        sum += (left ? a(i, l) : a(l, i)) * x[l * step];
      x[i * step] = scaled(alpha, sum);
    }
  }
}

/// op(A) X = alpha B, or X op(A) = alpha B, by substitution.
template <class T>
void trsm(bool left, char uplo, char trans, bool unit, index m, index n, T alpha, const T* A, index lda, T* B,
          index ldb) {
  const Matrix<T> a{A, lda, trans};
  const index order = left ? m : n, step = left ? 1 : ldb;
  const bool forward = (uplo == 'L') == (left == (trans == 'N'));
  for (index j = 0; j < (left ? n : m); ++j) {
    T* const x = left ? B + j * ldb : B + j;
    for (index known = 0; known < order; ++known) {
      const index i = forward ? known : order - 1 - known;
      T sum = scaled(alpha, x[i * step]);
      for (index l = forward ? 0 : i + 1; alpha != T(0) && l < (forward ? i : order); ++l)
        sum -= (left ? a(i, l) : a(l, i)) * x[l * step];
      x[i * step] = unit || alpha == T(0) ? sum : sum / a(i, i);
    }
  }
}

/// A's factor in a triangle's place, or the number of the pivot that ended it.
template <class T>
index potrf(bool lower, index n, T* A, index lda) {
  const auto at = [&](index i, index j) -> T& { return lower ? A[i + j * lda] : A[j + i * lda]; };
  for (index j = 0; j < n; ++j) {
    Real<T> pivot = std::real(at(j, j));
    for (index k = 0; k < j; ++k) pivot -= std::norm(at(j, k));
    at(j, j) = T(pivot);
    if (!(pivot > 0)) return j + 1;
    at(j, j) = T(pivot = std::sqrt(pivot));
    for (index i = j + 1; i < n; ++i) {
      for (index k = 0; k < j; ++k) at(i, j) -= at(i, k) * conjugate(at(j, k));
      at(i, j) /= pivot;
    }
  }
  return 0;
}

/// A's factors in its place, or also the number of the first pivot that is zero.
template <class T, class Int>
index getrf(index m, index n, T* A, index lda, Int* ipiv) {
  const auto at = [&](index i, index j) -> T& { return A[i + j * lda]; };
  const auto size = [&](index i, index j) { return std::fabs(std::real(at(i, j))) + std::fabs(std::imag(at(i, j))); };
  index singular = 0;
  for (index k = 0; k < std::min(m, n); ++k) {
    index pivot = k;
    for (index i = k + 1; i < m; ++i)
      if (size(i, k) > size(pivot, k)) pivot = i;
    ipiv[k] = static_cast<Int>(pivot + 1);
    if (at(pivot, k) == T(0)) {
      if (!singular) singular = k + 1;
      continue;
    }
    for (index j = 0; pivot != k && j < n; ++j) std::swap(at(k, j), at(pivot, j));
    for (index i = k + 1; i < m; ++i) {
      at(i, k) /= at(k, k);
      for (index j = k + 1; j < n; ++j) at(i, j) -= at(i, k) * at(k, j);
    }
  }
  return singular;
}

/// By getrf's factors.
template <class T, class Int>
void getrs(char trans, index n, index nrhs, const T* A, index lda, const Int* ipiv, T* B, index ldb) {
  const bool plain = trans == 'N';
  const auto exchange = [&](index i) {
    for (index j = 0; j < nrhs; ++j) std::swap(B[i + j * ldb], B[ipiv[i] - 1 + j * ldb]);
  };
  for (index i = 0; plain && i < n; ++i) exchange(i);
  trsm<T>(true, plain ? 'L' : 'U', trans, plain, n, nrhs, T(1), A, lda, B, ldb);
  trsm<T>(true, plain ? 'U' : 'L', trans, !plain, n, nrhs, T(1), A, lda, B, ldb);
  for (index i = n; !plain && i-- > 0;) exchange(i);
}

/// By potrf's factor.
template <class T>
void potrs(char uplo, index n, index nrhs, const T* A, index lda, T* B, index ldb) {
  const char adjoint = complex<T> ? 'C' : 'T';
  for (const bool lower : {true, false})
    trsm<T>(true, uplo, lower == (uplo == 'L') ? 'N' : adjoint, false, n, nrhs, T(1), A, lda, B, ldb);
}

/// The number of the first zero on the diagonal, or 0.
template <class T>
index first_zero(index n, const T* A, index lda) {
  for (index i = 0; i < n; ++i)
    if (A[i * (lda + 1)] == T(0)) return i + 1;
  return 0;
}

/// A triangular matrix' inverse in its place, column after column: of L the last ones first.
template <class T>
void trtri(bool lower, bool unit, index n, T* A, index lda) {
  const auto at = [&](index i, index j) -> T& { return A[i + j * lda]; };
  for (index known = 0; known < n; ++known) {
    const index j = lower ? n - 1 - known : known, first = lower ? j + 1 : 0, end = lower ? n : j;
    const T pivot = unit ? T(1) : T(1) / at(j, j);
    if (!unit) at(j, j) = pivot;
    // The inverse of what comes before, times the column; in an order in which the column's elements are still there.
    for (index step = 0; step < end - first; ++step) {
      const index i = lower ? end - 1 - step : first + step;
      T sum = (unit ? T(1) : at(i, i)) * at(i, j);
      for (index k = lower ? first : i + 1; k < (lower ? i : end); ++k) sum += at(i, k) * at(k, j);
      at(i, j) = -sum * pivot;
    }
  }
}

/// L^H L, or U U^H, in the factor's place.
template <class T>
void lauum(bool lower, index n, T* A, index lda) {
  const auto at = [&](index i, index j) -> T& { return A[i + j * lda]; };
  for (index i = 0; i < n; ++i)
    for (index j = 0; j <= i; ++j) {
      T sum(0);
      for (index k = i; k < n; ++k) sum += lower ? conjugate(at(k, i)) * at(k, j) : at(j, k) * conjugate(at(i, k));
      (lower ? at(i, j) : at(j, i)) = i == j ? T(std::real(sum)) : sum;
    }
}

/// A's inverse in its factors' place: inv(A) L = inv(U), from the last column on, and then columns exchanged.
template <class T, class Int>
void getri(index n, T* A, index lda, const Int* ipiv, T* column) {
  const auto at = [&](index i, index j) -> T& { return A[i + j * lda]; };
  trtri(false, false, n, A, lda);
  for (index j = n; j-- > 0;) {
    for (index i = j + 1; i < n; ++i) column[i] = at(i, j), at(i, j) = T(0);
    for (index k = j + 1; k < n; ++k)
      for (index i = 0; i < n; ++i) at(i, j) -= at(i, k) * column[k];
  }
  for (index j = n; j-- > 0;)
    for (index i = 0; ipiv[j] - 1 != j && i < n; ++i) std::swap(at(i, j), at(i, ipiv[j] - 1));
}

/// 1 / (|A| |A^-1|) with the factors of A, of the inverse column by column.
/// @param solve   void(T* x): x becomes A^-1 x, or its adjoint's
/// @param column  n elements, for whatever, and n more, for the largest of these columns
template <class T, class Solve>
Real<T> condition(index n, Real<T> norm, T* column, const Solve& solve) {
  if (n == 0) return 1;
  if (norm == 0) return 0;
  Real<T> largest = 0;
  for (index j = 0; j < n; ++j) {
    for (index i = 0; i < n; ++i) column[i] = T(i == j);
    solve(column);
    Real<T> sum = 0;
    for (index i = 0; i < n; ++i) sum += std::abs(column[i]);
    if (sum <= largest) continue;
    largest = sum;
    std::copy_n(column, n, column + n);
  }
  const Real<T> found = 1 / largest / norm;
  return found > 0 ? found : 0;  // of a singular matrix
}

/// A triangular matrix' 1-norm, or with `by_rows` its infinity norm; NaN if there is one.
template <class T>
Real<T> triangle_norm(bool by_rows, bool lower, bool unit, index n, const T* A, index lda) {
  Real<T> largest = 0;
  for (index line = 0; line < n; ++line) {
    Real<T> sum = unit ? 1 : 0;
    const bool to_end = lower != by_rows;
    for (index other = to_end ? line : 0; other < (to_end ? n : line + 1); ++other)
      if (!unit || other != line) sum += std::abs(by_rows ? A[line + other * lda] : A[other + line * lda]);
    if (largest < sum || std::isnan(sum)) largest = sum;
  }
  return largest;
}

/// Which of n eigenvalues in ascending order are asked for, from 0 on.
struct Asked {
  index first, count;
};

/// Jacobi's rotations, until nothing is left beside the diagonal; what is asked for of them begins w, and its vectors
/// Z, which may be A, if there is one.  False: no convergence, or no memory.
/// @param asked  Asked(const Real<T>* w): of all eigenvalues
template <class T, class Ask>
bool syevd(bool lower, index n, const T* A, index lda, Real<T>* w, T* Z, index ldz, const Ask& asked) {
  constexpr int most_sweeps = 60;
  const std::size_t size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  const std::unique_ptr<T[]> memory(new (std::nothrow) T[2 * size]());
  if (!memory) return false;
  const auto at = [&](index i, index j) -> T& { return memory[static_cast<std::size_t>(i + j * n)]; };
  T* const V = memory.get() + size;
  const auto rotate = [n](T* x, T* y, index step, Real<T> cosine, T sine) {
    for (index i = 0; i < n * step; i += step) {
      const T old = x[i];
      x[i] = cosine * old - conjugate(sine) * y[i];
      y[i] = sine * old + cosine * y[i];
    }
  };
  for (index j = 0; j < n; ++j) {
    V[j + j * n] = T(1);
    for (index i = 0; i < n; ++i)
      at(i, j) = i == j ? T(std::real(A[i + j * lda])) : (i > j) == lower ? A[i + j * lda] : conjugate(A[j + i * lda]);
  }
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < most_sweeps; ++sweep) {
    rotated = false;
    for (index q = 1; q < n; ++q)
      for (index p = 0; p < q; ++p) {
        const Real<T> off = std::abs(at(p, q)), a = std::real(at(p, p)), b = std::real(at(q, q));
        if (off <= std::numeric_limits<Real<T>>::epsilon() / 4 * std::max(std::fabs(a), std::fabs(b))) continue;
        rotated = true;
        const Real<T> slope = (b - a) / (2 * off),
                      tangent = 1 / (slope + std::copysign(std::hypot(slope, Real<T>(1)), slope)),
                      cosine = 1 / std::hypot(tangent, Real<T>(1));
        const T sine = tangent * cosine * (at(p, q) / off);
        rotate(&at(0, p), &at(0, q), 1, cosine, sine);
        rotate(&at(p, 0), &at(q, 0), n, cosine, conjugate(sine));
        at(p, q) = at(q, p) = T(0);
        rotate(V + p * n, V + q * n, 1, cosine, sine);
      }
  }
  for (index i = 0; i < n; ++i) {
    index least = i;
    for (index j = i + 1; j < n; ++j)
      if (std::real(at(j, j)) < std::real(at(least, least))) least = j;
    w[i] = std::real(at(least, least));
    std::swap(at(i, i), at(least, least));
    if (least != i) std::swap_ranges(V + i * n, V + (i + 1) * n, V + least * n);
  }
  const auto [first, count] = asked(w);
  if (first > 0) std::copy_n(w + first, count, w);
  for (index i = 0; Z && i < count; ++i) std::copy_n(V + (first + i) * n, n, Z + i * ldz);
  return !rotated;
}

/// Cholesky's L, also where U = L^H is stored.
template <class T>
struct CholeskyFactor {
  const T* B;
  const index ldb;
  const bool lower;
  T operator()(index i, index j) const { return lower ? B[i + j * ldb] : conjugate(B[j + i * ldb]); }
};

/// In A's triangle, with B's factor, the matrix of the standard problem that has the same eigenvalues.  1: no memory.
template <class T>
index sygst(index itype, bool lower, index n, T* A, index lda, const T* B, index ldb) {
  const std::unique_ptr<T[]> C(new (std::nothrow) T[static_cast<std::size_t>(n) * static_cast<std::size_t>(n)]());
  if (!C) return 1;
  const auto at = [&](index i, index j) -> T& { return C[static_cast<std::size_t>(i + j * n)]; };
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < n; ++i)
      at(i, j) = i == j ? T(std::real(A[i + j * lda])) : (i > j) == lower ? A[i + j * lda] : conjugate(A[j + i * lda]);
  const char uplo = lower ? 'L' : 'U', adjoint = complex<T> ? 'C' : 'T';
  if (itype == 1) {  // L^-1 A L^-H
    trsm<T>(true, uplo, lower ? 'N' : adjoint, false, n, n, T(1), B, ldb, C.get(), n);
    trsm<T>(false, uplo, lower ? adjoint : 'N', false, n, n, T(1), B, ldb, C.get(), n);
  } else {  // L^H A L: row by row, and column by column
    const CholeskyFactor<T> L{B, ldb, lower};
    for (index i = 0; i < n; ++i)
      for (index j = 0; j < n; ++j) {
        T sum(0);
        for (index k = j; k < n; ++k) sum += at(i, k) * L(k, j);
        at(i, j) = sum;
      }
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        T sum(0);
        for (index k = i; k < n; ++k) sum += conjugate(L(k, i)) * at(k, j);
        at(i, j) = sum;
      }
  }
  for (index j = 0; j < n; ++j)
    for (index i = lower ? j : 0; i < (lower ? n : j + 1); ++i)
      A[i + j * lda] = i == j ? T(std::real(at(i, j))) : at(i, j);
  return 0;
}

/// The same with B's factor made first, in its place.  Or above n, where potrf has ended.
template <class T>
index to_standard(index itype, bool lower, index n, T* A, index lda, T* B, index ldb) {
  if (const index pivot = potrf<T>(lower, n, B, ldb)) return n + pivot;
  return sygst<T>(itype, lower, n, A, lda, B, ldb);
}

/// Of that one's vectors, those of the problem: L^-H y or, of the third type, L y.
template <class T>
void to_generalized(index itype, bool lower, index n, index count, const T* B, index ldb, T* Z, index ldz) {
  if (itype < 3)
    return trsm<T>(true, lower ? 'L' : 'U',
                   !lower       ? 'N'
                   : complex<T> ? 'C'
                                : 'T',
                   false, n, count, T(1), B, ldb, Z, ldz);
  const CholeskyFactor<T> L{B, ldb, lower};
  for (index j = 0; j < count; ++j)
    for (index i = n; i-- > 0;) {
      T sum(0);
      for (index k = 0; k <= i; ++k) sum += L(i, k) * Z[k + j * ldz];
      Z[i + j * ldz] = sum;
    }
}

/// The first of two things for real elements, the other one for complex ones.
template <class T, class OfReal, class OfComplex>
constexpr auto by_type(OfReal of_real, OfComplex of_complex) {
  if constexpr (complex<T>)
    return of_complex;
  else
    return of_real;
}

/// The length of a vector, without over- or underflow on the way.
template <class T>
Real<T> norm(index n, const T* x) {
  Real<T> scale = 0, sum = 1;
  const auto add = [&](Real<T> part) {
    const Real<T> a = std::abs(part);
    if (a == 0) return;
    if (!(scale >= a)) {
      sum = 1 + sum * (scale / a) * (scale / a);
      scale = a;
    } else {
      sum += (a / scale) * (a / scale);
    }
  };
  for (index i = 0; i < n; ++i) {
    add(std::real(x[i]));
    if constexpr (complex<T>) add(std::imag(x[i]));
  }
  return scale * std::sqrt(sum);
}

/// H' (alpha; x) = (beta; 0): x becomes the reflector behind its 1, alpha beta.  As larfg, scaled up where it is tiny.
template <class T>
T reflector(index n, T& alpha, T* x) {
  using R = Real<T>;
  R length = norm(n - 1, x);
  if (n <= 0 || (length == 0 && std::imag(alpha) == 0)) return T(0);
  const auto beta_of = [&] {
    const T all[] = {alpha, T(length)};
    return -std::copysign(norm<T>(2, all), std::real(alpha));
  };
  R beta = beta_of();
  constexpr R safe = std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon();
  int scaled_up = 0;
  for (; std::abs(beta) < safe && scaled_up < 20; ++scaled_up) {
    for (index i = 0; i < n - 1; ++i) x[i] *= 1 / safe;
    alpha *= 1 / safe;
    beta *= 1 / safe;
  }
  if (scaled_up) {
    length = norm(n - 1, x);
    beta = beta_of();
  }
  T tau;
  if constexpr (complex<T>)
    tau = T((beta - std::real(alpha)) / beta, -std::imag(alpha) / beta);
  else
    tau = (beta - alpha) / beta;
  const T factor = T(1) / (alpha - T(beta));
  for (index i = 0; i < n - 1; ++i) x[i] *= factor;
  for (; scaled_up > 0; --scaled_up) beta *= safe;
  alpha = T(beta);
  return tau;
}

/// C := (I - tau v v') C, or C (I - tau v v'), where v is 1 and what stands at `v`.
template <class T>
void reflect(bool left, index m, index n, const T* v, T tau, T* C, index ldc) {
  if (tau == T(0)) return;
  const auto element = [v](index i) { return i == 0 ? T(1) : v[i]; };
  if (left) {
    for (index j = 0; j < n; ++j) {
      T* c = C + j * ldc;
      T sum(0);
      for (index i = 0; i < m; ++i) sum += conjugate(element(i)) * c[i];
      for (index i = 0; i < m; ++i) c[i] -= tau * element(i) * sum;
    }
  } else {
    for (index i = 0; i < m; ++i) {
      T sum(0);
      for (index j = 0; j < n; ++j) sum += C[i + j * ldc] * element(j);
      for (index j = 0; j < n; ++j) C[i + j * ldc] -= tau * sum * conjugate(element(j));
    }
  }
}

template <class T>
void geqr2(index m, index n, T* A, index lda, T* tau) {
  for (index j = 0; j < std::min(m, n); ++j) {
    T* column = A + j + j * lda;
    tau[j] = reflector(m - j, *column, column + 1);
    reflect(true, m - j, n - j - 1, column, conjugate(tau[j]), column + lda, lda);
  }
}

/// By rows, as xGELQ2; false: no memory.
template <class T>
bool gelq2(index m, index n, T* A, index lda, T* tau) {
  const std::unique_ptr<T[]> row(new (std::nothrow) T[static_cast<std::size_t>(n)]);
  for (index i = 0; row && i < std::min(m, n); ++i) {
    T* const first = A + i + i * lda;
    for (index j = 0; j < n - i; ++j) row[j] = conjugate(first[j * lda]);
    tau[i] = reflector(n - i, row[0], row.get() + 1);
    reflect(false, m - i - 1, n - i, row.get(), tau[i], first + 1, lda);
    for (index j = 0; j < n - i; ++j) first[j * lda] = conjugate(row[j]);
  }
  return row != nullptr;
}

/// With pivoting: columns that are not zero in jpvt come first.
template <class T, class Int>
void geqp2(index m, index n, T* A, index lda, Int* jpvt, T* tau) {
  const auto exchange = [&](index i, index j) {
    if (i == j) return;
    std::swap_ranges(A + i * lda, A + i * lda + m, A + j * lda);
    std::swap(jpvt[i], jpvt[j]);
  };
  index first = 0;
  for (index j = 0; j < n; ++j) {
    const bool comes_first = jpvt[j] != 0;
    jpvt[j] = static_cast<Int>(j + 1);
    if (comes_first) exchange(first++, j);
  }
  for (index j = 0; j < std::min(m, n); ++j) {
    index longest = j;
    Real<T> length = -1;
    for (index q = j; j >= first && q < n; ++q)
      if (const Real<T> its = norm(m - j, A + j + q * lda); its > length) longest = q, length = its;
    exchange(j, longest);
    T* const column = A + j + j * lda;
    tau[j] = reflector(m - j, *column, column + 1);
    reflect(true, m - j, n - j - 1, column, conjugate(tau[j]), column + lda, lda);
  }
}

/// @param row  max(1, n) elements, for whatever
template <class T>
void gebd2(index m, index n, T* A, index lda, Real<T>* d, Real<T>* e, T* tauq, T* taup, T* row) {
  const auto at = [&](index i, index j) { return A + i + j * lda; };
  // What is below (i, j) in its column, or right of it in its row, becomes a reflector; what follows it is reflected.
  const auto by_column = [&](index i, index j, T& tau) {
    tau = reflector(m - i, *at(i, j), at(i, j) + 1);
    reflect(true, m - i, n - j - 1, at(i, j), conjugate(tau), at(i, j) + lda, lda);
    return std::real(*at(i, j));
  };
  const auto by_row = [&](index i, index j, T& tau) {
    for (index k = j; k < n; ++k) row[k - j] = conjugate(*at(i, k));
    tau = reflector(n - j, *row, row + 1);
    reflect(false, m - i - 1, n - j, row, tau, at(i, j) + 1, lda);
    for (index k = j; k < n; ++k) *at(i, k) = conjugate(row[k - j]);
    return std::real(*row);
  };
  const index count = std::min(m, n);
  for (index i = 0; i < count; ++i) {
    const bool last = i + 1 == count;
    T& beside = m >= n ? taup[i] : tauq[i];
    d[i] = m >= n ? by_column(i, i, tauq[i]) : by_row(i, i, taup[i]);
    if (last)
      beside = T(0);
    else
      e[i] = m >= n ? by_row(i, i + 1, beside) : by_column(i + 1, i, beside);
  }
}

/// As xSYTD2, of an upper triangle with rows and columns in reverse.
/// @param tau  n - 1 elements, for whatever until they are there
template <class T>
void sytd2(bool lower, index n, T* A, index lda, Real<T>* d, Real<T>* e, T* tau) {
  const auto turned = [&](index i) { return lower ? i : n - 1 - i; };
  const auto at = [&](index i, index j) -> T& { return A[turned(i) + turned(j) * lda]; };  // i >= j
  for (index i = 0; i < n; ++i) at(i, i) = T(std::real(at(i, i)));
  for (index j = 0; j < n; ++j) {
    d[turned(j)] = std::real(at(j, j));
    if (j + 1 == n) break;
    const index next = lower ? j : n - 2 - j, count = n - j - 1;
    const auto rest = [&](index k, index l) {
      return k >= l ? at(j + 1 + k, j + 1 + l) : conjugate(at(j + 1 + l, j + 1 + k));
    };
    const auto v = [&](index k) -> T& { return at(j + 1 + k, j); };
    const auto w = [&](index k) -> T& { return tau[lower ? next + k : next - k]; };
    const T factor = reflector(count, v(0), lower ? &v(0) + 1 : &v(count - 1));
    e[next] = std::real(v(0));
    v(0) = T(1);
    T half(0);
    for (index k = 0; k < count; ++k) {
      T sum(0);
      for (index l = 0; l < count; ++l) sum += rest(k, l) * v(l);
      w(k) = factor * sum;
      half += conjugate(w(k)) * v(k);
    }
    half *= factor / Real<T>(2);
    for (index k = 0; k < count; ++k) w(k) -= half * v(k);
    for (index k = 0; k < count; ++k) {
      for (index l = 0; l <= k; ++l) at(j + 1 + k, j + 1 + l) -= v(k) * conjugate(w(l)) + w(k) * conjugate(v(l));
      at(j + 1 + k, j + 1 + k) = T(std::real(at(j + 1 + k, j + 1 + k)));
    }
    v(0) = T(e[next]);
    tau[next] = factor;
  }
}

template <class T>
void gehd2(index n, index ilo, index ihi, T* A, index lda, T* tau) {
  std::fill_n(tau, std::max<index>(0, n - 1), T(0));
  for (index j = ilo - 1; j + 1 < ihi; ++j) {
    const index count = ihi - j - 1;
    T* const column = A + j + 1 + j * lda;
    tau[j] = reflector(count, *column, column + 1);
    reflect(false, ihi, count, column, tau[j], A + (j + 1) * lda, lda);
    reflect(true, count, n - j - 1, column, conjugate(tau[j]), column + lda, lda);
  }
}

template <class T>
void ormqr(bool left, bool adjoint, index m, index n, index k, const T* A, index lda, const T* tau, T* C, index ldc) {
  const bool forwards = left == adjoint;
  for (index step = 0; step < k; ++step) {
    const index i = forwards ? step : k - 1 - step;
    const T t = adjoint ? conjugate(tau[i]) : tau[i];
    reflect(left, left ? m - i : m, left ? n : n - i, A + i + i * lda, t, left ? C + i : C + i * ldc, ldc);
  }
}

template <class T>
void orgqr(index m, index n, index k, T* A, index lda, const T* tau) {
  for (index j = k; j < n; ++j)
    for (index i = 0; i < m; ++i) A[i + j * lda] = T(i == j ? 1 : 0);
  for (index j = k - 1; j >= 0; --j) {
    T* column = A + j + j * lda;
    reflect(true, m - j, n - j - 1, column, tau[j], column + lda, lda);
    for (index i = 1; i < m - j; ++i) column[i] *= -tau[j];
    *column = T(1) - tau[j];
    for (index i = 0; i < j; ++i) A[i + j * lda] = T(0);
  }
}

/// Reflectors as QL's (`last`: of the i-th the unit is in row i, and what follows it is zero) or LQ's (rows,
/// conjugate).
template <class T>
struct OtherReflectors {
  bool last;
  index order;
  const T* A;  ///< of QL's the first one's column
  index lda;

  index begin(index i) const { return last ? 0 : i; }
  index end(index i) const { return last ? i + 1 : order; }
  T at(index i, index row) const { return row == i ? T(1) : last ? A[row + i * lda] : conjugate(A[i + row * lda]); }
  /// C := (I - tau v v') C, or C (I - tau v v').
  void reflect(bool left, index i, T tau, index length, T* C, index ldc) const {
    const index down = left ? 1 : ldc, across = left ? ldc : 1;
    for (index j = 0; j < length; ++j) {
      T* const c = C + j * across;
      T sum(0);
      for (index r = begin(i); r < end(i); ++r) sum += (left ? conjugate(at(i, r)) : at(i, r)) * c[r * down];
      for (index r = begin(i); r < end(i); ++r) c[r * down] -= tau * sum * (left ? at(i, r) : conjugate(at(i, r)));
    }
  }
};

/// With Q = H(k) ... H(1) of QL's reflectors, and H(1) ... H(k) of LQ's, which is gebrd's P.
template <class T>
void multiply_other(const OtherReflectors<T>& q, bool left, bool adjoint, index length, index k, const T* tau, T* C,
                    index ldc) {
  const bool forwards = (left == adjoint) != q.last;
  for (index step = 0; step < k; ++step) {
    const index i = forwards ? step : k - 1 - step;
    q.reflect(left, i, adjoint ? conjugate(tau[i]) : tau[i], length, C, ldc);
  }
}

/// Q of so many reflectors in the rows and columns behind number `first`, where the first one's column is; elsewhere an
/// identity's elements.
template <class T>
void orgqr_behind(index n, index first, index size, T* A, index lda, const T* tau) {
  const index begin = first + 1, end = begin + size;
  for (index j = end - 1; j >= begin; --j)
    for (index i = j + 1; i < end; ++i) A[i + j * lda] = A[i + (j - 1) * lda];
  const auto inside = [&](index i) { return i >= begin && i < end; };
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < n; ++i)
      if (!inside(i) || !inside(j)) A[i + j * lda] = T(i == j ? 1 : 0);
  if (size > 0) orgqr<T>(size, size, size, A + begin + begin * lda, lda, tau);
}

/// Q of order n - 1 in A's first rows and columns: of QL's reflectors that begin in A's second column.
template <class T>
void orgql_before(index n, T* A, index lda, const T* tau) {
  for (index i = 0; i < n; ++i) {
    for (index j = 0; j < n - 1; ++j)
      if (i < j) A[i + j * lda] = A[i + (j + 1) * lda];
    A[i + (n - 1) * lda] = A[n - 1 + i * lda] = T(i == n - 1 ? 1 : 0);
  }
  for (index i = 0; i < n - 1; ++i) {
    T* const column = A + i * lda;
    OtherReflectors<T>{true, n - 1, A, lda}.reflect(true, i, tau[i], i, A, lda);
    for (index r = 0; r < i; ++r) column[r] *= -tau[i];
    column[i] = T(1) - tau[i];
    for (index r = i + 1; r < n - 1; ++r) column[r] = T(0);
  }
}

/// The first m rows of P^H, of k reflectors in A's rows.
template <class T>
void orglq(index m, index n, index k, T* A, index lda, const T* tau) {
  const OtherReflectors<T> p{false, n, A, lda};
  for (index j = 0; j < n; ++j)
    for (index i = k; i < m; ++i) A[i + j * lda] = T(i == j ? 1 : 0);
  for (index i = k - 1; i >= 0; --i) {
    p.reflect(false, i, conjugate(tau[i]), m - i - 1, A + i + 1, lda);
    for (index j = i + 1; j < n; ++j) A[i + j * lda] *= -conjugate(tau[i]);
    A[i + i * lda] = T(1) - conjugate(tau[i]);
    for (index j = 0; j < i; ++j) A[i + j * lda] = T(0);
  }
}

/// X of least norm in B's place by A's singular values, of which those up to `rcond` times the largest count as zeros;
/// s and, where it is not null, V^H become A's.  Below X, where A has more rows, is what no x changes of B, in other
/// coordinates.  The rank, or -1: no convergence, or no memory.
template <class T>
index least_squares(index m, index n, index nrhs, const T* A, index lda, T* B, index ldb, Real<T>* s, Real<T> rcond,
                    T* VT, index ldvt) {
  const index k = std::min(m, n), longer = std::max(m, n);
  const bool whole = m > n;
  const std::unique_ptr<T[]> memory(new (std::nothrow) T[JacobiSvd<T>::elements(m, n, whole)]),
      column(new (std::nothrow) T[static_cast<std::size_t>(longer)]);
  if (!memory || !column) return -1;
  JacobiSvd<T> found(m, n, whole, memory.get());
  if (!found.run(A, lda)) return -1;
  for (index i = 0; i < k; ++i) s[i] = found.s(i);
  const Real<T> least = std::max(rcond * s[0], std::numeric_limits<Real<T>>::min());
  index rank = 0;
  while (rank < k && s[rank] > least) ++rank;
  for (index j = 0; j < nrhs; ++j) {
    T* const b = B + j * ldb;
    for (index q = 0; q < (whole ? m : k); ++q) {
      column[q] = T(0);
      for (index i = 0; i < m; ++i) column[q] += conjugate(found.u(i, q)) * b[i];
    }
    for (index i = 0; i < n; ++i) {
      b[i] = T(0);
      for (index q = 0; q < rank; ++q) b[i] += conjugate(found.vt(q, i)) * (column[q] / s[q]);
    }
    for (index q = n; q < m; ++q) b[q] = rank > 0 ? column[q] : T(0);  // of zeros LAPACK makes zeros
  }
  for (index i = 0; VT && i < k; ++i)
    for (index j = 0; j < n; ++j) VT[i + j * ldvt] = found.vt(i, j);
  return rank;
}

/// The same by a QR with pivoting of A: the rank is of its leading columns, whose condition is better than 1 / rcond.
template <class T, class Int>
index pivoted_least_squares(index m, index n, index nrhs, T* A, index lda, T* B, index ldb, Int* jpvt, Real<T> rcond) {
  const index k = std::min(m, n), longer = std::max(m, n);
  const auto elements = [](index x, index y) { return static_cast<std::size_t>(x) * static_cast<std::size_t>(y); };
  const std::unique_ptr<T[]> copy(new (std::nothrow) T[elements(k, n)]),
      x(new (std::nothrow) T[elements(longer, nrhs)]), tau(new (std::nothrow) T[static_cast<std::size_t>(k)]);
  const std::unique_ptr<Real<T>[]> s(new (std::nothrow) Real<T>[static_cast<std::size_t>(k)]);
  if (!copy || !x || !tau || !s) return -1;
  geqp2<T>(m, n, A, lda, jpvt, tau.get());
  ormqr<T>(true, true, m, nrhs, k, A, lda, tau.get(), B, ldb);
  /// R's first rows, and as many of its columns.
  const auto take = [&](index rows, index cols) {
    for (index j = 0; j < cols; ++j)
      for (index i = 0; i < rows; ++i)
        copy[elements(rows, j) + static_cast<std::size_t>(i)] = i <= j ? A[i + j * lda] : T(0);
  };
  index rank = 0, too_many = k + 1;
  while (rank + 1 < too_many) {
    const index tried = (rank + too_many) / 2;
    take(tried, tried);
    if (least_squares<T>(tried, tried, 0, copy.get(), tried, nullptr, 1, s.get(), 0, nullptr, 1) < 0) return -1;
    (s[tried - 1] > 0 && s[tried - 1] >= rcond * s[0] ? rank : too_many) = tried;
  }
  for (index j = 0; j < nrhs; ++j) {
    std::copy_n(B + j * ldb, rank, x.get() + j * longer);
    if (rank == 0) std::fill_n(B + j * ldb, longer, T(0));
  }
  if (rank == 0) return 0;
  take(rank, n);
  if (least_squares<T>(rank, n, nrhs, copy.get(), rank, x.get(), longer, s.get(), 0, nullptr, 1) < 0) return -1;
  for (index j = 0; j < nrhs; ++j)
    for (index i = 0; i < n; ++i) B[jpvt[i] - 1 + j * ldb] = x[elements(longer, j) + static_cast<std::size_t>(i)];
  return rank;
}

/// The same of full rank; with A^H if `adjoint`.  The number of the first zero on R's diagonal, or on L's, from 1 on.
/// @param tau  min(m, n) elements
template <class T>
index gels(bool adjoint, index m, index n, index nrhs, T* A, index lda, T* B, index ldb, T* tau) {
  const index k = std::min(m, n), rows = std::max(m, n);
  if (k == 0 || nrhs == 0) {
    for (index j = 0; j < nrhs; ++j) std::fill_n(B + j * ldb, rows, T(0));
    return 0;
  }
  const bool wide = m < n, solves_first = adjoint != wide;  // with R^H, before Q; of a wide A the adjoint is factored
  const std::unique_ptr<T[]> memory(new (std::nothrow) T[static_cast<std::size_t>(wide ? rows * k : 0)]);
  if (!memory) return 1;
  T* const Q = wide ? memory.get() : A;
  const index ldq = wide ? rows : lda;
  for (index j = 0; wide && j < k; ++j)
    for (index i = 0; i < rows; ++i) Q[i + j * ldq] = conjugate(A[j + i * lda]);
  geqr2<T>(rows, k, Q, ldq, tau);
  for (index j = 0; wide && j < k; ++j)
    for (index i = 0; i < rows; ++i) A[j + i * lda] = conjugate(Q[i + j * ldq]);
  if (!solves_first) ormqr<T>(true, true, rows, nrhs, k, Q, ldq, tau, B, ldb);
  for (index i = 0; i < k; ++i)
    if (Q[i * (ldq + 1)] == T(0)) return i + 1;
  trsm<T>(true, 'U', solves_first ? 'C' : 'N', false, k, nrhs, T(1), Q, ldq, B, ldb);
  if (!solves_first) return 0;
  for (index j = 0; j < nrhs; ++j) std::fill_n(B + k + j * ldb, rows - k, T(0));
  ormqr<T>(true, false, rows, nrhs, k, Q, ldq, tau, B, ldb);
  return 0;
}

/// The program's xerbla, if it has one; what the reference's says, if not, but not its end of the program.
void refuse(const char* routine, int position) {
  using Xerbla = void (*)(const char*, const std::int64_t*, std::size_t);
  const std::int64_t which = position;
  char name[24];
  std::size_t length = 0;
  for (; routine[length] && length < sizeof name; ++length)
    name[length] = static_cast<char>(std::toupper(static_cast<unsigned char>(routine[length])));
  if (void* its = dlsym(RTLD_DEFAULT, "xerbla_")) return reinterpret_cast<Xerbla>(its)(name, &which, length);
  std::fprintf(stderr, " ** On entry to %.*s parameter number %2d had an illegal value\n", static_cast<int>(length),
               name, position);
}

/// The first argument that the reference refuses, or 0.
int first_wrong(std::initializer_list<std::pair<bool, int>> checks) {
  for (const auto& [right, position] : checks)
    if (!right) return position;
  return 0;
}

int wrong_in_gemm(char ta, char tb, index m, index n, index k, index lda, index ldb, index ldc) {
  return first_wrong({{is_op(ta), 1},
                      {is_op(tb), 2},
                      {m >= 0, 3},
                      {n >= 0, 4},
                      {k >= 0, 5},
                      {lda >= std::max<index>(1, ta == 'N' ? m : k), 8},
                      {ldb >= std::max<index>(1, tb == 'N' ? k : n), 10},
                      {ldc >= std::max<index>(1, m), 13}});
}

int wrong_in_gemm_batch(char ta, char tb, index m, index n, index k, index lda, index ldb, index ldc, index count) {
  // As in gemm, with strides between.
  constexpr int with_strides[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 13, 14, 15};
  if (const int wrong = wrong_in_gemm(ta, tb, m, n, k, lda, ldb, ldc)) return with_strides[wrong];
  return count >= 0 ? 0 : 17;
}

/// Batches whose matrices begin where arrays say, or which argument is wrong.
/// @param ta, tb  char(index group)
template <class T, class Int, class Letter>
int gemm_groups(LibraryGemm by, const Letter& ta, const Letter& tb, const Int* m, const Int* n, const Int* k,
                const T* alpha, const T* const* A, const Int* lda, const T* const* B, const Int* ldb, const T* beta,
                T* const* C, const Int* ldc, index groups, const Int* sizes) {
  if (groups < 0) return 14;
  for (index g = 0; g < groups; ++g) {
    if (const int wrong = wrong_in_gemm(ta(g), tb(g), m[g], n[g], k[g], lda[g], ldb[g], ldc[g])) return wrong;
    if (sizes[g] < 0) return 15;
  }
  for (index g = 0, first = 0; g < groups; first += sizes[g++]) {
    const bool reads = alpha[g] != T(0) && k[g] > 0;
    for (index i = first; i < first + sizes[g] && m[g] > 0 && n[g] > 0; ++i)
      gemm_batch<T>(by, ta(g), tb(g), m[g], n[g], reads ? k[g] : Int{0}, alpha[g], reads ? A[i] : C[i], lda[g], 0,
                    reads ? B[i] : C[i], ldb[g], 0, beta[g], C[i], ldc[g], 0, 1);
  }
  return 0;
}

int wrong_in_gemmt(char uplo, char ta, char tb, index n, index k, index lda, index ldb, index ldc) {
  return first_wrong({{uplo == 'U' || uplo == 'L', 1},
                      {is_op(ta), 2},
                      {is_op(tb), 3},
                      {n >= 0, 4},
                      {k >= 0, 5},
                      {lda >= std::max<index>(1, ta == 'N' ? n : k), 8},
                      {ldb >= std::max<index>(1, tb == 'N' ? k : n), 10},
                      {ldc >= std::max<index>(1, n), 13}});
}

template <class T>
bool is_syrk_op(char trans, bool hermitian) {
  return trans == 'N' || (hermitian ? trans == 'C' : trans == 'T' || (!complex<T> && trans == 'C'));
}

template <class T>
int wrong_in_syrk(char uplo, char trans, bool hermitian, index n, index k, index lda, index ldc) {
  return first_wrong({{uplo == 'U' || uplo == 'L', 1},
                      {is_syrk_op<T>(trans, hermitian), 2},
                      {n >= 0, 3},
                      {k >= 0, 4},
                      {lda >= std::max<index>(1, trans == 'N' ? n : k), 7},
                      {ldc >= std::max<index>(1, n), 10}});
}

template <class T>
int wrong_in_syr2k(char uplo, char trans, bool hermitian, index n, index k, index lda, index ldb, index ldc) {
  const index rows = std::max<index>(1, trans == 'N' ? n : k);
  return first_wrong({{uplo == 'U' || uplo == 'L', 1},
                      {is_syrk_op<T>(trans, hermitian), 2},
                      {n >= 0, 3},
                      {k >= 0, 4},
                      {lda >= rows, 7},
                      {ldb >= rows, 9},
                      {ldc >= std::max<index>(1, n), 12}});
}

int wrong_in_symm(char side, char uplo, index m, index n, index lda, index ldb, index ldc) {
  return first_wrong({{side == 'L' || side == 'R', 1},
                      {uplo == 'U' || uplo == 'L', 2},
                      {m >= 0, 3},
                      {n >= 0, 4},
                      {lda >= std::max<index>(1, side == 'L' ? m : n), 7},
                      {ldb >= std::max<index>(1, m), 9},
                      {ldc >= std::max<index>(1, m), 12}});
}

/// Also of trmm.
int wrong_in_trsm(char side, char uplo, char trans, char diag, index m, index n, index lda, index ldb) {
  return first_wrong({{side == 'L' || side == 'R', 1},
                      {uplo == 'U' || uplo == 'L', 2},
                      {is_op(trans), 3},
                      {diag == 'N' || diag == 'U', 4},
                      {m >= 0, 5},
                      {n >= 0, 6},
                      {lda >= std::max<index>(1, side == 'L' ? m : n), 9},
                      {ldb >= std::max<index>(1, m), 11}});
}

int wrong_in_symv(char uplo, index n, index lda, index incx, index incy) {
  return first_wrong({{uplo == 'U' || uplo == 'L', 1},
                      {n >= 0, 2},
                      {lda >= std::max<index>(1, n), 5},
                      {incx != 0, 7},
                      {incy != 0, 10}});
}

int wrong_in_gemv(char trans, index m, index n, index lda, index incx, index incy) {
  return first_wrong({{is_op(trans), 1},
                      {m >= 0, 2},
                      {n >= 0, 3},
                      {lda >= std::max<index>(1, m), 6},
                      {incx != 0, 8},
                      {incy != 0, 11}});
}

constinit std::atomic<FindGemm> find_gemm{nullptr};

/// What the loops of a batch are made of: of the same set of names, or nearly so.
template <Routine routine, class Int>
LibraryGemm gemm_underneath() {
  constexpr Width width = std::is_same_v<Int, std::int64_t> ? Width::wide : Width::probed;
  constexpr Symbol gemm = [] {
    for (int s = 0; s < symbol_count; ++s) {
      const SymbolInfo& x = symbol_table[s];
      if (x.routine == products_of(routine) && x.interface == Interface::fortran && x.width == width && !*x.prefix)
        return static_cast<Symbol>(s);
    }
    return Symbol::count;
  }();
  const FindGemm find = find_gemm.load(std::memory_order_acquire);
  return find ? find(gemm) : LibraryGemm{};
}

// ---------------------------------------------------------------------------------------------------------------
// Fortran's interface

template <Routine routine>
constexpr const char* name_of = routine_names[static_cast<int>(routine)];

/// Of an element type and integers.  What has to know its routine's name is a template by itself: this way all that is
/// declared here is so eight times, not once for every routine.
template <class T, class Int>
struct Fortran {
  template <Routine routine>
  static void gemm(const char* transa, const char* transb, const Int* m, const Int* n, const Int* k, const T* alpha,
                   const T* A, const Int* lda, const T* B, const Int* ldb, const T* beta, T* C, const Int* ldc) {
    const char ta = letter(transa), tb = letter(transb);
    if (const int wrong = wrong_in_gemm(ta, tb, *m, *n, *k, *lda, *ldb, *ldc)) return refuse(name_of<routine>, wrong);
    blaslift::gemm<T>(ta, tb, *m, *n, *k, *alpha, A, *lda, B, *ldb, *beta, C, *ldc);
  }

  template <Routine routine>
  static void gemm_batch(const char* transa, const char* transb, const Int* m, const Int* n, const Int* k,
                         const T* alpha, const T* const* A, const Int* lda, const T* const* B, const Int* ldb,
                         const T* beta, T* const* C, const Int* ldc, const Int* groups, const Int* sizes) {
    const auto of = [](const char* all) { return [all](index g) { return letter(all + g); }; };
    if (const int wrong = gemm_groups<T>(gemm_underneath<routine, Int>(), of(transa), of(transb), m, n, k, alpha, A,
                                         lda, B, ldb, beta, C, ldc, *groups, sizes))
      refuse(name_of<routine>, wrong);
  }

  template <Routine routine>
  static void gemm_batch_strided(const char* transa, const char* transb, const Int* m, const Int* n, const Int* k,
                                 const T* alpha, const T* A, const Int* lda, const Int* stride_a, const T* B,
                                 const Int* ldb, const Int* stride_b, const T* beta, T* C, const Int* ldc,
                                 const Int* stride_c, const Int* count) {
    const char ta = letter(transa), tb = letter(transb);
    if (const int wrong = wrong_in_gemm_batch(ta, tb, *m, *n, *k, *lda, *ldb, *ldc, *count))
      return refuse(name_of<routine>, wrong);
    blaslift::gemm_batch<T>(gemm_underneath<routine, Int>(), ta, tb, *m, *n, *k, *alpha, A, *lda, *stride_a, B, *ldb,
                            *stride_b, *beta, C, *ldc, *stride_c, *count);
  }

  /// Three products in place of four are a matter of speed.
  template <Routine routine>
  static constexpr auto gemm3m = gemm<routine>;
  template <Routine routine>
  static void gemmt(const char* u, const char* transa, const char* transb, const Int* n, const Int* k, const T* alpha,
                    const T* A, const Int* lda, const T* B, const Int* ldb, const T* beta, T* C, const Int* ldc) {
    const char uplo = letter(u), ta = letter(transa), tb = letter(transb);
    if (const int wrong = wrong_in_gemmt(uplo, ta, tb, *n, *k, *lda, *ldb, *ldc))
      return refuse(name_of<routine>, wrong);
    blaslift::gemmt<T>(uplo, ta, tb, *n, *k, *alpha, A, *lda, B, *ldb, *beta, C, *ldc);
  }

  template <Routine routine, class Scalar>
  static void ranked(bool hermitian, const char* u, const char* t, const Int* n, const Int* k, const Scalar* alpha,
                     const T* A, const Int* lda, const Scalar* beta, T* C, const Int* ldc) {
    const char uplo = letter(u), trans = letter(t);
    if (const int wrong = wrong_in_syrk<T>(uplo, trans, hermitian, *n, *k, *lda, *ldc))
      return refuse(name_of<routine>, wrong);
    blaslift::syrk<T>(uplo, trans, hermitian, *n, *k, T(*alpha), A, *lda, T(*beta), C, *ldc);
  }
  template <Routine routine>
  static void syrk(const char* uplo, const char* trans, const Int* n, const Int* k, const T* alpha, const T* A,
                   const Int* lda, const T* beta, T* C, const Int* ldc) {
    ranked<routine>(false, uplo, trans, n, k, alpha, A, lda, beta, C, ldc);
  }
  template <Routine routine>
  static void herk(const char* uplo, const char* trans, const Int* n, const Int* k, const Real<T>* alpha, const T* A,
                   const Int* lda, const Real<T>* beta, T* C, const Int* ldc) {
    ranked<routine>(true, uplo, trans, n, k, alpha, A, lda, beta, C, ldc);
  }

  template <Routine routine, class Beta>
  static void ranked_twice(bool hermitian, const char* u, const char* t, const Int* n, const Int* k, const T* alpha,
                           const T* A, const Int* lda, const T* B, const Int* ldb, const Beta* beta, T* C,
                           const Int* ldc) {
    const char uplo = letter(u), trans = letter(t);
    if (const int wrong = wrong_in_syr2k<T>(uplo, trans, hermitian, *n, *k, *lda, *ldb, *ldc))
      return refuse(name_of<routine>, wrong);
    blaslift::syr2k<T>(uplo, trans, hermitian, *n, *k, *alpha, A, *lda, B, *ldb, T(*beta), C, *ldc);
  }
  template <Routine routine>
  static void syr2k(const char* uplo, const char* trans, const Int* n, const Int* k, const T* alpha, const T* A,
                    const Int* lda, const T* B, const Int* ldb, const T* beta, T* C, const Int* ldc) {
    ranked_twice<routine>(false, uplo, trans, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
  }
  template <Routine routine>
  static void her2k(const char* uplo, const char* trans, const Int* n, const Int* k, const T* alpha, const T* A,
                    const Int* lda, const T* B, const Int* ldb, const Real<T>* beta, T* C, const Int* ldc) {
    ranked_twice<routine>(true, uplo, trans, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
  }

  template <Routine routine>
  static void with_symmetric(bool hermitian, const char* s, const char* u, const Int* m, const Int* n, const T* alpha,
                             const T* A, const Int* lda, const T* B, const Int* ldb, const T* beta, T* C,
                             const Int* ldc) {
    const char side = letter(s), uplo = letter(u);
    if (const int wrong = wrong_in_symm(side, uplo, *m, *n, *lda, *ldb, *ldc)) return refuse(name_of<routine>, wrong);
    blaslift::symm<T>(side == 'L', uplo, hermitian, *m, *n, *alpha, A, *lda, B, *ldb, *beta, C, *ldc);
  }
  template <Routine routine>
  static void symm(const char* side, const char* uplo, const Int* m, const Int* n, const T* alpha, const T* A,
                   const Int* lda, const T* B, const Int* ldb, const T* beta, T* C, const Int* ldc) {
    with_symmetric<routine>(false, side, uplo, m, n, alpha, A, lda, B, ldb, beta, C, ldc);
  }
  template <Routine routine>
  static void hemm(const char* side, const char* uplo, const Int* m, const Int* n, const T* alpha, const T* A,
                   const Int* lda, const T* B, const Int* ldb, const T* beta, T* C, const Int* ldc) {
    with_symmetric<routine>(true, side, uplo, m, n, alpha, A, lda, B, ldb, beta, C, ldc);
  }

  template <Routine routine>
  static void trmm(const char* s, const char* u, const char* t, const char* d, const Int* m, const Int* n,
                   const T* alpha, const T* A, const Int* lda, T* B, const Int* ldb) {
    const char side = letter(s), uplo = letter(u), trans = letter(t), diag = letter(d);
    if (const int wrong = wrong_in_trsm(side, uplo, trans, diag, *m, *n, *lda, *ldb))
      return refuse(name_of<routine>, wrong);
    blaslift::trmm<T>(side == 'L', uplo, trans, diag == 'U', *m, *n, *alpha, A, *lda, B, *ldb);
  }
  template <Routine routine>
  static void trsm(const char* s, const char* u, const char* t, const char* d, const Int* m, const Int* n,
                   const T* alpha, const T* A, const Int* lda, T* B, const Int* ldb) {
    const char side = letter(s), uplo = letter(u), trans = letter(t), diag = letter(d);
    if (const int wrong = wrong_in_trsm(side, uplo, trans, diag, *m, *n, *lda, *ldb))
      return refuse(name_of<routine>, wrong);
    blaslift::trsm<T>(side == 'L', uplo, trans, diag == 'U', *m, *n, *alpha, A, *lda, B, *ldb);
  }

  template <Routine routine>
  static bool refused(int wrong, Int* status) {
    *status = static_cast<Int>(-wrong);
    if (wrong) refuse(name_of<routine>, wrong);
    return wrong;
  }
  template <Routine routine>
  static void potrf(const char* u, const Int* n, T* A, const Int* lda, Int* status) {
    const char uplo = letter(u);
    const int wrong = first_wrong({{uplo == 'U' || uplo == 'L', 1}, {*n >= 0, 2}, {*lda >= std::max<index>(1, *n), 4}});
    if (!refused<routine>(wrong, status)) *status = static_cast<Int>(blaslift::potrf<T>(uplo == 'L', *n, A, *lda));
  }

  static int wrong_in_potrs(char uplo, index n, index nrhs, index lda, index ldb) {
    return first_wrong({{uplo == 'U' || uplo == 'L', 1},
                        {n >= 0, 2},
                        {nrhs >= 0, 3},
                        {lda >= std::max<index>(1, n), 5},
                        {ldb >= std::max<index>(1, n), 7}});
  }
  template <Routine routine>
  static void potrs(const char* u, const Int* n, const Int* nrhs, const T* A, const Int* lda, T* B, const Int* ldb,
                    Int* status) {
    const char uplo = letter(u);
    if (!refused<routine>(wrong_in_potrs(uplo, *n, *nrhs, *lda, *ldb), status))
      blaslift::potrs<T>(uplo, *n, *nrhs, A, *lda, B, *ldb);
  }
  template <Routine routine>
  static void posv(const char* u, const Int* n, const Int* nrhs, T* A, const Int* lda, T* B, const Int* ldb,
                   Int* status) {
    const char uplo = letter(u);
    if (refused<routine>(wrong_in_potrs(uplo, *n, *nrhs, *lda, *ldb), status)) return;
    *status = static_cast<Int>(blaslift::potrf<T>(uplo == 'L', *n, A, *lda));
    if (!*status) blaslift::potrs<T>(uplo, *n, *nrhs, A, *lda, B, *ldb);
  }
  template <Routine routine>
  static void trtrs(const char* u, const char* t, const char* d, const Int* n, const Int* nrhs, const T* A,
                    const Int* lda, T* B, const Int* ldb, Int* status) {
    const char uplo = letter(u), trans = letter(t), diag = letter(d);
    const int wrong = first_wrong({{uplo == 'U' || uplo == 'L', 1},
                                   {is_op(trans), 2},
                                   {diag == 'N' || diag == 'U', 3},
                                   {*n >= 0, 4},
                                   {*nrhs >= 0, 5},
                                   {*lda >= std::max<index>(1, *n), 7},
                                   {*ldb >= std::max<index>(1, *n), 9}});
    if (refused<routine>(wrong, status)) return;
    if (diag == 'N') *status = static_cast<Int>(first_zero<T>(*n, A, *lda));
    if (!*status) blaslift::trsm<T>(true, uplo, trans, diag == 'U', *n, *nrhs, T(1), A, *lda, B, *ldb);
  }
  template <Routine routine>
  static void trtri(const char* u, const char* d, const Int* n, T* A, const Int* lda, Int* status) {
    const char uplo = letter(u), diag = letter(d);
    const int wrong = first_wrong({{uplo == 'U' || uplo == 'L', 1},
                                   {diag == 'N' || diag == 'U', 2},
                                   {*n >= 0, 3},
                                   {*lda >= std::max<index>(1, *n), 5}});
    if (refused<routine>(wrong, status)) return;
    if (diag == 'N') *status = static_cast<Int>(first_zero<T>(*n, A, *lda));
    if (!*status) blaslift::trtri<T>(uplo == 'L', diag == 'U', *n, A, *lda);
  }
  template <Routine routine>
  static void potri(const char* u, const Int* n, T* A, const Int* lda, Int* status) {
    const char uplo = letter(u);
    const int wrong = first_wrong({{uplo == 'U' || uplo == 'L', 1}, {*n >= 0, 2}, {*lda >= std::max<index>(1, *n), 4}});
    if (refused<routine>(wrong, status)) return;
    *status = static_cast<Int>(first_zero<T>(*n, A, *lda));
    if (*status) return;
    blaslift::trtri<T>(uplo == 'L', false, *n, A, *lda);
    blaslift::lauum<T>(uplo == 'L', *n, A, *lda);
  }
  template <Routine routine>
  static void lauum(const char* u, const Int* n, T* A, const Int* lda, Int* status) {
    const char uplo = letter(u);
    const int wrong = first_wrong({{uplo == 'U' || uplo == 'L', 1}, {*n >= 0, 2}, {*lda >= std::max<index>(1, *n), 4}});
    if (!refused<routine>(wrong, status)) blaslift::lauum<T>(uplo == 'L', *n, A, *lda);
  }
  template <Routine routine>
  static void getri(const Int* n, T* A, const Int* lda, const Int* ipiv, T* work, const Int* lwork, Int* status) {
    const index least = std::max<index>(1, *n);
    const bool asks = *lwork == -1;
    const int wrong = first_wrong({{*n >= 0, 1}, {*lda >= least, 3}, {asks || *lwork >= least, 6}});
    if (settled<routine>(wrong, asks, least, work, status)) return;
    *status = static_cast<Int>(first_zero<T>(*n, A, *lda));
    if (!*status) blaslift::getri<T>(*n, A, *lda, ipiv, work);
    *work = T(static_cast<Real<T>>(least));
  }
  template <Routine routine>
  static void getrf(const Int* m, const Int* n, T* A, const Int* lda, Int* ipiv, Int* status) {
    const int wrong = first_wrong({{*m >= 0, 1}, {*n >= 0, 2}, {*lda >= std::max<index>(1, *m), 4}});
    if (!refused<routine>(wrong, status)) *status = static_cast<Int>(blaslift::getrf<T>(*m, *n, A, *lda, ipiv));
  }
  template <Routine routine>
  static void getrs(const char* t, const Int* n, const Int* nrhs, const T* A, const Int* lda, const Int* ipiv, T* B,
                    const Int* ldb, Int* status) {
    const char trans = letter(t);
    const int wrong = first_wrong({{is_op(trans), 1},
                                   {*n >= 0, 2},
                                   {*nrhs >= 0, 3},
                                   {*lda >= std::max<index>(1, *n), 5},
                                   {*ldb >= std::max<index>(1, *n), 8}});
    if (!refused<routine>(wrong, status)) blaslift::getrs<T>(trans, *n, *nrhs, A, *lda, ipiv, B, *ldb);
  }
  template <Routine routine>
  static void gesv(const Int* n, const Int* nrhs, T* A, const Int* lda, Int* ipiv, T* B, const Int* ldb, Int* status) {
    const int wrong = first_wrong(
        {{*n >= 0, 1}, {*nrhs >= 0, 2}, {*lda >= std::max<index>(1, *n), 4}, {*ldb >= std::max<index>(1, *n), 7}});
    if (refused<routine>(wrong, status)) return;
    *status = static_cast<Int>(blaslift::getrf<T>(*n, *n, A, *lda, ipiv));
    if (!*status) blaslift::getrs<T>('N', *n, *nrhs, A, *lda, ipiv, B, *ldb);
  }

  template <Routine routine>
  static void trcon(const char* t, const char* u, const char* d, const Int* n, const T* A, const Int* lda,
                    Real<T>* rcond, T* work, void*, Int* status) {
    const char norm = letter(t), uplo = letter(u), diag = letter(d);
    const int wrong = first_wrong({{norm == '1' || norm == 'O' || norm == 'I', 1},
                                   {uplo == 'U' || uplo == 'L', 2},
                                   {diag == 'N' || diag == 'U', 3},
                                   {*n >= 0, 4},
                                   {*lda >= std::max<index>(1, *n), 6}});
    if (refused<routine>(wrong, status)) return;
    const bool by_rows = norm == 'I', unit = diag == 'U';
    const Real<T> anorm = triangle_norm<T>(by_rows, uplo == 'L', unit, *n, A, *lda);
    *rcond = blaslift::condition<T>(*n, anorm > 0 ? anorm : 0, work, [&](T* x) {
      blaslift::trsm<T>(true, uplo, by_rows ? 'C' : 'N', unit, *n, 1, T(1), A, *lda, x, std::max<index>(1, *n));
    });
  }
  template <Routine routine>
  static void gecon(const char* t, const Int* n, const T* A, const Int* lda, const Real<T>* anorm, Real<T>* rcond,
                    T* work, void*, Int* status) {
    const char norm = letter(t);
    const int wrong = first_wrong({{norm == '1' || norm == 'O' || norm == 'I', 1},
                                   {*n >= 0, 2},
                                   {*lda >= std::max<index>(1, *n), 4},
                                   {*anorm >= 0, 5}});
    if (refused<routine>(wrong, status)) return;
    *rcond = blaslift::condition<T>(*n, *anorm, work, [&](T* x) {
      const bool by_rows = norm == 'I';
      for (const bool lower : {!by_rows, by_rows})
        blaslift::trsm<T>(true, lower ? 'L' : 'U', by_rows ? 'C' : 'N', lower, *n, 1, T(1), A, *lda, x,
                          std::max<index>(1, *n));
    });
  }
  template <Routine routine>
  static void pocon(const char* u, const Int* n, const T* A, const Int* lda, const Real<T>* anorm, Real<T>* rcond,
                    T* work, void*, Int* status) {
    const char uplo = letter(u);
    const int wrong = first_wrong(
        {{uplo == 'U' || uplo == 'L', 1}, {*n >= 0, 2}, {*lda >= std::max<index>(1, *n), 4}, {*anorm >= 0, 5}});
    if (!refused<routine>(wrong, status))
      *rcond = blaslift::condition<T>(
          *n, *anorm, work, [&](T* x) { blaslift::potrs<T>(uplo, *n, 1, A, *lda, x, std::max<index>(1, *n)); });
  }

  template <Routine routine>
  static void with_vector(bool hermitian, const char* u, const Int* n, const T* alpha, const T* A, const Int* lda,
                          const T* x, const Int* incx, const T* beta, T* y, const Int* incy) {
    const char uplo = letter(u);
    if (const int wrong = wrong_in_symv(uplo, *n, *lda, *incx, *incy)) return refuse(name_of<routine>, wrong);
    blaslift::symv<T>(uplo, hermitian, false, *n, *alpha, A, *lda, x, *incx, *beta, y, *incy);
  }
  template <Routine routine>
  static void symv(const char* uplo, const Int* n, const T* alpha, const T* A, const Int* lda, const T* x,
                   const Int* incx, const T* beta, T* y, const Int* incy) {
    with_vector<routine>(false, uplo, n, alpha, A, lda, x, incx, beta, y, incy);
  }
  template <Routine routine>
  static void hemv(const char* uplo, const Int* n, const T* alpha, const T* A, const Int* lda, const T* x,
                   const Int* incx, const T* beta, T* y, const Int* incy) {
    with_vector<routine>(true, uplo, n, alpha, A, lda, x, incx, beta, y, incy);
  }
  template <Routine routine>
  static void csymv(const char* uplo, const Int* n, const T* alpha, const T* A, const Int* lda, const T* x,
                    const Int* incx, const T* beta, T* y, const Int* incy) {
    with_vector<routine>(false, uplo, n, alpha, A, lda, x, incx, beta, y, incy);
  }

  template <Routine routine>
  static void gemv(const char* t, const Int* m, const Int* n, const T* alpha, const T* A, const Int* lda, const T* x,
                   const Int* incx, const T* beta, T* y, const Int* incy) {
    const char trans = letter(t);
    if (const int wrong = wrong_in_gemv(trans, *m, *n, *lda, *incx, *incy)) return refuse(name_of<routine>, wrong);
    blaslift::gemv<T>(trans, false, *m, *n, *alpha, A, *lda, x, *incx, *beta, y, *incy);
  }

  template <Routine routine>
  static void copy(const Int* n, const T* x, const Int* incx, T* y, const Int* incy) {
    blaslift::copy<T>(*n, x, *incx, y, *incy);
  }

  /// Whether there is nothing more to do: it was refused, or asked for its workspace alone.
  template <Routine routine>
  static bool settled(int wrong, bool asks, index least, T* work, Int* status) {
    *status = static_cast<Int>(-wrong);
    if (wrong) return refuse(name_of<routine>, wrong), true;
    *work = T(static_cast<Real<T>>(least));
    return asks;
  }

  static int wrong_in_syevd(char jobz, char uplo, index n, index lda) {
    return first_wrong({{jobz == 'N' || jobz == 'V', 1},
                        {uplo == 'U' || uplo == 'L', 2},
                        {n >= 0, 3},
                        {lda >= std::max<index>(1, n), 5}});
  }
  /// The vectors in A's place.
  static void find_all(char jobz, char uplo, index n, T* A, index lda, Real<T>* w, Int* status) {
    *status = static_cast<Int>(
        !blaslift::syevd<T>(uplo == 'L', n, A, lda, w, jobz == 'V' ? A : nullptr, lda, [n](const Real<T>*) {
          return Asked{0, n};
        }));
  }
  template <Routine routine>
  static void syevd_of_real(const char* j, const char* u, const Int* n, T* A, const Int* lda, Real<T>* w, T* work,
                            const Int* lwork, Int* iwork, const Int* liwork, Int* status) {
    const char jobz = letter(j), uplo = letter(u);
    const bool vectors = jobz == 'V', asks = *lwork == -1 || *liwork == -1;
    const index order = *n,
                least = order <= 1 ? 1
                        : vectors  ? 1 + 6 * order + 2 * order * order
                                   : 2 * order + 1,
                integers = order <= 1 || !vectors ? 1 : 3 + 5 * order;
    int wrong = wrong_in_syevd(jobz, uplo, order, *lda);
    if (!wrong) wrong = first_wrong({{asks || *lwork >= least, 8}, {asks || *liwork >= integers, 10}});
    if (!wrong) *iwork = static_cast<Int>(integers);
    if (!settled<routine>(wrong, asks, least, work, status)) find_all(jobz, uplo, order, A, *lda, w, status);
  }
  template <Routine routine>
  static void syevd_of_complex(const char* j, const char* u, const Int* n, T* A, const Int* lda, Real<T>* w, T* work,
                               const Int* lwork, Real<T>* rwork, const Int* lrwork, Int* iwork, const Int* liwork,
                               Int* status) {
    const char jobz = letter(j), uplo = letter(u);
    const bool vectors = jobz == 'V', asks = *lwork == -1 || *lrwork == -1 || *liwork == -1;
    const index order = *n,
                least = order <= 1 ? 1
                        : vectors  ? 2 * order + order * order
                                   : order + 1,
                reals = order <= 1 ? 1
                        : vectors  ? 1 + 5 * order + 2 * order * order
                                   : order,
                integers = order <= 1 || !vectors ? 1 : 3 + 5 * order;
    int wrong = wrong_in_syevd(jobz, uplo, order, *lda);
    if (!wrong)
      wrong = first_wrong(
          {{asks || *lwork >= least, 8}, {asks || *lrwork >= reals, 10}, {asks || *liwork >= integers, 12}});
    if (!wrong) *rwork = static_cast<Real<T>>(reals), *iwork = static_cast<Int>(integers);
    if (!settled<routine>(wrong, asks, least, work, status)) find_all(jobz, uplo, order, A, *lda, w, status);
  }
  template <Routine routine>
  static constexpr auto syevd = by_type<T>(&syevd_of_real<routine>, &syevd_of_complex<routine>);

  template <Routine routine>
  static void syev_of_real(const char* j, const char* u, const Int* n, T* A, const Int* lda, Real<T>* w, T* work,
                           const Int* lwork, Int* status) {
    const char jobz = letter(j), uplo = letter(u);
    const index order = *n, least = std::max<index>(1, (complex<T> ? 2 : 3) * order - 1);
    int wrong = wrong_in_syevd(jobz, uplo, order, *lda);
    if (!wrong) wrong = first_wrong({{*lwork == -1 || *lwork >= least, 8}});
    if (!settled<routine>(wrong, *lwork == -1, least, work, status)) find_all(jobz, uplo, order, A, *lda, w, status);
  }
  template <Routine routine>
  static void syev_of_complex(const char* j, const char* u, const Int* n, T* A, const Int* lda, Real<T>* w, T* work,
                              const Int* lwork, Real<T>*, Int* status) {
    syev_of_real<routine>(j, u, n, A, lda, w, work, lwork, status);
  }
  template <Routine routine>
  static constexpr auto syev = by_type<T>(&syev_of_real<routine>, &syev_of_complex<routine>);

  /// What the drivers that compute some of the eigenvalues have in common.
  struct Some {
    const char jobz, range, uplo;
    const index n;
    const T* A;
    const index lda;
    const Real<T>*vl, *vu;
    const Int *il, *iu;
    Int* m;
    Real<T>* w;
    T* Z;
    const index ldz;

    int wrong() const {
      const bool interval = range == 'V' && n > 0, numbers = range == 'I';
      return first_wrong({{jobz == 'N' || jobz == 'V', 1},
                          {range == 'A' || range == 'V' || range == 'I', 2},
                          {uplo == 'U' || uplo == 'L', 3},
                          {n >= 0, 4},
                          {lda >= std::max<index>(1, n), 6},
                          {!interval || !(*vu <= *vl), 8},
                          {!numbers || (*il >= 1 && *il <= std::max<index>(1, n)), 9},
                          {!numbers || (*iu >= std::min<index>(n, *il) && *iu <= n), 10},
                          {ldz >= 1 && (jobz != 'V' || ldz >= n), 15}});
    }
    void find(Int* status) const {
      const auto asked = [this](const Real<T>* all) {
        if (range == 'A') return Asked{0, n};
        if (range == 'I') return Asked{*il - index{1}, *iu - index{*il} + 1};
        const index first = std::upper_bound(all, all + n, *vl) - all;
        return Asked{first, std::max<index>(0, std::upper_bound(all, all + n, *vu) - all - first)};
      };
      *m = 0;
      *status = static_cast<Int>(
          !blaslift::syevd<T>(uplo == 'L', n, A, lda, w, jobz == 'V' ? Z : nullptr, ldz, [&](const Real<T>* all) {
            const Asked x = asked(all);
            *m = static_cast<Int>(x.count);
            return x;
          }));
    }
  };
  template <Routine routine>
  static void find_some(const Some& x, int wrong, bool asks, index least, T* work, Int* isuppz, Int* ifail,
                        Int* status) {
    if (settled<routine>(wrong, asks, least, work, status)) return;
    x.find(status);
    for (index i = 0; x.jobz == 'V' && i < *x.m; ++i)
      if (ifail)
        ifail[i] = 0;
      else
        isuppz[2 * i] = 1, isuppz[2 * i + 1] = static_cast<Int>(x.n);
  }
  template <Routine routine>
  static void syevr_of_real(const char* jobz, const char* range, const char* uplo, const Int* n, T* A, const Int* lda,
                            const Real<T>* vl, const Real<T>* vu, const Int* il, const Int* iu, const Real<T>*, Int* m,
                            Real<T>* w, T* Z, const Int* ldz, Int* isuppz, T* work, const Int* lwork, Int* iwork,
                            const Int* liwork, Int* status) {
    const Some x{letter(jobz), letter(range), letter(uplo), *n, A, *lda, vl, vu, il, iu, m, w, Z, *ldz};
    const bool asks = *lwork == -1 || *liwork == -1;
    const index least = std::max<index>(1, 26 * x.n), integers = std::max<index>(1, 10 * x.n);
    int wrong = x.wrong();
    if (!wrong) wrong = first_wrong({{asks || *lwork >= least, 18}, {asks || *liwork >= integers, 20}});
    if (!wrong) *iwork = static_cast<Int>(integers);
    find_some<routine>(x, wrong, asks, least, work, isuppz, nullptr, status);
  }
  template <Routine routine>
  static void syevr_of_complex(const char* jobz, const char* range, const char* uplo, const Int* n, T* A,
                               const Int* lda, const Real<T>* vl, const Real<T>* vu, const Int* il, const Int* iu,
                               const Real<T>*, Int* m, Real<T>* w, T* Z, const Int* ldz, Int* isuppz, T* work,
                               const Int* lwork, Real<T>* rwork, const Int* lrwork, Int* iwork, const Int* liwork,
                               Int* status) {
    const Some x{letter(jobz), letter(range), letter(uplo), *n, A, *lda, vl, vu, il, iu, m, w, Z, *ldz};
    const bool asks = *lwork == -1 || *lrwork == -1 || *liwork == -1;
    const index least = std::max<index>(1, 2 * x.n), reals = std::max<index>(1, 24 * x.n),
                integers = std::max<index>(1, 10 * x.n);
    int wrong = x.wrong();
    if (!wrong)
      wrong = first_wrong(
          {{asks || *lwork >= least, 18}, {asks || *lrwork >= reals, 20}, {asks || *liwork >= integers, 22}});
    if (!wrong) *rwork = static_cast<Real<T>>(reals), *iwork = static_cast<Int>(integers);
    find_some<routine>(x, wrong, asks, least, work, isuppz, nullptr, status);
  }
  template <Routine routine>
  static constexpr auto syevr = by_type<T>(&syevr_of_real<routine>, &syevr_of_complex<routine>);

  template <Routine routine>
  static void syevx_of_real(const char* jobz, const char* range, const char* uplo, const Int* n, T* A, const Int* lda,
                            const Real<T>* vl, const Real<T>* vu, const Int* il, const Int* iu, const Real<T>*, Int* m,
                            Real<T>* w, T* Z, const Int* ldz, T* work, const Int* lwork, Int*, Int* ifail,
                            Int* status) {
    const Some x{letter(jobz), letter(range), letter(uplo), *n, A, *lda, vl, vu, il, iu, m, w, Z, *ldz};
    const index least = x.n <= 1 ? 1 : (complex<T> ? 2 : 8) * x.n;
    int wrong = x.wrong();
    if (!wrong) wrong = first_wrong({{*lwork == -1 || *lwork >= least, 17}});
    find_some<routine>(x, wrong, *lwork == -1, least, work, nullptr, ifail, status);
  }
  template <Routine routine>
  static void syevx_of_complex(const char* jobz, const char* range, const char* uplo, const Int* n, T* A,
                               const Int* lda, const Real<T>* vl, const Real<T>* vu, const Int* il, const Int* iu,
                               const Real<T>* abstol, Int* m, Real<T>* w, T* Z, const Int* ldz, T* work,
                               const Int* lwork, Real<T>*, Int* iwork, Int* ifail, Int* status) {
    syevx_of_real<routine>(jobz, range, uplo, n, A, lda, vl, vu, il, iu, abstol, m, w, Z, ldz, work, lwork, iwork,
                           ifail, status);
  }
  template <Routine routine>
  static constexpr auto syevx = by_type<T>(&syevx_of_real<routine>, &syevx_of_complex<routine>);

  static int wrong_in_sygv(index itype, char jobz, char uplo, index n, index lda, index ldb) {
    return first_wrong({{itype >= 1 && itype <= 3, 1},
                        {jobz == 'N' || jobz == 'V', 2},
                        {uplo == 'U' || uplo == 'L', 3},
                        {n >= 0, 4},
                        {lda >= std::max<index>(1, n), 6},
                        {ldb >= std::max<index>(1, n), 8}});
  }
  static void find_all_generalized(index itype, char jobz, char uplo, index n, T* A, index lda, T* B, index ldb,
                                   Real<T>* w, Int* status) {
    *status = static_cast<Int>(blaslift::to_standard<T>(itype, uplo == 'L', n, A, lda, B, ldb));
    if (*status) return;
    find_all(jobz, uplo, n, A, lda, w, status);
    if (!*status && jobz == 'V') blaslift::to_generalized<T>(itype, uplo == 'L', n, n, B, ldb, A, lda);
  }
  template <Routine routine>
  static void sygvd_of_real(const Int* itype, const char* j, const char* u, const Int* n, T* A, const Int* lda, T* B,
                            const Int* ldb, Real<T>* w, T* work, const Int* lwork, Int* iwork, const Int* liwork,
                            Int* status) {
    const char jobz = letter(j), uplo = letter(u);
    const bool vectors = jobz == 'V', asks = *lwork == -1 || *liwork == -1;
    const index order = *n,
                least = order <= 1 ? 1
                        : vectors  ? 1 + 6 * order + 2 * order * order
                                   : 2 * order + 1,
                integers = order <= 1 || !vectors ? 1 : 3 + 5 * order;
    int wrong = wrong_in_sygv(*itype, jobz, uplo, order, *lda, *ldb);
    if (!wrong) wrong = first_wrong({{asks || *lwork >= least, 11}, {asks || *liwork >= integers, 13}});
    if (!wrong) *iwork = static_cast<Int>(integers);
    if (!settled<routine>(wrong, asks, least, work, status))
      find_all_generalized(*itype, jobz, uplo, order, A, *lda, B, *ldb, w, status);
  }
  template <Routine routine>
  static void sygvd_of_complex(const Int* itype, const char* j, const char* u, const Int* n, T* A, const Int* lda, T* B,
                               const Int* ldb, Real<T>* w, T* work, const Int* lwork, Real<T>* rwork, const Int* lrwork,
                               Int* iwork, const Int* liwork, Int* status) {
    const char jobz = letter(j), uplo = letter(u);
    const bool vectors = jobz == 'V', asks = *lwork == -1 || *lrwork == -1 || *liwork == -1;
    const index order = *n,
                least = order <= 1 ? 1
                        : vectors  ? 2 * order + order * order
                                   : order + 1,
                reals = order <= 1 ? 1
                        : vectors  ? 1 + 5 * order + 2 * order * order
                                   : order,
                integers = order <= 1 || !vectors ? 1 : 3 + 5 * order;
    int wrong = wrong_in_sygv(*itype, jobz, uplo, order, *lda, *ldb);
    if (!wrong)
      wrong = first_wrong(
          {{asks || *lwork >= least, 11}, {asks || *lrwork >= reals, 13}, {asks || *liwork >= integers, 15}});
    if (!wrong) *rwork = static_cast<Real<T>>(reals), *iwork = static_cast<Int>(integers);
    if (!settled<routine>(wrong, asks, least, work, status))
      find_all_generalized(*itype, jobz, uplo, order, A, *lda, B, *ldb, w, status);
  }
  template <Routine routine>
  static constexpr auto sygvd = by_type<T>(&sygvd_of_real<routine>, &sygvd_of_complex<routine>);

  template <Routine routine>
  static void sygv_of_real(const Int* itype, const char* j, const char* u, const Int* n, T* A, const Int* lda, T* B,
                           const Int* ldb, Real<T>* w, T* work, const Int* lwork, Int* status) {
    const char jobz = letter(j), uplo = letter(u);
    const index order = *n, least = std::max<index>(1, (complex<T> ? 2 : 3) * order - 1);
    int wrong = wrong_in_sygv(*itype, jobz, uplo, order, *lda, *ldb);
    if (!wrong) wrong = first_wrong({{*lwork == -1 || *lwork >= least, 11}});
    if (!settled<routine>(wrong, *lwork == -1, least, work, status))
      find_all_generalized(*itype, jobz, uplo, order, A, *lda, B, *ldb, w, status);
  }
  template <Routine routine>
  static void sygv_of_complex(const Int* itype, const char* j, const char* u, const Int* n, T* A, const Int* lda, T* B,
                              const Int* ldb, Real<T>* w, T* work, const Int* lwork, Real<T>*, Int* status) {
    sygv_of_real<routine>(itype, j, u, n, A, lda, B, ldb, w, work, lwork, status);
  }
  template <Routine routine>
  static constexpr auto sygv = by_type<T>(&sygv_of_real<routine>, &sygv_of_complex<routine>);

  template <Routine routine>
  static void sygvx_of_real(const Int* itype, const char* jobz, const char* range, const char* uplo, const Int* n, T* A,
                            const Int* lda, T* B, const Int* ldb, const Real<T>* vl, const Real<T>* vu, const Int* il,
                            const Int* iu, const Real<T>*, Int* m, Real<T>* w, T* Z, const Int* ldz, T* work,
                            const Int* lwork, Int*, Int* ifail, Int* status) {
    const Some x{letter(jobz), letter(range), letter(uplo), *n, A, *lda, vl, vu, il, iu, m, w, Z, *ldz};
    const index least = std::max<index>(1, (complex<T> ? 2 : 8) * x.n);
    const bool interval = x.range == 'V' && x.n > 0, numbers = x.range == 'I', asks = *lwork == -1;
    const int wrong = first_wrong({{*itype >= 1 && *itype <= 3, 1},
                                   {x.jobz == 'N' || x.jobz == 'V', 2},
                                   {x.range == 'A' || x.range == 'V' || x.range == 'I', 3},
                                   {x.uplo == 'U' || x.uplo == 'L', 4},
                                   {x.n >= 0, 5},
                                   {*lda >= std::max<index>(1, x.n), 7},
                                   {*ldb >= std::max<index>(1, x.n), 9},
                                   {!interval || !(*vu <= *vl), 11},
                                   {!numbers || (*il >= 1 && *il <= std::max<index>(1, x.n)), 12},
                                   {!numbers || (*iu >= std::min<index>(x.n, *il) && *iu <= x.n), 13},
                                   {*ldz >= 1 && (x.jobz != 'V' || *ldz >= x.n), 18},
                                   {asks || *lwork >= least, 20}});
    if (settled<routine>(wrong, asks, least, work, status)) return;
    *m = 0;
    *status = static_cast<Int>(blaslift::to_standard<T>(*itype, x.uplo == 'L', x.n, A, *lda, B, *ldb));
    if (*status) return;
    x.find(status);
    if (x.jobz != 'V') return;
    blaslift::to_generalized<T>(*itype, x.uplo == 'L', x.n, *m, B, *ldb, Z, *ldz);
    std::fill_n(ifail, *m, Int(0));
  }
  template <Routine routine>
  static void sygvx_of_complex(const Int* itype, const char* jobz, const char* range, const char* uplo, const Int* n,
                               T* A, const Int* lda, T* B, const Int* ldb, const Real<T>* vl, const Real<T>* vu,
                               const Int* il, const Int* iu, const Real<T>* abstol, Int* m, Real<T>* w, T* Z,
                               const Int* ldz, T* work, const Int* lwork, Real<T>*, Int* iwork, Int* ifail,
                               Int* status) {
    sygvx_of_real<routine>(itype, jobz, range, uplo, n, A, lda, B, ldb, vl, vu, il, iu, abstol, m, w, Z, ldz, work,
                           lwork, iwork, ifail, status);
  }
  template <Routine routine>
  static constexpr auto sygvx = by_type<T>(&sygvx_of_real<routine>, &sygvx_of_complex<routine>);

  template <Routine routine>
  static void sygst(const Int* itype, const char* u, const Int* n, T* A, const Int* lda, const T* B, const Int* ldb,
                    Int* status) {
    const char uplo = letter(u);
    const int wrong = first_wrong({{*itype >= 1 && *itype <= 3, 1},
                                   {uplo == 'U' || uplo == 'L', 2},
                                   {*n >= 0, 3},
                                   {*lda >= std::max<index>(1, *n), 5},
                                   {*ldb >= std::max<index>(1, *n), 7}});
    if (!refused<routine>(wrong, status))
      *status = static_cast<Int>(blaslift::sygst<T>(*itype, uplo == 'L', *n, A, *lda, B, *ldb));
  }

  template <Routine routine>
  static void sytrd(const char* u, const Int* n, T* A, const Int* lda, Real<T>* d, Real<T>* e, T* tau, T* work,
                    const Int* lwork, Int* status) {
    const char uplo = letter(u);
    const int wrong = first_wrong({{uplo == 'U' || uplo == 'L', 1},
                                   {*n >= 0, 2},
                                   {*lda >= std::max<index>(1, *n), 4},
                                   {*lwork == -1 || *lwork >= 1, 9}});
    if (!settled<routine>(wrong, *lwork == -1, 1, work, status))
      blaslift::sytd2<T>(uplo == 'L', *n, A, *lda, d, e, tau);
  }

  template <Routine routine>
  static void gehrd(const Int* n, const Int* ilo, const Int* ihi, T* A, const Int* lda, T* tau, T* work,
                    const Int* lwork, Int* status) {
    const index least = std::max<index>(1, *n);
    const int wrong = first_wrong({{*n >= 0, 1},
                                   {*ilo >= 1 && *ilo <= least, 2},
                                   {*ihi >= std::min(*ilo, *n) && *ihi <= *n, 3},
                                   {*lda >= least, 5},
                                   {*lwork == -1 || *lwork >= least, 8}});
    if (settled<routine>(wrong, *lwork == -1, least, work, status)) return;
    blaslift::gehd2<T>(*n, *ilo, *ihi, A, *lda, tau);
    *work = T(static_cast<Real<T>>(least));
  }

  template <Routine routine>
  static void gebrd(const Int* m, const Int* n, T* A, const Int* lda, Real<T>* d, Real<T>* e, T* tauq, T* taup, T* work,
                    const Int* lwork, Int* status) {
    const index least = std::max<index>({1, *m, *n});
    const int wrong = first_wrong(
        {{*m >= 0, 1}, {*n >= 0, 2}, {*lda >= std::max<index>(1, *m), 4}, {*lwork == -1 || *lwork >= least, 10}});
    if (settled<routine>(wrong, *lwork == -1, least, work, status)) return;
    blaslift::gebd2<T>(*m, *n, A, *lda, d, e, tauq, taup, work);
    *work = T(static_cast<Real<T>>(least));
  }

  /// What both drivers of singular value decompositions have in common, and what of either side is asked for: LAPACK's
  /// letters.
  struct Decomposition {
    const char jobu, jobvt;
    const index m, n;
    T* A;
    const index lda;
    Real<T>* s;
    T* U;
    const index ldu;
    T* VT;
    const index ldvt;

    index count() const { return std::min(m, n); }
    static index vectors(char job, index all, index k) { return job == 'A' ? all : job == 'N' ? 0 : k; }
    /// Of what the reference refuses the first, where these are the numbers of its arguments.
    int wrong(int of_m, int of_u, int of_vt) const {
      const bool u = jobu == 'A' || jobu == 'S';
      const index wide = jobvt == 'A' ? n : jobvt == 'S' ? count() : 1;
      return first_wrong({{m >= 0, of_m},
                          {n >= 0, of_m + 1},
                          {lda >= std::max<index>(1, m), of_m + 3},
                          {ldu >= 1 && (!u || ldu >= m), of_u},
                          {ldvt >= std::max<index>(1, wide), of_vt}});
    }
    void compute(Int* status) const {
      const index k = count(), cols = vectors(jobu, m, k), rows = vectors(jobvt, n, k);
      if (k == 0) return;
      const bool whole = m < n ? rows > k : cols > k;
      const std::unique_ptr<T[]> memory(new (std::nothrow) T[JacobiSvd<T>::elements(m, n, whole)]);
      if (!memory) return void(*status = 1);
      JacobiSvd<T> found(m, n, whole, memory.get());
      if (!found.run(A, lda)) return void(*status = 1);
      for (index i = 0; i < k; ++i) s[i] = found.s(i);
      T *const u = jobu == 'O' ? A : U, *const vt = jobvt == 'O' ? A : VT;
      const index ld_of_u = jobu == 'O' ? lda : ldu, ld_of_vt = jobvt == 'O' ? lda : ldvt;
      for (index j = 0; j < cols; ++j)
        for (index i = 0; i < m; ++i) u[i + j * ld_of_u] = found.u(i, j);
      for (index i = 0; i < rows; ++i)
        for (index j = 0; j < n; ++j) vt[i + j * ld_of_vt] = found.vt(i, j);
    }
  };
  template <Routine routine>
  static void gesdd_of_real(const char* j, const Int* m, const Int* n, T* A, const Int* lda, Real<T>* s, T* U,
                            const Int* ldu, T* VT, const Int* ldvt, T* work, const Int* lwork, Int*, Int* status) {
    const char job = letter(j);
    const bool tall = *m >= *n;
    const Decomposition x{
        job == 'O' && !tall ? 'A' : job, job == 'O' && tall ? 'A' : job, *m, *n, A, *lda, s, U, *ldu, VT, *ldvt};
    const index k = x.count(), longer = std::max<index>(*m, *n);
    index least = 1;
    if (job == 'N')
      least = complex<T> ? 2 * k + longer : 3 * k + std::max(longer, 7 * k);
    else if (job == 'O')
      least = complex<T> ? 2 * k * k + 2 * k + longer : 3 * k + std::max(longer, 5 * k * k + 4 * k);
    else if (job == 'S')
      least = complex<T> ? k * k + 3 * k : 4 * k * k + 7 * k;
    else
      least = complex<T> ? k * k + 2 * k + longer : 4 * k * k + 6 * k + longer;
    least = std::max<index>(1, least);
    int wrong = first_wrong({{job == 'A' || job == 'S' || job == 'O' || job == 'N', 1}});
    if (!wrong) wrong = x.wrong(2, 8, 10);
    if (!wrong) wrong = first_wrong({{*lwork == -1 || *lwork >= least, 12}});
    if (!settled<routine>(wrong, *lwork == -1, least, work, status)) x.compute(status);
  }
  template <Routine routine>
  static void gesdd_of_complex(const char* job, const Int* m, const Int* n, T* A, const Int* lda, Real<T>* s, T* U,
                               const Int* ldu, T* VT, const Int* ldvt, T* work, const Int* lwork, Real<T>*, Int* iwork,
                               Int* status) {
    gesdd_of_real<routine>(job, m, n, A, lda, s, U, ldu, VT, ldvt, work, lwork, iwork, status);
  }
  template <Routine routine>
  static constexpr auto gesdd = by_type<T>(&gesdd_of_real<routine>, &gesdd_of_complex<routine>);

  template <Routine routine>
  static void gesvd_of_real(const char* ju, const char* jvt, const Int* m, const Int* n, T* A, const Int* lda,
                            Real<T>* s, T* U, const Int* ldu, T* VT, const Int* ldvt, T* work, const Int* lwork,
                            Int* status) {
    const Decomposition x{letter(ju), letter(jvt), *m, *n, A, *lda, s, U, *ldu, VT, *ldvt};
    const index k = x.count(), longer = std::max<index>(*m, *n);
    const index least = std::max<index>(1, complex<T> ? 2 * k + longer : std::max(3 * k + longer, 5 * k));
    const auto known = [](char job) { return job == 'A' || job == 'S' || job == 'O' || job == 'N'; };
    int wrong = first_wrong({{known(x.jobu), 1}, {known(x.jobvt) && (x.jobu != 'O' || x.jobvt != 'O'), 2}});
    if (!wrong) wrong = x.wrong(3, 9, 11);
    if (!wrong) wrong = first_wrong({{*lwork == -1 || *lwork >= least, 13}});
    if (!settled<routine>(wrong, *lwork == -1, least, work, status)) x.compute(status);
  }
  template <Routine routine>
  static void gesvd_of_complex(const char* jobu, const char* jobvt, const Int* m, const Int* n, T* A, const Int* lda,
                               Real<T>* s, T* U, const Int* ldu, T* VT, const Int* ldvt, T* work, const Int* lwork,
                               Real<T>*, Int* status) {
    gesvd_of_real<routine>(jobu, jobvt, m, n, A, lda, s, U, ldu, VT, ldvt, work, lwork, status);
  }
  template <Routine routine>
  static constexpr auto gesvd = by_type<T>(&gesvd_of_real<routine>, &gesvd_of_complex<routine>);

  static void find_general(char jl, char jr, index n, T* A, index lda, T* w, T* wi, T* VL, index ldvl, T* VR,
                           index ldvr, Int* status) {
    using System = SchurEigensystem<T>;
    using Number = typename System::Number;
    if (n == 0) return;
    const bool vectors = jl == 'V' || jr == 'V';
    const std::unique_ptr<T[]> memory(new (std::nothrow) T[System::elements(n, vectors)]);
    const std::unique_ptr<Number[]> numbers(new (std::nothrow) Number[System::numbers(n)]);
    if (!memory || !numbers) return void(*status = static_cast<Int>(n));
    System found(n, vectors, memory.get(), numbers.get());
    if (!found.run(A, lda)) return void(*status = static_cast<Int>(n));
    for (index i = 0; i < n; ++i) {
      const Number value = found.value(i);
      if constexpr (complex<T>)
        w[i] = value;
      else
        w[i] = value.real(), wi[i] = value.imag();
    }
    if (jl == 'V') found.write_vectors(VL, ldvl, true);
    if (jr == 'V') found.write_vectors(VR, ldvr);
  }
  static int wrong_in_geev(char jl, char jr, index n, index lda, index ldvl, index ldvr, int of_vl) {
    const auto known = [](char job) { return job == 'N' || job == 'V'; };
    return first_wrong({{known(jl), 1},
                        {known(jr), 2},
                        {n >= 0, 3},
                        {lda >= std::max<index>(1, n), 5},
                        {ldvl >= 1 && (jl != 'V' || ldvl >= n), of_vl},
                        {ldvr >= 1 && (jr != 'V' || ldvr >= n), of_vl + 2}});
  }
  template <Routine routine>
  static void geev_of_real(const char* l, const char* r, const Int* n, T* A, const Int* lda, T* wr, T* wi, T* VL,
                           const Int* ldvl, T* VR, const Int* ldvr, T* work, const Int* lwork, Int* status) {
    const char jl = letter(l), jr = letter(r);
    const index least = std::max<index>(1, (jl == 'V' || jr == 'V' ? 4 : 3) * index{*n});
    int wrong = wrong_in_geev(jl, jr, *n, *lda, *ldvl, *ldvr, 9);
    if (!wrong) wrong = first_wrong({{*lwork == -1 || *lwork >= least, 13}});
    if (!settled<routine>(wrong, *lwork == -1, least, work, status))
      find_general(jl, jr, *n, A, *lda, wr, wi, VL, *ldvl, VR, *ldvr, status);
  }
  template <Routine routine>
  static void geev_of_complex(const char* l, const char* r, const Int* n, T* A, const Int* lda, T* w, T* VL,
                              const Int* ldvl, T* VR, const Int* ldvr, T* work, const Int* lwork, Real<T>*,
                              Int* status) {
    const char jl = letter(l), jr = letter(r);
    const index least = std::max<index>(1, 2 * index{*n});
    int wrong = wrong_in_geev(jl, jr, *n, *lda, *ldvl, *ldvr, 8);
    if (!wrong) wrong = first_wrong({{*lwork == -1 || *lwork >= least, 12}});
    if (!settled<routine>(wrong, *lwork == -1, least, work, status))
      find_general(jl, jr, *n, A, *lda, w, nullptr, VL, *ldvl, VR, *ldvr, status);
  }
  template <Routine routine>
  static constexpr auto geev = by_type<T>(&geev_of_real<routine>, &geev_of_complex<routine>);

  static int wrong_in_least_squares(index m, index n, index nrhs, index lda, index ldb) {
    return first_wrong({{m >= 0, 1},
                        {n >= 0, 2},
                        {nrhs >= 0, 3},
                        {lda >= std::max<index>(1, m), 5},
                        {ldb >= std::max<index>({1, m, n}), 7}});
  }
  template <Routine routine>
  static void gels(const char* t, const Int* m, const Int* n, const Int* nrhs, T* A, const Int* lda, T* B,
                   const Int* ldb, T* work, const Int* lwork, Int* status) {
    const char trans = letter(t);
    const index k = std::min<index>(*m, *n), least = std::max<index>(1, k + std::max<index>(k, *nrhs));
    int wrong = first_wrong({{trans == 'N' || trans == (complex<T> ? 'C' : 'T'), 1}});
    if (const int other = wrong_in_least_squares(*m, *n, *nrhs, *lda, *ldb); !wrong && other) wrong = 1 + other;
    if (!wrong) wrong = first_wrong({{*lwork == -1 || *lwork >= least, 10}});
    if (settled<routine>(wrong, *lwork == -1, least, work, status)) return;
    *status = static_cast<Int>(blaslift::gels<T>(trans != 'N', *m, *n, *nrhs, A, *lda, B, *ldb, work));
  }

  template <Routine routine>
  static void gelsy_of_real(const Int* m, const Int* n, const Int* nrhs, T* A, const Int* lda, T* B, const Int* ldb,
                            Int* jpvt, const Real<T>* rcond, Int* rank, T* work, const Int* lwork, Int* status) {
    const index k = std::min<index>(*m, *n),
                least = std::max<index>(1, k + std::max<index>({2 * k, *n + 1, k + *nrhs}));
    int wrong = wrong_in_least_squares(*m, *n, *nrhs, *lda, *ldb);
    if (!wrong) wrong = first_wrong({{*lwork == -1 || *lwork >= (k > 0 ? least : 1), 12}});
    if (settled<routine>(wrong, *lwork == -1, least, work, status)) return;
    *rank = 0;
    if (k == 0 || *nrhs == 0) return;
    const index found = pivoted_least_squares<T>(*m, *n, *nrhs, A, *lda, B, *ldb, jpvt, *rcond);
    found < 0 ? * status = 1 : * rank = static_cast<Int>(found);
  }
  template <Routine routine>
  static void gelsy_of_complex(const Int* m, const Int* n, const Int* nrhs, T* A, const Int* lda, T* B, const Int* ldb,
                               Int* jpvt, const Real<T>* rcond, Int* rank, T* work, const Int* lwork, Real<T>*,
                               Int* status) {
    gelsy_of_real<routine>(m, n, nrhs, A, lda, B, ldb, jpvt, rcond, rank, work, lwork, status);
  }
  template <Routine routine>
  static constexpr auto gelsy = by_type<T>(&gelsy_of_real<routine>, &gelsy_of_complex<routine>);

  template <Routine routine>
  static void by_singular_values(bool to_a, const Int* m, const Int* n, const Int* nrhs, T* A, const Int* lda, T* B,
                                 const Int* ldb, Real<T>* s, Real<T> rcond, Int* rank, T* work, const Int* lwork,
                                 Int* status) {
    const index k = std::min<index>(*m, *n),
                least = std::max<index>(1, 3 * k + std::max<index>({*m, *n, *nrhs, 2 * k}));
    int wrong = wrong_in_least_squares(*m, *n, *nrhs, *lda, *ldb);
    if (!wrong) wrong = first_wrong({{*lwork == -1 || *lwork >= 1, 12}});
    if (settled<routine>(wrong, *lwork == -1, least, work, status)) return;
    *rank = 0;
    if (k == 0) return;
    const index found = least_squares<T>(*m, *n, *nrhs, A, *lda, B, *ldb, s, rcond, to_a ? A : nullptr, *lda);
    found < 0 ? * status = 1 : * rank = static_cast<Int>(found);
  }
  template <Routine routine>
  static void gelsd_of_real(const Int* m, const Int* n, const Int* nrhs, T* A, const Int* lda, T* B, const Int* ldb,
                            Real<T>* s, const Real<T>* rcond, Int* rank, T* work, const Int* lwork, Int* iwork,
                            Int* status) {
    constexpr Real<T> precision = std::numeric_limits<Real<T>>::epsilon();
    by_singular_values<routine>(false, m, n, nrhs, A, lda, B, ldb, s, *rcond > 0 && *rcond < 1 ? *rcond : precision,
                                rank, work, lwork, status);
    if (*lwork == -1 && *status == 0) *iwork = static_cast<Int>(std::max<index>(1, 30 * std::min<index>(*m, *n)));
  }
  template <Routine routine>
  static void gelsd_of_complex(const Int* m, const Int* n, const Int* nrhs, T* A, const Int* lda, T* B, const Int* ldb,
                               Real<T>* s, const Real<T>* rcond, Int* rank, T* work, const Int* lwork, Real<T>* rwork,
                               Int* iwork, Int* status) {
    gelsd_of_real<routine>(m, n, nrhs, A, lda, B, ldb, s, rcond, rank, work, lwork, iwork, status);
    if (*lwork == -1 && *status == 0) *rwork = 1;  // none is needed here
  }
  template <Routine routine>
  static constexpr auto gelsd = by_type<T>(&gelsd_of_real<routine>, &gelsd_of_complex<routine>);

  template <Routine routine>
  static void gelss_of_real(const Int* m, const Int* n, const Int* nrhs, T* A, const Int* lda, T* B, const Int* ldb,
                            Real<T>* s, const Real<T>* rcond, Int* rank, T* work, const Int* lwork, Int* status) {
    constexpr Real<T> precision = std::numeric_limits<Real<T>>::epsilon();
    by_singular_values<routine>(true, m, n, nrhs, A, lda, B, ldb, s, *rcond < 0 ? precision : *rcond, rank, work, lwork,
                                status);
  }
  template <Routine routine>
  static void gelss_of_complex(const Int* m, const Int* n, const Int* nrhs, T* A, const Int* lda, T* B, const Int* ldb,
                               Real<T>* s, const Real<T>* rcond, Int* rank, T* work, const Int* lwork, Real<T>*,
                               Int* status) {
    gelss_of_real<routine>(m, n, nrhs, A, lda, B, ldb, s, rcond, rank, work, lwork, status);
  }
  template <Routine routine>
  static constexpr auto gelss = by_type<T>(&gelss_of_real<routine>, &gelss_of_complex<routine>);

  template <Routine routine>
  static void geqrf(const Int* m, const Int* n, T* A, const Int* lda, T* tau, T* work, const Int* lwork, Int* status) {
    const index least = std::max<index>(1, *n);
    const int wrong = first_wrong({{*m >= 0, 1},
                                   {*n >= 0, 2},
                                   {*lda >= std::max<index>(1, *m), 4},
                                   {*lwork == -1 || *lwork >= least || (*m == 0 && *lwork > 0), 7}});
    if (!settled<routine>(wrong, *lwork == -1, least, work, status)) geqr2<T>(*m, *n, A, *lda, tau);
  }

  template <Routine routine>
  static void geqp3_of_real(const Int* m, const Int* n, T* A, const Int* lda, Int* jpvt, T* tau, T* work,
                            const Int* lwork, Int* status) {
    const index least = *m == 0 || *n == 0 ? 1 : (complex<T> ? 1 : 3) * index{*n} + 1;
    const int wrong = first_wrong(
        {{*m >= 0, 1}, {*n >= 0, 2}, {*lda >= std::max<index>(1, *m), 4}, {*lwork == -1 || *lwork >= least, 8}});
    if (!settled<routine>(wrong, *lwork == -1, least, work, status)) geqp2<T>(*m, *n, A, *lda, jpvt, tau);
  }
  template <Routine routine>
  static void geqp3_of_complex(const Int* m, const Int* n, T* A, const Int* lda, Int* jpvt, T* tau, T* work,
                               const Int* lwork, Real<T>*, Int* status) {
    geqp3_of_real<routine>(m, n, A, lda, jpvt, tau, work, lwork, status);
  }
  template <Routine routine>
  static constexpr auto geqp3 = by_type<T>(&geqp3_of_real<routine>, &geqp3_of_complex<routine>);

  template <Routine routine>
  static void gelqf(const Int* m, const Int* n, T* A, const Int* lda, T* tau, T* work, const Int* lwork, Int* status) {
    const index least = std::max<index>(1, *m);
    const int wrong = first_wrong({{*m >= 0, 1},
                                   {*n >= 0, 2},
                                   {*lda >= least, 4},
                                   {*lwork == -1 || *lwork >= least || (*n == 0 && *lwork > 0), 7}});
    if (settled<routine>(wrong, *lwork == -1, least, work, status)) return;
    if (!gelq2<T>(*m, *n, A, *lda, tau)) *status = 1;
  }
  template <Routine routine>
  static void orglq(const Int* m, const Int* n, const Int* k, T* A, const Int* lda, const T* tau, T* work,
                    const Int* lwork, Int* status) {
    const index least = std::max<index>(1, *m);
    const int wrong = first_wrong({{*m >= 0, 1},
                                   {*n >= *m, 2},
                                   {*k >= 0 && *k <= *m, 3},
                                   {*lda >= least, 5},
                                   {*lwork == -1 || *lwork >= least, 8}});
    if (!settled<routine>(wrong, *lwork == -1, least, work, status)) blaslift::orglq<T>(*m, *n, *k, A, *lda, tau);
  }

  static int wrong_in_ormqr(char side, char trans, index m, index n, index k, index lda, index ldc) {
    const index of_q = side == 'L' ? m : n;
    return first_wrong({{side == 'L' || side == 'R', 1},
                        {trans == 'N' || trans == (complex<T> ? 'C' : 'T'), 2},
                        {m >= 0, 3},
                        {n >= 0, 4},
                        {k >= 0 && k <= of_q, 5},
                        {lda >= std::max<index>(1, of_q), 7},
                        {ldc >= std::max<index>(1, m), 0}});
  }
  template <Routine routine>
  static void ormqr(const char* s, const char* t, const Int* m, const Int* n, const Int* k, const T* A, const Int* lda,
                    const T* tau, T* C, const Int* ldc, T* work, const Int* lwork, Int* status) {
    const char side = letter(s), trans = letter(t);
    const index least = std::max<index>(1, side == 'L' ? *n : *m);
    int wrong = wrong_in_ormqr(side, trans, *m, *n, *k, *lda, *ldc);
    if (!wrong) wrong = first_wrong({{*ldc >= std::max<index>(1, *m), 10}, {*lwork == -1 || *lwork >= least, 12}});
    if (!settled<routine>(wrong, *lwork == -1, least, work, status))
      blaslift::ormqr<T>(side == 'L', trans != 'N', *m, *n, *k, A, *lda, tau, C, *ldc);
  }

  template <Routine routine>
  static void ormlq(const char* s, const char* t, const Int* m, const Int* n, const Int* k, const T* A, const Int* lda,
                    const T* tau, T* C, const Int* ldc, T* work, const Int* lwork, Int* status) {
    const char side = letter(s), trans = letter(t);
    const bool left = side == 'L';
    const index order = left ? *m : *n, length = left ? *n : *m, least = std::max<index>(1, length);
    const int wrong = first_wrong({{left || side == 'R', 1},
                                   {trans == 'N' || trans == (complex<T> ? 'C' : 'T'), 2},
                                   {*m >= 0, 3},
                                   {*n >= 0, 4},
                                   {*k >= 0 && *k <= order, 5},
                                   {*lda >= std::max<index>(1, *k), 7},
                                   {*ldc >= std::max<index>(1, *m), 10},
                                   {*lwork == -1 || *lwork >= least, 12}});
    if (settled<routine>(wrong, *lwork == -1, least, work, status) || *m == 0 || *n == 0) return;
    multiply_other<T>({false, order, A, *lda}, left, trans == 'N', length, *k, tau, C, *ldc);
  }

  template <Routine routine>
  static void orgqr(const Int* m, const Int* n, const Int* k, T* A, const Int* lda, const T* tau, T* work,
                    const Int* lwork, Int* status) {
    const index least = std::max<index>(1, *n);
    const int wrong = first_wrong({{*m >= 0, 1},
                                   {*n >= 0 && *n <= *m, 2},
                                   {*k >= 0 && *k <= *n, 3},
                                   {*lda >= std::max<index>(1, *m), 5},
                                   {*lwork == -1 || *lwork >= least, 8}});
    if (!settled<routine>(wrong, *lwork == -1, least, work, status)) blaslift::orgqr<T>(*m, *n, *k, A, *lda, tau);
  }

  template <Routine routine>
  static void ormtr(const char* s, const char* u, const char* t, const Int* m, const Int* n, const T* A, const Int* lda,
                    const T* tau, T* C, const Int* ldc, T* work, const Int* lwork, Int* status) {
    const char side = letter(s), uplo = letter(u), trans = letter(t);
    const bool left = side == 'L', adjoint = trans != 'N';
    const index order = left ? *m : *n, length = left ? *n : *m, least = std::max<index>(1, length);
    const int wrong = first_wrong({{side == 'L' || side == 'R', 1},
                                   {uplo == 'L' || uplo == 'U', 2},
                                   {trans == 'N' || trans == (complex<T> ? 'C' : 'T'), 3},
                                   {*m >= 0, 4},
                                   {*n >= 0, 5},
                                   {*lda >= std::max<index>(1, order), 7},
                                   {*ldc >= std::max<index>(1, *m), 10},
                                   {*lwork == -1 || *lwork >= least, 12}});
    if (settled<routine>(wrong, *lwork == -1, least, work, status) || *m == 0 || *n == 0 || order == 1) return;
    if (uplo == 'U')
      multiply_other<T>({true, order - 1, A + *lda, *lda}, left, adjoint, length, order - 1, tau, C, *ldc);
    else
      behind_first_row(left, adjoint, *m, *n, 1, order - 1, A + 1, *lda, tau, C, *ldc);
  }
  /// By `size` reflectors that leave the first `begin` rows, or columns, of C as they are.
  static void behind_first_row(bool left, bool adjoint, index m, index n, index begin, index size, const T* A,
                               index lda, const T* tau, T* C, index ldc) {
    blaslift::ormqr<T>(left, adjoint, left ? size : m, left ? n : size, size, A, lda, tau,
                       C + (left ? begin : begin * ldc), ldc);
  }
  template <Routine routine>
  static void orgtr(const char* u, const Int* n, T* A, const Int* lda, const T* tau, T* work, const Int* lwork,
                    Int* status) {
    const char uplo = letter(u);
    const index least = std::max<index>(1, *n - 1);
    const int wrong = first_wrong({{uplo == 'L' || uplo == 'U', 1},
                                   {*n >= 0, 2},
                                   {*lda >= std::max<index>(1, *n), 4},
                                   {*lwork == -1 || *lwork >= least, 7}});
    if (settled<routine>(wrong, *lwork == -1, least, work, status) || *n == 0) return;
    uplo == 'U' ? orgql_before<T>(*n, A, *lda, tau) : orgqr_behind<T>(*n, 0, *n - 1, A, *lda, tau);
  }

  template <Routine routine>
  static void ormhr(const char* s, const char* t, const Int* m, const Int* n, const Int* ilo, const Int* ihi,
                    const T* A, const Int* lda, const T* tau, T* C, const Int* ldc, T* work, const Int* lwork,
                    Int* status) {
    const char side = letter(s), trans = letter(t);
    const bool left = side == 'L';
    const index order = left ? *m : *n, least = std::max<index>(1, left ? *n : *m), size = *ihi - *ilo;
    const int wrong = first_wrong({{side == 'L' || side == 'R', 1},
                                   {trans == 'N' || trans == (complex<T> ? 'C' : 'T'), 2},
                                   {*m >= 0, 3},
                                   {*n >= 0, 4},
                                   {*ilo >= 1 && *ilo <= std::max<index>(1, order), 5},
                                   {*ihi >= std::min<index>(*ilo, order) && *ihi <= order, 6},
                                   {*lda >= std::max<index>(1, order), 8},
                                   {*ldc >= std::max<index>(1, *m), 11},
                                   {*lwork == -1 || *lwork >= least, 13}});
    if (settled<routine>(wrong, *lwork == -1, least, work, status) || *m == 0 || *n == 0 || size <= 0) return;
    behind_first_row(left, trans != 'N', *m, *n, *ilo, size, A + *ilo + (*ilo - 1) * static_cast<index>(*lda), *lda,
                     tau + *ilo - 1, C, *ldc);
  }
  template <Routine routine>
  static void orghr(const Int* n, const Int* ilo, const Int* ihi, T* A, const Int* lda, const T* tau, T* work,
                    const Int* lwork, Int* status) {
    const index size = *ihi - *ilo, least = std::max<index>(1, size);
    const int wrong = first_wrong({{*n >= 0, 1},
                                   {*ilo >= 1 && *ilo <= std::max<index>(1, *n), 2},
                                   {*ihi >= std::min<index>(*ilo, *n) && *ihi <= *n, 3},
                                   {*lda >= std::max<index>(1, *n), 5},
                                   {*lwork == -1 || *lwork >= least, 8}});
    if (settled<routine>(wrong, *lwork == -1, least, work, status) || *n == 0) return;
    orgqr_behind<T>(*n, *ilo - 1, size, A, *lda, tau + *ilo - 1);
  }

  template <Routine routine>
  static void ormbr(const char* v, const char* s, const char* t, const Int* m, const Int* n, const Int* k, const T* A,
                    const Int* lda, const T* tau, T* C, const Int* ldc, T* work, const Int* lwork, Int* status) {
    const char vect = letter(v), side = letter(s), trans = letter(t);
    const bool left = side == 'L', adjoint = trans != 'N', rows = vect == 'P';
    const index order = left ? *m : *n, length = left ? *n : *m, least = std::max<index>(1, length),
                count = std::min<index>(order, *k);
    const int wrong = first_wrong({{vect == 'Q' || vect == 'P', 1},
                                   {side == 'L' || side == 'R', 2},
                                   {trans == 'N' || trans == (complex<T> ? 'C' : 'T'), 3},
                                   {*m >= 0, 4},
                                   {*n >= 0, 5},
                                   {*k >= 0, 6},
                                   {*lda >= std::max<index>(1, rows ? count : order), 8},
                                   {*ldc >= std::max<index>(1, *m), 11},
                                   {*lwork == -1 || *lwork >= least, 13}});
    if (settled<routine>(wrong, *lwork == -1, least, work, status) || *m == 0 || *n == 0) return;
    // Of a square matrix, or a longer one, the side that is reduced second begins beside the diagonal.
    const index begin = (rows ? *k > order - 1 : *k > order) ? 1 : 0, size = order - begin;
    if (!rows) {
      if (begin == 0)
        blaslift::ormqr<T>(left, adjoint, *m, *n, *k, A, *lda, tau, C, *ldc);
      else
        behind_first_row(left, adjoint, *m, *n, begin, size, A + begin, *lda, tau, C, *ldc);
    } else {
      multiply_other<T>({false, size, A + begin * static_cast<index>(*lda), *lda}, left, adjoint, length,
                        begin ? size : *k, tau, C + (left ? begin : begin * static_cast<index>(*ldc)), *ldc);
    }
  }
  template <Routine routine>
  static void orgbr(const char* v, const Int* m, const Int* n, const Int* k, T* A, const Int* lda, const T* tau,
                    T* work, const Int* lwork, Int* status) {
    const char vect = letter(v);
    const bool rows = vect == 'P';
    const index longer = rows ? *n : *m, shorter = rows ? *m : *n, least = std::max<index>(1, std::min(*m, *n));
    const int wrong = first_wrong({{vect == 'Q' || vect == 'P', 1},
                                   {*m >= 0, 2},
                                   {*n >= 0 && shorter <= longer && shorter >= std::min<index>(longer, *k), 3},
                                   {*k >= 0, 4},
                                   {*lda >= std::max<index>(1, *m), 6},
                                   {*lwork == -1 || *lwork >= least, 9}});
    if (settled<routine>(wrong, *lwork == -1, least, work, status) || *m == 0 || *n == 0) return;
    if (!rows) {
      if (*m >= *k)
        blaslift::orgqr<T>(*m, *n, *k, A, *lda, tau);
      else
        orgqr_behind<T>(*n, 0, *n - 1, A, *lda, tau);
    } else if (*k < *n) {
      blaslift::orglq<T>(*m, *n, *k, A, *lda, tau);
    } else {
      const index ld = *lda, order = *n;
      for (index j = 0; j < order; ++j) {  // down by a row
        for (index i = j; i >= 1; --i) A[i + j * ld] = A[i - 1 + j * ld];
        A[j * ld] = A[j] = T(j == 0 ? 1 : 0);
      }
      if (order > 1) blaslift::orglq<T>(order - 1, order - 1, order - 1, A + 1 + ld, ld, tau);
    }
  }

  /// In T: its size and the sizes of blocks, which are all of it, in five elements; then tau.
  static constexpr index head = 5;
  template <Routine routine>
  static void geqr(const Int* m, const Int* n, T* A, const Int* lda, T* t, const Int* tsize, T* work, const Int* lwork,
                   Int* status) {
    const index least = std::max<index>(1, *n), room = head + std::max<index>(1, std::min(*m, *n));
    const bool asks = *tsize == -1 || *tsize == -2 || *lwork == -1 || *lwork == -2;
    const int wrong = first_wrong({{*m >= 0, 1},
                                   {*n >= 0, 2},
                                   {*lda >= std::max<index>(1, *m), 4},
                                   {asks || *tsize >= room, 6},
                                   {asks || *lwork >= least, 8}});
    if (!wrong) {
      t[0] = T(static_cast<Real<T>>(room));
      t[1] = T(static_cast<Real<T>>(*m));
      t[2] = T(static_cast<Real<T>>(*n));
    }
    if (!settled<routine>(wrong, asks, least, work, status)) geqr2<T>(*m, *n, A, *lda, t + head);
  }
  template <Routine routine>
  static void gemqr(const char* s, const char* tr, const Int* m, const Int* n, const Int* k, const T* A, const Int* lda,
                    const T* t, const Int* tsize, T* C, const Int* ldc, T* work, const Int* lwork, Int* status) {
    const char side = letter(s), trans = letter(tr);
    const index least = std::max<index>(1, side == 'L' ? *n : *m);
    int wrong = wrong_in_ormqr(side, trans, *m, *n, *k, *lda, *ldc);
    if (!wrong)
      wrong = first_wrong(
          {{*tsize >= head, 9}, {*ldc >= std::max<index>(1, *m), 11}, {*lwork == -1 || *lwork >= least, 13}});
    if (!settled<routine>(wrong, *lwork == -1, least, work, status))
      blaslift::ormqr<T>(side == 'L', trans != 'N', *m, *n, *k, A, *lda, t + head, C, *ldc);
  }
};

// ---------------------------------------------------------------------------------------------------------------
// CBLAS

char op_of(int code) { return code == 111 ? 'N' : code == 112 ? 'T' : code == 113 ? 'C' : '?'; }
char uplo_of(int code) { return code == 121 ? 'U' : code == 122 ? 'L' : '?'; }
char other_uplo(char uplo) { return uplo == 'U' ? 'L' : uplo == 'L' ? 'U' : '?'; }
constexpr int by_rows = 101, by_columns = 102;

template <class T, class Int>
struct Cblas {
  using Scalar = typename ByValue<T>::type;

  template <Routine routine>
  static void refuse_it(int position) {
    // What is by rows has its arguments in another order: told is what is right for the layout by columns.
    refuse(name_of<routine>, position + 1);
  }

  template <Routine routine>
  static void gemm(int layout, int transa, int transb, Int m, Int n, Int k, Scalar alpha, const T* A, Int lda,
                   const T* B, Int ldb, Scalar beta, T* C, Int ldc) {
    if (layout != by_rows && layout != by_columns) return refuse_it<routine>(0);
    const bool rows = layout == by_rows;
    const char ta = op_of(rows ? transb : transa), tb = op_of(rows ? transa : transb);
    if (rows) {
      std::swap(m, n);
      std::swap(A, B);
      std::swap(lda, ldb);
    }
    if (const int wrong = wrong_in_gemm(ta, tb, m, n, k, lda, ldb, ldc)) return refuse_it<routine>(wrong);
    blaslift::gemm<T>(ta, tb, m, n, k, ByValue<T>::get(alpha), A, lda, B, ldb, ByValue<T>::get(beta), C, ldc);
  }

  template <Routine routine>
  static void gemm_batch(int layout, const int* transa, const int* transb, const Int* m, const Int* n, const Int* k,
                         const T* alpha, const T* const* A, const Int* lda, const T* const* B, const Int* ldb,
                         const T* beta, T* const* C, const Int* ldc, Int groups, const Int* sizes) {
    if (layout != by_rows && layout != by_columns) return refuse_it<routine>(0);
    if (layout == by_rows) {
      std::swap(transa, transb);
      std::swap(m, n);
      std::swap(A, B);
      std::swap(lda, ldb);
    }
    const auto of = [](const int* all) { return [all](index g) { return op_of(all[g]); }; };
    if (const int wrong = gemm_groups<T>(gemm_underneath<routine, Int>(), of(transa), of(transb), m, n, k, alpha, A,
                                         lda, B, ldb, beta, C, ldc, groups, sizes))
      refuse_it<routine>(wrong);
  }

  template <Routine routine>
  static void gemm_batch_strided(int layout, int transa, int transb, Int m, Int n, Int k, Scalar alpha, const T* A,
                                 Int lda, Int stride_a, const T* B, Int ldb, Int stride_b, Scalar beta, T* C, Int ldc,
                                 Int stride_c, Int count) {
    if (layout != by_rows && layout != by_columns) return refuse_it<routine>(0);
    const bool rows = layout == by_rows;
    const char ta = op_of(rows ? transb : transa), tb = op_of(rows ? transa : transb);
    if (rows) {
      std::swap(m, n);
      std::swap(A, B);
      std::swap(lda, ldb);
      std::swap(stride_a, stride_b);
    }
    if (const int wrong = wrong_in_gemm_batch(ta, tb, m, n, k, lda, ldb, ldc, count)) return refuse_it<routine>(wrong);
    blaslift::gemm_batch<T>(gemm_underneath<routine, Int>(), ta, tb, m, n, k, ByValue<T>::get(alpha), A, lda, stride_a,
                            B, ldb, stride_b, ByValue<T>::get(beta), C, ldc, stride_c, count);
  }

  template <Routine routine>
  static constexpr auto gemm3m = gemm<routine>;
  template <Routine routine>
  static void gemmt(int layout, int u, int transa, int transb, Int n, Int k, Scalar alpha, const T* A, Int lda,
                    const T* B, Int ldb, Scalar beta, T* C, Int ldc) {
    if (layout != by_rows && layout != by_columns) return refuse_it<routine>(0);
    const bool rows = layout == by_rows;
    const char uplo = rows ? other_uplo(uplo_of(u)) : uplo_of(u), ta = op_of(rows ? transb : transa),
               tb = op_of(rows ? transa : transb);
    if (rows) {
      std::swap(A, B);
      std::swap(lda, ldb);
    }
    if (const int wrong = wrong_in_gemmt(uplo, ta, tb, n, k, lda, ldb, ldc)) return refuse_it<routine>(wrong);
    blaslift::gemmt<T>(uplo, ta, tb, n, k, ByValue<T>::get(alpha), A, lda, B, ldb, ByValue<T>::get(beta), C, ldc);
  }

  template <Routine routine>
  static void ranked(bool hermitian, int layout, int u, int t, Int n, Int k, T alpha, const T* A, Int lda, T beta, T* C,
                     Int ldc) {
    if (layout != by_rows && layout != by_columns) return refuse_it<routine>(0);
    char uplo = uplo_of(u), trans = op_of(t);
    if (!is_syrk_op<T>(trans, hermitian)) return refuse_it<routine>(2);
    if (layout == by_rows) {
      uplo = other_uplo(uplo);
      trans = trans != 'N' ? 'N' : hermitian ? 'C' : 'T';
    }
    if (const int wrong = wrong_in_syrk<T>(uplo, trans, hermitian, n, k, lda, ldc)) return refuse_it<routine>(wrong);
    blaslift::syrk<T>(uplo, trans, hermitian, n, k, alpha, A, lda, beta, C, ldc);
  }
  template <Routine routine>
  static void syrk(int layout, int uplo, int trans, Int n, Int k, Scalar alpha, const T* A, Int lda, Scalar beta, T* C,
                   Int ldc) {
    ranked<routine>(false, layout, uplo, trans, n, k, ByValue<T>::get(alpha), A, lda, ByValue<T>::get(beta), C, ldc);
  }
  template <Routine routine>
  static void herk(int layout, int uplo, int trans, Int n, Int k, Real<T> alpha, const T* A, Int lda, Real<T> beta,
                   T* C, Int ldc) {
    ranked<routine>(true, layout, uplo, trans, n, k, T(alpha), A, lda, T(beta), C, ldc);
  }

  template <Routine routine>
  static void ranked_twice(bool hermitian, int layout, int u, int t, Int n, Int k, T alpha, const T* A, Int lda,
                           const T* B, Int ldb, T beta, T* C, Int ldc) {
    if (layout != by_rows && layout != by_columns) return refuse_it<routine>(0);
    char uplo = uplo_of(u), trans = op_of(t);
    if (!is_syrk_op<T>(trans, hermitian)) return refuse_it<routine>(2);
    if (layout == by_rows) {
      uplo = other_uplo(uplo);
      trans = trans != 'N' ? 'N' : hermitian ? 'C' : 'T';
      alpha = conjugate_if(hermitian, alpha);
    }
    if (const int wrong = wrong_in_syr2k<T>(uplo, trans, hermitian, n, k, lda, ldb, ldc))
      return refuse_it<routine>(wrong);
    blaslift::syr2k<T>(uplo, trans, hermitian, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
  }
  template <Routine routine>
  static void syr2k(int layout, int uplo, int trans, Int n, Int k, Scalar alpha, const T* A, Int lda, const T* B,
                    Int ldb, Scalar beta, T* C, Int ldc) {
    ranked_twice<routine>(false, layout, uplo, trans, n, k, ByValue<T>::get(alpha), A, lda, B, ldb,
                          ByValue<T>::get(beta), C, ldc);
  }
  template <Routine routine>
  static void her2k(int layout, int uplo, int trans, Int n, Int k, Scalar alpha, const T* A, Int lda, const T* B,
                    Int ldb, Real<T> beta, T* C, Int ldc) {
    ranked_twice<routine>(true, layout, uplo, trans, n, k, ByValue<T>::get(alpha), A, lda, B, ldb, T(beta), C, ldc);
  }

  static char side_of(int code, bool rows) { return code == 141 || code == 142 ? "LR"[(code == 142) != rows] : '?'; }
  template <Routine routine>
  static void with_symmetric(bool hermitian, int layout, int s, int u, Int m, Int n, Scalar alpha, const T* A, Int lda,
                             const T* B, Int ldb, Scalar beta, T* C, Int ldc) {
    if (layout != by_rows && layout != by_columns) return refuse_it<routine>(0);
    const bool rows = layout == by_rows;
    const char side = side_of(s, rows), uplo = rows ? other_uplo(uplo_of(u)) : uplo_of(u);
    if (rows) std::swap(m, n);
    if (const int wrong = wrong_in_symm(side, uplo, m, n, lda, ldb, ldc)) return refuse_it<routine>(wrong);
    blaslift::symm<T>(side == 'L', uplo, hermitian, m, n, ByValue<T>::get(alpha), A, lda, B, ldb, ByValue<T>::get(beta),
                      C, ldc);
  }
  template <Routine routine>
  static void symm(int layout, int side, int uplo, Int m, Int n, Scalar alpha, const T* A, Int lda, const T* B, Int ldb,
                   Scalar beta, T* C, Int ldc) {
    with_symmetric<routine>(false, layout, side, uplo, m, n, alpha, A, lda, B, ldb, beta, C, ldc);
  }
  template <Routine routine>
  static void hemm(int layout, int side, int uplo, Int m, Int n, Scalar alpha, const T* A, Int lda, const T* B, Int ldb,
                   Scalar beta, T* C, Int ldc) {
    with_symmetric<routine>(true, layout, side, uplo, m, n, alpha, A, lda, B, ldb, beta, C, ldc);
  }

  /// @param compute  trmm or trsm
  template <Routine routine>
  static void with_triangle(decltype(blaslift::trsm<T>)* compute, int layout, int s, int u, int t, int d, Int m, Int n,
                            Scalar alpha, const T* A, Int lda, T* B, Int ldb) {
    if (layout != by_rows && layout != by_columns) return refuse_it<routine>(0);
    const bool rows = layout == by_rows;
    const char side = side_of(s, rows),
               diag = d == 131   ? 'N'
                      : d == 132 ? 'U'
                                 : '?',
               uplo = rows ? other_uplo(uplo_of(u)) : uplo_of(u), trans = op_of(t);
    if (rows) std::swap(m, n);
    if (const int wrong = wrong_in_trsm(side, uplo, trans, diag, m, n, lda, ldb)) return refuse_it<routine>(wrong);
    compute(side == 'L', uplo, trans, diag == 'U', m, n, ByValue<T>::get(alpha), A, lda, B, ldb);
  }
  template <Routine routine>
  static void trmm(int layout, int side, int uplo, int trans, int diag, Int m, Int n, Scalar alpha, const T* A, Int lda,
                   T* B, Int ldb) {
    with_triangle<routine>(blaslift::trmm<T>, layout, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb);
  }
  template <Routine routine>
  static void trsm(int layout, int side, int uplo, int trans, int diag, Int m, Int n, Scalar alpha, const T* A, Int lda,
                   T* B, Int ldb) {
    with_triangle<routine>(blaslift::trsm<T>, layout, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb);
  }

  template <Routine routine>
  static void with_vector(bool hermitian, int layout, int u, Int n, Scalar alpha, const T* A, Int lda, const T* x,
                          Int incx, Scalar beta, T* y, Int incy) {
    if (layout != by_rows && layout != by_columns) return refuse_it<routine>(0);
    const bool rows = layout == by_rows;
    const char uplo = rows ? other_uplo(uplo_of(u)) : uplo_of(u);
    if (const int wrong = wrong_in_symv(uplo, n, lda, incx, incy)) return refuse_it<routine>(wrong);
    blaslift::symv<T>(uplo, hermitian, hermitian && rows, n, ByValue<T>::get(alpha), A, lda, x, incx,
                      ByValue<T>::get(beta), y, incy);
  }
  template <Routine routine>
  static void symv(int layout, int uplo, Int n, Scalar alpha, const T* A, Int lda, const T* x, Int incx, Scalar beta,
                   T* y, Int incy) {
    with_vector<routine>(false, layout, uplo, n, alpha, A, lda, x, incx, beta, y, incy);
  }
  template <Routine routine>
  static void hemv(int layout, int uplo, Int n, Scalar alpha, const T* A, Int lda, const T* x, Int incx, Scalar beta,
                   T* y, Int incy) {
    with_vector<routine>(true, layout, uplo, n, alpha, A, lda, x, incx, beta, y, incy);
  }

  template <Routine routine>
  static void gemv(int layout, int t, Int m, Int n, Scalar alpha, const T* A, Int lda, const T* x, Int incx,
                   Scalar beta, T* y, Int incy) {
    if (layout != by_rows && layout != by_columns) return refuse_it<routine>(0);
    const bool rows = layout == by_rows;
    char trans = op_of(t);
    if (!is_op(trans)) return refuse_it<routine>(1);
    // What is stored by rows is the transposed matrix by columns.
    const bool conjugated = rows && trans == 'C';
    if (rows) std::swap(m, n), trans = trans == 'N' ? 'T' : 'N';
    if (const int wrong = wrong_in_gemv(trans, m, n, lda, incx, incy)) return refuse_it<routine>(wrong);
    blaslift::gemv<T>(trans, conjugated, m, n, ByValue<T>::get(alpha), A, lda, x, incx, ByValue<T>::get(beta), y, incy);
  }

  template <Routine routine>
  static void copy(Int n, const T* x, Int incx, T* y, Int incy) {
    blaslift::copy<T>(n, x, incx, y, incy);
  }
};

template <class F>
void* address(F* function) {
  return reinterpret_cast<void*>(function);
}

template <class Int>
void* of_width(Symbol symbol) {
  const bool cblas = info(symbol).interface == Interface::cblas;
  const Routine routine = info(symbol).routine;
#define BLAS(kind, name, type)                                             \
  if (routine == Routine::name)                                            \
    return cblas ? address(Cblas<type, Int>::template kind<Routine::name>) \
                 : address(Fortran<type, Int>::template kind<Routine::name>);
#define LAPACK(kind, name, type) \
  if (routine == Routine::name) return address(Fortran<type, Int>::template kind<Routine::name>);
#include "api/routines.def"
  return nullptr;
}

}  // namespace

void* builtin(Symbol symbol, bool wide, FindGemm find) {
  if (find) find_gemm.store(find, std::memory_order_release);
  return wide ? of_width<std::int64_t>(symbol) : of_width<std::int32_t>(symbol);
}

}  // namespace blaslift
