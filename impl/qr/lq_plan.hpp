// Plans of LQ factorisations, and of their Q: on the device the matrix's adjoint has a QR, whose adjoint is the result.
#pragma once
#include "impl/plan/plan.hpp"

namespace blaslift {

struct LqShape {
  index m, n;
  index k;       ///< reflectors
  bool makes_q;  ///< which are there already, and in whose place Q's first m rows appear
  friend bool operator==(const LqShape&, const LqShape&) = default;
};

/// Whether a device with so many bytes has room for all of it.
bool lq_fits(const LqShape& shape, Precision precision, std::size_t memory);
bool lq_apart_fits(index m, index n, Precision precision, std::size_t memory, bool a_in_place);

/// Operands A (m x n), which comes home as LqArgs have it, and tau, an element at least.  A's first k rows are read for
/// Q, or all.
/// @param a_in_place  A has device memory of its own
Plan plan_lq(const LqShape& shape, Precision precision, bool a_in_place = false);

/// A = R^H Q^H of an A (m x n, 1 <= m <= n) that is only read.  Operands A; R (m x m), of which the upper triangle
/// comes home; and Q (n x m).  What was there before is not put back after a failure.
/// @param a_in_place  A has device memory of its own
Plan plan_lq_apart(index m, index n, Precision precision, bool a_in_place = false);

}  // namespace blaslift
