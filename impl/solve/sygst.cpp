#include "impl/solve/sygst.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "impl/core/any_overlap.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/lu/getrf.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"
#include "impl/solve/sygv_plan.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call

void count(Problem& p) {
  const double n = static_cast<double>(p.n), triangle = n * (n + 1) / 2 * static_cast<double>(element_size(p.element));
  p.empty = p.n == 0;
  p.too_large = p.n >= index{1} << 31;
  p.flops = (is_complex(p.element) ? 4.0 : 1.0) * n * n * n;
  p.volume = n * n * n / 2;
  p.bytes_in = 2 * triangle;
  p.bytes_out = triangle;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + (p.part == Part::upper ? " U" : " L") + " n=" + std::to_string(p.n);
}

/// Two solutions with all of A; or two products of whole matrices, of which each takes twice the flops and no blocks of
/// a diagonal.
Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  constexpr double seconds_a_block = 12e-6, block = 64, half = 2048;
  const Profile& profile = *facts.profile;
  const double n = static_cast<double>(p.n),
               computing = 2 * std::ceil(n / block) * seconds_a_block +
                           2 * p.flops / profile.gemm_rate[static_cast<int>(p.element.name)] * (1 + half / n);
  return {.seconds = profile.latency_seconds + seconds_in(p, facts, spared) + computing + seconds_out(p, facts)};
}

template <class T>
Problem problem_of(Routine routine, const SygstArgs<T>& x) {
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = x.n,
                  .n = x.n,
                  .overlaps = any_overlap({{x.A, x.n, x.n, x.lda, sizeof(T)}, {x.B, x.n, x.n, x.ldb, sizeof(T)}}),
                  .part = part_of(x.uplo)});
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

enum { operand_a, operand_b };

template <class T>
Operands operands_of(Place& place, const SygstArgs<T>& x, bool ephemeral) {
  const Part part = part_of(x.uplo);
  return Operands(
      place,
      {{.stored = {x.A, x.n, x.n, x.lda, sizeof(T), part}, .writes = true, .reads = true, .destroyed = true},
       {.stored = {x.B, x.n, x.n, x.ldb, sizeof(T), part}, .reads = true}},
      ephemeral);
}

bool fits(index itype, index n, Precision precision, std::size_t memory, const SygvHeld& held) {
  const double order = static_cast<double>(n), matrix = order * order * static_cast<double>(element_size(precision));
  // Sizes that integers might not hold are not counted.
  if (matrix > static_cast<double>(memory)) return held.a && held.b && itype == 1 && n < index{1} << 31;
  return plan_sygst(itype, Uplo::lower, n, precision, held).bytes(element_size(precision)) <= memory;
}

/// On the device.  If that does not come to an end, A in the host's memory is what it was.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const SygstArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  const SygvHeld there{.a = operands[operand_a].out_of_reach(), .b = operands[operand_b].out_of_reach()};
  if (!fits(args.itype, args.n, precision_of<T>, place.arena.limit(), there)) return {Reason::no_room};
  PlannedCall<T> planned(place, site, backend, problem, operands, {});
  const auto make_plan = [&](const std::vector<Placed>& at) {
    return plan_sygst(args.itype, args.uplo, args.n, precision_of<T>,
                      {.a = at[operand_a].device != nullptr, .b = at[operand_b].device != nullptr});
  };
  return planned.compute(decision, false, make_plan, [](index, index) {});
}

// ---- what a correct result is

using namespace judging;

/// The library's trsm.
template <class T>
std::vector<Routine> judged_with_solves() {
  std::vector<Routine> routines;
#define TRSM(name, type) \
  if (std::is_same_v<T, type>) routines.push_back(Routine::name);
#include "api/routines.def"
  return routines;
}

}  // namespace

template <class T>
Judgement judge(const JudgingLibrary& by, const SygstArgs<T>& before, const SygstArgs<T>& result,
                const SygstArgs<T>& reference, const Ending&) {
  const index n = before.n;
  const bool lower = before.uplo == Uplo::lower;
  Judgement judgement{0, 20};
  if (n == 0) return judgement;
  Packed<T> A(n, n), L(n, n), off(n, n), theirs(n, n);
  bool finite = true, found = true;
  for_each_of(n, n, [&](index i, index j) {
    A(i, j) = hermitian_element(before.uplo, before.A, before.lda, i, j);
    L(i, j) = (lower ? i >= j : i <= j) ? before.B[i + j * before.ldb] : T(0);
    theirs(i, j) = hermitian_element(before.uplo, reference.A, reference.lda, i, j);
    const T ours = hermitian_element(before.uplo, result.A, result.lda, i, j);
    off(i, j) = ours - theirs(i, j);
    finite = finite && is_finite(A(i, j)) && is_finite(L(i, j)) && is_finite(theirs(i, j));
    found = found && is_finite(ours) && (i != j || std::imag(result.A[i * (result.lda + 1)]) == 0);
  });
  const auto norm_of_adjoint = [&] {
    Packed<T> x(n, n);
    for_each_of(n, n, [&](index i, index j) { x(i, j) = L(j, i); });
    return one_norm(x, n);
  };
  const long double largest = std::numeric_limits<Real<T>>::max() / (16 * static_cast<long double>(n + 1)),
                    factors = one_norm(L, n) * norm_of_adjoint();
  long double size = factors * one_norm(A, n);
  if (!finite || !(size < largest)) return judgement;  // whatever a library makes of it
  if (before.itype == 1) {
    Packed<T> X(n, n), adjoint(n, n);
    for_each_of(n, n, [&](index i, index j) { X(i, j) = T(i == j ? 1 : 0); });
    (void)call_by(*by.beside[0],
                  TrsmArgs<T>{true, before.uplo, Op::none, false, n, n, T(1), before.B, before.ldb, X.at.get(), n});
    for_each_of(n, n, [&](index i, index j) { adjoint(i, j) = X(j, i); });
    size = factors * one_norm(X, n) * one_norm(adjoint, n) * one_norm(theirs, n);
    if (!(size < largest)) return judgement;
  }
  if (!found) return judgement.ratio = HUGE_VAL, judgement;
  const long double rest = one_norm(off, n),
                    tiny = static_cast<long double>(std::numeric_limits<Real<T>>::min()) *
                           static_cast<long double>(n * (n + 2)),
                    unit = static_cast<long double>(n) * std::numeric_limits<Real<T>>::epsilon();
  if (rest > tiny) judgement.ratio = static_cast<double>(rest / (unit * size));
  return judgement;
}

constinit const Family sygst_family{
    .count = count,
    .text = text,
    .cpu_rate = cpu_rate_of_products,
    .cost = cost,
    .needs = Operation::Kinds(Operation::Kind::trsm) | Operation::Kind::assign | Operation::Kind::mirror};

template <class T>
Computed sygst(const Site& site, const SygstArgs<T>* args, Replay replay) {
  return take_route(site, args, replay,
                    {.learned = together<known>,
                     .problem = problem_of<T>,
                     .operands = operands_of<T>,
                     .compute = compute<T>,
                     .judging = {.judge = judge<T>, .with = judged_with_solves<T>}});
}

#define SYGST(name, type)                                                                         \
  template Judgement judge(const JudgingLibrary&, const SygstArgs<type>&, const SygstArgs<type>&, \
                           const SygstArgs<type>&, const Ending&);                                \
  template Computed sygst(const Site&, const SygstArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
