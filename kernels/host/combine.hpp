// Combinations of blocks on the CPU.
#pragma once
#include "kernels/types.hpp"

namespace blaslift {

/// Carries the combination out, sums in the order of the sources; all blocks in host memory.
void combine(const Combination& combination);

}  // namespace blaslift
