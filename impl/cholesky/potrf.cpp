#include "impl/cholesky/potrf.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "impl/cholesky/potrf_plan.hpp"
#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/route/lapack_section.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call

void count(Problem& p) {
  const double n = static_cast<double>(p.n), element = static_cast<double>(element_size(p.element));
  p.empty = p.n == 0;
  p.flops = (is_complex(p.element) ? 4.0 : 1.0) * n * n * n / 3;
  p.volume = n * n * n / 6;
  p.bytes_in = p.bytes_out = n * (n + 1) / 2 * element;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + (p.part == Part::upper ? " U" : " L") + " n=" + std::to_string(p.n);
}

/// Panels one after the other, with products between them; what moves does not quite run beside (H100, FP64, from and
/// to the host's memory: 2.3, 5.1, 14.5 and 48.6 ms of order 2,000 to 16,384, 1.3, 3.3, 9.7 and 41 of which on the
/// device).
Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  constexpr double beside_transfers = 0.35;
  const Profile& profile = *facts.profile;
  const double in = seconds_in(p, facts, spared), out = seconds_out(p, facts),
               again = facts.sent_again / profile.in_rate,
               computing = potrf_seconds(p.n, p.flops, p.precision(), profile);
  return {.seconds = profile.latency_seconds + std::max({computing, in, out, again}) + beside_transfers * (in + out)};
}

std::optional<double> sent_again(const Problem& p, const Profile&, std::size_t memory) {
  if (p.empty) return std::nullopt;
  const PotrfCut cut = potrf_cut(p.n, p.precision(), memory);
  return cut.streamed() ? std::optional(sent_again(p.n, cut, element_size(p.element))) : std::nullopt;
}

std::optional<double> together(const Problem& p, const Profile& profile, int places, std::size_t memory) {
  const PotrfCut cut = p.empty ? PotrfCut{} : potrf_cut_together(p.n, p.precision(), memory, places);
  if (cut.panel == 0) return std::nullopt;
  // Of two H200 (FP64, order 8,192, 16,384 and 32,768): 16, 44 and 171 ms.
  constexpr double seconds_a_column = 2.1e-6, beside_products = 1.2;
  return seconds_in_turns(p, profile, places, cut.panels(p.n), static_cast<double>(p.n) * seconds_a_column,
                          beside_products * p.flops / profile.gemm_rate[static_cast<int>(p.precision())]);
}

template <class T>
Problem problem_of(Routine routine, const PotrfArgs<T>& x) {
  return counted({.routine = routine, .element = precision_of<T>, .m = x.n, .n = x.n, .part = part_of(x.uplo)});
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

template <class T>
Operands operands_of(Place& place, const PotrfArgs<T>& x, bool ephemeral) {
  return Operands(place,
                  {{.stored = {x.A, x.n, x.n, x.lda, sizeof(T), part_of(x.uplo)},
                    .writes = true,
                    .reads = true,
                    .destroyed = true,
                    .factors = true}},
                  ephemeral);
}

/// On the device.  If that does not come to an end, or with a matrix that is not positive definite, A in the host's
/// memory is what it was.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const PotrfArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  const bool in_device_memory = operands.result().memory == MemoryKind::on_a_device;
  Seat* const seat = operands.seat;
  const std::size_t memory = place.arena.limit();
  const PotrfCut cut = in_device_memory ? potrf_cut_in_place(args.n)
                       : seat           ? potrf_cut_together(args.n, precision_of<T>, memory, seat->places())
                                        : potrf_cut(args.n, precision_of<T>, memory);
  if (cut.panel == 0) return {Reason::no_room};
  if (seat && (in_device_memory || !seat->gang().same(with_numbers(0, cut.panel)))) return {Reason::no_route};
  std::vector<T> failed(static_cast<std::size_t>(cut.panels(args.n)));
  index info = 0;
  PlannedCall<T> planned(place, site, backend, problem, operands, {});
  planned.own = {{failed.data(), cut.panels(args.n)}};
  planned.sound = [&] {
    const auto first = std::find_if(failed.begin(), failed.end(), [](const T& x) { return x != T(0); });
    if (first != failed.end()) info = (first - failed.begin()) * cut.panel + static_cast<index>(std::real(*first));
    return info == 0 || in_device_memory;
  };
  const auto make_plan = [&](const std::vector<Placed>& at) {
    return seat ? plan_potrf_together(args.uplo, args.n, precision_of<T>, cut, seat->number(), seat->places())
                : plan_potrf(args.uplo, args.n, precision_of<T>, cut, at[0].device != nullptr);
  };
  Ending ending = planned.compute(decision, cut.streamed(), make_plan, [](index, index) {});
  if (info > 0 && !ending.computed) ending.reason = Reason::not_definite;
  ending.info = info;
  ending.way = with_numbers(0, cut.panel, cut.strip, seat ? seat->places() : 1);
  return ending;
}

// ---- what a correct result is

using namespace judging;

}  // namespace

double potrf_seconds(index n, double flops, Precision precision, const Profile& profile) {
  if (const auto seconds = measured_seconds(profile, LapackWork::potrf, precision, static_cast<double>(n)))
    return *seconds;
  constexpr double panel = 1024, panel_seconds = 0.55e-3, beside_products = 1.2;
  return std::ceil(static_cast<double>(n) / panel) * panel_seconds +
         beside_products * flops / profile.gemm_rate[static_cast<int>(precision)];
}

template <class T>
Judgement judge(const JudgingLibrary& by, const PotrfArgs<T>& before, const PotrfArgs<T>& result, const PotrfArgs<T>&,
                const Ending& ending) {
  const index n = before.n;
  Judgement judgement{0, 30};
  if (n == 0 || ending.info != 0) return judgement;
  // What the CPU has left half-made does not come with its info.
  for (index i = 0; i < n && !ending.computed; ++i)
    if (!(std::real(result.A[i * (result.lda + 1)]) > 0)) return judgement;
  const bool lower = before.uplo == Uplo::lower;
  const auto in_triangle = [&](index i, index j) { return lower ? i >= j : i <= j; };
  Packed<T> factor(n, n), rest(n, n);
  bool finite = true;
  for_each_of(n, n, [&](index i, index j) {
    factor(i, j) = in_triangle(i, j) ? result.A[i + j * result.lda] : T(0);
    const T a = before.A[in_triangle(i, j) ? i + j * before.lda : j + i * before.lda];
    if constexpr (complex_type<T>)
      rest(i, j) = i == j ? T(std::real(a)) : in_triangle(i, j) ? a : std::conj(a);
    else
      rest(i, j) = a;
    finite = finite && is_finite(factor(i, j));
  });
  const long double size = one_norm(rest, n),
                    largest = std::numeric_limits<Real<T>>::max() / (16 * static_cast<long double>(n + 1));
  if (!(size < largest)) return judgement;  // what is computed on the way may overflow
  if (!finite) return judgement.ratio = HUGE_VAL, judgement;
  const T one(1), minus_one(-1);
  const Op adjoint = complex_type<T> ? Op::conjugate : Op::transpose, none = Op::none;
  call_product(*by.beside[0], {precision_of<T>, lower ? none : adjoint, lower ? adjoint : none, n, n, n, &minus_one,
                               factor.at.get(), n, factor.at.get(), n, &one, rest.at.get(), n});
  const long double off = one_norm(rest, n);
  if (off > static_cast<long double>(std::numeric_limits<Real<T>>::min()) * static_cast<long double>(n * (n + 2)))
    judgement.ratio =
        static_cast<double>(off / (static_cast<long double>(n) * std::numeric_limits<Real<T>>::epsilon() * size));
  return judgement;
}

constinit const Family potrf_family{.count = count,
                                    .text = text,
                                    .cpu_rate = cpu_rate_of_factors,
                                    .cost = cost,
                                    .needs = Operation::Kind::potrf,
                                    .sent_again = sent_again,
                                    .together = together};

template <class T>
Computed potrf(const Site& site, const PotrfArgs<T>* args, Replay replay) {
  return take_route(site, args, replay,
                    {.learned = together<known>,
                     .problem = problem_of<T>,
                     .operands = operands_of<T>,
                     .compute = compute<T>,
                     .judging = {.judge = judge<T>, .with = judged_with_products<T>, .alone = always<PotrfArgs<T>>}},
                    Together{});
}

#define POTRF(name, type)                                                                         \
  template Judgement judge(const JudgingLibrary&, const PotrfArgs<type>&, const PotrfArgs<type>&, \
                           const PotrfArgs<type>&, const Ending&);                                \
  template Computed potrf(const Site&, const PotrfArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
