// Generalized symmetric-definite eigenproblems on the device.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"
#include "impl/route/verify.hpp"

namespace blaslift {

/// As syevd() (impl/eigen/syevd.hpp), for A x = w B x; the other two types are for the library underneath, and so is B
/// if it is not positive definite.  In device memory info is what LAPACK's is then.  A stays as it was unless the
/// eigenvectors take its place.
template <class T>
Computed sygv(const Site& site, const SygvArgs<T>* args, Replay replay);

/// The one that is closest to its limit, of 1-norms: of B's factor as potrf's; with eigenvectors |A V - B V diag(w)| /
/// (n eps k |A| |V|) and |V^H B V - I| / (n eps |V^H| |B| |V|); without them, or if these are not all, the largest
/// |w - reference| / (n eps (|A| |B^-1| + k |w|)).  k is B's condition |B| |B^-1|, by which Cholesky's method loses
/// accuracy (LAPACK Users' Guide, 4.10; Davies, Higham and Tisseur, SIAM J. Matrix Anal. Appl. 23, 2001).  With
/// LAPACK's threshold (dsg.in).
template <class T>
Judgement judge(const JudgingLibrary& by, const SygvArgs<T>& before, const SygvArgs<T>& result,
                const SygvArgs<T>& reference, const Ending& ending);

extern const Family sygvd_family, sygv_family, sygvx_family;

}  // namespace blaslift
