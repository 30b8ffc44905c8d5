// Triangular systems on the host: substitution within blocks of the diagonal, products between them.
#pragma once
#include "kernels/backend.hpp"

namespace blaslift {

/// Everything in host memory; whatever the way that is asked for, it needs no workspace.  Products are asked of
/// `underlying`, and nothing else is.
void solve_triangular(const Trsm& system, const UnderlyingBlas& underlying);

}  // namespace blaslift
