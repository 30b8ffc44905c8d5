// Args: what a call asks for, free of ABI.  Column-major, 64-bit sizes, the element type as a template parameter.
#pragma once
#include <cstdint>
#include <string>

#include "compat/symbols.hpp"
#include "kernels/types.hpp"

namespace blaslift {

/// C := alpha * op(A) * op(B) + beta * C with op(A) m x k, op(B) k x n, C m x n, all column-major.
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

  index rows_a() const { return transa == Op::none ? m : k; }
  index cols_a() const { return transa == Op::none ? k : m; }
  index rows_b() const { return transb == Op::none ? k : n; }
  index cols_b() const { return transb == Op::none ? n : k; }

  /// What the reference routine's own checks accept; anything else is for its xerbla.
  bool valid() const {
    auto at_least = [](index ld, index rows) { return ld >= (rows > 1 ? rows : 1); };
    return m >= 0 && n >= 0 && k >= 0 && at_least(lda, rows_a()) && at_least(ldb, rows_b()) && at_least(ldc, m);
  }
};

/// A product as the decision sees it: sizes without pointers.
struct Product {
  Routine routine;
  Precision precision;
  index m, n, k;
  bool alpha_zero;  ///< neither A nor B is read
  bool beta_zero;   ///< C is not read
  bool overlaps;    ///< C shares bytes with A or B

  double flops() const {
    return (is_complex(precision) ? 8.0 : 2.0) * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
  }
  double bytes_in() const {
    const double elements = static_cast<double>(m) * static_cast<double>(k) +
                            static_cast<double>(k) * static_cast<double>(n) +
                            (beta_zero ? 0.0 : static_cast<double>(m) * static_cast<double>(n));
    return elements * static_cast<double>(element_size(precision));
  }
  double bytes_out() const {
    return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(element_size(precision));
  }
};

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
                      overlap(a.C, a.m, a.n, a.ldc, a.B, a.rows_b(), a.cols_b(), a.ldb, sizeof(T))};
}

/// "dgemm m=.. n=.. k=.."
std::string to_string(const Product& product);

}  // namespace blaslift
