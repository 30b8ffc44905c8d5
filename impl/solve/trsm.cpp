#include "impl/solve/trsm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"
#include "impl/plan/execute.hpp"
#include "impl/route/in_place.hpp"
#include "impl/route/route.hpp"
#include "impl/solve/trsm_plan.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call

/// Cuts, and what is sent, are the same for op() of either kind and any diagonal.
TrsmShape shape_of(const Problem& p) {
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
  // About half the rate of large products at an order of 2,048 (H100, FP64: 15, 35, 48 and 52 Tflop/s at 2,048 to
  // 16,384, of products 57).
  constexpr double half = 2048, panels = 8;
  const double computing = p.flops / profile.gemm_rate[static_cast<int>(p.element.name)] * (1 + half / order);
  return {.seconds = profile.latency_seconds + std::max({computing, in, out, again}) + (in + computing + out) / panels};
}

std::optional<double> sent_again(const Problem& p, const Profile&, std::size_t memory) {
  if (p.empty) return std::nullopt;
  const TrsmShape shape = shape_of(p);
  const TrsmCut cut = trsm_cut(shape, p.precision(), memory);
  return cut.streamed ? std::optional(sent_again(shape, cut, element_size(p.element))) : std::nullopt;
}

template <class T>
Problem problem_of(Routine routine, const TrsmArgs<T>& a) {
  Problem problem{.routine = routine,
                  .element = precision_of<T>,
                  .m = a.m,
                  .n = a.n,
                  .alpha_zero = a.alpha == T(0),
                  .overlaps = overlap(a.B, a.m, a.n, a.ldb, a.A, a.order(), a.order(), a.lda, sizeof(T)),
                  .part = part_of(a.uplo),
                  .alpha_finite = is_finite(a.alpha),
                  .left = a.left,
                  .adjoint = a.trans != Op::none};
  family_of(routine).count(problem);
  return problem;
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

enum { operand_a, operand_b };

template <class T>
Operands operands_of(Runtime& r, const TrsmArgs<T>& x, bool ephemeral) {
  const bool reads = x.alpha != T(0);
  return Operands(r,
                  {{.stored = {x.A, x.order(), x.order(), x.lda, sizeof(T), part_of(x.uplo)}, .reads = reads},
                   {.stored = {x.B, x.m, x.n, x.ldb, sizeof(T)}, .writes = true, .reads = reads, .destroyed = true}},
                  ephemeral);
}

/// From the sizes and the device's memory alone: neither what else is on it nor copies change the bits.  What is in the
/// program's device memory is there as a whole, and fits, or not at all.
template <class T>
TrsmCut cut_for(const Runtime& r, const Problem& problem, const Operands& operands) {
  const auto there = [&](std::size_t x) { return operands[x].place == Place::on_a_device; };
  const TrsmShape shape = shape_of(problem);
  TrsmCut cut =
      trsm_cut(shape, precision_of<T>, there(operand_a) ? std::numeric_limits<std::size_t>::max() : r.arena.limit());
  if (there(operand_b)) cut.width = shape.others();
  if (there(operand_a) && there(operand_b)) cut.tile = shape.order();
  return cut;
}

/// @param solved  by panel, as far as this attempt has come
template <class T>
Outcome attempt(Runtime& r, const Site& site, Backend& backend, const Problem& problem, const TrsmArgs<T>& args,
                const Operands& operands, bool wait, std::vector<bool>& solved) {
  const Placed a = placed(operands[operand_a]), b = placed(operands[operand_b]);
  const TrsmCut cut = cut_for<T>(r, problem, operands);
  if (cut.tile == 0) return {Status::no_memory};
  const Plan plan = plan_trsm({args.left, args.uplo, args.trans, args.unit, args.m, args.n}, precision_of<T>, cut,
                              {a.device != nullptr, b.device != nullptr, !a.in_place});
  const double moved = problem.bytes_in + problem.bytes_out - operands.spared();
  return run_plan(r, site, backend, operands, plan.bytes(sizeof(T)), wait, moved, [&](Lane& lane, void* lease) {
    PlanOutcome outcome = execute<T>(plan, {{args.A, args.lda, a}, {args.B, args.ldb, b}}, {.alpha = args.alpha}, lease,
                                     piece_bytes(backend, operands[operand_b].stored.bytes()), lane, not_exiting);
    solved = std::move(outcome.finished);
    return static_cast<Outcome>(outcome);
  });
}

/// Panels that the device has not come to, by the library underneath.
template <class T>
void finish(const Site& site, const TrsmArgs<T>& args, const TrsmCut& cut, const std::vector<bool>& solved) {
  const index others = args.left ? args.n : args.m;
  for (index first = 0; first < others; first += cut.width) {
    const auto panel = static_cast<std::size_t>(first / cut.width);
    if (panel < solved.size() && solved[panel]) continue;
    TrsmArgs<T> rest = args;
    rest.B = args.B + (args.left ? first * args.ldb : first);
    (args.left ? rest.n : rest.m) = std::min(cut.width, others - first);
    call<TrsmSignature<T>>(site.function, info(site.symbol).interface, rest);
  }
}

/// On the device.  If that does not come to an end, B in the host's memory is what it was, or all of X.
template <class T>
Ending compute(Runtime& r, const Site& site, Backend& backend, const Problem& problem, const TrsmArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  if (!backend.facts().computes.can(Operation::Kind::trsm, precision_of<T>)) return {Reason::no_route};
  const TrsmCut cut = cut_for<T>(r, problem, operands);
  if (cut.streamed) {
    operands.forget();  // copies would take the room that there is
  } else {
    operands.look();
    operands.keep_inputs();
    operands.keep_result();
  }
  // Another try begins with B as it was: in the program's device memory a first one may have changed it.
  std::vector<bool> solved;
  const auto any_solved = [&] { return std::find(solved.begin(), solved.end(), true) != solved.end(); };
  Ending ending = computed_in_place(
      r, backend, decision, operands, [&] { return operands[operand_b].place != Place::on_a_device && !any_solved(); },
      [&](bool wait) { return attempt(r, site, backend, problem, args, operands, wait, solved); });
  if (!ending.computed && any_solved()) {
    operands.close(false);
    finish(site, args, cut, solved);
    ending.reason = Reason::failed;
    ending.computed = true;
  }
  ending.way = with_numbers(0, cut.tile, cut.width, cut.streamed);
  return ending;
}

// ---- what a correct result is

using namespace judging;

/// Matrices for a product, packed; of A its triangle.
template <class T>
struct Packed {
  Packed(index rows, index cols)
      : count(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols)), at(new T[count]), ld(rows) {}
  T& operator()(index i, index j) { return at[static_cast<std::size_t>(i + j * ld)]; }
  void take_magnitudes() {
    for (std::size_t i = 0; i < count; ++i) at[i] = T(static_cast<Real<T>>(size_of(at[i])));
  }
  std::size_t count;
  std::unique_ptr<T[]> at;
  index ld;
};

}  // namespace

/// |alpha B - op(A) X| <= limit eps |op(A)| |X|, element by element, however ill-conditioned A is (Higham, Accuracy and
/// Stability, 8.5): n roundings by substitution, twice that with inverses of blocks, and n of the residual itself; in
/// units of |re| + |im|.  Where A or the reference is not finite anything may be.
template <class T>
Judgement judge(const JudgingLibrary& by, const TrsmArgs<T>& before, const TrsmArgs<T>& result,
                const TrsmArgs<T>& reference, const Ending&) {
  const index m = before.m, n = before.n, order = before.order();
  constexpr double eps = std::numeric_limits<Real<T>>::epsilon(),
                   tiny = static_cast<double>(std::numeric_limits<Real<T>>::min());
  Judgement judgement{0, 4 * static_cast<double>(order + 3) * (complex_type<T> ? 2 : 1)};
  const auto raise = [&](double ratio) {
    if (!(ratio <= judgement.ratio)) judgement.ratio = std::isnan(ratio) ? HUGE_VAL : ratio;
  };
  if (before.alpha == T(0)) {
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i)
        if (result.B[i + j * result.ldb] != T(0)) raise(HUGE_VAL);
    return judgement;
  }
  Packed<T> A(order, order), X(m, n), rest(m, n), terms(m, n);
  bool finite = true;
  for (index j = 0; j < order; ++j)
    for (index i = 0; i < order; ++i) {
      const bool there = before.uplo == Uplo::upper ? i <= j : i >= j;
      A(i, j) = i == j && before.unit ? T(1) : there ? before.A[i + j * before.lda] : T(0);
      finite = finite && is_finite(A(i, j));
    }
  // Columns of X, or rows, do not know each other.  Whether zeros in B meet what is not finite in A is the library's.
  std::vector<bool> judged(static_cast<std::size_t>(before.left ? n : m), finite);
  const auto of = [&](index i, index j) { return static_cast<std::size_t>(before.left ? j : i); };
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i)
      if (!is_finite(reference.B[i + j * reference.ldb])) judged[of(i, j)] = false;
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i) {
      const T x = result.B[i + j * result.ldb];
      if (judged[of(i, j)] && !is_finite(x)) raise(HUGE_VAL);
      X(i, j) = judged[of(i, j)] && is_finite(x) ? x : T(0);
      rest(i, j) = judged[of(i, j)] ? before.B[i + j * before.ldb] : T(0);
    }
  const T one(1), zero(0), minus_one(-1);
  const auto multiply = [&](Packed<T>& a, Packed<T>& x, Packed<T>& to, const T& alpha, const T& beta) {
    Gemm product{.precision = precision_of<T>,
                 .transa = before.trans,
                 .transb = Op::none,
                 .m = m,
                 .n = n,
                 .k = order,
                 .alpha = &alpha,
                 .A = a.at.get(),
                 .lda = a.ld,
                 .B = x.at.get(),
                 .ldb = x.ld,
                 .beta = &beta,
                 .C = to.at.get(),
                 .ldc = to.ld};
    if (!before.left) {
      std::swap(product.transa, product.transb);
      std::swap(product.A, product.B);
      std::swap(product.lda, product.ldb);
    }
    call_product(*by.beside[0], product);
  };
  multiply(A, X, rest, minus_one, before.alpha);
  A.take_magnitudes();
  X.take_magnitudes();
  multiply(A, X, terms, one, zero);
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i) {
      const double off = size_of(rest(i, j)), unit = eps * size_of(terms(i, j));
      if (judged[of(i, j)] && std::isfinite(unit) && off > tiny * static_cast<double>(order + 2)) raise(off / unit);
    }
  return judgement;
}

template <class T>
std::vector<Routine> judged_with(const TrsmArgs<T>&) {
  std::vector<Routine> routines;
#define GEMM(name, type) \
  if (std::is_same_v<T, type>) routines.push_back(Routine::name);
#include "api/routines.def"
  return routines;
}

constinit const Family trsm_family{.count = count,
                                   .text = text,
                                   .cpu_rate = cpu_rate_of_products,
                                   .cost = cost,
                                   .needs = Operation::Kind::trsm,
                                   .sent_again = sent_again};

template <class T>
void trsm(const Site& site, const TrsmArgs<T>* args, Replay replay) {
  if (!enter(site)) return replay();
  if (!args) return refuse(site, replay);
  Runtime& r = runtime();
  const Problem problem = problem_of(info(site.symbol).routine, *args);
  (void)take_route(
      r, site, known.value, problem, *args, replay,
      [&](const TrsmArgs<T>& x, bool ephemeral) { return operands_of(r, x, ephemeral); },
      [&](Backend& backend, const TrsmArgs<T>& x, Operands& operands, const Decision& decision) {
        return compute(r, site, backend, problem, x, operands, decision);
      },
      [](Decision&) {});
}

#define TRSM(name, type) template void trsm(const Site&, const TrsmArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
