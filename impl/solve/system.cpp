#include "impl/solve/system.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "impl/cholesky/potrf.hpp"
#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/lu/getrf.hpp"
#include "impl/lu/kept_memory.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"
#include "impl/solve/system_plan.hpp"

namespace blaslift {
namespace {

// ---- what the families say of a call: order m, n right-hand sides

template <bool lu, bool factored>
void count(Problem& p) {
  const double order = static_cast<double>(p.m), others = static_cast<double>(p.n),
               element = static_cast<double>(element_size(p.element)), complex = is_complex(p.element) ? 4 : 1,
               matrix = lu ? order * order : order * (order + 1) / 2;
  p.empty = p.m == 0 || (factored && p.n == 0);
  p.too_large = lu && p.m >= index{1} << 24;  // pivots are elements on their way
  p.flops = complex * (2 * order * order * others + (factored ? 0 : (lu ? 2 : 1) * order * order * order / 3));
  p.volume = order * order * others + (factored ? 0 : (lu ? 2 : 1) * order * order * order / 6);
  p.bytes_in = (matrix + order * others) * element;
  p.bytes_out = ((factored ? 0 : matrix) + order * others) * element;
}

template <bool lu>
std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) +
         (lu                      ? p.adjoint ? " T" : " N"
          : p.part == Part::upper ? " U"
                                  : " L") +
         " n=" + std::to_string(p.m) + " nrhs=" + std::to_string(p.n);
}

/// One thread reads the factors, whatever there is to solve: 9.5 ms of order 4,000 in double precision.
double cpu_rate(const Problem& p, const Profile& profile) {
  constexpr double reading_rate = 1.2e10;  // bytes/s; a triangle is read twice
  const double order = static_cast<double>(p.m);
  return cpu_rate_beside_reading(p, profile, 0.5,
                                 order * order * static_cast<double>(element_size(p.element)) / reading_rate);
}

/// For all of A, if there is room; or for strips of it.
SystemCut cut_of(const SystemShape& s, Precision precision, std::size_t memory) {
  const SystemCut cut = system_cut(s, precision, memory);
  return cut.width > 0 ? cut : system_cut_streamed(s, precision, memory);
}

template <bool lu, bool factored>
std::optional<double> sent_again(const Problem& p, const Profile&, std::size_t memory) {
  if (p.empty) return std::nullopt;
  const SystemShape shape{.lu = lu,
                          .factored = factored,
                          .trans = p.adjoint ? Op::transpose : Op::none,
                          .uplo = p.part == Part::upper ? Uplo::upper : Uplo::lower,
                          .n = p.m,
                          .nrhs = p.n};
  const SystemCut cut = cut_of(shape, p.precision(), memory);
  return cut.streamed() ? std::optional(sent_again(shape, cut, element_size(p.element))) : std::nullopt;
}

/// Factors as they arrive, if they are to be made; then panels of B, which wait for all of A.  Where A comes in strips,
/// these come beside what is computed.
template <bool lu, bool factored>
Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  const Profile& profile = *facts.profile;
  const bool whole = factored && facts.sent_again == 0;
  const double in = seconds_in(p, facts, spared) + facts.sent_again / profile.in_rate, out = seconds_out(p, facts),
               order = static_cast<double>(p.m), rate = profile.gemm_rate[static_cast<int>(p.element.name)],
               solving = (is_complex(p.element) ? 8.0 : 2.0) * order * order * static_cast<double>(p.n);
  // A block of the diagonal after the other, however few right-hand sides there are; and as trsm's.
  constexpr double seconds_a_block = 12e-6, block = 64, half = 2048;
  double computing = 2 * std::ceil(order / block) * seconds_a_block + solving / rate * (1 + half / order);
  if (!factored)
    computing += lu ? getrf_seconds(p.m, p.m, p.flops - solving, p.precision(), profile)
                    : potrf_seconds(p.m, p.flops - solving, p.precision(), profile);
  return {.seconds = profile.latency_seconds + (whole ? in + computing : std::max(in, computing)) + out};
}

template <class T>
Problem problem_of(Routine routine, const SystemArgs<T>& x) {
  const SystemShape& s = x.shape;
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = s.n,
                  .n = s.nrhs,
                  .overlaps = overlap(x.B, s.n, s.nrhs, x.ldb, x.A, s.n, s.n, x.lda, sizeof(T)),
                  .part = s.part(),
                  .adjoint = s.trans != Op::none});
}

// ---- on the device

constinit Undestroyed<Learned> known[2][2];  // of such calls, in this process: of LU or not, with factors or not

enum { operand_a, operand_b, operand_pivots };

template <class T>
Operands operands_of(Place& place, const SystemArgs<T>& x, bool ephemeral) {
  const SystemShape& s = x.shape;
  const OperandRole A{.stored = {x.A, s.n, s.n, x.lda, sizeof(T), s.part()},
                      .writes = !s.factored,
                      .reads = true,
                      .destroyed = !s.factored},
      B{.stored = {x.B, s.n, s.nrhs, x.ldb, sizeof(T)}, .writes = true, .reads = true, .destroyed = true};
  if (!s.lu) return Operands(place, {A, B}, ephemeral);
  return Operands(place,
                  {A, B, {.stored = stored(x.ipiv, s.n), .writes = !s.factored, .reads = s.factored, .vector = true}},
                  ephemeral);
}

/// Of right-hand sides, where the factors are there.
template <class T>
std::vector<SystemArgs<T>> parts_of(const SystemArgs<T>& x, int places) {
  std::vector<SystemArgs<T>> parts;
  if (!x.shape.factored) return parts;
  for (const Share& share : shares_of(x.shape.nrhs, places)) {
    parts.push_back(x);
    parts.back().B += share.first * x.ldb;
    parts.back().shape.nrhs = share.count;
  }
  return parts;
}

/// On the device.  If that does not come to an end, or with a matrix that will not do, A, B and the pivots in the
/// host's memory are what they were.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const SystemArgs<T>& args,
               Operands& operands, const Decision& decision) {
  const SystemShape& s = args.shape;
  operands.locate(backend);
  if (s.lu && operands[operand_pivots].memory == MemoryKind::on_a_device) return {Reason::no_route};
  const auto there = [&](std::size_t x) { return operands[x].out_of_reach(); };
  const bool any_there = there(operand_a) || there(operand_b);
  const SystemCut cut = any_there
                            ? system_cut(s, precision_of<T>, place.arena.limit(), {there(operand_a), there(operand_b)})
                            : cut_of(s, precision_of<T>, place.arena.limit());
  if (cut.width == 0) return {Reason::no_room};
  const bool in_parts = cut.streamed() && s.lu && !s.factored;
  const GetrfCut factors{cut.panel, cut.strip};
  if (in_parts &&
      !KeptMemory<T>::is_there(s.n, s.n, factors, static_cast<double>(s.n) * static_cast<double>(s.n + s.nrhs)))
    return {Reason::no_room};
  std::optional<KeptMemory<T>> kept;
  if (in_parts) kept.emplace(s.n, s.n, factors);
  const auto panels = static_cast<std::size_t>((s.n + cut.panel - 1) / cut.panel);
  std::vector<T> pivots(s.lu ? static_cast<std::size_t>(s.n) : 0), failed(s.factored ? 0 : panels);
  if (s.lu && s.factored && !get_pivots(args.ipiv, cut.panel, pivots)) return {Reason::invalid};
  index info = 0;
  PlannedCall<T> planned(place, site, backend, problem, operands, {});
  planned.in_plan = 2;
  if (s.lu) planned.own.push_back({pivots.data(), s.n});
  if (!s.factored) planned.own.push_back({failed.data(), static_cast<index>(panels)});
  if (kept) kept->append_to(planned.own);
  planned.sound = [&] {
    info = first_failure(failed, cut.panel);
    return info == 0 || there(operand_b) || (there(operand_a) && s.nrhs == 0);
  };
  const auto make_plan = [&](const std::vector<Placed>& at) {
    return cut.streamed() ? plan_system_streamed(s, precision_of<T>, cut)
                          : plan_system(s, precision_of<T>, cut,
                                        {at[operand_a].device != nullptr, at[operand_b].device != nullptr});
  };
  Ending ending = planned.compute(decision, cut.streamed(), make_plan, [](index, index) {});
  // B is what it was; A, in device memory, is the device's alone to factor.
  if (info > 0 && there(operand_a)) ending.computed = true;
  if (ending.computed && s.lu && !s.factored) set_pivots(args.ipiv, pivots, cut.panel, s.n);
  if (info > 0 && !ending.computed) ending.reason = s.lu ? Reason::singular : Reason::not_definite;
  ending.info = info;
  ending.way = with_numbers(0, cut.panel, cut.width, cut.strip);
  return ending;
}

// ---- what a correct result is

using namespace judging;

/// As from here on; of valid ones.
template <class T>
void exchange_rows(Packed<T>& x, index cols, const Integers& ipiv, index n) {
  for (index i = 0; i < n; ++i)
    if (const index row = ipiv.get(i) - 1; row != i)
      for (index j = 0; j < cols; ++j) std::swap(x(i, j), x(row, j));
}

/// |B - F G X| <= limit eps |F| |G| |X|, element by element, with the triangular factors that op(A) X = B is solved
/// with, one after the other (Higham, Accuracy and Stability, theorems 8.5 and 9.4): twice what trsm's judge allows.
template <class T>
Judgement judge_solutions(const JudgingLibrary& by, const SystemArgs<T>& before, const SystemArgs<T>& result,
                          const SystemArgs<T>& reference) {
  const SystemShape& s = before.shape;
  const index n = s.n, cols = s.nrhs;
  Judgement judgement{0, 8 * static_cast<double>(n + 3) * (complex_type<T> ? 2 : 1)};
  if (n == 0 || cols == 0) return judgement;
  Packed<T> lower(n, n), upper(n, n), X(n, cols, result.B, result.ldb), rest(n, cols, before.B, before.ldb),
      between(n, cols);
  bool judged = true;
  const auto factor = [&](index i, index j) { return result.A[i + j * result.lda]; };
  const auto adjoint = [](const T& x) {
    if constexpr (complex_type<T>)
      return std::conj(x);
    else
      return x;
  };
  const bool stored_lower = s.lu || s.uplo == Uplo::lower, stored_upper = s.lu || s.uplo == Uplo::upper;
  for_each_of(n, n, [&](index i, index j) {
    lower(i, j) = i < j ? T(0) : s.lu && i == j ? T(1) : stored_lower ? factor(i, j) : adjoint(factor(j, i));
    upper(i, j) = i > j ? T(0) : stored_upper ? factor(i, j) : adjoint(factor(j, i));
    judged = judged && is_finite(lower(i, j)) && is_finite(upper(i, j)) && (i != j || upper(i, j) != T(0));
  });
  bool vanished = false;  // where a reference solution has a number
  for_each_of(n, cols, [&](index i, index j) {
    const bool finite = is_finite(X(i, j));
    vanished = vanished || (!finite && is_finite(reference.B[i + j * reference.ldb]));
    judged = judged && finite && is_finite(rest(i, j));
  });
  for (index i = 0; s.lu && i < n; ++i) judged = judged && result.ipiv.get(i) > i && result.ipiv.get(i) <= n;
  if (vanished) judgement.ratio = HUGE_VAL;
  if (!judged) return judgement;  // the factors' own judgement says more
  const bool forward = s.trans == Op::none;
  if (s.lu) exchange_rows(forward ? rest : X, cols, result.ipiv, n);
  const auto multiply = [&](Packed<T>& factor_of, Packed<T>& from, Packed<T>& to, T alpha, T beta) {
    call_product(*by.beside[0], {precision_of<T>, s.trans, Op::none, n, cols, n, &alpha, factor_of.at.get(), n,
                                 from.at.get(), n, &beta, to.at.get(), n});
  };
  Packed<T>&first = forward ? lower : upper, &second = forward ? upper : lower;
  multiply(second, X, between, T(1), T(0));
  multiply(first, between, rest, T(-1), T(1));
  for (Packed<T>* x : {&lower, &upper}) make_magnitudes(*x, n);
  make_magnitudes(X, cols);
  Packed<T> terms(n, cols);
  multiply(second, X, between, T(1), T(0));
  multiply(first, between, terms, T(1), T(0));
  for_each_of(n, cols, [&](index i, index j) { judged = judged && is_finite(terms(i, j)); });
  if (!judged) return judgement;  // anything may have overflowed on the way
  judgement.ratio = residual_ratio(rest, terms, result.B, result.ldb, cols, n, [](index, index) { return true; });
  return judgement;
}

/// Of A's own factors, if they were made, and of the solutions with them: the one that is closer to its limit.
template <class T>
Judgement judge(const JudgingLibrary& by, const SystemArgs<T>& before, const SystemArgs<T>& result,
                const SystemArgs<T>& reference, const Ending& ending) {
  const SystemShape& s = before.shape;
  Judgement factors{0, 1};
  if (!s.factored && s.lu) {
    const auto as_getrf = [&](const SystemArgs<T>& x) { return GetrfArgs<T>{s.n, s.n, x.A, x.lda, x.ipiv}; };
    factors = judge(by, as_getrf(before), as_getrf(result), as_getrf(result), ending);
  } else if (!s.factored) {
    const auto as_potrf = [&](const SystemArgs<T>& x) { return PotrfArgs<T>{s.uplo, s.n, x.A, x.lda}; };
    factors = judge(by, as_potrf(before), as_potrf(result), as_potrf(result), ending);
    for (index i = 0; i < s.n; ++i)  // ended by a pivot: nothing has been solved
      if (!(std::real(result.A[i * (result.lda + 1)]) > 0)) return factors;
  }
  const Judgement solutions = judge_solutions(by, before, result, reference);
  return solutions.ratio / solutions.limit > factors.ratio / factors.limit ? solutions : factors;
}

constexpr Operation::Kinds for_lu = Operation::Kinds(Operation::Kind::row_swaps) | Operation::Kind::trsm;

}  // namespace

constinit const Family getrs_family{.count = count<true, true>,
                                    .text = text<true>,
                                    .cpu_rate = cpu_rate,
                                    .cost = cost<true, true>,
                                    .needs = for_lu,
                                    .sent_again = sent_again<true, true>},
    gesv_family{.count = count<true, false>,
                .text = text<true>,
                .cpu_rate = cpu_rate,
                .cost = cost<true, false>,
                .needs = for_lu | Operation::Kind::getrf,
                .sent_again = sent_again<true, false>},
    potrs_family{.count = count<false, true>,
                 .text = text<false>,
                 .cpu_rate = cpu_rate,
                 .cost = cost<false, true>,
                 .needs = Operation::Kind::trsm,
                 .sent_again = sent_again<false, true>},
    posv_family{.count = count<false, false>,
                .text = text<false>,
                .cpu_rate = cpu_rate,
                .cost = cost<false, false>,
                .needs = Operation::Kinds(Operation::Kind::potrf) | Operation::Kind::trsm,
                .sent_again = sent_again<false, false>};

template <class T>
Computed solve_system(const Site& site, const SystemArgs<T>* args, Replay replay) {
  static constexpr Way<SystemArgs<T>> way{
      .learned = [](const SystemArgs<T>& x) -> Learned& { return known[x.shape.lu][x.shape.factored].value; },
      .problem = problem_of<T>,
      .operands = operands_of<T>,
      .compute = compute<T>,
      .judging = {.judge = judge<T>, .with = judged_with_products<T>, .alone = always<SystemArgs<T>>}};
  static constexpr Dealing<SystemArgs<T>> dealing{
      .parts = parts_of<T>, .way = way, .on_cpu = [](const Site& from, HostBlas&, const SystemArgs<T>& part) {
        call_library(from, part);
      }};
  return take_route(site, args, replay, way, &dealing);
}

#define GETRS(name, type) template Computed solve_system(const Site&, const SystemArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
