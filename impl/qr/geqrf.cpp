#include "impl/qr/geqrf.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "impl/core/undestroyed.hpp"
#include "impl/judge/judge.hpp"
#include "impl/qr/qr_domains_plan.hpp"
#include "impl/qr/qr_execute.hpp"
#include "impl/qr/qr_family.hpp"
#include "impl/qr/qr_section.hpp"
#include "impl/route/in_place.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"

namespace blaslift {
namespace {

constinit Undestroyed<Learned> known;  // of such calls, in this process

enum { operand_a, operand_tau };

template <class T>
Operands operands_of(Place& place, const GeqrfArgs<T>& args, bool ephemeral) {
  const index k = args.factored();
  return Operands(place,
                  {{.stored = {args.A, args.m, args.n, args.lda, sizeof(T)},
                    .writes = true,
                    .reads = true,
                    .destroyed = true,
                    .factors = true},
                   {.stored = {args.tau, k, 1, k, sizeof(T)}, .writes = true, .vector = true}},
                  ephemeral);
}

/// From the sizes, the profile and the device's memory alone: neither what else is on it nor copies change the bits.
template <class T>
QrCut cut_for(const Place& place, const GeqrfArgs<T>& args, const Operand& a) {
  const QrWidths widths = qr_widths(place.device.profile(), precision_of<T>, args.factored());
  // In the program's device memory all columns are there, and it fits, or not at all.
  if (a.memory == MemoryKind::on_a_device)
    return qr_cut(args.m, args.n, widths, sizeof(T), std::numeric_limits<std::size_t>::max());
  const QrCut cut = qr_cut(args.m, args.n, widths, sizeof(T), place.arena.limit());
  return place.options.qr_stream ? as_stream(args.m, args.n, cut, sizeof(T), place.arena.limit()) : cut;
}

template <class T>
QrCut cut_for(const Place& place, const GeqrfArgs<T>& args, const Operands& operands) {
  if (!operands.seat) return cut_for(place, args, operands[operand_a]);
  return qr_cut_together(args.m, args.n, qr_widths(place.device.profile(), precision_of<T>, args.factored()), sizeof(T),
                         place.arena.limit(), operands.seat->places());
}

/// With the copy that A has now, or in a lease.
template <class T>
Outcome attempt(Place& place, const Site& site, Backend& backend, const GeqrfArgs<T>& args, const Operands& operands,
                const QrCut& cut, bool wait) {
  const Operand &a = operands[operand_a], &tau = operands[operand_tau];
  Seat* const seat = operands.seat;
  const auto [block, panel, part, lead] = cut;
  const QrPlan plan = seat ? plan_qr_together(args.m, args.n, block, panel, seat->number(), seat->places())
                           : plan_qr(args.m, args.n, block, panel, part, lead);
  QrPlacement placement{.lease = nullptr, .A = placed(a), .tau = nullptr};
  if (tau.memory == MemoryKind::on_a_device) placement.tau = args.tau;
  const std::size_t bytes = plan.bytes(sizeof(T), placement.A.device, placement.tau),
                    piece = piece_bytes(backend, a.stored.bytes());
  return run_plan(place, site, backend, operands, bytes, wait, 2 * a.stored.bytes() - a.known.spared,
                  [&](Lane& lane, void* lease) {
                    placement.lease = lease;
                    return execute(plan, args, placement, piece, lane, not_exiting, seat);
                  });
}

/// A place's part of a tall one, whose rows are dealt out.
template <class T>
Ending compute_domain(Place& place, const Site& site, Backend& backend, const Problem& problem,
                      const GeqrfArgs<T>& args, Operands& operands, const Decision& decision, const QrDomains& cut) {
  Seat& seat = *operands.seat;
  if (!backend.facts().computes.can(Operation::Kind::assign, precision_of<T>) ||
      !seat.gang().same(with_numbers(1, cut.block)))
    return {Reason::no_route};
  std::vector<T> tau(static_cast<std::size_t>(args.n));
  PlannedCall<T> planned(place, site, backend, problem, operands, {});
  planned.in_plan = 1;
  planned.own = {{tau.data(), args.n}};
  // What is not finite would spread to columns on its left, in the same block: one place alone keeps them.
  planned.sound = [&] {
    return seat.number() != 0 || std::all_of(tau.begin(), tau.end(), [](const T& x) { return is_finite(x); });
  };
  Ending ending = planned.compute(
      decision, false,
      [&](const std::vector<Placed>&) {
        return plan_qr_domains(args.m, args.n, precision_of<T>, cut, seat.number(), seat.places());
      },
      [](index, index) {});
  if (ending.computed && seat.number() == 0) std::copy(tau.begin(), tau.end(), args.tau);
  ending.way = with_numbers(1, cut.block, seat.places());
  return ending;
}

/// On the device.  If that does not come to an end, A and tau in the host's memory are what they were.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const GeqrfArgs<T>& args,
               Operands& operands, const Decision& decision) {
  if (!backend.facts().computes.can(Operation::Kind::qr_panel, precision_of<T>)) return {Reason::no_route};
  operands.locate(backend);
  if (operands.seat) {
    if (operands[operand_a].memory == MemoryKind::on_a_device ||
        operands[operand_tau].memory == MemoryKind::on_a_device)
      return {Reason::no_route};
    const QrDomains domains = qr_domains(args.m, args.n, precision_of<T>, place.arena.limit(), operands.seat->places());
    if (domains.block > 0) return compute_domain(place, site, backend, problem, args, operands, decision, domains);
  }
  const QrCut cut = cut_for(place, args, operands);
  if (cut.block == 0) return {Reason::no_room};
  if (operands.seat && !operands.seat->gang().same(with_numbers(0, cut.block, cut.panel))) return {Reason::no_route};
  if (cut.part < args.n) {
    operands.forget();  // a copy of A would take the room that there is
  } else {
    operands.look();
    operands.keep();
  }
  Ending ending = computed_in_place(
      place, backend, decision, operands, [] { return true; },
      [&](bool wait) { return attempt(place, site, backend, args, operands, cut, wait); });
  ending.way = with_numbers(0, cut.block, cut.panel, cut.part, cut.lead, operands.seat ? operands.seat->places() : 1);
  return ending;
}

}  // namespace

template <class T>
Computed geqrf(const Site& site, const GeqrfArgs<T>* args, Replay replay) {
  return take_route(
      site, args, replay,
      {.learned = together<known>,
       .problem = problem_of<T>,
       .operands = operands_of<T>,
       .compute = compute<T>,
       .judging = {.judge = judge<T>, .with = judged_with_qr<T>, .alone = always<GeqrfArgs<T>>, .same_as = same_as<T>}},
      Together{});
}

#define GEQRF(name, type) template Computed geqrf(const Site&, const GeqrfArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
