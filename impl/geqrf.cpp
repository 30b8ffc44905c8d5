#include "impl/geqrf.hpp"

#include "impl/qr_execute.hpp"

namespace blaslift {
namespace {

using Operands = QrOperands<2>;
enum { operand_a, operand_tau };

/// The decision, with a look at the operands where they matter.
Decision decide_now(Runtime& r, const Factorisation& f, Operands& operands) {
  const double m = static_cast<double>(f.m), n = static_cast<double>(f.n);
  const bool large = reflectors_volume(m, n, std::min(m, n)) >= small_product;
  return decide_qr(r, r.qr, f, f.factored() > 0 && large, &DeviceFacts::factors, operands, {true, false}, operand_a);
}

/// With the copy that A has now, or in a lease.
/// @param wait  for room; otherwise the outcome is no_memory if there is none now
template <class T>
QrOutcome attempt(Runtime& r, const Site& site, Backend& backend, const GeqrfArgs<T>& args, const Operands& operands,
                  bool wait) {
  const Operand &a = operands.all[operand_a], &tau = operands.all[operand_tau];
  const auto [block, panel] = qr_widths(args.factored());
  const QrPlan plan = plan_qr(args.m, args.n, block, panel);
  QrPlacement placement{.lease = nullptr, .A = operand_on_device(a), .tau = nullptr};
  if (tau.place == Place::on_a_device) placement.tau = args.tau;
  const std::size_t bytes = plan.bytes(sizeof(T), placement.A.device, placement.tau), held = a.known.hold.bytes;
  if (bytes > r.arena.limit() - std::min(r.arena.limit(), held)) return {Status::no_memory};
  const std::size_t piece = piece_bytes(backend, a.stored.bytes());

  QrOutcome outcome;
  outcome.status = r.arena.take(bytes, wait, placement.lease);
  if (outcome.status != Status::done) return outcome;
  const Leased leased(r.arena, placement.lease, bytes);
  GemmBeside gemm(site);
  const double moved = 2 * a.stored.bytes() - a.known.spared;
  if (Lane* lane = backend.acquire(gemm.underlying(), static_cast<std::size_t>(moved), outcome.status)) {
    const Acquired acquired(backend, lane);
    outcome = execute(plan, args, placement, piece, *lane, not_exiting);
  }
  return outcome;
}

/// On the device.  If that does not come to an end, A and tau in the host's memory are untouched.
template <class T>
Ending compute(Runtime& r, const Site& site, Backend& backend, const GeqrfArgs<T>& args, Operands& operands,
               const Decision& decision) {
  if (!backend.facts().factors) return {Reason::no_route};
  operands.locate(backend);
  operands.look({true, false});
  Operand& a = operands.all[operand_a];
  operands.keep(a);
  return in_attempts(r, backend, decision, operands, a, true,
                     [&](bool wait) { return attempt(r, site, backend, args, operands, wait); });
}

}  // namespace

template <class T>
Computed geqrf(const Site& site, const GeqrfArgs<T>* args, Replay replay) {
  if (!enter(site)) return replay(), Computed::no;
  if (!args) return refuse(site, replay), Computed::no;
  Runtime& r = runtime();
  const Factorisation f = factorisation_of(info(site.symbol).routine, *args);
  const Call call{site, r.qr, f.precision, f.flops(), timed_flops, shape_of(f)};
  const index k = args->factored();
  return computed_by(r, call, replay, [&](Decision& decision) {
    // Lets go of its copy while we are still inside.
    Operands operands(r, {Operand{{args->A, args->m, args->n, args->lda, sizeof(T)}, false, true, true},
                          Operand{{args->tau, k, 1, k, sizeof(T)}, false, true, false}});
    decision = decide_now(r, f, operands);
    return on_device(r, call, decision,
                     [&](Backend& backend) { return compute(r, site, backend, *args, operands, decision); });
  });
}

#define GEQRF(name, type) template Computed geqrf(const Site&, const GeqrfArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
