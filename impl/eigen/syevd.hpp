// Symmetric and Hermitian eigenproblems on the device.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp), for all of LAPACK's drivers.  If A or the result is not finite, or the iteration
/// does not converge, the library underneath makes the call; with one of the two in device memory, info is above zero.
/// A stays as it was unless the eigenvectors take its place.  Eigenvalues of an interval are not computed where an
/// operand is in device memory.
template <class T>
Computed syevd(const Site& site, const SyevdArgs<T>* args, Replay replay);

/// What a driver does on the CPU, of order n and with k vectors.
double eigen_flops(EigenDriver driver, const Problem& p);
double cpu_rate_of_eigenproblems(const Problem& p, const Profile& profile);
/// Seconds that a device takes, where the matrix is there.
double syevd_seconds(const Problem& p, const Profile& profile);

/// What the drivers that compute some of the eigenvalues say besides.
/// @param found  how many there are
template <class T>
void say_besides(const SyevdArgs<T>& x, index found) {
  if (!x.chooses()) return;
  x.m.set(0, found);
  const bool ranges = x.driver == EigenDriver::evr;
  for (index i = 0; i < x.count_of_vectors(); ++i) x.of_vectors.set(i, !ranges ? 0 : i % 2 == 0 ? 1 : x.n);
}

/// What the caller allows a library's eigenvalues to be off by, which are the reference.
template <class T>
Real<T> allowed_off(const SyevdArgs<T>& x) {
  return x.chooses() && x.abstol > 0 ? x.abstol : Real<T>(0);
}

extern const Family syevd_family, syev_family, syevr_family;  ///< the last one's: syevx, too

}  // namespace blaslift
