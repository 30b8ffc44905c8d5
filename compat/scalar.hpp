// How CBLAS passes a scalar.
#pragma once
#include <complex>

namespace blaslift {

/// By value where it is real, by address where it is complex.
template <class T>
struct ByValue {
  using type = T;
  static T get(T x) { return x; }
};
template <class R>
struct ByValue<std::complex<R>> {
  using type = const std::complex<R>*;
  static std::complex<R> get(type x) { return *x; }
};

}  // namespace blaslift
