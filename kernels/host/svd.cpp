#include "kernels/host/svd.hpp"

#include <vector>

#include "kernels/jacobi.hpp"

namespace blaslift {
namespace {

template <class T>
void decompose(const Svd& p) {
  const bool whole = p.m < p.n ? p.vt_rows > p.m : p.u_cols > p.n;
  std::vector<T> memory(JacobiSvd<T>::elements(p.m, p.n, whole));
  JacobiSvd<T> found(p.m, p.n, whole, memory.data());
  bool finite = found.run(static_cast<const T*>(p.A), p.lda);
  for (index i = 0; finite && i < p.count(); ++i) {
    const Real<T> s = static_cast<Real<T>*>(p.s)[i] = found.s(i);
    finite = std::isfinite(s);
  }
  *static_cast<T*>(p.failed) = T(Real<T>(!finite));
  if (!finite) return;
  for (index j = 0; j < p.u_cols; ++j)
    for (index i = 0; i < p.m; ++i) static_cast<T*>(p.U)[i + j * p.ldu] = found.u(i, j);
  for (index j = 0; p.vt_rows > 0 && j < p.n; ++j)
    for (index i = 0; i < p.vt_rows; ++i) static_cast<T*>(p.VT)[i + j * p.ldvt] = found.vt(i, j);
}

}  // namespace

void decompose(const Svd& p) {
  switch (p.precision) {
    case Precision::s: return decompose<float>(p);
    case Precision::d: return decompose<double>(p);
    case Precision::c: return decompose<std::complex<float>>(p);
    case Precision::z: return decompose<std::complex<double>>(p);
  }
}

}  // namespace blaslift
