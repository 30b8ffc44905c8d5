#include "impl/svd/gebrd.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "impl/core/any_overlap.hpp"
#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/judge/unitary.hpp"
#include "impl/route/lapack_section.hpp"
#include "impl/route/reduction.hpp"
#include "impl/route/route.hpp"
#include "impl/svd/gebrd_plan.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call

void count(Problem& p) {
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = std::min(m, n),
               element = static_cast<double>(element_size(p.element));
  p.empty = k == 0;
  p.too_large =
      k > 0 && p.m > std::numeric_limits<std::int32_t>::max() / p.n;  // the vendor's numbers elements by 32 bits
  p.flops = (is_complex(p.element) ? 4.0 : 1.0) * 4 * k * k * (std::max(m, n) - k / 3);
  p.volume = 2 * k * k * (std::max(m, n) - k / 3);
  p.bytes_in = p.bytes_out = m * n * element;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n);
}

/// Bytes that products with vectors read: what is left of the matrix, twice for every column.
double bytes_read(const Problem& p) { return static_cast<double>(element_size(p.element)) * p.volume / 2; }

/// Half of it is products of the matrix with vectors, which wait for memory: with 16 cores 0.8 s of order 2,000.
double cpu_rate(const Problem& p, const Profile& profile) {
  constexpr double reading_rate = 6e10;  // bytes/s
  return cpu_rate_beside_reading(p, profile, 1, bytes_read(p) / reading_rate);
}

/// cuSOLVER 12.0 on an H100, FP64, on the device: 51, 113, 336 and 1,515 ms of order 1,024, 2,048, 4,096 and 8,192.
Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  constexpr double column_seconds = 47e-6;
  const Profile& profile = *facts.profile;
  const double k = static_cast<double>(std::min(p.m, p.n)), longer = static_cast<double>(std::max(p.m, p.n)),
               estimated = column_seconds * k + bytes_read(p) / profile.pass_rate,
               computing = measured_seconds(profile, LapackWork::gebrd, p.precision(), std::cbrt(k * k * longer))
                               .value_or(estimated);
  return {.seconds = profile.latency_seconds + computing + seconds_in(p, facts, spared) + seconds_out(p, facts)};
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

/// The vectors that a call writes, in the order of its arguments.
template <class T>
std::array<Stored, 4> vectors_of(const GebrdArgs<T>& x) {
  const index k = x.factored(), beside = std::max<index>(0, k - 1), ld = std::max<index>(1, k);
  return {Stored{x.d, k, 1, ld, sizeof(Real<T>)}, Stored{x.e, beside, 1, ld, sizeof(Real<T>)},
          Stored{x.tauq, k, 1, ld, sizeof(T)}, Stored{x.taup, k, 1, ld, sizeof(T)}};
}

template <class T>
bool overlaps(const GebrdArgs<T>& x) {
  const auto [d, e, tauq, taup] = vectors_of(x);
  return any_overlap({{x.A, x.m, x.n, x.lda, sizeof(T)}, d, e, tauq, taup});
}

template <class T>
Problem problem_of(Routine routine, const GebrdArgs<T>& x) {
  return counted({.routine = routine, .element = precision_of<T>, .m = x.m, .n = x.n, .overlaps = overlaps(x)});
}

template <class T>
Operands operands_of(Place& place, const GebrdArgs<T>& x, bool ephemeral) {
  const auto [d, e, tauq, taup] = vectors_of(x);
  return Operands(place,
                  {{.stored = {x.A, x.m, x.n, x.lda, sizeof(T)}, .writes = true, .reads = true, .destroyed = true},
                   {.stored = d, .writes = true, .vector = true},
                   {.stored = e, .writes = true, .vector = true},
                   {.stored = tauq, .writes = true, .vector = true},
                   {.stored = taup, .writes = true, .vector = true}},
                  ephemeral);
}

template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const GebrdArgs<T>& args,
               Operands& operands, const Decision& decision) {
  const index k = args.factored(), reals = elements_of_reals(k, precision_of<T>);
  const auto elements = [](index count) { return std::vector<T>(static_cast<std::size_t>(count)); };
  std::vector<T> d = elements(reals), e = elements(reals), tauq = elements(k), taup = elements(k);
  const Ending ending =
      compute_reduction<T>(place, site, backend, problem, operands, decision,
                           gebrd_fits(args.m, args.n, precision_of<T>, place.arena.limit()), {&d, &e, &tauq, &taup},
                           [&](bool a_in_place) { return plan_gebrd(args.m, args.n, precision_of<T>, a_in_place); });
  if (ending.computed) {
    std::copy_n(reinterpret_cast<const Real<T>*>(d.data()), k, args.d);
    std::copy_n(reinterpret_cast<const Real<T>*>(e.data()), k - 1, args.e);
    std::copy_n(tauq.data(), k, args.tauq);
    std::copy_n(taup.data(), k, args.taup);
  }
  return ending;
}

// ---- what a correct result is

using namespace judging;

constexpr double threshold = 50;

template <class T>
T conjugate(const T& x) {
  if constexpr (complex_type<T>)
    return std::conj(x);
  else
    return x;
}

/// LAPACK's own test ratios (dbdt01, dort01), with its threshold (svd.in): the largest of |A - Q B P^H| / (max(m, n)
/// eps |A|), |I - Q^H Q| / (m eps) and |I - P^H P| / (n eps), 1-norms, with Q and P by the library's ormqr.
template <class T>
Judgement judge(const JudgingLibrary& by, const GebrdArgs<T>& before, const GebrdArgs<T>& result, const GebrdArgs<T>&,
                const Ending& ending) {
  const index m = before.m, n = before.n, k = before.factored();
  Judgement judgement{0, threshold};
  if (k == 0 || ending.info != 0) return judgement;
  // Of a wide matrix the adjoint, which is a tall one: Q and P change places.
  const bool wide = m < n;
  const index rows = wide ? n : m, shift = 1;
  const auto element = [&](const GebrdArgs<T>& x, index i, index j) {
    return wide ? conjugate(x.A[j + i * x.lda]) : x.A[i + j * x.lda];
  };
  const T *const tau_left = wide ? result.taup : result.tauq, *const tau_right = wide ? result.tauq : result.taup;
  bool finite = true;
  Packed<T> left(rows, k), right(std::max<index>(1, k - shift), std::max<index>(1, k - shift)), product(rows, k);
  for_each_of(rows, k, [&](index i, index j) {
    left(i, j) = element(result, i, j);
    finite = finite && is_finite(left(i, j));
    product(i, j) = element(before, i, j);
  });
  const long double size = one_norm(product, k);
  if (!leaves_room<T>(size, rows)) return judgement;
  for (index i = 0; i < k; ++i)
    finite = finite && is_finite(result.d[i]) && (i == k - 1 || is_finite(result.e[i])) && is_finite(result.tauq[i]) &&
             is_finite(result.taup[i]);
  if (!finite) return judgement.ratio = HUGE_VAL, judgement;

  // P B^H, of which the rows below the first are touched, and then its adjoint, from the left by Q.
  const index others = k - shift;
  for_each_of(others, others, [&](index i, index j) { right(i, j) = conjugate(element(result, j, i + shift)); });
  Packed<T> adjoint(k, k);
  for_each_of(k, k, [&](index i, index j) {
    adjoint(i, j) = i == j ? T(result.d[i]) : i == j + 1 ? T(result.e[j]) : T(0);
  });
  std::vector<T> taus_left(tau_left, tau_left + k), taus_right(tau_right, tau_right + k);
  if (others > 0)
    call_with_own_workspaces(
        *by.beside[by_ormqr],
        OrmqrArgs<T>{
            {true, false, others, k, others}, right.at.get(), others, taus_right.data(), adjoint.at.get() + shift, k});
  Packed<T> back(rows, k);
  for_each_of(rows, k, [&](index i, index j) { back(i, j) = i < k ? conjugate(adjoint(j, i)) : T(0); });
  Packed<T> reflectors(rows, k);  // some versions of the library write to them while they use them
  for_each_of(rows, k, [&](index i, index j) { reflectors(i, j) = left(i, j); });
  call_with_own_workspaces(
      *by.beside[by_ormqr],
      OrmqrArgs<T>{{true, false, rows, k, k}, reflectors.at.get(), rows, taus_left.data(), back.at.get(), rows});
  for_each_of(rows, k, [&](index i, index j) { back(i, j) -= product(i, j); });
  judgement.ratio = std::max({off_product(back, k, rows, size), off_unitary(by, left, rows, k, taus_left.data()),
                              off_unitary(by, right, others, others, taus_right.data())});
  return judgement;
}

}  // namespace

constinit const Family gebrd_family{
    .count = count, .text = text, .cpu_rate = cpu_rate, .cost = cost, .needs = Operation::Kind::gebrd};

template <class T>
Computed gebrd(const Site& site, const GebrdArgs<T>* args, Replay replay) {
  return take_route(site, args, replay,
                    {.learned = together<known>,
                     .problem = problem_of<T>,
                     .operands = operands_of<T>,
                     .compute = compute<T>,
                     .judging = {.judge = judge<T>, .with = judged_with_qr<T>, .alone = always<GebrdArgs<T>>}});
}

#define GEBRD(name, type) template Computed gebrd(const Site&, const GebrdArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
