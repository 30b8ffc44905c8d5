// Gehrd on the host.
#pragma once
#include "kernels/types.hpp"

namespace blaslift {

/// Of p, whose addresses are the host's.
void reduce_to_hessenberg(const Gehrd& p);

}  // namespace blaslift
