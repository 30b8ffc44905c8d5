// Plans of symmetric and Hermitian eigenproblems: all of the matrix is on the device, as one operation takes it.
#pragma once
#include "impl/plan/plan.hpp"

namespace blaslift {

/// Whether a device with so many bytes has room for it, and for what its library works in.
bool syevd_fits(index n, Precision precision, bool vectors, std::size_t memory);

/// Elements that so many reals take.
constexpr index elements_of_reals(index count, Precision precision) {
  return is_complex(precision) ? (count + 1) / 2 : count;
}

/// Operands A; a column that begins with the n eigenvalues, which are reals; and one element with what Syevd::failed
/// says.  With eigenvectors A is a result, and they take its place.  Otherwise nothing of it comes home.
/// @param in_place  A has device memory of its own
Plan plan_syevd(bool vectors, Uplo uplo, index n, Precision precision, bool in_place = false);

}  // namespace blaslift
