// Eigenvalues of an interval, RANGE = 'V': how many there are is known with all of them, and for how many vectors the
// caller has room is never said.  So all come home to memory of the call's own, and from there go where they are to be.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "impl/core/args.hpp"
#include "impl/core/host_memory.hpp"
#include "impl/plan/plan.hpp"

namespace blaslift {

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
/// What an interval's call brings home to memory of its own: all vectors.
template <class T>
std::unique_ptr<T[]> room_for_vectors(const SyevdArgs<T>& x) {
  const auto n = static_cast<std::size_t>(x.n);
  return x.range == EigenRange::interval && x.vectors ? std::make_unique_for_overwrite<T[]>(n * n) : nullptr;
}
/// Whether there is so much memory.
/// @param kept  matrices of that size beside it, which the call may have to put back
template <class T>
bool has_room_for_vectors(const SyevdArgs<T>& x, int kept) {
  const double bytes = x.range == EigenRange::interval && x.vectors
                           ? (1 + kept) * static_cast<double>(x.n) * static_cast<double>(x.n) * sizeof(T)
                           : 0;
  return has_memory_for(bytes);
}
/// In a plan, that is no result of the caller's, which would be kept to be put back.
inline Plan of_own(Plan plan, std::size_t vectors) {
  plan.operands[vectors].ours = plan.operands[vectors].scratch = true;
  return plan;
}
/// Eigenvalues that have come home, of an interval those in it with their vectors, to where the caller has room.
/// @param vectors  of an interval: all of them, n x n; null: none are asked for
/// @return how many
template <class T>
index hand_over(const SyevdArgs<T>& x, const Real<T>* values, const T* vectors) {
  const bool interval = x.range == EigenRange::interval;
  const auto [first, count] = interval ? in_interval(x, values) : InInterval{0, x.shape().count};
  std::copy_n(values + first, count, x.w);
  // LAPACK leaves anything there; the same call is to have the same bits.
  std::fill(x.w + count, x.w + x.n, Real<T>(0));
  for (index j = 0; vectors && j < count; ++j) std::copy_n(vectors + (first + j) * x.n, x.n, x.Z + j * x.ldz);
  return count;
}
/// Which of all eigenvalues, a reference, are those that have been found in an interval: the nearest that may be. Those
/// within `margin` of its ends may be in it or not.  Nothing if others are.
template <class T>
std::optional<index> first_in_interval(const SyevdArgs<T>& x, const std::vector<Real<T>>& all, const Real<T>* found,
                                       index count, long double margin) {
  const auto widened = [](Real<T> value) { return static_cast<long double>(value); };
  for (index i = 0; i < count; ++i)
    if (!(widened(found[i]) > x.vl - margin && widened(found[i]) <= x.vu + margin)) return std::nullopt;
  const auto up_to = [&](long double limit) {
    return std::upper_bound(all.begin(), all.end(), limit, [](long double a, Real<T> b) { return a < b; }) -
           all.begin();
  };
  const index last = up_to(x.vl + margin), least = up_to(x.vu - margin), most = up_to(x.vu + margin);
  std::optional<index> nearest;
  long double smallest = margin;
  for (index first = up_to(x.vl - margin); first <= last; ++first) {
    if (first + count < least || first + count > most) continue;
    long double off = 0;
    for (index i = 0; i < count; ++i)
      off = std::max(off, std::fabs(widened(found[i]) - all[static_cast<std::size_t>(first + i)]));
    if (off <= smallest) nearest = first, smallest = off;
  }
  return nearest;
}

/// All eigenvalues by a library, of a problem that is computed by a call with such arguments; NaN if it finds none.
/// @param of  void(const SyevdArgs<T>&): makes the call, with w and workspaces that are there
template <class T, class Of>
std::vector<Real<T>> all_eigenvalues(const SyevdArgs<T>& x, const Of& of) {
  const auto n = static_cast<std::size_t>(x.n);
  std::vector<T> A(n * n), work(26 * n + 1);
  std::vector<Real<T>> w(n, std::numeric_limits<Real<T>>::quiet_NaN()), rwork(24 * n + 1);
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

}  // namespace blaslift
