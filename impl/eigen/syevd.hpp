// Symmetric and Hermitian eigenproblems on the device.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/route.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp), for all of LAPACK's drivers.  If A or the result is not finite, or the iteration
/// does not converge, the library underneath makes the call; with one of the two in device memory, info is above zero.
/// A stays as it was unless the eigenvectors take its place.  The eigenvalues of an interval are for the library
/// underneath.
template <class T>
Computed syevd(const Site& site, const SyevdArgs<T>* args, Replay replay);

/// With eigenvectors LAPACK's own kind of test (dsyt21, dsyt22): the larger one of |A V - V diag(w)| / (n eps |A|) and
/// |I - V^H V| / (n eps), 1-norms.  Without them, or if these are not all, the largest |w - reference| / (n eps |w|),
/// with |w| the largest eigenvalue, or A's longest column where only some are known.  With LAPACK's threshold (sep.in).
template <class T>
Judgement judge(const JudgingLibrary& by, const SyevdArgs<T>& before, const SyevdArgs<T>& result,
                const SyevdArgs<T>& reference, const Ending& ending);

extern const Family syevd_family, syev_family, syevr_family;  ///< the last one's: syevx, too

}  // namespace blaslift
