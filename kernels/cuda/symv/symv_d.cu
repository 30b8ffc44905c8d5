#include "kernels/cuda/symv/symv_of.hpp"

namespace blaslift {

cudaError_t symv_d(const Symv& p, cudaStream_t stream) { return symv_as<double>(p, stream); }

}  // namespace blaslift
