#include "impl/solve/trsm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"
#include "impl/solve/diagonal.hpp"
#include "impl/solve/trsm_plan.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call

/// Cuts, and what is sent, are the same for op() of either kind and any diagonal.
TrsmShape shape_of(const Problem& p) {
  return {p.left, p.part == Part::upper ? Uplo::upper : Uplo::lower, p.adjoint ? Op::transpose : Op::none, false, p.m,
          p.n};
}

void count(Problem& p) {
  const double order = static_cast<double>(p.left ? p.m : p.n), others = static_cast<double>(p.left ? p.n : p.m),
               element = static_cast<double>(element_size(p.element));
  p.empty = p.m == 0 || p.n == 0;
  p.trivial = p.alpha_zero;
  p.flops = (is_complex(p.element) ? 4.0 : 1.0) * order * order * others;
  p.volume = order * order * others / 2;
  p.bytes_out = order * others * element;
  p.bytes_in = p.alpha_zero ? 0 : p.bytes_out + order * (order + 1) / 2 * element;
}

/// Without right-hand sides the diagonal is looked through even so.
void count_checked(Problem& p) {
  count(p);
  p.empty = p.m == 0;
  p.trivial = p.n == 0;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + (p.left ? " L" : " R") + (p.part == Part::upper ? "U" : "L") +
         (p.adjoint ? "T" : "N") + " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n) +
         (p.alpha_zero ? " alpha=0" : "");
}

/// One thread reads the triangle, however little there is to solve.
double cpu_rate(const Problem& p, const Profile& profile) {
  constexpr double reading_rate = 1.3e10;
  const double order = static_cast<double>(p.left ? p.m : p.n),
               triangle = order * (order + 1) / 2 * static_cast<double>(element_size(p.element));
  return cpu_rate_beside_reading(p, profile, 1, triangle / reading_rate);
}

Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  const Profile& profile = *facts.profile;
  const double in = seconds_in(p, facts, spared), out = seconds_out(p, facts),
               again = facts.sent_again / profile.in_rate, order = static_cast<double>(p.left ? p.m : p.n);
  // About half the rate of large products at an order of 2,048 (H100, FP64: 15, 35, 48 and 52 Tflop/s at 2,048 to
  // 16,384, of products 57).
  constexpr double half = 2048, panels = 8;
  const double computing = p.flops / profile.gemm_rate[static_cast<int>(p.element.name)] * (1 + half / order);
  return {.seconds = profile.latency_seconds + std::max({computing, in, out, again}) + (in + computing + out) / panels};
}

std::optional<double> sent_again(const Problem& p, const Profile&, std::size_t memory) {
  if (p.m == 0 || p.n == 0) return std::nullopt;
  const TrsmShape shape = shape_of(p);
  const TrsmCut cut = trsm_cut(shape, p.precision(), memory);
  return cut.streamed ? std::optional(sent_again(shape, cut, element_size(p.element))) : std::nullopt;
}

template <class T>
Problem problem_of(Routine routine, const TrsmArgs<T>& a) {
  Problem problem{.routine = routine,
                  .element = precision_of<T>,
                  .m = a.m,
                  .n = a.n,
                  .alpha_zero = a.alpha == T(0),
                  .overlaps = overlap(a.B, a.m, a.n, a.ldb, a.A, a.order(), a.order(), a.lda, sizeof(T)),
                  .part = part_of(a.uplo),
                  .alpha_finite = is_finite(a.alpha),
                  .left = a.left,
                  .adjoint = a.trans != Op::none};
  family_of(routine).count(problem);
  return problem;
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

enum { operand_a, operand_b };

template <class T>
Operands operands_of(Runtime& r, const TrsmArgs<T>& x, bool ephemeral) {
  const bool reads = x.alpha != T(0);
  return Operands(r,
                  {{.stored = {x.A, x.order(), x.order(), x.lda, sizeof(T), part_of(x.uplo)}, .reads = reads},
                   {.stored = {x.B, x.m, x.n, x.ldb, sizeof(T)}, .writes = true, .reads = reads, .destroyed = true}},
                  ephemeral);
}

/// From the sizes and the device's memory alone: neither what else is on it nor copies change the bits.  What is in the
/// program's device memory is there as a whole, and fits, or not at all.
template <class T>
TrsmCut cut_for(const Runtime& r, const Problem& problem, const Operands& operands) {
  const auto there = [&](std::size_t x) { return operands[x].place == Place::on_a_device; };
  const TrsmShape shape = shape_of(problem);
  TrsmCut cut =
      trsm_cut(shape, precision_of<T>, there(operand_a) ? std::numeric_limits<std::size_t>::max() : r.arena.limit());
  if (there(operand_b)) cut.width = shape.others();
  if (there(operand_a) && there(operand_b)) cut.tile = shape.order();
  return cut;
}

/// On the device.  If that does not come to an end, B in the host's memory is what it was, or all of X.
template <class T>
Ending compute(Runtime& r, const Site& site, Backend& backend, const Problem& problem, const TrsmArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  if (args.checked && !args.unit) {
    const FirstZero zero = first_zero<T>(site, backend, operands[operand_a]);
    if (zero.outcome.status != Status::done) return {give_up(r, backend, zero.outcome.status)};
    if (zero.number > 0) return ended_by_zero(zero.number, operands, decision);
  }
  if (args.checked && args.n == 0) return {.reason = decision.reason, .computed = true};
  const TrsmShape shape{args.left, args.uplo, args.trans, args.unit, args.m, args.n};
  const TrsmCut cut = cut_for<T>(r, problem, operands);
  if (cut.tile == 0) return {Reason::no_room};
  PlannedCall<T> planned(r, site, backend, problem, operands, {.alpha = args.alpha});
  const auto make_plan = [&](const std::vector<Placed>& at) {
    const Placed &a = at[operand_a], &b = at[operand_b];
    return plan_trsm(shape, precision_of<T>, cut, {a.device != nullptr, b.device != nullptr, !a.in_place});
  };
  const auto finish = [&](index first, index count) {
    TrsmArgs<T> rest = args;
    rest.B += args.left ? first * args.ldb : first;
    (args.left ? rest.n : rest.m) = count;
    with_signature(rest,
                   [&](auto s) { call<decltype(s)>(site.function, info(site.symbol).interface, rest, site.wide); });
  };
  Ending ending = planned.compute(decision, cut.streamed, make_plan, finish);
  ending.way = with_numbers(0, cut.tile, cut.width, cut.streamed);
  return ending;
}

// ---- what a correct result is

using namespace judging;

}  // namespace

/// |alpha B - op(A) X| <= limit eps |op(A)| |X|, element by element, however ill-conditioned A is (Higham, Accuracy and
/// Stability, 8.5): n roundings by substitution, twice that with inverses of blocks, and n of the residual itself; in
/// units of |re| + |im|.  Where A or the reference is not finite anything may be.
template <class T>
Judgement judge(const JudgingLibrary& by, const TrsmArgs<T>& before, const TrsmArgs<T>& result,
                const TrsmArgs<T>& reference, const Ending& ending) {
  const index m = before.m, n = before.n, order = before.order();
  constexpr double eps = std::numeric_limits<Real<T>>::epsilon(),
                   tiny = static_cast<double>(std::numeric_limits<Real<T>>::min());
  Judgement judgement{0, 4 * static_cast<double>(order + 3) * (complex_type<T> ? 2 : 1)};
  const auto raise = [&](double ratio) {
    if (!(ratio <= judgement.ratio)) judgement.ratio = std::isnan(ratio) ? HUGE_VAL : ratio;
  };
  if (ending.info > 0) return judgement;  // nothing has been solved
  if (before.alpha == T(0)) {
    for_each_of(m, n, [&](index i, index j) {
      if (result.B[i + j * result.ldb] != T(0)) raise(HUGE_VAL);
    });
    return judgement;
  }
  Packed<T> A(order, order), X(m, n), rest(m, n), terms(m, n);
  bool finite = true;
  for_each_of(order, order, [&](index i, index j) {
    const bool there = before.uplo == Uplo::upper ? i <= j : i >= j;
    A(i, j) = i == j && before.unit ? T(1) : there ? before.A[i + j * before.lda] : T(0);
    finite = finite && is_finite(A(i, j));
  });
  // Columns of X, or rows, do not know each other.  Whether zeros in B meet what is not finite in A is the library's.
  std::vector<bool> judged(static_cast<std::size_t>(before.left ? n : m), finite);
  const auto of = [&](index i, index j) { return static_cast<std::size_t>(before.left ? j : i); };
  for_each_of(m, n, [&](index i, index j) {
    X(i, j) = result.B[i + j * result.ldb];
    rest(i, j) = before.B[i + j * before.ldb];
    if (!is_finite(reference.B[i + j * reference.ldb])) judged[of(i, j)] = false;
  });
  const T one(1), zero(0), minus_one(-1);
  const auto multiply = [&](Packed<T>& to, const T& alpha, const T& beta) {
    const Packed<T>&a = before.left ? A : X, &b = before.left ? X : A;
    const Op none = Op::none;
    call_product(*by.beside[0], {precision_of<T>, before.left ? before.trans : none, before.left ? none : before.trans,
                                 m, n, order, &alpha, a.at.get(), a.ld, b.at.get(), b.ld, &beta, to.at.get(), to.ld});
  };
  multiply(rest, minus_one, before.alpha);
  for_each_of(order, order, [&](index i, index j) { A(i, j) = magnitude(A(i, j)); });
  for_each_of(m, n, [&](index i, index j) { X(i, j) = magnitude(X(i, j)); });
  multiply(terms, one, zero);
  for_each_of(m, n, [&](index i, index j) {
    if (!judged[of(i, j)]) return;
    const double off = size_of(rest(i, j)), unit = eps * size_of(terms(i, j));
    if (!is_finite(X(i, j))) raise(HUGE_VAL);
    if (std::isfinite(unit) && off > tiny * static_cast<double>(order + 2)) raise(off / unit);
  });
  return judgement;
}

template <class T>
std::vector<Routine> judged_with(const TrsmArgs<T>&) {
  return judged_with_products<T>();
}

constinit const Family trsm_family{.count = count,
                                   .text = text,
                                   .cpu_rate = cpu_rate,
                                   .cost = cost,
                                   .needs = Operation::Kind::trsm,
                                   .sent_again = sent_again},
    trtrs_family{.count = count_checked,
                 .text = text,
                 .cpu_rate = cpu_rate,
                 .cost = cost,
                 .needs = Operation::Kind::trsm,
                 .sent_again = sent_again};

template <class T>
Computed trtrs(const Site& site, const TrsmArgs<T>* args, Replay replay) {
  if (!enter(site)) return replay(), Computed::no;
  if (!args) return refuse(site, replay), Computed::no;
  Runtime& r = runtime();
  const Problem problem = problem_of(info(site.symbol).routine, *args);
  return take_route(
      r, site, known.value, problem, *args, replay,
      [&](const TrsmArgs<T>& x, bool ephemeral) { return operands_of(r, x, ephemeral); },
      [&](Backend& backend, const TrsmArgs<T>& x, Operands& operands, const Decision& decision) {
        return compute(r, site, backend, problem, x, operands, decision);
      },
      [](Decision&) {});
}

template <class T>
void trsm(const Site& site, const TrsmArgs<T>* args, Replay replay) {
  (void)trtrs(site, args, replay);
}

#define TRSM(name, type)                                          \
  template void trsm(const Site&, const TrsmArgs<type>*, Replay); \
  template Computed trtrs(const Site&, const TrsmArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
