#include "impl/product/trmm.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "impl/core/undestroyed.hpp"
#include "impl/judge/judge.hpp"
#include "impl/product/at_once.hpp"
#include "impl/product/trmm_plan.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"
#include "impl/triangular/triangular.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call

Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  // All of the diagonal's tiles are multiplied, which are a quarter of A or 4,096 wide.
  const double order = static_cast<double>(p.left ? p.m : p.n),
               tiles = std::min(1.0, std::max(0.25, 4096 / std::max(order, 1.0)));
  return cost_in_panels(p, facts, spared,
                        p.flops / facts.profile->gemm_rate[static_cast<int>(p.element.name)] * (1 + tiles));
}

std::optional<double> sent_again(const Problem& p, const Profile&, std::size_t memory) {
  return triangular_sent_again<TrmmShape>(
      p, memory,
      [](const TrmmShape& shape, Precision precision, std::size_t bytes) { return trmm_cut(shape, precision, bytes); });
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

enum { operand_a, operand_b };

/// Whether all magnitudes are finite, that a plan has brought home.
template <class T>
bool all_finite(const std::vector<T>& magnitudes) {
  return std::all_of(magnitudes.begin(), magnitudes.end(), [](const T& x) { return is_finite(x); });
}

/// Looks through a B in the program's device memory, from which a result cannot be taken back.
template <class T>
Outcome survey(Place& place, const Site& site, Backend& backend, const TrmmShape& shape, const Operands& operands,
               bool& finite) {
  const Plan plan = plan_survey(shape, precision_of<T>);
  std::vector<T> magnitudes(static_cast<std::size_t>(plan.operands[1].rows));
  const Stored& b = operands[operand_b].stored;
  const std::vector<CallOperand<T>> matrices{{static_cast<const T*>(b.at), b.ld, placed(operands[operand_b])},
                                             {magnitudes.data(), plan.operands[1].rows}};
  const double bytes = static_cast<double>(magnitudes.size() * sizeof(T));
  const std::size_t piece = piece_bytes(backend, bytes);
  const Outcome outcome = run_plan(place, site, backend, operands, plan.bytes(sizeof(T)), true, bytes,
                                   [&](Lane& lane, void* lease) -> Outcome {
                                     return execute<T>(plan, matrices, {}, lease, piece, lane, not_exiting);
                                   });
  finite = all_finite(magnitudes);
  return outcome;
}

/// On the device.  If that does not come to an end, or B is not finite, B in the host's memory is what it was.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const TrmmArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  if (problem.trivial) {  // B is in device memory, and only written
    HostBlas blas(site);
    const GemmArgs<T> clearing{Op::none, Op::none, args.m, args.n, 0,      T(0),    nullptr,
                               args.m,   nullptr,  1,      T(0),   args.B, args.ldb};
    const Status status = at_once(backend, as_gemm(clearing), blas.operations());
    if (status != Status::done) return {give_up(place, backend, status)};
    return {.reason = decision.reason, .computed = true};
  }
  if (!place.device.can(trmm_family.needs, precision_of<T>)) return {Reason::no_route};
  const auto there = [&](std::size_t x) { return operands[x].memory == MemoryKind::on_a_device; };
  const TrmmShape shape{args.shape()};
  // From the sizes and the device's memory alone: neither what else is on it nor copies change the bits.  What is in
  // the program's device memory takes no room.
  TrmmCut cut = trmm_cut(shape, precision_of<T>, place.arena.limit(), {.a = there(operand_a), .b = there(operand_b)});
  if (cut.tile == 0) return {Reason::no_room};
  if (there(operand_b)) {
    bool finite = true;
    const Outcome outcome = survey<T>(place, site, backend, shape, operands, finite);
    if (outcome.status != Status::done) return {give_up(place, backend, outcome.status)};
    // Row by row, or column by column, there are no zeros beside the diagonal.
    if (!finite) cut.tile = 1;
  }
  const index rows = trmm_magnitudes(precision_of<T>, cut);
  std::vector<T> magnitudes(static_cast<std::size_t>(rows * cut.panels(shape)));
  PlannedCall<T> planned(place, site, backend, problem, operands, {.alpha = args.alpha});
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

constinit const Family trmm_family{.count = count_triangular,
                                   .text = text_of_triangular,
                                   .cpu_rate = cpu_rate_of_products,
                                   .cost = cost,
                                   .needs = Operation::Kinds(Operation::Kind::assign) | Operation::Kind::survey,
                                   .sent_again = sent_again};

template <class T>
Computed trmm(const Site& site, const TrmmArgs<T>* args, Replay replay) {
  static constexpr Way<TrmmArgs<T>> way{.learned = together<known>,
                                        .problem = triangular_problem<TrmmArgs<T>>,
                                        .operands = triangular_operands<TrmmArgs<T>>,
                                        .compute = compute<T>,
                                        .judging = {.judge = judge<T>, .with = judged_with_products<T>}};
  static constexpr Dealing<TrmmArgs<T>> dealing = triangular_dealing(way);
  return take_route(site, args, replay, way, &dealing);
}

#define TRMM(name, type) template Computed trmm(const Site&, const TrmmArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
