#include "impl/lu/getrf.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/lu/getrf_plan.hpp"
#include "impl/lu/kept_memory.hpp"
#include "impl/route/lapack_section.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call

void count(Problem& p) {
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = std::min(m, n),
               element = static_cast<double>(element_size(p.element));
  p.empty = p.m == 0 || p.n == 0;
  p.too_large = p.m >= index{1} << 24;  // pivots are elements on their way
  p.flops = (is_complex(p.element) ? 4.0 : 1.0) * k * (2 * m * n - k * (m + n) + 2 * k * k / 3);
  p.volume = k * (m * n - k * (m + n) / 2 + k * k / 3);
  p.bytes_in = p.bytes_out = m * n * element;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n);
}

/// Panels one after the other, with products between them; what moves does not quite run beside.
Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  constexpr double beside_transfers = 0.2;
  const Profile& profile = *facts.profile;
  const double in = seconds_in(p, facts, spared), out = seconds_out(p, facts),
               again = facts.sent_again / profile.in_rate,
               computing = getrf_seconds(p.m, p.n, p.flops, p.precision(), profile);
  return {.seconds = profile.latency_seconds + std::max({computing, in + again, out}) + beside_transfers * (in + out)};
}

/// For all of it, if there is room; or for its panels.
GetrfCut cut_of(index m, index n, Precision precision, std::size_t memory) {
  const GetrfCut cut = getrf_cut(m, n, precision, memory);
  return cut.panel > 0 ? cut : getrf_cut_streamed(m, n, precision, memory);
}

std::optional<double> sent_again(const Problem& p, const Profile&, std::size_t memory) {
  if (p.empty) return std::nullopt;
  const GetrfCut cut = cut_of(p.m, p.n, p.precision(), memory);
  return cut.streamed() ? std::optional(sent_again(p.m, p.n, cut, element_size(p.element))) : std::nullopt;
}

constexpr double beside_products = 1.1;

std::optional<double> together(const Problem& p, const Profile& profile, int places, std::size_t memory) {
  const GetrfCut cut = p.empty ? GetrfCut{} : getrf_cut_together(p.m, p.n, p.precision(), memory, places);
  if (cut.panel == 0) return std::nullopt;
  // Of two H200 (FP64, order 16,384 and 32,768): 130 and 481 ms.
  constexpr double seconds_a_column = 3.6e-6, seconds_an_element = 0.38e-9;
  const double m = static_cast<double>(p.m), count = std::min(m, static_cast<double>(p.n)),
               chain = count * (seconds_a_column + (m - count / 2) * seconds_an_element);
  return seconds_in_turns(p, profile, places, cut.panels(std::min(p.m, p.n)), chain,
                          beside_products * p.flops / profile.gemm_rate[static_cast<int>(p.precision())]);
}

template <class T>
Problem problem_of(Routine routine, const GetrfArgs<T>& x) {
  return counted({.routine = routine, .element = precision_of<T>, .m = x.m, .n = x.n});
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

enum { operand_a, operand_pivots };

template <class T>
Operands operands_of(Place& place, const GetrfArgs<T>& x, bool ephemeral) {
  return Operands(
      place,
      {{.stored = {x.A, x.m, x.n, x.lda, sizeof(T)}, .writes = true, .reads = true, .destroyed = true, .factors = true},
       {.stored = stored(x.ipiv, x.factored()), .writes = true, .vector = true}},
      ephemeral);
}

/// On the device.  If that does not come to an end, or with a pivot that will not do, A and the pivots in the host's
/// memory are what they were.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const GetrfArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  if (operands[operand_pivots].memory == MemoryKind::on_a_device) return {Reason::no_route};
  const bool in_device_memory = operands[operand_a].memory == MemoryKind::on_a_device;
  Seat* const seat = operands.seat;
  const std::size_t memory = in_device_memory ? std::numeric_limits<std::size_t>::max() : place.arena.limit();
  const GetrfCut cut = seat ? getrf_cut_together(args.m, args.n, precision_of<T>, memory, seat->places())
                            : cut_of(args.m, args.n, precision_of<T>, memory);
  if (cut.panel == 0) return {Reason::no_room};
  if (seat && (in_device_memory || !seat->gang().same(with_numbers(0, cut.panel)))) return {Reason::no_route};
  if (cut.streamed() &&
      !KeptMemory<T>::is_there(args.m, args.n, cut, static_cast<double>(args.m) * static_cast<double>(args.n)))
    return {Reason::no_room};
  const index count = args.factored();
  std::optional<KeptMemory<T>> kept;
  if (cut.streamed()) kept.emplace(args.m, args.n, cut);
  std::vector<T> pivots(static_cast<std::size_t>(count)), failed(static_cast<std::size_t>(cut.panels(count)));
  index info = 0;
  PlannedCall<T> planned(place, site, backend, problem, operands, {});
  planned.in_plan = 1;
  planned.own = {{pivots.data(), count}, {failed.data(), cut.panels(count)}};
  if (kept) kept->append_to(planned.own);
  planned.sound = [&] {
    info = first_failure(failed, cut.panel);
    return info == 0 || in_device_memory;
  };
  const auto make_plan = [&](const std::vector<Placed>& at) {
    return seat             ? plan_getrf_together(args.m, args.n, precision_of<T>, cut, seat->number(), seat->places())
           : cut.streamed() ? plan_getrf_streamed(args.m, args.n, precision_of<T>, cut)
                            : plan_getrf(args.m, args.n, precision_of<T>, cut, at[operand_a].device != nullptr);
  };
  Ending ending = planned.compute(decision, cut.streamed(), make_plan, [](index, index) {});
  if (ending.computed && (!seat || seat->number() == 0)) set_pivots(args.ipiv, pivots, cut.panel, args.m);
  if (info > 0 && !ending.computed) ending.reason = Reason::singular;
  ending.info = info;
  ending.way = with_numbers(0, cut.panel, seat ? seat->places() : 1, cut.strip);
  return ending;
}

}  // namespace

/// cuSOLVER's panels take most of it: of 1,024 columns 2.8 to 5.4 ms at orders of 4,096 to 16,384 on an H100.
double getrf_seconds(index m, index n, double flops, Precision precision, const Profile& profile) {
  const double order = std::cbrt(1.5 * flops / (is_complex(precision) ? 4 : 1));  // of a square that takes as many
  if (const auto seconds = measured_seconds(profile, LapackWork::getrf, precision, order)) return *seconds;
  constexpr double panel = 1024, panel_seconds = 2.4e-3, seconds_a_row = 0.4e-6;
  const double panels = std::ceil(static_cast<double>(std::min(m, n)) / panel),
               rows = static_cast<double>(m) - static_cast<double>(std::min(m, n)) / 2;
  return panels * (panel_seconds + rows * seconds_a_row) +
         beside_products * flops / profile.gemm_rate[static_cast<int>(precision)];
}

// ---- what a correct result is

using namespace judging;

template <class T>
Judgement judge(const JudgingLibrary& by, const GetrfArgs<T>& before, const GetrfArgs<T>& result, const GetrfArgs<T>&,
                const Ending&) {
  const index m = before.m, n = before.n, count = before.factored();
  Judgement judgement{0, 30};
  if (count == 0) return judgement;
  Packed<T> rest(m, n), L(m, count), U(count, n);
  bool finite = true;
  for_each_of(m, n, [&](index i, index j) { rest(i, j) = before.A[i + j * before.lda]; });
  const long double size = one_norm(rest, n),
                    largest = std::numeric_limits<Real<T>>::max() / (16 * static_cast<long double>(m + n));
  if (!(size < largest)) return judgement;  // what is computed on the way may overflow
  const auto factor = [&](index i, index j) { return result.A[i + j * result.lda]; };
  for_each_of(m, count, [&](index i, index j) { L(i, j) = i == j ? T(1) : i > j ? factor(i, j) : T(0); });
  for_each_of(count, n, [&](index i, index j) { U(i, j) = i <= j ? factor(i, j) : T(0); });
  for_each_of(m, n, [&](index i, index j) { finite = finite && is_finite(factor(i, j)); });
  for (index i = 0; i < count; ++i) {
    const index row = result.ipiv.get(i) - 1;
    if (row < i || row >= m) finite = false;
    for (index j = 0; finite && j < n; ++j) std::swap(rest(i, j), rest(row, j));
  }
  if (!finite) return judgement.ratio = HUGE_VAL, judgement;
  const T one(1), minus_one(-1);
  call_product(*by.beside[0], {precision_of<T>, Op::none, Op::none, m, n, count, &minus_one, L.at.get(), m, U.at.get(),
                               count, &one, rest.at.get(), m});
  const long double off = one_norm(rest, n);
  if (off > static_cast<long double>(std::numeric_limits<Real<T>>::min()) * static_cast<long double>(n * (n + 2)))
    judgement.ratio =
        static_cast<double>(off / (static_cast<long double>(n) * std::numeric_limits<Real<T>>::epsilon() * size));
  return judgement;
}

constinit const Family getrf_family{.count = count,
                                    .text = text,
                                    .cpu_rate = cpu_rate_of_factors,
                                    .cost = cost,
                                    .needs = Operation::Kinds(Operation::Kind::getrf) | Operation::Kind::row_swaps |
                                             Operation::Kind::trsm | Operation::Kind::assign,
                                    .sent_again = sent_again,
                                    .together = together};

template <class T>
Computed getrf(const Site& site, const GetrfArgs<T>* args, Replay replay) {
  return take_route(site, args, replay,
                    {.learned = together<known>,
                     .problem = problem_of<T>,
                     .operands = operands_of<T>,
                     .compute = compute<T>,
                     .judging = {.judge = judge<T>, .with = judged_with_products<T>, .alone = always<GetrfArgs<T>>}},
                    Together{});
}

#define GETRF(name, type)                                                                         \
  template Judgement judge(const JudgingLibrary&, const GetrfArgs<type>&, const GetrfArgs<type>&, \
                           const GetrfArgs<type>&, const Ending&);                                \
  template Computed getrf(const Site&, const GetrfArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
