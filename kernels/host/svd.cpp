#include "kernels/host/svd.hpp"

#include <new>

#include "kernels/host/reflector.hpp"
#include "kernels/polar_svd.hpp"

namespace blaslift {
namespace {

using namespace host;

template <class T>
class Means {
 public:
  explicit Means(const std::function<void(const Operation&)>& ask) : ask_(ask) {}

  bool ask(const Operation& operation) { return ask_(operation), true; }
  template <class X>
  bool read(const X* from, index ld, index n, X* to) {
    for (index i = 0; i < n; ++i) to[i] = from[i * ld];
    return true;
  }
  bool reflect(index m, index n, T* A, T* tau) {
    for (index j = 0; j < n; ++j) {
      tau[j] = reflector(m - j, A + j * (m + 1));
      for (index k = j + 1; k < n; ++k) apply(m - j, A + j * (m + 1), conjugate(tau[j]), A + j + k * m);
    }
    return true;
  }
  bool form(index m, index n, index k, T* Q, const T* tau) {
    for (index j = n - 1; j >= 0; --j) {
      T* const v = Q + j * (m + 1);
      if (j < k)
        for (index c = j + 1; c < n; ++c) apply(m - j, v, tau[j], Q + j + c * m);
      for (index i = 1; i < m - j; ++i) v[i] = j < k ? -times(tau[j], v[i]) : T(0);
      v[0] = j < k ? T(1) - tau[j] : T(1);
      std::fill_n(Q + j * m, j, T(0));
    }
    return true;
  }
  void* take(std::size_t bytes) { return ::operator new(bytes, alignment); }
  void give_back(void* memory) { ::operator delete(memory, alignment); }

 private:
  static constexpr std::align_val_t alignment{256};

  /// x -= tau v v^H x, with 1 in place of v's first.
  static void apply(index count, const T* v, T tau, T* x) {
    const T along = times(tau, x[0] + dot(count - 1, v + 1, x + 1));
    x[0] -= along;
    subtract(count - 1, along, v + 1, x + 1);
  }

  const std::function<void(const Operation&)>& ask_;
};

template <class T>
void decompose_of(const Svd& p, const std::function<void(const Operation&)>& ask) {
  Means<T> means(ask);
  PolarSvd<T, Means<T>>(p, means).run();
}

}  // namespace

void decompose(const Svd& p, const std::function<void(const Operation&)>& ask) {
  switch (p.precision) {
    case Precision::s: return decompose_of<float>(p, ask);
    case Precision::d: return decompose_of<double>(p, ask);
    case Precision::c: return decompose_of<std::complex<float>>(p, ask);
    case Precision::z: return decompose_of<std::complex<double>>(p, ask);
  }
}

}  // namespace blaslift
