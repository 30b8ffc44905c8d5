#include "kernels/cuda/symv/symv_of.hpp"

namespace blaslift {

cudaError_t symv_z(const Symv& p, cudaStream_t stream) { return symv_as<Complex<double>>(p, stream); }

}  // namespace blaslift
