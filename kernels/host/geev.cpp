#include "kernels/host/geev.hpp"

#include <complex>
#include <vector>

#include "kernels/schur.hpp"

namespace blaslift {
namespace {

template <class T>
void find(const Geev& p) {
  using R = Real<T>;
  std::vector<T> memory(SchurEigensystem<T>::elements(p.n, p.vectors));
  std::vector<std::complex<R>> numbers(SchurEigensystem<T>::numbers(p.n));
  SchurEigensystem<T> found(p.n, p.vectors, memory.data(), numbers.data());
  bool finite = found.run(static_cast<const T*>(p.A), p.lda);
  for (index i = 0; finite && i < p.n; ++i) {
    const std::complex<R> w = found.value(i);
    if constexpr (std::is_same_v<T, R>)
      static_cast<R*>(p.w)[i] = w.real(), static_cast<R*>(p.wi)[i] = w.imag();
    else
      static_cast<T*>(p.w)[i] = w;
    finite = std::isfinite(w.real()) && std::isfinite(w.imag());
  }
  *static_cast<T*>(p.failed) = T(R(!finite));
  if (finite && p.vectors) found.write_vectors(static_cast<T*>(p.VR), p.ldvr);
}

}  // namespace

void find_eigenvalues(const Geev& p) {
  switch (p.precision) {
    case Precision::s: return find<float>(p);
    case Precision::d: return find<double>(p);
    case Precision::c: return find<std::complex<float>>(p);
    case Precision::z: return find<std::complex<double>>(p);
  }
}

}  // namespace blaslift
