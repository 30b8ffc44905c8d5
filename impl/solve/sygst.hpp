// Reductions of generalized symmetric-definite eigenproblems to standard ones on the device, with B's factor.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"
#include "impl/route/verify.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp), for all three types.
template <class T>
Computed sygst(const Site& site, const SygstArgs<T>* args, Replay replay);

/// What both results may be off by, 1-norms: |result - reference| / (n eps k |reference|) with k = (|L| |L^-1|)^2, by
/// which two solutions with L lose accuracy (Higham, Accuracy and Stability, 8.2); of the other types / (n eps |L^H|
/// |A| |L|) (3.5).  With LAPACK's threshold for what follows (dsg.in).
template <class T>
Judgement judge(const JudgingLibrary& by, const SygstArgs<T>& before, const SygstArgs<T>& result,
                const SygstArgs<T>& reference, const Ending& ending);

extern const Family sygst_family;

}  // namespace blaslift
