// Plans of singular value decompositions: all of the matrix is on the device.  One operation decomposes it, or where
// one side is much longer the triangle of its QR.
#pragma once
#include "impl/core/args.hpp"
#include "impl/plan/plan.hpp"

namespace blaslift {

/// Whether one side is so much longer that a QR comes first.
bool begins_with_qr(const SvdShape& shape);

/// Whether a device with so many bytes has room for it, and for what its library works in.
bool svd_fits(const SvdShape& shape, Precision precision, std::size_t memory);

/// Operands A; U and VT, which are empty if there are no such vectors or these go to A's place; a column that begins
/// with the singular values, which are reals, and nothing else of it changes; and one element with what Svd::failed
/// says.  With vectors in its place A is a result, otherwise it is only read.
/// @param a_in_place, u_in_place, vt_in_place, s_in_place  these have device memory of their own
Plan plan_svd(const SvdShape& shape, Precision precision, bool a_in_place = false, bool u_in_place = false,
              bool vt_in_place = false, bool s_in_place = false);

}  // namespace blaslift
