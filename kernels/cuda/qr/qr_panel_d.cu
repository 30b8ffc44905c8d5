#include "kernels/cuda/qr/qr_panel_of.hpp"

namespace blaslift {

cudaError_t qr_panel_d(const QrPanel& p, void* workspace, cudaStream_t stream, bool householder) {
  return panel_as<double>(p, workspace, stream, householder);
}

}  // namespace blaslift
