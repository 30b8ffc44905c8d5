#include "kernels/cuda/trsm/trsm_of.hpp"

namespace blaslift {

BLASLIFT_TRSM_OF(float, s)

}  // namespace blaslift
