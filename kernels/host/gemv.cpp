#include "kernels/host/gemv.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/gemv.hpp"

namespace blaslift {
namespace {

using namespace gemv_order;

template <class T>
class Problem {
 public:
  explicit Problem(const Gemv& p)
      : p_(p),
        A_(static_cast<const T*>(p.A)),
        order_(p),
        x_(at(order_.terms)),
        parts_(at(order_.results) * at(order_.chunks)) {}

  void run() {
    T alpha, beta;
    std::memcpy(&alpha, p_.alpha, sizeof alpha);
    std::memcpy(&beta, p_.beta, sizeof beta);
    const bool multiplies = !equals(alpha, 0);
    if (!multiplies && equals(beta, 1)) return;
    if (multiplies) {
      const T* x = first(static_cast<const T*>(p_.x), order_.terms, p_.incx);
      for (index i = 0; i < order_.terms; ++i) x_[at(i)] = conjugate_if(p_.conjugated, x[i * p_.incx]);
      p_.transposed ? sum_rows() : sum_columns();
    }
    T* y = first(static_cast<T*>(p_.y), order_.results, p_.incy);
    for (index i = 0; i < order_.results; ++i) {
      T& to = y[i * p_.incy];
      to = updated(alpha, conjugate_if(p_.conjugated, sum_of_chunks(i)), beta, &to);
    }
  }

 private:
  static std::size_t at(index i) { return static_cast<std::size_t>(i); }
  /// BLAS begins a vector with a negative increment at its far end.
  template <class X>
  static X* first(X* vector, index n, index inc) {
    return inc < 0 ? vector + (1 - n) * inc : vector;
  }
  index end_of(index chunk) const { return std::min(order_.terms, (chunk + 1) * order_.chunk); }

  void sum_columns() {
    const std::size_t m = at(order_.results), together = at(order_.together);
    std::vector<T> of_warp(together * m);
    for (index chunk = 0; chunk < order_.chunks; ++chunk) {
      std::fill(of_warp.begin(), of_warp.end(), T{});
      const index begin = chunk * order_.chunk;
      for (index j = begin; j < end_of(chunk); ++j) {
        T* const sums = of_warp.data() + at((j - begin) / columns_at_once) % together * m;
        const T* const column = A_ + j * p_.lda;
        const T x = x_[at(j)];
        for (std::size_t i = 0; i < m; ++i) sums[i] = add_product(column[i], x, sums[i]);
      }
      for (std::size_t i = 0; i < m; ++i) {
        T sum = of_warp[i];
        for (std::size_t w = 1; w < together; ++w) sum = plus(sum, of_warp[w * m + i]);
        parts_[at(chunk) * m + i] = sum;
      }
    }
  }

  void sum_rows() {
    const std::size_t down = at(order_.together), V = at(order_.V);
    std::vector<T> of_thread(down);
    for (index chunk = 0; chunk < order_.chunks; ++chunk)
      for (index j = 0; j < order_.results; ++j) {
        std::fill(of_thread.begin(), of_thread.end(), T{});
        const index begin = chunk * order_.chunk;
        for (index i = begin; i < end_of(chunk); ++i) {
          T& sum = of_thread[at(i - begin) / V % down];
          sum = add_product(A_[i + j * p_.lda], x_[at(i)], sum);
        }
        T total{};
        for (std::size_t warp = 0; warp < down; warp += 32) {
          T* const of_lane = of_thread.data() + warp;
          for (int distance = 16; distance > 0; distance /= 2)
            for (int lane = 0; lane < distance; ++lane) of_lane[lane] = plus(of_lane[lane], of_lane[lane + distance]);
          total = warp == 0 ? of_lane[0] : plus(total, of_lane[0]);
        }
        parts_[at(chunk) * at(order_.results) + at(j)] = total;
      }
  }

  T sum_of_chunks(index i) const {
    const auto part = [&](index chunk) { return parts_[at(chunk) * at(order_.results) + at(i)]; };
    if (order_.chunks == 1) return part(0);
    T total{};
    for (index g = 0; g < std::min<index>(chains, order_.chunks); ++g) {
      T sum{};
      for (index chunk = g; chunk < order_.chunks; chunk += chains) sum = plus(sum, part(chunk));
      total = g == 0 ? sum : plus(total, sum);
    }
    return total;
  }

  const Gemv& p_;
  const T* A_;
  const Order order_;
  std::vector<T> x_, parts_;
};

}  // namespace

void gemv(const Gemv& p) {
  if (p.m == 0 || p.n == 0) return;
  switch (p.precision) {
    case Precision::s: return Problem<float>(p).run();
    case Precision::d: return Problem<double>(p).run();
    case Precision::c: return Problem<Complex<float>>(p).run();
    case Precision::z: return Problem<Complex<double>>(p).run();
  }
}

}  // namespace blaslift
