#include "impl/qr/lq.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "impl/core/any_overlap.hpp"
#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/qr/lq_plan.hpp"
#include "impl/qr/panel_qr.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call: k reflectors, of which Q is made if it is of an identity

/// Flops of Q by LAPACK Working Note 41.
void count(Problem& p) {
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  p.trivial = p.k == 0;
  p.empty = p.m == 0 || p.n == 0;
  p.volume = reflectors_volume(m, n, k);
  p.flops =
      (is_complex(p.element) ? 4.0 : 1.0) * (p.of_identity ? 4 * m * n * k - 2 * (m + n) * k * k + 4 * k * k * k / 3
                                                           : 2 * std::max(m, n) * k * k - 2 * k * k * k / 3);
  p.bytes_out = m * n * static_cast<double>(element_size(p.element));
  p.bytes_in = p.of_identity ? k * n * static_cast<double>(element_size(p.element)) : p.bytes_out;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n) +
         (p.of_identity ? " k=" + std::to_string(p.k) : "");
}

/// As a QR's (impl/qr/qr_family.cpp).
double cpu_rate(const Problem& p, const Profile& profile) { return cpu_rate_of_products(p, profile) / 4; }

/// Panels and the products with their reflectors one after the other, beside passes that transpose all of it.
Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  constexpr double passes = 4;
  const Profile& profile = *facts.profile;
  const double element = static_cast<double>(element_size(p.element)), n = static_cast<double>(p.n),
               computing = seconds_of_panels(profile, p.precision(), n, static_cast<double>(p.k), p.flops) +
                           passes * static_cast<double>(p.m) * n * element / profile.pass_rate;
  return {.seconds = profile.latency_seconds + computing + seconds_in(p, facts, spared) + seconds_out(p, facts)};
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

enum { operand_a, operand_tau };

template <class T>
LqShape shape_of(const LqArgs<T>& x) {
  return {x.m, x.n, x.reflectors(), x.makes_q};
}

template <class T>
Stored tau_of(const LqArgs<T>& x) {
  return {x.tau, x.reflectors(), 1, std::max<index>(1, x.reflectors()), sizeof(T)};
}

template <class T>
Problem problem_of(Routine routine, const LqArgs<T>& x) {
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = x.m,
                  .n = x.n,
                  .k = x.reflectors(),
                  .overlaps = any_overlap({{x.A, x.m, x.n, x.lda, sizeof(T)}, tau_of(x)}),
                  .of_identity = x.makes_q});
}

template <class T>
Operands operands_of(Place& place, const LqArgs<T>& x, bool ephemeral) {
  return Operands(place,
                  {{.stored = {x.A, x.m, x.n, x.lda, sizeof(T)},
                    .writes = true,
                    .reads = true,
                    .destroyed = true,
                    .factors = !x.makes_q},
                   {.stored = tau_of(x), .writes = !x.makes_q, .reads = x.makes_q, .vector = true}},
                  ephemeral);
}

/// On the device.  If that does not come to an end, A and tau in the host's memory are what they were.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const LqArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  if (operands[operand_tau].out_of_reach()) return {Reason::no_route};
  const LqShape shape = shape_of(args);
  if (!operands[operand_a].out_of_reach() && !lq_fits(shape, precision_of<T>, place.arena.limit()))
    return {Reason::no_room};
  std::vector<T> tau(static_cast<std::size_t>(std::max<index>(1, shape.k)));
  if (shape.makes_q) std::copy_n(args.tau, shape.k, tau.begin());
  PlannedCall<T> planned(place, site, backend, problem, operands, {});
  planned.in_plan = 1;
  planned.own = {{tau.data(), static_cast<index>(tau.size())}};
  const Ending ending = planned.compute(
      decision, false,
      [&](const std::vector<Placed>& at) { return plan_lq(shape, precision_of<T>, at[operand_a].device != nullptr); },
      [](index, index) {});
  if (ending.computed && !shape.makes_q) std::copy_n(tau.begin(), shape.k, args.tau);
  return ending;
}

using namespace judging;

/// The adjoint of a matrix's first rows.
template <class T>
Packed<T> adjoint(const LqArgs<T>& x, index rows) {
  Packed<T> columns(x.n, rows);
  for_each_of(x.n, rows, [&](index i, index j) {
    const T& element = x.A[j + i * x.lda];
    if constexpr (complex_type<T>)
      columns(i, j) = std::conj(element);
    else
      columns(i, j) = element;
  });
  return columns;
}

}  // namespace

template <class T>
Judgement judge(const JudgingLibrary& by, const LqArgs<T>& before, const LqArgs<T>& result, const LqArgs<T>&,
                const Ending&) {
  const index m = before.m, n = before.n, k = before.reflectors();
  const Packed<T> found = adjoint(result, m);
  if (!before.makes_q) {
    const Packed<T> A = adjoint(before, m);
    return judge(by, GeqrfArgs<T>{n, m, A.at.get(), n, before.tau}, GeqrfArgs<T>{n, m, found.at.get(), n, result.tau});
  }
  const Packed<T> V = adjoint(before, k);
  Packed<T> used = adjoint(before, k), Q(n, m);  // some versions of the library write to them while they use them
  for_each_of(n, m, [&](index i, index j) { Q(i, j) = T(i == j ? 1 : 0); });
  if (k > 0)
    call_with_own_workspaces(*by.beside[by_ormqr],
                             OrmqrArgs<T>{{true, false, n, m, k}, used.at.get(), n, before.tau, Q.at.get(), n});
  return judge(OrmqrArgs<T>{{true, false, n, m, k, true}, V.at.get(), n, before.tau, Q.at.get(), n}, found.at.get(),
               Q.at.get());
}

constinit const Family lq_family{.count = count,
                                 .text = text,
                                 .cpu_rate = cpu_rate,
                                 .cost = cost,
                                 .needs = Operation::Kinds(Operation::Kind::qr_panel) | Operation::Kind::assign};

template <class T>
Computed lq(const Site& site, const LqArgs<T>* args, Replay replay) {
  return take_route(site, args, replay,
                    {.learned = together<known>,
                     .problem = problem_of<T>,
                     .operands = operands_of<T>,
                     .compute = compute<T>,
                     .judging = {.judge = judge<T>, .with = judged_with_qr<T>, .alone = always<LqArgs<T>>}});
}

#define GELQF(name, type)                                                                                        \
  template Judgement judge(const JudgingLibrary&, const LqArgs<type>&, const LqArgs<type>&, const LqArgs<type>&, \
                           const Ending&);                                                                       \
  template Computed lq(const Site&, const LqArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
