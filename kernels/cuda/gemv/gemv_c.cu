#include "kernels/cuda/gemv/gemv_of.hpp"

namespace blaslift {

cudaError_t gemv_c(const Gemv& p, cudaStream_t stream) { return gemv_as<Complex<float>>(p, stream); }

}  // namespace blaslift
