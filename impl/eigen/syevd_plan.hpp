// Plans of symmetric and Hermitian eigenproblems: all of the matrix is on the device, as one operation takes it.
#pragma once
#include "impl/core/args.hpp"
#include "impl/plan/plan.hpp"

namespace blaslift {

/// Matrices of A's size that a device's library works in, beside A and the vectors apart from it.
double syevd_beside(const EigenShape& shape);
/// Whether a device with so many bytes has room for it, and for what its library works in.
bool syevd_fits(const EigenShape& shape, Precision precision, std::size_t memory);

/// Operands A; Z, if vectors go there; a column that begins with the eigenvalues asked for, which are reals, and
/// nothing else of it changes; and one element with what Syevd::failed says.  With vectors in its place A is a result,
/// otherwise it is only read.
/// @param a_in_place, z_in_place, w_in_place  these have device memory of their own
Plan plan_syevd(const EigenShape& shape, Precision precision, bool a_in_place = false, bool z_in_place = false,
                bool w_in_place = false);

}  // namespace blaslift
