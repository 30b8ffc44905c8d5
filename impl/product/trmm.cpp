#include "impl/product/trmm.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "impl/core/undestroyed.hpp"
#include "impl/judge/judge.hpp"
#include "impl/product/at_once.hpp"
#include "impl/product/trmm_plan.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call

/// Cuts, and what is sent, are the same for op() of either kind and any diagonal.
TrmmShape shape_of(const Problem& p) {
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

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + (p.left ? " L" : " R") + (p.part == Part::upper ? "U" : "L") +
         (p.adjoint ? "T" : "N") + " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n) +
         (p.alpha_zero ? " alpha=0" : "");
}

Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  const Profile& profile = *facts.profile;
  const double in = seconds_in(p, facts, spared), out = seconds_out(p, facts),
               again = facts.sent_again / profile.in_rate, order = static_cast<double>(p.left ? p.m : p.n);
  // All of the diagonal's tiles are multiplied, which are a quarter of A or 4,096 wide.
  const double tiles = std::min(1.0, std::max(0.25, 4096 / std::max(order, 1.0)));
  constexpr double panels = 8;
  const double computing = p.flops / profile.gemm_rate[static_cast<int>(p.element.name)] * (1 + tiles);
  return {.seconds = profile.latency_seconds + std::max({computing, in, out, again}) + (in + computing + out) / panels};
}

std::optional<double> sent_again(const Problem& p, const Profile&, std::size_t memory) {
  if (p.m == 0 || p.n == 0) return std::nullopt;
  const TrmmShape shape = shape_of(p);
  const TrmmCut cut = trmm_cut(shape, p.precision(), memory);
  return cut.streamed ? std::optional(sent_again(shape, cut, element_size(p.element))) : std::nullopt;
}

template <class T>
Problem problem_of(Routine routine, const TrmmArgs<T>& a) {
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = a.m,
                  .n = a.n,
                  .alpha_zero = a.alpha == T(0),
                  .overlaps = overlap(a.B, a.m, a.n, a.ldb, a.A, a.order(), a.order(), a.lda, sizeof(T)),
                  .part = part_of(a.uplo),
                  .alpha_finite = is_finite(a.alpha),
                  .left = a.left,
                  .adjoint = a.trans != Op::none});
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

enum { operand_a, operand_b };

template <class T>
Operands operands_of(Runtime& r, const TrmmArgs<T>& x, bool ephemeral) {
  const bool reads = x.alpha != T(0);
  return Operands(r,
                  {{.stored = {x.A, x.order(), x.order(), x.lda, sizeof(T), part_of(x.uplo)}, .reads = reads},
                   {.stored = {x.B, x.m, x.n, x.ldb, sizeof(T)}, .writes = true, .reads = reads, .destroyed = true}},
                  ephemeral);
}

/// Whether all magnitudes are finite, that a plan has brought home.
template <class T>
bool all_finite(const std::vector<T>& magnitudes) {
  return std::all_of(magnitudes.begin(), magnitudes.end(), [](const T& x) { return is_finite(x); });
}

/// Looks through a B in the program's device memory, from which a result cannot be taken back.
template <class T>
Outcome survey(Runtime& r, const Site& site, Backend& backend, const TrmmShape& shape, const Operands& operands,
               bool& finite) {
  const Plan plan = plan_survey(shape, precision_of<T>);
  std::vector<T> magnitudes(static_cast<std::size_t>(plan.operands[1].rows));
  const Stored& b = operands[operand_b].stored;
  const std::vector<CallOperand<T>> matrices{{static_cast<const T*>(b.at), b.ld, placed(operands[operand_b])},
                                             {magnitudes.data(), plan.operands[1].rows}};
  const double bytes = static_cast<double>(magnitudes.size() * sizeof(T));
  const std::size_t piece = piece_bytes(backend, bytes);
  const Outcome outcome =
      run_plan(r, site, backend, operands, plan.bytes(sizeof(T)), true, bytes, [&](Lane& lane, void* lease) -> Outcome {
        return execute<T>(plan, matrices, {}, lease, piece, lane, not_exiting);
      });
  finite = all_finite(magnitudes);
  return outcome;
}

/// On the device.  If that does not come to an end, or B is not finite, B in the host's memory is what it was.
template <class T>
Ending compute(Runtime& r, const Site& site, Backend& backend, const Problem& problem, const TrmmArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  if (problem.trivial) {  // B is in device memory, and only written
    HostBlas blas(site);
    const GemmArgs<T> clearing{Op::none, Op::none, args.m, args.n, 0,      T(0),    nullptr,
                               args.m,   nullptr,  1,      T(0),   args.B, args.ldb};
    const Status status = at_once(backend, as_gemm(clearing), blas.operations());
    if (status != Status::done) return {give_up(r, backend, status)};
    return {.reason = decision.reason, .computed = true};
  }
  if (!r.device.can(trmm_family.needs, precision_of<T>)) return {Reason::no_route};
  const auto there = [&](std::size_t x) { return operands[x].place == Place::on_a_device; };
  const TrmmShape shape{args.left, args.uplo, args.trans, args.unit, args.m, args.n};
  // From the sizes and the device's memory alone: neither what else is on it nor copies change the bits.  What is in
  // the program's device memory takes no room.
  TrmmCut cut = trmm_cut(shape, precision_of<T>, r.arena.limit(), {.a = there(operand_a), .b = there(operand_b)});
  if (cut.tile == 0) return {Reason::no_room};
  if (there(operand_b)) {
    bool finite = true;
    const Outcome outcome = survey<T>(r, site, backend, shape, operands, finite);
    if (outcome.status != Status::done) return {give_up(r, backend, outcome.status)};
    // Row by row, or column by column, there are no zeros beside the diagonal.
    if (!finite) cut.tile = 1;
  }
  const index rows = trmm_magnitudes(precision_of<T>, cut);
  std::vector<T> magnitudes(static_cast<std::size_t>(rows * cut.panels(shape)));
  PlannedCall<T> planned(r, site, backend, problem, operands, {.alpha = args.alpha});
  planned.in_plan = 2;
  planned.own = {{magnitudes.data(), rows}};
  bool taken_back = false;
  planned.sound = [&] {
    taken_back = !there(operand_b) && !all_finite(magnitudes);
    return !taken_back;
  };
  const auto make_plan = [&](const std::vector<Placed>& at) {
    return plan_trmm(shape, precision_of<T>, cut, {at[operand_a].device != nullptr, at[operand_b].device != nullptr});
  };
  Ending ending = planned.compute(decision, cut.streamed, make_plan, [](index, index) {});
  if (taken_back) ending.reason = Reason::not_finite;
  ending.way = with_numbers(0, cut.tile, cut.width, cut.streamed);
  return ending;
}

}  // namespace

constinit const Family trmm_family{.count = count,
                                   .text = text,
                                   .cpu_rate = cpu_rate_of_products,
                                   .cost = cost,
                                   .needs = Operation::Kinds(Operation::Kind::assign) | Operation::Kind::survey,
                                   .sent_again = sent_again};

template <class T>
void trmm(const Site& site, const TrmmArgs<T>* args, Replay replay) {
  if (!enter(site)) return replay();
  if (!args) return refuse(site, replay);
  Runtime& r = runtime();
  const Problem problem = problem_of(info(site.symbol).routine, *args);
  (void)take_route(
      r, site, known.value, problem, *args, replay,
      [&](const TrmmArgs<T>& x, bool ephemeral) { return operands_of(r, x, ephemeral); },
      [&](Backend& backend, const TrmmArgs<T>& x, Operands& operands, const Decision& decision) {
        return compute(r, site, backend, problem, x, operands, decision);
      },
      [](Decision&) {});
}

#define TRMM(name, type) template void trmm(const Site&, const TrmmArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
