// Products by residues as they are defined (kernels/residues.hpp): in integers of 128 bits.
#pragma once
#include "kernels/types.hpp"

namespace blaslift {

/// False if the guard does not accept the operands: then nothing has been done.  What operands are split into, and
/// sums, are not used.  Wants memory of its own.
bool multiply_by_residues(const GemmByResidues& product);

}  // namespace blaslift
