// Plans of one operation that reduces a matrix in its place and leaves columns beside it: to tridiagonal, Hessenberg,
// bidiagonal or, with pivoting, triangular form.
#pragma once
#include <initializer_list>
#include <utility>

#include "impl/plan/plan.hpp"

namespace blaslift {

/// Operands A, of which this part is touched, these columns by their names and lengths, and one element with what the
/// operation's `failed` says; the operation has them in that order.
/// @param given       so many of the columns, the first ones, are only read
/// @param a_in_place  A has device memory of its own
Plan plan_reduction(const PlannedOperation& operation, index rows, index cols, Part part,
                    std::initializer_list<std::pair<const char*, index>> columns, bool a_in_place, int given = 0);

}  // namespace blaslift
