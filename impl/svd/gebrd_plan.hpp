// Plans of the reduction to bidiagonal form: all of the matrix is on the device, as one operation takes it.
#pragma once
#include "impl/plan/plan.hpp"

namespace blaslift {

/// Whether a device with so many bytes has room for it, and for what its library works in.
bool gebrd_fits(index m, index n, Precision precision, std::size_t memory);

/// Operands A, a result; and what is brought home besides: columns that begin with the reals d and e, of which nothing
/// else changes, tauq, taup, and one element with what Gebrd::failed says.
/// @param a_in_place  it has device memory of its own
Plan plan_gebrd(index m, index n, Precision precision, bool a_in_place = false);

}  // namespace blaslift
