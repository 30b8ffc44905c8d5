// Symmetric and Hermitian eigenproblems on the device.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/route.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp).  If A or the result is not finite, or the iteration does not converge, the library
/// underneath makes the call; with one of the two in device memory, info is above zero.  Without eigenvectors A stays
/// as it was.
template <class T>
Computed syevd(const Site& site, const SyevdArgs<T>* args, Replay replay);

/// With eigenvectors LAPACK's own kind of test (dsyt21): the larger one of |A V - V diag(w)| / (n eps |A|) and
/// |I - V^H V| / (n eps), 1-norms.  Without them the largest |w - reference| / (n eps |w|), with |w| the largest
/// eigenvalue.  With LAPACK's threshold (sep.in).
template <class T>
Judgement judge(const JudgingLibrary& by, const SyevdArgs<T>& before, const SyevdArgs<T>& result,
                const SyevdArgs<T>& reference, const Ending& ending);

extern const Family syevd_family;

}  // namespace blaslift
