// Plans of QR with pivoting: all of the matrix is on the device, as one operation takes it.
#pragma once
#include "impl/plan/plan.hpp"

namespace blaslift {

/// Whether a device with so many bytes has room for a matrix, and for what it is worked on in.
bool geqp3_fits(index m, index n, Precision precision, std::size_t memory);

/// Operands A, columns with what is fixed, the new order and tau, and one element with what Geqp3::failed says.
/// @param a_in_place  A has device memory of its own
Plan plan_geqp3(index m, index n, Precision precision, bool a_in_place = false);

}  // namespace blaslift
