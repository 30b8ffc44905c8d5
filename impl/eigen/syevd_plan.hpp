// Plans of symmetric and Hermitian eigenproblems: all of the matrix is on the device, as one operation takes it.
#pragma once
#include "impl/plan/plan.hpp"

namespace blaslift {

/// Whether a device with so many bytes has room for it, and for what its library works in.
bool syevd_fits(index n, Precision precision, bool vectors, std::size_t memory);

/// Operands A; a column that begins with the n eigenvalues, which are reals, and nothing else of it changes; and one
/// element with what Syevd::failed says.  With eigenvectors A is a result, and they take its place; otherwise it is
/// only read.
/// @param a_in_place, w_in_place  these have device memory of their own
Plan plan_syevd(bool vectors, Uplo uplo, index n, Precision precision, bool a_in_place = false,
                bool w_in_place = false);

}  // namespace blaslift
