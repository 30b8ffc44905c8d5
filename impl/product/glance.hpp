// Glance: what a few elements of A and B, read where the program has them, prove about the guard's verdict.
#pragma once
#include "impl/core/args.hpp"
#include "impl/product/guard.hpp"

namespace blaslift {

/// The guard (impl/product/guard.hpp) knows all when all of A and B has arrived, and products by levels are under way
/// by then. What is badly scaled shows in every row and column that is: some elements of all of them tell which of
/// op(A)'s rows and op(B)'s columns are the smallest, and all of a few of these rows and columns tell for certain.  A
/// hundredth of the operands is read at most, about.  A single large element that nothing else shows is not found.
/// @param slice   of k, and of rows and columns that are judged as one: GemmSchedule's
/// @param slices  into which k falls; the last one has more
template <class T>
Seen glance(const GemmArgs<T>& args, index slice, index slices);

}  // namespace blaslift
