#include "kernels/cuda/trsm/trsm_of.hpp"

namespace blaslift {

BLASLIFT_TRSM_OF(Complex<float>, c)

}  // namespace blaslift
