#include "kernels/host/assign.hpp"

#include <complex>
#include <type_traits>

namespace blaslift {
namespace {

template <class T>
T conjugate_if(bool yes, const T& x) {
  if constexpr (std::is_same_v<T, Real<T>>)
    return x;
  else
    return yes ? std::conj(x) : x;
}

template <class T>
void assign_elements(const Assign& x) {
  const T* const A = static_cast<const T*>(x.A);
  T* const C = static_cast<T*>(x.C);
  for (index j = 0; j < x.n; ++j)
    for (index i = 0; i < x.m; ++i)
      if (x.covers(i, j))
        C[i + j * x.ldc] = !A             ? T(i + x.below == j ? 1 : 0)
                           : x.transposed ? conjugate_if(x.conjugated, A[j + i * x.lda])
                                          : A[i + j * x.lda];
}

template <class T>
void mirror_elements(const Mirror& x) {
  T* const A = static_cast<T*>(x.A);
  for (index j = 0; j < x.n; ++j) {
    if constexpr (!std::is_same_v<T, Real<T>>) A[j * (x.lda + 1)].imag(0);
    for (index i = j + 1; i < x.n; ++i) {
      T &below = A[i + j * x.lda], &above = A[j + i * x.lda];
      const T stored = x.uplo == Uplo::lower ? below : above;
      T& other = x.uplo == Uplo::lower ? above : below;
      if constexpr (std::is_same_v<T, Real<T>>)
        other = stored;
      else
        other = std::conj(stored);
    }
  }
}

}  // namespace

void assign(const Assign& x) {
  switch (x.precision) {
    case Precision::s: return assign_elements<float>(x);
    case Precision::d: return assign_elements<double>(x);
    case Precision::c: return assign_elements<std::complex<float>>(x);
    case Precision::z: return assign_elements<std::complex<double>>(x);
  }
}

void mirror(const Mirror& x) {
  switch (x.precision) {
    case Precision::s: return mirror_elements<float>(x);
    case Precision::d: return mirror_elements<double>(x);
    case Precision::c: return mirror_elements<std::complex<float>>(x);
    case Precision::z: return mirror_elements<std::complex<double>>(x);
  }
}

}  // namespace blaslift
