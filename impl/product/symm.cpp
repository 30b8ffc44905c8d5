#include "impl/product/symm.hpp"

#include <optional>
#include <string>
#include <vector>

#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/judge.hpp"
#include "impl/product/at_once.hpp"
#include "impl/product/symm_plan.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call

/// Cuts, and what is sent, are the same for a symmetric and a Hermitian A.
SymmShape shape_of(const Problem& p) {
  return {false, p.left, p.part == Part::upper ? Uplo::upper : Uplo::lower, p.m, p.n, !p.beta_zero};
}

void count(Problem& p) {
  const double order = static_cast<double>(p.left ? p.m : p.n),
               results = static_cast<double>(p.m) * static_cast<double>(p.n),
               element = static_cast<double>(element_size(p.element));
  p.empty = p.m == 0 || p.n == 0;
  p.trivial = p.alpha_zero;
  p.flops = (is_complex(p.element) ? 8.0 : 2.0) * results * order;
  p.volume = results * order;
  p.bytes_out = results * element;
  p.bytes_in = ((p.alpha_zero ? 0 : results + order * (order + 1) / 2) + (p.beta_zero ? 0 : results)) * element;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + (p.left ? " L" : " R") + (p.part == Part::upper ? "U" : "L") +
         " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n) + (p.alpha_zero ? " alpha=0" : "") +
         (p.beta_zero ? " beta=0" : "");
}

Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  return cost_in_panels(p, facts, spared, p.flops / facts.profile->gemm_rate[static_cast<int>(p.element.name)]);
}

std::optional<double> sent_again(const Problem& p, const Profile&, std::size_t memory) {
  const SymmShape shape = shape_of(p);
  return panels::sent_again(shape, element_size(p.element), [&] { return symm_cut(shape, p.precision(), memory); });
}

template <class T>
Problem problem_of(Routine routine, const SymmArgs<T>& a) {
  const index order = a.order();
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = a.m,
                  .n = a.n,
                  .alpha_zero = a.alpha == T(0),
                  .beta_zero = a.beta == T(0),
                  .overlaps = overlap(a.C, a.m, a.n, a.ldc, a.A, order, order, a.lda, sizeof(T)) ||
                              overlap(a.C, a.m, a.n, a.ldc, a.B, a.m, a.n, a.ldb, sizeof(T)),
                  .part = part_of(a.uplo),
                  .alpha_finite = is_finite(a.alpha),
                  .left = a.left});
}

/// So many columns of C with A on the left, or rows, from the first on.
template <class T>
SymmArgs<T> part_of(const SymmArgs<T>& x, index first, index count) {
  SymmArgs<T> part = x;
  part.B += x.left ? first * x.ldb : first;
  part.C += x.left ? first * x.ldc : first;
  (x.left ? part.n : part.m) = count;
  return part;
}

template <class T>
std::vector<SymmArgs<T>> parts_of(const SymmArgs<T>& x, int places) {
  std::vector<SymmArgs<T>> parts;
  for (const Share& share : shares_of(x.left ? x.n : x.m, places))
    parts.push_back(part_of(x, share.first, share.count));
  return parts;
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

enum { operand_a, operand_b, operand_c };

template <class T>
Operands operands_of(Place& place, const SymmArgs<T>& x, bool ephemeral) {
  const bool multiplies = x.alpha != T(0);
  return Operands(place,
                  {{.stored = {x.A, x.order(), x.order(), x.lda, sizeof(T), part_of(x.uplo)}, .reads = multiplies},
                   {.stored = {x.B, x.m, x.n, x.ldb, sizeof(T)}, .reads = multiplies},
                   {.stored = {x.C, x.m, x.n, x.ldc, sizeof(T)}, .writes = true, .reads = x.beta != T(0)}},
                  ephemeral);
}

/// On the device.  If that does not come to an end, C in the host's memory is what it was, or all of the result.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const SymmArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  if (problem.trivial) {  // C is in device memory, and is all that is read
    HostBlas blas(site);
    const GemmArgs<T> scaling{Op::none, Op::none, args.m, args.n,    0,      T(0),    nullptr,
                              args.m,   nullptr,  1,      args.beta, args.C, args.ldc};
    const Status status = at_once(backend, as_gemm(scaling), blas.operations());
    if (status != Status::done) return {give_up(place, backend, status)};
    return {.reason = decision.reason, .computed = true};
  }
  const auto there = [&](std::size_t x) { return operands[x].memory == MemoryKind::on_a_device; };
  const SymmShape shape{args.hermitian, args.left, args.uplo, args.m, args.n, args.beta != T(0)};
  // From the sizes and the device's memory alone: neither what else is on it nor copies change the bits.  What is in
  // the program's device memory takes no room.
  const SymmCut cut = symm_cut(shape, precision_of<T>, place.arena.limit(),
                               {.a = there(operand_a), .b = there(operand_b), .c = there(operand_c)});
  if (cut.tile == 0) return {Reason::no_room};
  PlannedCall<T> planned(place, site, backend, problem, operands, {.alpha = args.alpha, .beta = args.beta});
  const auto make_plan = [&](const std::vector<Placed>& at) {
    const Placed &a = at[operand_a], &b = at[operand_b], &c = at[operand_c];
    return plan_symm(shape, precision_of<T>, cut,
                     {a.device != nullptr, b.device != nullptr, c.device != nullptr, !a.in_place && !b.in_place});
  };
  const auto finish = [&](index first, index count) { call_library(site, part_of(args, first, count)); };
  Ending ending = planned.compute(decision, cut.streamed, make_plan, finish);
  ending.way = with_numbers(0, cut.tile, cut.width, cut.streamed);
  return ending;
}

}  // namespace

constinit const Family symm_family{.count = count,
                                   .text = text,
                                   .cpu_rate = cpu_rate_of_products,
                                   .cost = cost,
                                   .needs = Operation::Kinds(Operation::Kind::assign) | Operation::Kind::mirror,
                                   .sent_again = sent_again};

template <class T>
Computed symm(const Site& site, const SymmArgs<T>* args, Replay replay) {
  static constexpr Way<SymmArgs<T>> way{.learned = together<known>,
                                        .problem = problem_of<T>,
                                        .operands = operands_of<T>,
                                        .compute = compute<T>,
                                        .judging = {.judge = judge<T>, .with = judged_with_products<T>}};
  static constexpr Dealing<SymmArgs<T>> dealing{
      .parts = parts_of<T>, .way = way, .on_cpu = [](const Site& from, HostBlas&, const SymmArgs<T>& part) {
        call_library(from, part);
      }};
  return take_route(site, args, replay, way, &dealing);
}

#define SYMM(name, type) template Computed symm(const Site&, const SymmArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
