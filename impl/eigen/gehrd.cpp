#include "impl/eigen/gehrd.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "impl/core/any_overlap.hpp"
#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/eigen/gehrd_plan.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/judge/unitary.hpp"
#include "impl/route/lapack_section.hpp"
#include "impl/route/reduction.hpp"
#include "impl/route/route.hpp"

namespace blaslift {
namespace {

/// What is touched of a matrix: of its first ihi rows the columns from ilo on, a few elements less.
struct Touched {
  index rows, cols, above;
};
/// @param k  reflectors
Touched touched(index n, index ihi, index k) { return {ihi, n - (ihi - k - 1), ihi - k - 1}; }
template <class T>
Touched touched(const GehrdArgs<T>& x) {
  return touched(x.n, x.ihi, x.reflectors());
}

// ---- what the family says of a call: of m rows, from row m - k on, is reduced, of n

void count(Problem& p) {
  const double n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  p.empty = p.k == 0;
  p.volume = k * k * (n + 2 * k / 3);
  p.flops = (is_complex(p.element) ? 4.0 : 1.0) * 2 * p.volume;
  const auto [rows, cols, above] = touched(p.n, p.m, p.k);
  p.bytes_in = p.bytes_out =
      static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(element_size(p.element));
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + " n=" + std::to_string(p.n) + " ilo=" + std::to_string(p.m - p.k) +
         " ihi=" + std::to_string(p.m);
}

/// Bytes that products with vectors read: what is left of the square, once for every column.
double bytes_read(const Problem& p) {
  const double k = static_cast<double>(p.k);
  return static_cast<double>(element_size(p.element)) * k * k * k / 3;
}

/// A fifth of it is products of the matrix with vectors, which wait for memory.
double cpu_rate(const Problem& p, const Profile& profile) {
  constexpr double reading_rate = 6e10;  // bytes/s
  return cpu_rate_beside_reading(p, profile, 1, bytes_read(p) / reading_rate);
}

/// Estimated, until a profile has measured times (H200, 2026-11-29: 33 us a column up to 2,048): a column takes five
/// kernels, one of which reads what is left of the
/// square, and the products of a panel read and write what is left of the matrix five times.
Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  constexpr double column_seconds = 33e-6, passes = 5, panel = 32;
  const Profile& profile = *facts.profile;
  const double n = static_cast<double>(p.n), k = static_cast<double>(p.k),
               moved = passes * static_cast<double>(element_size(p.element)) * n * k * k / (2 * panel),
               estimated = column_seconds * k + (bytes_read(p) + moved) / profile.pass_rate +
                           p.flops / profile.gemm_rate[static_cast<int>(p.precision())],
               computing = measured_seconds(profile, LapackWork::gehrd, p.precision(), std::cbrt(0.6 * p.volume))
                               .value_or(estimated);
  return {.seconds = profile.latency_seconds + computing + seconds_in(p, facts, spared) + seconds_out(p, facts)};
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

template <class T>
Stored tau_of(const GehrdArgs<T>& x) {
  return {x.tau, x.beside(), 1, std::max<index>(1, x.beside()), sizeof(T)};
}

template <class T>
Problem problem_of(Routine routine, const GehrdArgs<T>& x) {
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = x.ihi,
                  .n = x.n,
                  .k = x.reflectors(),
                  .overlaps = any_overlap({{x.A, x.n, x.n, x.lda, sizeof(T)}, tau_of(x)})});
}

template <class T>
Operands operands_of(Place& place, const GehrdArgs<T>& x, bool ephemeral) {
  const auto [rows, cols, above] = touched(x);
  return Operands(place,
                  {{.stored = {x.A + (x.ilo - 1) * x.lda, rows, cols, x.lda, sizeof(T)},
                    .writes = true,
                    .reads = true,
                    .destroyed = true},
                   {.stored = tau_of(x), .writes = true, .vector = true}},
                  ephemeral);
}

template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const GehrdArgs<T>& args,
               Operands& operands, const Decision& decision) {
  const auto [rows, cols, above] = touched(args);
  std::vector<T> tau(static_cast<std::size_t>(args.reflectors()));
  const Ending ending = compute_reduction<T>(
      place, site, backend, problem, operands, decision, gehrd_fits(rows, cols, precision_of<T>, place.arena.limit()),
      {&tau}, [&](bool a_in_place) { return plan_gehrd(rows, cols, above, precision_of<T>, a_in_place); });
  if (ending.computed) {
    std::fill_n(args.tau, args.beside(), T(0));
    std::copy(tau.begin(), tau.end(), args.tau + args.ilo - 1);
  }
  return ending;
}

// ---- what a correct result is

using namespace judging;

constexpr double threshold = 20;

}  // namespace

template <class T>
Judgement judge(const JudgingLibrary& by, const GehrdArgs<T>& before, const GehrdArgs<T>& result, const GehrdArgs<T>&,
                const Ending& ending) {
  const index k = before.reflectors();
  Judgement judgement{0, threshold};
  if (k == 0 || ending.info != 0) return judgement;
  const auto [rows, cols, above] = touched(before);
  const Gehrd form{.precision = precision_of<T>,
                   .rows = rows,
                   .cols = cols,
                   .above = above,
                   .A = nullptr,
                   .lda = 0,
                   .tau = nullptr,
                   .failed = nullptr};
  // What is not touched is zero on both sides.
  Packed<T> A(rows, cols), product(rows, cols), reflectors(k, k);
  bool finite = true;
  for_each_of(rows, cols, [&](index i, index j) {
    const bool is_touched = i >= form.first_of(j), in_q = j < k && i > above + j + 1;
    const index at = i + (before.ilo - 1 + j) * before.lda, there = i + (before.ilo - 1 + j) * result.lda;
    A(i, j) = is_touched ? before.A[at] : T(0);
    product(i, j) = is_touched && !in_q ? result.A[there] : T(0);
    finite = finite && (!is_touched || is_finite(result.A[there]));
    if (j < k && i > above) reflectors(i - above - 1, j) = in_q ? result.A[there] : T(0);
  });
  const long double size = one_norm(A, cols);
  if (!leaves_room<T>(size, std::max(rows, cols))) return judgement;
  std::vector<T> tau(result.tau + before.ilo - 1, result.tau + before.ilo - 1 + k);
  for (index i = 0; i < before.beside(); ++i) {
    const bool of_none = i < before.ilo - 1 || i >= before.ilo - 1 + k;
    finite = finite && is_finite(result.tau[i]) && (!of_none || result.tau[i] == T(0));
  }
  if (!finite) return judgement.ratio = HUGE_VAL, judgement;
  // Q H, and that times Q^H.
  for (const bool left : {true, false}) {
    Packed<T> used(k, k);  // some versions of the library write to them while they use them
    for_each_of(k, k, [&](index i, index j) { used(i, j) = reflectors(i, j); });
    call_with_own_workspaces(*by.beside[by_ormqr], OrmqrArgs<T>{{left, !left, left ? k : rows, left ? cols : k, k},
                                                                used.at.get(),
                                                                k,
                                                                tau.data(),
                                                                left ? &product(above + 1, 0) : &product(0, 1),
                                                                rows});
  }
  for_each_of(rows, cols, [&](index i, index j) { product(i, j) -= A(i, j); });
  judgement.ratio =
      std::max(off_product(product, cols, std::max(rows, cols), size), off_unitary(by, reflectors, k, k, tau.data()));
  return judgement;
}

constinit const Family gehrd_family{
    .count = count, .text = text, .cpu_rate = cpu_rate, .cost = cost, .needs = Operation::Kind::gehrd};

template <class T>
Computed gehrd(const Site& site, const GehrdArgs<T>* args, Replay replay) {
  return take_route(site, args, replay,
                    {.learned = together<known>,
                     .problem = problem_of<T>,
                     .operands = operands_of<T>,
                     .compute = compute<T>,
                     .judging = {.judge = judge<T>, .with = judged_with_qr<T>, .alone = always<GehrdArgs<T>>}});
}

#define GEHRD(name, type)                                                                         \
  template Judgement judge(const JudgingLibrary&, const GehrdArgs<type>&, const GehrdArgs<type>&, \
                           const GehrdArgs<type>&, const Ending&);                                \
  template Computed gehrd(const Site&, const GehrdArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
