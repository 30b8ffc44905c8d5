#include "kernels/cuda/symv/symv_of.hpp"

namespace blaslift {

cudaError_t symv_s(const Symv& p, cudaStream_t stream) { return symv_as<float>(p, stream); }

}  // namespace blaslift
