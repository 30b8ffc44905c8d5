// Plans of reductions to tridiagonal form: all of the triangle is on the device, as one operation takes it.
#pragma once
#include "impl/plan/plan.hpp"

namespace blaslift {

/// Whether a device with so many bytes has room for it, and for what its library works in.
bool sytrd_fits(index n, Precision precision, std::size_t memory);

/// Operands A, of which a triangle is touched, and columns with d, e, of which the last element is none, tau, likewise,
/// and one element with what Sytrd::failed says.
/// @param a_in_place  A has device memory of its own
Plan plan_sytrd(Uplo uplo, index n, Precision precision, bool a_in_place = false);

}  // namespace blaslift
