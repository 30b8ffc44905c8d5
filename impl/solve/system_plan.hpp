// Plans of linear systems A X = B with factors of A, LU or Cholesky: X in B's place, and A's factors in A's if they are
// made first.
//
// A is on the device as a whole. B moves in panels of columns, which do not know each other: one moves in and one moves
// home while the device solves a third.
//
// Where the device has no room for A, its factors, made in parts if they are not there, come in strips of columns for
// each panel of B.  These lie where the factors were made, and are as wide as those panels; or otherwise as there is
// room for.
#pragma once
#include "impl/cholesky/potrf_plan.hpp"
#include "impl/core/args.hpp"
#include "impl/lu/getrf_plan.hpp"

namespace blaslift {

/// How a system is cut up; width 0: it does not fit.
struct SystemCut {
  index panel = 0;  ///< of A, whose factors are made in such; of LU also: of rows that are exchanged at once
  index width = 0;  ///< of B
  index strip = 0;  ///< columns of the factors at a time, also while they are made; 0: A stays

  bool streamed() const { return strip > 0; }
};

/// What has device memory of its own.
struct SystemHeld {
  bool a = false, b = false;
};

/// Depends on nothing else, so the same call is cut the same way every time.
/// @param memory  bytes on the device, for what has none of its own, B in panels, and for workspaces
SystemCut system_cut(const SystemShape& shape, Precision precision, std::size_t memory, const SystemHeld& held = {});

/// Operands A and B; where rows are exchanged a column with A's order of pivots, each from its panel's first row on;
/// and, if the factors are made here, one with what Getrf::failed or Potrf::failed says of each panel.
Plan plan_system(const SystemShape& shape, Precision precision, const SystemCut& cut, const SystemHeld& held = {});

/// For a matrix that is larger than that; width 0: even so there is no room for it.
SystemCut system_cut_streamed(const SystemShape& shape, Precision precision, std::size_t memory);
/// Bytes of factors that move besides those of A and B, each of them once or, if they change, twice.
double sent_again(const SystemShape& shape, const SystemCut& cut, std::size_t element);
/// Operands as plan_system has them and, of LU whose factors are made, kept_factors() (impl/lu/getrf_plan.hpp).
Plan plan_system_streamed(const SystemShape& shape, Precision precision, const SystemCut& cut);

}  // namespace blaslift
