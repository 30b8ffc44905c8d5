#include "kernels/cuda/symv/symv.hpp"

#include <cstdint>

#include "kernels/symv.hpp"

namespace blaslift {

cudaError_t symv(const Symv& p, cudaStream_t stream) {
  if (p.n == 0) return cudaSuccess;
  if (p.n > INT32_MAX || !symv_fits(p.blocking, p.precision)) return cudaErrorInvalidValue;
  switch (p.precision) {
    case Element::s: return symv_s(p, stream);
    case Element::d: return symv_d(p, stream);
    case Element::c: return symv_c(p, stream);
    case Element::z: return symv_z(p, stream);
    case Element::w: return symv_w(p, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace blaslift
