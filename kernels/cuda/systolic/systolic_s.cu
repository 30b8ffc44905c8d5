#include "kernels/cuda/systolic/systolic_of.hpp"

namespace blaslift::systolic {

template <>
cudaError_t start<float>(Variant variant, const Schedule& schedule, const Deal& deal, const Operands<float>& operands,
                         cudaStream_t stream) {
  return start_as(variant, schedule, deal, operands, stream);
}

}  // namespace blaslift::systolic
