// Cholesky factors on the host: columns within blocks, products between them.
#pragma once
#include "kernels/backend.hpp"

namespace blaslift {

/// Everything in host memory.  Products, also of triangles, are asked of `underlying`, and nothing else is.
void factor_definite(const Potrf& matrix, const UnderlyingBlas& underlying);

}  // namespace blaslift
