#include "kernels/cuda/gemv/gemv_of.hpp"

namespace blaslift {

cudaError_t gemv_d(const Gemv& p, cudaStream_t stream) { return gemv_as<double>(p, stream); }

}  // namespace blaslift
