// Symmetric and Hermitian eigenproblems on the device.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "impl/core/args.hpp"
#include "impl/route/family.hpp"
#include "impl/route/replay.hpp"

namespace blaslift {

/// As trsm() (impl/solve/trsm.hpp), for all of LAPACK's drivers.  If A or the result is not finite, or the iteration
/// does not converge, the library underneath makes the call; with one of the two in device memory, info is above zero.
/// A stays as it was unless the eigenvectors take its place.  The eigenvalues of an interval are for the library
/// underneath where any operand is in device memory.
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

/// Of Z, how many are sure to be there: how many an interval takes is known with its eigenvalues.
template <class T>
index known_columns(const SyevdArgs<T>& x) {
  return x.range == EigenRange::interval ? 1 : x.shape().count;
}
/// Whether a result is judged without another one.  Of an interval's vectors there is no room for a reference's.
template <class T>
bool stands_alone(const SyevdArgs<T>& x) {
  return x.range == EigenRange::interval || (x.vectors && x.shape().all());
}

/// Of all eigenvalues in ascending order those in an interval: which is the first one, and how many there are.
struct InInterval {
  index first, count;
};
template <class T>
InInterval in_interval(const SyevdArgs<T>& x, const Real<T>* all) {
  const Real<T>* const end = all + x.n;
  const index first = std::upper_bound(all, end, x.vl) - all;
  return {first, std::upper_bound(all + first, end, x.vu) - all - first};
}
/// Those, and their vectors, to where the caller has room for them.
/// @param vectors  all of them, n x n; null: none are asked for
template <class T>
index take_interval(const SyevdArgs<T>& x, const Real<T>* all, const T* vectors) {
  const auto [first, count] = in_interval(x, all);
  std::copy_n(all + first, count, x.w);
  std::fill(x.w + count, x.w + x.n, Real<T>(0));
  for (index j = 0; vectors && j < count; ++j) std::copy_n(vectors + (first + j) * x.n, x.n, x.Z + j * x.ldz);
  return count;
}
/// Which of all eigenvalues, a reference, are those that have been found in an interval; those within `margin` of its
/// ends may be in it or not.  Nothing if others are.
template <class T>
std::optional<index> first_in_interval(const SyevdArgs<T>& x, const std::vector<Real<T>>& all, const Real<T>* found,
                                       index count, long double margin) {
  for (index i = 0; i < count; ++i)
    if (!(found[i] > x.vl && found[i] <= x.vu)) return std::nullopt;
  const auto up_to = [&](long double limit) {
    return static_cast<index>(
        std::upper_bound(all.begin(), all.end(), limit, [](long double a, Real<T> b) { return a < b; }) - all.begin());
  };
  const index last = up_to(static_cast<long double>(x.vl) + margin), least = up_to(x.vu - margin),
              most = up_to(static_cast<long double>(x.vu) + margin);
  for (index first = up_to(x.vl - margin); first <= last; ++first) {
    bool near = first + count >= least && first + count <= most;
    for (index i = 0; near && i < count; ++i)
      near = std::fabs(static_cast<long double>(found[i]) - all[static_cast<std::size_t>(first + i)]) <= margin;
    if (near) return first;
  }
  return std::nullopt;
}

/// All eigenvalues by a library, of a problem that is computed by a call with such arguments.
/// @param of  void(SyevdArgs<T>&): makes the call, with w and workspaces that are there
template <class T, class Of>
std::vector<Real<T>> all_eigenvalues(const SyevdArgs<T>& x, const Of& of) {
  const auto n = static_cast<std::size_t>(x.n);
  std::vector<T> A(n * n), work(26 * n + 1);
  std::vector<Real<T>> w(n), rwork(24 * n + 1);
  std::vector<std::int64_t> iwork(10 * n + 1), said(2 * n + 1);
  for (index j = 0; j < x.n; ++j) std::copy_n(x.A + j * x.lda, x.n, A.data() + j * x.n);
  SyevdArgs<T> all = x;
  all.vectors = false;
  all.range = EigenRange::all;
  all.A = A.data();
  all.lda = std::max<index>(1, x.n);
  all.w = w.data();
  all.work = work.data();
  all.lwork = static_cast<index>(work.size());
  all.rwork = rwork.data();
  all.lrwork = static_cast<index>(rwork.size());
  all.iwork = {iwork.data(), true};
  all.liwork = static_cast<index>(iwork.size());
  all.m = {said.data(), true};
  all.of_vectors = {said.data() + 1, true};
  all.Z = nullptr;
  all.ldz = 1;
  of(all);
  return w;
}

/// What the caller allows a library's eigenvalues to be off by, which are the reference.
template <class T>
Real<T> allowed_off(const SyevdArgs<T>& x) {
  return x.chooses() && x.abstol > 0 ? x.abstol : Real<T>(0);
}

extern const Family syevd_family, syev_family, syevr_family;  ///< the last one's: syevx, too

}  // namespace blaslift
