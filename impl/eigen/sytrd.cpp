#include "impl/eigen/sytrd.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "impl/core/any_overlap.hpp"
#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/eigen/syevd.hpp"
#include "impl/eigen/sytrd_plan.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/judge/unitary.hpp"
#include "impl/route/reduction.hpp"
#include "impl/route/route.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call

void count(Problem& p) {
  constexpr index largest_order = 46340;  // the vendor's numbers elements by 32 bits
  const double n = static_cast<double>(p.n), triangle = n * (n + 1) / 2 * static_cast<double>(element_size(p.element));
  p.empty = p.n == 0;
  p.too_large = p.n > largest_order;
  p.flops = (is_complex(p.element) ? 4.0 : 1.0) * 4 * n * n * n / 3;
  p.volume = 2 * n * n * n / 3;
  p.bytes_in = p.bytes_out = triangle;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + (p.part == Part::upper ? " U" : " L") + " n=" + std::to_string(p.n);
}

/// Half of it is products of the matrix with vectors, which wait for memory: of a triangle, once for every column.
double cpu_rate(const Problem& p, const Profile& profile) {
  constexpr double reading_rate = 3e10;  // bytes/s
  const double bytes = static_cast<double>(element_size(p.element)) * p.volume / 4;
  return cpu_rate_beside_reading(p, profile, 1, bytes / reading_rate);
}

/// What eigenvalues alone take: there is little beside it in them.
Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  const Profile& profile = *facts.profile;
  return {.seconds = profile.latency_seconds + syevd_seconds(p, profile) + seconds_in(p, facts, spared) +
                     seconds_out(p, facts)};
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

/// The vectors that a call writes, in the order of its arguments.
template <class T>
std::array<Stored, 3> vectors_of(const SytrdArgs<T>& x) {
  const index beside = x.beside(), ld = std::max<index>(1, x.n);
  return {Stored{x.d, x.n, 1, ld, sizeof(Real<T>)}, Stored{x.e, beside, 1, ld, sizeof(Real<T>)},
          Stored{x.tau, beside, 1, ld, sizeof(T)}};
}

template <class T>
bool overlaps(const SytrdArgs<T>& x) {
  const auto [d, e, tau] = vectors_of(x);
  return any_overlap({{x.A, x.n, x.n, x.lda, sizeof(T)}, d, e, tau});
}

template <class T>
Problem problem_of(Routine routine, const SytrdArgs<T>& x) {
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = x.n,
                  .n = x.n,
                  .overlaps = overlaps(x),
                  .part = part_of(x.uplo)});
}

template <class T>
Operands operands_of(Place& place, const SytrdArgs<T>& x, bool ephemeral) {
  const auto [d, e, tau] = vectors_of(x);
  return Operands(
      place,
      {{.stored = {x.A, x.n, x.n, x.lda, sizeof(T), part_of(x.uplo)}, .writes = true, .reads = true, .destroyed = true},
       {.stored = d, .writes = true, .vector = true},
       {.stored = e, .writes = true, .vector = true},
       {.stored = tau, .writes = true, .vector = true}},
      ephemeral);
}

template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const SytrdArgs<T>& args,
               Operands& operands, const Decision& decision) {
  const index n = args.n, reals = elements_of_reals(n, precision_of<T>);
  const auto elements = [](index count) { return std::vector<T>(static_cast<std::size_t>(count)); };
  std::vector<T> d = elements(reals), e = elements(reals), tau = elements(n);
  const Ending ending = compute_reduction<T>(
      place, site, backend, problem, operands, decision, sytrd_fits(n, precision_of<T>, place.arena.limit()),
      {&d, &e, &tau}, [&](bool a_in_place) { return plan_sytrd(args.uplo, n, precision_of<T>, a_in_place); });
  if (ending.computed) {
    std::copy_n(reinterpret_cast<const Real<T>*>(d.data()), n, args.d);
    std::copy_n(reinterpret_cast<const Real<T>*>(e.data()), args.beside(), args.e);
    std::copy_n(tau.data(), args.beside(), args.tau);
  }
  return ending;
}

// ---- what a correct result is

using namespace judging;

constexpr double threshold = 50;

}  // namespace

template <class T>
Judgement judge(const JudgingLibrary& by, const SytrdArgs<T>& before, const SytrdArgs<T>& result, const SytrdArgs<T>&,
                const Ending& ending) {
  const index n = before.n, others = before.beside();
  Judgement judgement{0, threshold};
  if (n == 0 || ending.info != 0) return judgement;
  // Of an upper triangle with rows and columns in reverse: then its reflectors are a QR's, too.
  const bool lower = before.uplo == Uplo::lower;
  const auto turned = [&](index i) { return lower ? i : n - 1 - i; };
  const auto beside = [&](index i) { return lower ? i : n - 2 - i; };
  Packed<T> A(n, n), product(n, n), reflectors(std::max<index>(1, others), std::max<index>(1, others));
  bool finite = true, as_in_a = true;  // where T is, too
  const auto holds = [&](index i, index j, Real<T> x) {
    as_in_a = as_in_a && std::real(result.A[turned(i) + turned(j) * result.lda]) == x;
  };
  for_each_of(n, n, [&](index i, index j) {
    A(i, j) = hermitian_element(before.uplo, before.A, before.lda, turned(i), turned(j));
    product(i, j) = T(0);
  });
  const long double size = one_norm(A, n);
  if (!leaves_room<T>(size, n)) return judgement;
  for_each_of(others, others, [&](index i, index j) {
    reflectors(i, j) = i >= j ? result.A[turned(i + 1) + turned(j) * result.lda] : T(0);
    finite = finite && is_finite(reflectors(i, j));
  });
  std::vector<T> tau(static_cast<std::size_t>(std::max<index>(1, others)));
  for (index i = 0; i < n; ++i) {
    product(i, i) = T(result.d[turned(i)]);
    finite = finite && is_finite(result.d[turned(i)]);
    holds(i, i, result.d[turned(i)]);
    if (i == others) break;
    holds(i + 1, i, result.e[beside(i)]);
    product(i + 1, i) = product(i, i + 1) = T(result.e[beside(i)]);
    tau[static_cast<std::size_t>(i)] = result.tau[beside(i)];
    finite = finite && is_finite(result.e[beside(i)]) && is_finite(result.tau[beside(i)]);
  }
  if (!finite || !as_in_a) return judgement.ratio = HUGE_VAL, judgement;
  // Q T, and of that the adjoint, T Q^H, from the left by Q again.
  for (int side = 0; side < 2; ++side) {
    if (others > 0) {
      Packed<T> used(others, others);  // some versions of the library write to them while they use them
      for_each_of(others, others, [&](index i, index j) { used(i, j) = reflectors(i, j); });
      call_with_own_workspaces(
          *by.beside[by_ormqr],
          OrmqrArgs<T>{{true, false, others, n, others}, used.at.get(), others, tau.data(), product.at.get() + 1, n});
    }
    Packed<T> adjoint(n, n);
    for_each_of(n, n, [&](index i, index j) {
      if constexpr (complex_type<T>)
        adjoint(i, j) = std::conj(product(j, i));
      else
        adjoint(i, j) = product(j, i);
    });
    std::swap(product.at, adjoint.at);
  }
  for_each_of(n, n, [&](index i, index j) { product(i, j) -= A(i, j); });
  judgement.ratio = std::max(off_product(product, n, n, size), off_unitary(by, reflectors, others, others, tau.data()));
  return judgement;
}

constinit const Family sytrd_family{
    .count = count, .text = text, .cpu_rate = cpu_rate, .cost = cost, .needs = Operation::Kind::sytrd};

template <class T>
Computed sytrd(const Site& site, const SytrdArgs<T>* args, Replay replay) {
  return take_route(site, args, replay,
                    {.learned = together<known>,
                     .problem = problem_of<T>,
                     .operands = operands_of<T>,
                     .compute = compute<T>,
                     .judging = {.judge = judge<T>, .with = judged_with_qr<T>, .alone = always<SytrdArgs<T>>}});
}

#define SYTRD(name, type)                                                                         \
  template Judgement judge(const JudgingLibrary&, const SytrdArgs<type>&, const SytrdArgs<type>&, \
                           const SytrdArgs<type>&, const Ending&);                                \
  template Computed sytrd(const Site&, const SytrdArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
