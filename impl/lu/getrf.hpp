// LU factorisations on the device.
#pragma once
#include "impl/core/any_overlap.hpp"
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"
#include "impl/route/verify.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp).  With a pivot that is zero or not finite, the library underneath makes the call.
template <class T>
Computed getrf(const Site& site, const GetrfArgs<T>* args, Replay replay);

/// LAPACK's own test ratio (dget01): |P A - L U| / (n eps |A|), 1-norms, with its threshold (dtest.in).
template <class T>
Judgement judge(const JudgingLibrary& by, const GetrfArgs<T>& before, const GetrfArgs<T>& result, const GetrfArgs<T>&,
                const Ending& ending);

/// Seconds that a device takes for the factors of a matrix that is there.
double getrf_seconds(index m, index n, double flops, Precision precision, const Profile& profile);

/// The number of the first pivot of the whole matrix that will not do, from what Getrf::failed says by panel; or 0.
template <class T>
index first_failure(const std::vector<T>& failed, index panel) {
  for (std::size_t i = 0; i < failed.size(); ++i)
    if (failed[i] != T(0)) return static_cast<index>(i) * panel + static_cast<index>(std::real(failed[i]));
  return 0;
}

/// LAPACK's pivots, from those that count from their panel's first row on: always some that a program may exchange rows
/// by, whatever a factorisation that ended early has left.
template <class T>
void set_pivots(const Integers& ipiv, const std::vector<T>& pivots, index panel, index rows) {
  for (index i = 0; i < static_cast<index>(pivots.size()); ++i) {
    const Real<T> row = std::real(pivots[static_cast<std::size_t>(i)]);
    ipiv.set(i, row >= 1 ? std::clamp(i / panel * panel + static_cast<index>(row), i + 1, rows) : i + 1);
  }
}

/// Those of LAPACK as they count from their panel's first row on; false: they are none that a getrf leaves.
template <class T>
bool get_pivots(const Integers& ipiv, index panel, std::vector<T>& pivots) {
  const index n = static_cast<index>(pivots.size());
  for (index i = 0; i < n; ++i) {
    const index row = ipiv.get(i);
    if (row <= i || row > n) return false;
    pivots[static_cast<std::size_t>(i)] = T(static_cast<Real<T>>(row - i / panel * panel));
  }
  return true;
}

extern const Family getrf_family;

}  // namespace blaslift
