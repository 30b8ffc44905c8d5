// Plans of general eigenproblems: all of the matrix is on the device, as one operation takes it.
#pragma once
#include "impl/plan/plan.hpp"
#include "kernels/types.hpp"

namespace blaslift {

/// Whether a device with so many bytes has room for it, and for what its library works in.
bool geev_fits(index n, bool vectors, Precision precision, std::size_t memory);

/// Operands A, which is only read; VR, which is empty without vectors; a column of eigenvalues, or of a real matrix
/// their real parts, and a column of the imaginary parts, otherwise empty; and one element with what Geev::failed says.
/// @param a_in_place, vr_in_place, w_in_place, wi_in_place  these have device memory of their own
Plan plan_geev(index n, bool vectors, Precision precision, bool a_in_place = false, bool vr_in_place = false,
               bool w_in_place = false, bool wi_in_place = false);

}  // namespace blaslift
