#include "kernels/cuda/symv/symv_of.hpp"

namespace blaslift {

cudaError_t symv_w(const Symv& p, cudaStream_t stream) { return symv_as<DoubleDouble>(p, stream); }

}  // namespace blaslift
