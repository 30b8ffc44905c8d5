#include "kernels/host/qr_tiles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/host/scalars.hpp"

namespace blaslift {
namespace {

using namespace host;

/// Where the reflectors' elements are: each has a 1 in a row of its own, and others.
enum class Shape {
  below,    ///< in the rows below that one
  square,   ///< in all rows of another tile
  triangle  ///< in its rows down to the diagonal
};

/// What reflectors are made of or applied to.
template <Shape shape, class T>
struct Columns {
  T* top;  ///< tile with the rows of ones
  index ldtop;
  T* bottom;  ///< the other tile; not with Shape::below
  index ldbottom;
  index m;  ///< rows of the tile that has the other elements

  T* unit(index p, index col) const { return top + p + col * ldtop; }
  T* others(index p, index col) const { return shape == Shape::below ? unit(p, col) + 1 : bottom + col * ldbottom; }
  index length(index p) const {
    return shape == Shape::below ? m - p - 1 : shape == Shape::square ? m : std::min(m, p + 1);
  }
};

/// The Euclidean norm.  Squares that overflow, or are too small to be exact, are avoided by a scale.
template <class T>
Real<T> norm(index n, const T* x) {
  using R = Real<T>;
  const R sum = std::real(dot(n, x, x));
  // n smallest squares that are lost are then below one rounding of the sum.
  constexpr R enough =
      std::numeric_limits<R>::min() / (std::numeric_limits<R>::epsilon() * std::numeric_limits<R>::epsilon());
  if (sum >= enough && sum <= std::numeric_limits<R>::max()) return std::sqrt(sum);
  R largest = 0;
  for (index i = 0; i < n; ++i)
    for (const R part : {std::abs(std::real(x[i])), std::abs(std::imag(x[i]))})
      if (part > largest || std::isnan(part)) largest = part;  // nothing is larger than NaN
  if (largest == 0 || !std::isfinite(largest)) return largest;
  // By a power of two, exactly.
  const int exponent = std::ilogb(largest);
  R scaled = 0;
  for (index i = 0; i < n; ++i) {
    const R re = std::scalbn(std::real(x[i]), -exponent), im = std::scalbn(std::imag(x[i]), -exponent);
    scaled += re * re + im * im;
  }
  return std::scalbn(std::sqrt(scaled), exponent);
}

template <class R>
R hypotenuse(R x, R y, R z) {
  const R parts[] = {x, y, z};
  return norm(3, parts);
}

template <class T>
void scale(index n, T a, T* x) {
  for (index i = 0; i < n; ++i) x[i] = times(a, x[i]);
}

/// LAPACK's larfg: H^H (alpha, x) = (beta, 0) with H = I - tau (1, v) (1, v)^H and a real beta, which replaces alpha as
/// v replaces x.  Returns tau: 0 where nothing is to be done, else with a real part in [1, 2].
template <class T>
T make_reflector(index n, T& alpha, T* x) {
  using R = Real<T>;
  R rest = norm(n, x);
  if (rest == 0 && std::imag(alpha) == 0) return T(0);
  auto beta_of = [&] {
    return -std::copysign(hypotenuse<R>(std::real(alpha), std::imag(alpha), rest), std::real(alpha));
  };
  R beta = beta_of();
  // Tiny ones are scaled up, or 1 / (alpha - beta) would overflow.
  constexpr R least = std::numeric_limits<R>::min() / (std::numeric_limits<R>::epsilon() / 2), much = 1 / least;
  int scalings = 0;
  for (; std::abs(beta) < least && scalings < 20; ++scalings) {
    scale(n, T(much), x);
    alpha *= much;
    rest = norm(n, x);
    beta = beta_of();
  }
  T tau;
  if constexpr (is_complex_type<T>)
    tau = {(beta - alpha.real()) / beta, -alpha.imag() / beta};
  else
    tau = (beta - alpha) / beta;
  // The library's division scales; without it parts of the divisor would be squared.
  scale(n, T(1) / (alpha - beta), x);
  for (; scalings > 0; --scalings) beta *= least;
  alpha = beta;
  return tau;
}

/// C := Q C or Q^H C of one block of w reflectors, the first in row `first`, a column at a time.
template <Shape shape, class T>
void apply_block(Op op, index w, index first, const Columns<shape, const T>& V, const T* t, index ldt, index n,
                 const Columns<shape, T>& C) {
  T sums[most_ib];
  for (index col = 0; col < n; ++col) {
    for (index p = 0; p < w; ++p)
      sums[p] =
          *C.unit(first + p, col) + dot(V.length(first + p), V.others(first + p, first + p), C.others(first + p, col));
    if (op == Op::none) {
      for (index p = 0; p < w; ++p) {
        T sum{};
        for (index q = p; q < w; ++q) sum += times(t[p + q * ldt], sums[q]);
        sums[p] = sum;
      }
    } else {
      for (index p = w - 1; p >= 0; --p) sums[p] = dot(p + 1, t + p * ldt, sums);
    }
    for (index p = 0; p < w; ++p) {
      *C.unit(first + p, col) -= sums[p];
      subtract(V.length(first + p), sums[p], V.others(first + p, first + p), C.others(first + p, col));
    }
  }
}

template <Shape shape, class T>
Columns<shape, const T> read_only(const Columns<shape, T>& x) {
  return {x.top, x.ldtop, x.bottom, x.ldbottom, x.m};
}

/// n columns, k reflectors.
template <Shape shape, class T>
void factor(index n, index k, index ib, const Columns<shape, T>& A, T* t, index ldt) {
  for (index first = 0; first < k; first += ib) {
    const index w = std::min(ib, k - first);
    for (index j = first; j < first + w; ++j) {
      const index length = A.length(j), before = j - first;
      const T* v = A.others(j, j);
      const T tau = make_reflector(length, *A.unit(j, j), A.others(j, j));
      for (index col = j + 1; col < first + w; ++col) {
        T& unit = *A.unit(j, col);
        const T sum = times(conjugate(tau), unit + dot(length, v, A.others(j, col)));
        unit -= sum;
        subtract(length, sum, v, A.others(j, col));
      }
      // T's next column: -T V^H v tau.
      T* z = t + j * ldt;
      for (index p = 0; p < before; ++p) {
        const T* earlier = A.others(j, first + p);  // in the same rows as v
        T product = dot(shape == Shape::triangle ? A.length(first + p) : length, earlier, v);
        if (shape == Shape::below) product += conjugate(*A.unit(j, first + p));
        z[p] = times(-tau, product);
      }
      for (index p = 0; p < before; ++p) {
        T sum{};
        for (index q = p; q < before; ++q) sum += times(t[p + (first + q) * ldt], z[q]);
        z[p] = sum;
      }
      z[before] = tau;
    }
    const index next = first + w;
    Columns<shape, T> rest = A;
    rest.top += next * A.ldtop;
    if (shape != Shape::below) rest.bottom += next * A.ldbottom;
    if (next < n) apply_block(Op::conjugate, w, first, read_only(A), t + first * ldt, ldt, n - next, rest);
  }
}

template <Shape shape, class T>
void apply(Op op, index n, index k, index ib, const Columns<shape, const T>& V, const T* t, index ldt,
           const Columns<shape, T>& C) {
  const index blocks = (k + ib - 1) / ib;
  for (index i = 0; i < blocks; ++i) {
    const index first = (op == Op::none ? blocks - 1 - i : i) * ib;
    apply_block(op, std::min(ib, k - first), first, V, t + first * ldt, ldt, n, C);
  }
}

}  // namespace

template <class T>
void geqrt(index m, index n, index ib, T* A, index lda, T* t, index ldt) {
  factor(n, std::min(m, n), ib, Columns<Shape::below, T>{A, lda, nullptr, 0, m}, t, ldt);
}

template <class T>
void larfb(Op op, index m, index n, index k, index ib, const T* V, index ldv, const T* t, index ldt, T* C, index ldc) {
  apply(op, n, k, ib, Columns<Shape::below, const T>{V, ldv, nullptr, 0, m}, t, ldt,
        Columns<Shape::below, T>{C, ldc, nullptr, 0, m});
}

template <class T>
void tsqrt(index m, index n, index ib, T* R, index ldr, T* A, index lda, T* t, index ldt) {
  factor(n, n, ib, Columns<Shape::square, T>{R, ldr, A, lda, m}, t, ldt);
}

template <class T>
void ttqrt(index m, index n, index ib, T* R, index ldr, T* A, index lda, T* t, index ldt) {
  factor(n, n, ib, Columns<Shape::triangle, T>{R, ldr, A, lda, m}, t, ldt);
}

template <class T>
void ssrfb(Op op, index m, index n, index k, index ib, const T* V, index ldv, const T* t, index ldt, T* C1, index ldc1,
           T* C2, index ldc2) {
  apply(op, n, k, ib, Columns<Shape::square, const T>{nullptr, 0, V, ldv, m}, t, ldt,
        Columns<Shape::square, T>{C1, ldc1, C2, ldc2, m});
}

template <class T>
void ttmqr(Op op, index m, index n, index k, index ib, const T* V, index ldv, const T* t, index ldt, T* C1, index ldc1,
           T* C2, index ldc2) {
  apply(op, n, k, ib, Columns<Shape::triangle, const T>{nullptr, 0, V, ldv, m}, t, ldt,
        Columns<Shape::triangle, T>{C1, ldc1, C2, ldc2, m});
}

#define INSTANTIATE(T)                                                                                         \
  template void geqrt(index, index, index, T*, index, T*, index);                                              \
  template void larfb(Op, index, index, index, index, const T*, index, const T*, index, T*, index);            \
  template void tsqrt(index, index, index, T*, index, T*, index, T*, index);                                   \
  template void ttqrt(index, index, index, T*, index, T*, index, T*, index);                                   \
  template void ssrfb(Op, index, index, index, index, const T*, index, const T*, index, T*, index, T*, index); \
  template void ttmqr(Op, index, index, index, index, const T*, index, const T*, index, T*, index, T*, index);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(std::complex<float>)
INSTANTIATE(std::complex<double>)

}  // namespace blaslift
