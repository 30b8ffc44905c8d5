// QR with pivoting of columns on the device.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"
#include "impl/route/verify.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp).  If A or the result is not finite, the library underneath makes the call; with A in
/// device memory, info is above zero.
template <class T>
Computed geqp3(const Site& site, const Geqp3Args<T>* args, Replay replay);

/// Of A with its columns in their new order as a QR is judged (impl/judge/judge.hpp).  An order that is none, or in
/// which fixed columns are not the first ones, or a column of R that begins with less than what a later one has left is
/// no result.  Norms may be off by 4 sqrt(m eps) of what is left, since squares lose half of their digits before they
/// are computed anew (LAPACK Working Note 176), and by 10 (m + n) eps of A's longest column.
template <class T>
Judgement judge(const JudgingLibrary& by, const Geqp3Args<T>& before, const Geqp3Args<T>& result,
                const Geqp3Args<T>& reference, const Ending& ending);

extern const Family geqp3_family;

}  // namespace blaslift
