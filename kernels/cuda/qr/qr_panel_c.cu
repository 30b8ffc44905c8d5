#include "kernels/cuda/qr/qr_panel_of.hpp"

namespace blaslift {

cudaError_t qr_panel_c(const QrPanel& p, void* workspace, cudaStream_t stream, bool householder) {
  return panel_as<Complex<float>>(p, workspace, stream, householder);
}

}  // namespace blaslift
