// Plans of reductions to Hessenberg form: all that is touched of the matrix is on the device, as one operation takes
// it.
#pragma once
#include "impl/plan/plan.hpp"

namespace blaslift {

/// Whether a device with so many bytes has room for so much of a matrix, and for what it is worked on in.
bool gehrd_fits(index rows, index cols, Precision precision, std::size_t memory);

/// Operands A, as Gehrd has it, and columns with tau and with what Gehrd::failed says.
/// @param a_in_place  A has device memory of its own
Plan plan_gehrd(index rows, index cols, index above, Precision precision, bool a_in_place = false);

}  // namespace blaslift
