// Geqp3 on the host.
#pragma once
#include "kernels/types.hpp"

namespace blaslift {

/// Of p, whose addresses are the host's.
void factor_with_pivots(const Geqp3& p);

}  // namespace blaslift
