// Passes over blocks of host memory.
#pragma once
#include "kernels/types.hpp"

namespace blaslift {

/// Sums in the order of the sources.
void combine(const Combination& combination);

void survey(const Survey& survey);

}  // namespace blaslift
