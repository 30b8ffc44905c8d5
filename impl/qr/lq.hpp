// LQ factorisations on the device, and their Q.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"
#include "impl/route/verify.hpp"

namespace blaslift {

/// gelqf and orglq, as trsm() (impl/solve/trsm.hpp).
template <class T>
Computed lq(const Site& site, const LqArgs<T>* args, Replay replay);

/// Of A's adjoint as a QR is judged, or as that QR's Q against what the library's ormqr makes of an identity
/// (impl/judge/judge.hpp).
template <class T>
Judgement judge(const JudgingLibrary& by, const LqArgs<T>& before, const LqArgs<T>& result, const LqArgs<T>& reference,
                const Ending& ending);

extern const Family lq_family;

}  // namespace blaslift
