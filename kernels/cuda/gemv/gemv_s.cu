#include "kernels/cuda/gemv/gemv_of.hpp"

namespace blaslift {

cudaError_t gemv_s(const Gemv& p, cudaStream_t stream) { return gemv_as<float>(p, stream); }

}  // namespace blaslift
