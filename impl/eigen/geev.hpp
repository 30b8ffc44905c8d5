// Eigenproblems of general matrices on the device.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/route.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp).  If A or the result is not finite, A is so large or small that LAPACK would scale
/// it, or the iteration does not converge, the library underneath makes the call; with one of the operands in device
/// memory, info is above zero.  A stays as it was.  Left eigenvectors are for the library underneath.
template <class T>
Computed geev(const Site& site, const GeevArgs<T>* args, Replay replay);

/// That the eigenvalues are those of a matrix near to A, by sums of which no eigenvalue's condition is a part: the
/// largest of |sum w - tr A| / (sqrt(n) u) and |sum w^2 - tr A^2| / (2 u |A|) with u = n eps |A|, Frobenius's norm.
/// With eigenvectors LAPACK's own test ratio, |A V - V diag(w)| / (n eps |A|), 1-norms, and by how much a vector's
/// length differs from 1, or a largest element of it from a real one, in units of n eps.  With LAPACK's threshold
/// (ded.in). Eigenvalues that are not in LAPACK's order of pairs are beyond any bound.
template <class T>
Judgement judge(const JudgingLibrary& by, const GeevArgs<T>& before, const GeevArgs<T>& result,
                const GeevArgs<T>& reference, const Ending& ending);

extern const Family geev_family;

}  // namespace blaslift
