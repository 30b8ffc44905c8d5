// Copies of matrices on the host, as they are or transposed, identities, and whole matrices of triangles.
#pragma once
#include "kernels/types.hpp"

namespace blaslift {

/// Everything in host memory.
void assign(const Assign& x);
void mirror(const Mirror& x);

}  // namespace blaslift
