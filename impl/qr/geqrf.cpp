#include "impl/qr/geqrf.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/qr/qr_section.hpp"

#include <limits>

#include "impl/qr/qr_execute.hpp"

namespace blaslift {
namespace {

constinit Undestroyed<Learned> known;  // of such calls, in this process

using Operands = QrOperands<2>;
enum { operand_a, operand_tau };

template <class T>
std::array<Operand, 2> matrices_of(const GeqrfArgs<T>& args, bool passing) {
  const index k = args.factored();
  return {Operand{.stored = {args.A, args.m, args.n, args.lda, sizeof(T)},
                  .transposed = false,
                  .writes = true,
                  .reads = true,
                  .passing = passing},
          Operand{.stored = {args.tau, k, 1, k, sizeof(T)},
                  .transposed = false,
                  .writes = true,
                  .reads = false,
                  .passing = passing}};
}

/// The decision, with a look at the operands where they matter.
Decision decide_now(Runtime& r, const Factorisation& f, Operands& operands) {
  const double m = static_cast<double>(f.m), n = static_cast<double>(f.n);
  const bool large = reflectors_volume(m, n, std::min(m, n)) >= small_product;
  const auto again = [&]() -> std::optional<double> {
    const std::size_t element = element_size(f.precision);
    if (f.factored() == 0) return std::nullopt;
    const QrWidths widths = qr_widths(r.device.profile(), f.precision, f.factored());
    // Not the arena's limit, which the thread that opens the device may be about to set.
    const QrCut cut = qr_cut(f.m, f.n, widths, element, r.device.backend().facts().memory);
    return cut.part < f.n ? std::optional(sent_again(f.m, f.n, cut, element)) : std::nullopt;
  };
  return decide_qr(r, known.value, f, f.factored() > 0 && large, Operation::Kind::qr_panel, operands, {true, false},
                   operand_a, again);
}

/// From the sizes, the profile and the device's memory alone: neither what else is on it nor copies change the bits.
template <class T>
QrCut cut_for(const Runtime& r, const GeqrfArgs<T>& args, const Operand& a) {
  const QrWidths widths = qr_widths(r.device.profile(), precision_of<T>, args.factored());
  // In the program's device memory all columns are there, and it fits, or not at all.
  if (a.place == Place::on_a_device)
    return qr_cut(args.m, args.n, widths, sizeof(T), std::numeric_limits<std::size_t>::max());
  const QrCut cut = qr_cut(args.m, args.n, widths, sizeof(T), r.arena.limit());
  return r.options.qr_stream ? as_stream(args.m, args.n, cut, sizeof(T), r.arena.limit()) : cut;
}

/// With the copy that A has now, or in a lease.
/// @param wait  for room; otherwise the outcome is no_memory if there is none now
template <class T>
QrOutcome attempt(Runtime& r, const Site& site, Backend& backend, const GeqrfArgs<T>& args, const Operands& operands,
                  bool wait) {
  const Operand &a = operands.all[operand_a], &tau = operands.all[operand_tau];
  const auto [block, panel, part, lead] = cut_for(r, args, a);
  const QrPlan plan = plan_qr(args.m, args.n, block, panel, part, lead);
  QrPlacement placement{.lease = nullptr, .A = operand_on_device(a), .tau = nullptr};
  if (tau.place == Place::on_a_device) placement.tau = args.tau;
  const std::size_t bytes = plan.bytes(sizeof(T), placement.A.device, placement.tau), held = a.known.hold.bytes;
  if (bytes > r.arena.limit() - std::min(r.arena.limit(), held)) return {Status::no_memory};
  const std::size_t piece = piece_bytes(backend, a.stored.bytes());

  QrOutcome outcome;
  outcome.status = r.arena.take(bytes, wait, placement.lease);
  if (outcome.status != Status::done) return outcome;
  const Leased leased(r.arena, placement.lease, bytes);
  HostBlas blas(site);
  const double moved = 2 * a.stored.bytes() - a.known.spared;
  if (Lane* lane = backend.acquire(blas.operations(), static_cast<std::size_t>(moved), outcome.status)) {
    const Acquired acquired(backend, lane);
    outcome = execute(plan, args, placement, piece, *lane, not_exiting);
  }
  return outcome;
}

/// On the device.  If that does not come to an end, A and tau in the host's memory are what they were.
template <class T>
Ending compute(Runtime& r, const Site& site, Backend& backend, const GeqrfArgs<T>& args, Operands& operands,
               const Decision& decision) {
  if (!backend.facts().computes.can(Operation::Kind::qr_panel, precision_of<T>)) return {Reason::no_route};
  operands.locate(backend);
  Operand& a = operands.all[operand_a];
  const QrCut cut = cut_for(r, args, a);
  const bool in_parts = cut.part < args.n;
  if (in_parts) {
    operands.forget();  // a copy of A would take the room that there is
  } else {
    operands.look({true, false});
    operands.keep(a);
  }
  Ending ending = in_attempts(r, backend, decision, operands, a, true,
                              [&](bool wait) { return attempt(r, site, backend, args, operands, wait); });
  ending.way = with_numbers(0, cut.block, cut.panel, cut.part, cut.lead);
  return ending;
}

}  // namespace

template <class T>
Computed geqrf(const Site& site, const GeqrfArgs<T>* args, Replay replay) {
  if (!enter(site)) return replay(), Computed::no;
  if (!args) return refuse(site, replay), Computed::no;
  Runtime& r = runtime();
  const Factorisation f = factorisation_of(info(site.symbol).routine, *args);
  Call call{site, known.value, f.precision, f.flops(), timed_flops, shape_of(f)};
  return computed_by(
      r, call, replay,
      [&](Decision& decision) {
        Operands operands(r, matrices_of(*args, false));  // lets go of its copy while we are still inside
        decision = decide_now(r, f, operands);
        return on_device(r, call, decision,
                         [&](Backend& backend) { return compute(r, site, backend, *args, operands, decision); });
      },
      [&] {
        return checkable(*args, f.overlaps, replay, [&](const GeqrfArgs<T>& other, const Decision& decision) {
          Operands operands(r, matrices_of(other, true));
          return compute(r, site, r.device.backend(), other, operands, decision);
        });
      });
}

#define GEQRF(name, type) template Computed geqrf(const Site&, const GeqrfArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
