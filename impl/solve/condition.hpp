// Reciprocal condition numbers on the device: solutions with factors that are there, as a norm's estimator asks for
// them.  Of triangular matrices the norm is found here, on the CPU.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp).  |A^-1| by Higham's estimator (ACM Trans. Math. Softw. 14, 4, 1988), as in LAPACK's
/// xLACN2.  If a solution is not finite, the library underneath, which scales them, makes the call.
template <class T>
Computed condition(const Site& site, const ConditionArgs<T>* args, Replay replay);

extern const Family condition_family, trcon_family;

}  // namespace blaslift
