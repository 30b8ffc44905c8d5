#include "kernels/cuda/gemv/gemv_of.hpp"

namespace blaslift {

cudaError_t gemv_z(const Gemv& p, cudaStream_t stream) { return gemv_as<Complex<double>>(p, stream); }

}  // namespace blaslift
