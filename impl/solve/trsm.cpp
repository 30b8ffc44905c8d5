#include "impl/solve/trsm.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"
#include "impl/solve/diagonal.hpp"
#include "impl/solve/trsm_plan.hpp"
#include "impl/triangular/triangular.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call

/// Without right-hand sides the diagonal is looked through even so.
void count_checked(Problem& p) {
  count_triangular(p);
  p.empty = p.m == 0;
  p.trivial = p.n == 0;
}

/// One thread reads the triangle, however little there is to solve.
double cpu_rate(const Problem& p, const Profile& profile) {
  constexpr double reading_rate = 1.3e10;
  const double order = static_cast<double>(p.left ? p.m : p.n),
               triangle = order * (order + 1) / 2 * static_cast<double>(element_size(p.element));
  return cpu_rate_beside_reading(p, profile, 1, triangle / reading_rate);
}

Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  // About half the rate of large products at an order of 2,048 (H100, FP64: 15, 35, 48 and 52 Tflop/s at 2,048 to
  // 16,384, of products 57).
  constexpr double half = 2048;
  const double order = static_cast<double>(p.left ? p.m : p.n);
  return cost_in_panels(p, facts, spared,
                        p.flops / facts.profile->gemm_rate[static_cast<int>(p.element.name)] * (1 + half / order));
}

std::optional<double> sent_again(const Problem& p, const Profile&, std::size_t memory) {
  return triangular_sent_again<TrsmShape>(p, memory, trsm_cut);
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

enum { operand_a, operand_b };

/// From the sizes and the device's memory alone: neither what else is on it nor copies change the bits.  What is in the
/// program's device memory is there as a whole, and fits, or not at all.
template <class T>
TrsmCut cut_for(const Place& place, const Problem& problem, const Operands& operands) {
  const auto there = [&](std::size_t x) { return operands[x].memory == MemoryKind::on_a_device; };
  const TrsmShape shape{triangular_shape(problem)};
  TrsmCut cut = trsm_cut(shape, precision_of<T>,
                         there(operand_a) ? std::numeric_limits<std::size_t>::max() : place.arena.limit());
  if (there(operand_b)) cut.width = shape.others();
  if (there(operand_a) && there(operand_b)) cut.tile = shape.order();
  return cut;
}

/// On the device.  If that does not come to an end, B in the host's memory is what it was, or all of X.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const TrsmArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  if (args.checked && !args.unit) {
    const FirstZero zero = first_zero<T>(site, backend, operands[operand_a]);
    if (zero.outcome.status != Status::done) return {give_up(place, backend, zero.outcome.status)};
    if (zero.number > 0) return ended_by_zero(zero.number, operands, decision);
  }
  if (args.checked && args.n == 0) return {.reason = decision.reason, .computed = true};
  const TrsmShape shape{args.shape()};
  const TrsmCut cut = cut_for<T>(place, problem, operands);
  if (cut.tile == 0) return {Reason::no_room};
  PlannedCall<T> planned(place, site, backend, problem, operands, {.alpha = args.alpha});
  const auto make_plan = [&](const std::vector<Placed>& at) {
    const Placed &a = at[operand_a], &b = at[operand_b];
    return plan_trsm(shape, precision_of<T>, cut, {a.device != nullptr, b.device != nullptr, !a.in_place});
  };
  const auto finish = [&](index first, index count) { call_library(site, triangular_part(args, first, count)); };
  Ending ending = planned.compute(decision, cut.streamed, make_plan, finish);
  ending.way = with_numbers(0, cut.tile, cut.width, cut.streamed);
  return ending;
}

// ---- what a correct result is

using namespace judging;

/// |alpha B - op(A) X| <= limit eps |op(A)| |X|, element by element, however ill-conditioned A is (Higham, Accuracy and
/// Stability, 8.5): n roundings by substitution, twice that with inverses of blocks, and n of the residual itself; in
/// units of |re| + |im|.  Where A or the reference is not finite anything may be.
template <class T>
Judgement judge(const JudgingLibrary& by, const TrsmArgs<T>& before, const TrsmArgs<T>& result,
                const TrsmArgs<T>& reference, const Ending& ending) {
  const index m = before.m, n = before.n, order = before.order();
  Judgement judgement{0, 4 * static_cast<double>(order + 3) * (complex_type<T> ? 2 : 1)};
  if (ending.info > 0) return judgement;  // nothing has been solved
  if (before.alpha == T(0)) {
    for_each_of(m, n, [&](index i, index j) {
      if (result.B[i + j * result.ldb] != T(0)) judgement.ratio = HUGE_VAL;
    });
    return judgement;
  }
  bool finite = true;
  Packed<T> A = triangular(before, order, finite), X(m, n, result.B, result.ldb), rest(m, n, before.B, before.ldb),
            terms(m, n);
  // Columns of X, or rows, do not know each other.  Whether zeros in B meet what is not finite in A is the library's.
  std::vector<bool> judged(static_cast<std::size_t>(before.left ? n : m), finite);
  const auto line = [&](index i, index j) { return static_cast<std::size_t>(before.left ? j : i); };
  for_each_of(m, n, [&](index i, index j) {
    if (!is_finite(reference.B[i + j * reference.ldb])) judged[line(i, j)] = false;
  });
  const T one(1), zero(0), minus_one(-1);
  const auto multiply = [&](Packed<T>& to, const T& alpha, const T& beta) {
    const Packed<T>&a = before.left ? A : X, &b = before.left ? X : A;
    const Op none = Op::none;
    call_product(*by.beside[0], {precision_of<T>, before.left ? before.trans : none, before.left ? none : before.trans,
                                 m, n, order, &alpha, a.at.get(), a.ld, b.at.get(), b.ld, &beta, to.at.get(), to.ld});
  };
  multiply(rest, minus_one, before.alpha);
  make_magnitudes(A, order);
  make_magnitudes(X, n);
  multiply(terms, one, zero);
  judgement.ratio =
      residual_ratio(rest, terms, result.B, result.ldb, n, order, [&](index i, index j) { return judged[line(i, j)]; });
  return judgement;
}

}  // namespace

constinit const Family trsm_family{.count = count_triangular,
                                   .text = text_of_triangular,
                                   .cpu_rate = cpu_rate,
                                   .cost = cost,
                                   .needs = Operation::Kind::trsm,
                                   .sent_again = sent_again},
    trtrs_family{.count = count_checked,
                 .text = text_of_triangular,
                 .cpu_rate = cpu_rate,
                 .cost = cost,
                 .needs = Operation::Kind::trsm,
                 .sent_again = sent_again};

template <class T>
Computed trsm(const Site& site, const TrsmArgs<T>* args, Replay replay) {
  static constexpr Way<TrsmArgs<T>> way{.learned = together<known>,
                                        .problem = triangular_problem<TrsmArgs<T>>,
                                        .operands = triangular_operands<TrsmArgs<T>>,
                                        .compute = compute<T>,
                                        .judging = {.judge = judge<T>, .with = judged_with_products<T>}};
  static constexpr Dealing<TrsmArgs<T>> dealing = triangular_dealing(way);
  return take_route(site, args, replay, way, args && args->checked ? nullptr : &dealing);
}

#define TRSM(name, type) template Computed trsm(const Site&, const TrsmArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
