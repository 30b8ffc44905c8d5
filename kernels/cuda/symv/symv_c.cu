#include "kernels/cuda/symv/symv_of.hpp"

namespace blaslift {

cudaError_t symv_c(const Symv& p, cudaStream_t stream) { return symv_as<Complex<float>>(p, stream); }

}  // namespace blaslift
