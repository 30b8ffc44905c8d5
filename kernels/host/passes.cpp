#include "kernels/host/passes.hpp"

#include <algorithm>
#include <cmath>

namespace blaslift {
namespace {

template <class T>
T times(T x, T y) {
  return x * y;
}
/// Without the repair of infinities that the library's operator makes: as the device does it.
template <class R>
std::complex<R> times(std::complex<R> x, std::complex<R> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

template <class T>
void combine_as(const Combination& p) {
  const T scale = p.scale ? *static_cast<const T*>(p.scale) : T(1);
  T value[Combination::most_sources];
  for (index j = 0; j < p.cols; ++j)
    for (index i = 0; i < p.rows; ++i) {
      for (int s = 0; s < p.sources; ++s) {
        const Combination::Source& source = p.source[s];
        const T x = static_cast<const T*>(source.at)[i + j * source.ld];
        value[s] = source.scaled ? times(scale, x) : x;
      }
      for (int t = 0; t < p.targets; ++t) {
        const Combination::Target& target = p.target[t];
        T sum{};
        bool begun = false;  // not from zero, which would make -0 of a copy 0
        for (int s = 0; s < p.sources; ++s) {
          if (target.sign[s] == 0) continue;
          const T term = target.sign[s] > 0 ? value[s] : -value[s];
          sum = begun ? sum + term : term;
          begun = true;
        }
        static_cast<T*>(target.at)[i + j * target.ld] = sum;
      }
    }
}

template <class R>
R larger(R x, R y) {
  return std::isnan(x) || x > y ? x : y;
}
template <class R>
R magnitude(R x) {
  return std::fabs(x);
}
template <class R>
R magnitude(std::complex<R> x) {
  return larger(std::fabs(x.real()), std::fabs(x.imag()));
}

template <class T>
void survey_as(const Survey& p) {
  using R = decltype(magnitude(T{}));
  auto *by_row = static_cast<R*>(p.row_max), *by_col = static_cast<R*>(p.col_max);
  for (index j = 0; j < p.cols; ++j)
    for (index i = 0; i < p.rows; ++i) {
      const R x = magnitude(static_cast<const T*>(p.at)[i + j * p.ld]);
      by_row[i] = larger(by_row[i], x);
      by_col[j] = larger(by_col[j], x);
    }
}

}  // namespace

void combine(const Combination& p) {
  switch (p.precision) {
    case Precision::s: return combine_as<float>(p);
    case Precision::d: return combine_as<double>(p);
    case Precision::c: return combine_as<std::complex<float>>(p);
    case Precision::z: return combine_as<std::complex<double>>(p);
  }
}

void survey(const Survey& p) {
  switch (p.precision) {
    case Precision::s: return survey_as<float>(p);
    case Precision::d: return survey_as<double>(p);
    case Precision::c: return survey_as<std::complex<float>>(p);
    case Precision::z: return survey_as<std::complex<double>>(p);
  }
}

}  // namespace blaslift
