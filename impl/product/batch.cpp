#include "impl/product/batch.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/judge.hpp"
#include "impl/product/at_once.hpp"
#include "impl/product/batch_plan.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"

namespace blaslift {
namespace {

// ---- what the family says of a call

void count(Problem& p) {
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k),
               products = static_cast<double>(p.count), element = static_cast<double>(element_size(p.element)),
               results = m * n * products;
  p.empty = p.m == 0 || p.n == 0 || p.count == 0;
  p.trivial = p.k == 0 || p.alpha_zero;
  p.flops = (is_complex(p.element) ? 8.0 : 2.0) * results * k;
  p.volume = results * k;
  p.bytes_out = results * element;
  p.bytes_in =
      ((p.same_a ? 1 : products) * m * k + (p.same_b ? 1 : products) * k * n + (p.beta_zero ? 0 : results)) * element;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n) +
         " k=" + std::to_string(p.k) + " batch=" + std::to_string(p.count) + (p.alpha_zero ? " alpha=0" : "") +
         (p.beta_zero ? " beta=0" : "");
}

/// Small products read and write the device's memory more than they multiply, and their edges fill their tiles badly.
Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  const Profile& profile = *facts.profile;
  constexpr double tile = 64, large = 1024, most_groups = 8;
  const auto filled = [](double x) { return x / (std::ceil(x / tile) * tile); };
  const double in = seconds_in(p, facts, spared), out = seconds_out(p, facts), m = static_cast<double>(p.m),
               n = static_cast<double>(p.n), k = static_cast<double>(p.k), products = static_cast<double>(p.count),
               groups = std::min(most_groups, products),
               rate = std::clamp(std::min({m, n, k}) / large, 0.5, 1.0) * filled(m) * filled(n) *
                      profile.gemm_rate[static_cast<int>(p.element.name)],
               accessed = (m * k + k * n + 2 * m * n) * products * static_cast<double>(element_size(p.element)),
               computing = groups * profile.step_seconds + std::max(p.flops / rate, accessed / profile.pass_rate),
               longest = std::max({computing, in, out});
  return {.seconds = profile.latency_seconds + longest + (in + computing + out - longest) / groups};
}

template <class T>
Stored stored(const T* at, const BatchLayout& x) {
  return {at, x.rows, x.cols, x.ld, sizeof(T)};
}

template <class T>
Problem problem_of(Routine routine, const GemmBatchArgs<T>& x) {
  const BatchLayout a = x.a(), b = x.b(), c = x.c();
  const auto meets_c = [&](const T* at, const BatchLayout& of) {
    return overlap(x.C, c.rows, c.cols, c.ld, at, of.rows, of.cols, of.ld, sizeof(T));
  };
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = x.m,
                  .n = x.n,
                  .k = x.k,
                  .alpha_zero = x.alpha == T(0),
                  .beta_zero = x.beta == T(0),
                  .overlaps = meets_c(x.A, a) || meets_c(x.B, b),
                  .alpha_finite = is_finite(x.alpha),
                  .count = x.count,
                  .same_a = a.form == BatchForm::alone,
                  .same_b = b.form == BatchForm::alone});
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

enum { operand_a, operand_b, operand_c };

template <class T>
Operands operands_of(Runtime& r, const GemmBatchArgs<T>& x, bool ephemeral) {
  const bool multiplies = x.alpha != T(0) && x.k > 0;
  GemmBatchArgs<T> all = x;
  if (!x.regular()) all.count = 1;  // where the first ones are, all are
  return Operands(r,
                  {{.stored = stored(x.A, all.a()), .reads = multiplies},
                   {.stored = stored(x.B, all.b()), .reads = multiplies},
                   {.stored = stored(x.C, all.c()), .writes = true, .reads = x.beta != T(0)}},
                  ephemeral);
}

/// On the CPU: so many columns, or rows, of the results as one matrix.
template <class T>
void finish(const Site& gemm, const GemmBatchArgs<T>& args, index first, index lines) {
  const BatchForm form = args.c().form;
  const index each = form == BatchForm::as_columns          ? 1
                     : form == BatchForm::one_below_another ? args.m
                                                            : args.n,
              end = first + lines;
  for (index i = first / each; i * each < end; ++i) {
    GemmArgs<T> product = args.product(i);
    const index from = std::max(first - i * each, index{0}), to = std::min(end - i * each, each);
    if (to - from < each) {  // of columns each is final by itself
      product.n = to - from;
      product.B += from * (args.transb == Op::none ? args.ldb : 1);
      product.C += from * args.ldc;
    }
    call_product(gemm, as_gemm(product));
  }
}

/// On the device.  If that does not come to an end, C in the host's memory is what it was, or all of the result.
template <class T>
Ending compute(Runtime& r, const Site& site, Backend& backend, const Problem& problem, const GemmBatchArgs<T>& args,
               Operands& operands, const Decision& decision) {
  HostBlas blas(site);
  operands.locate(backend);
  if (!args.regular()) {  // operands are in device memory, where the CPU cannot compute
    if (!operands.all_in_device_memory()) return {Reason::of_batch};
    for (index i = 0; i < args.count; ++i) {
      const GemmArgs<T> product = args.product(i);
      if (const Status status = at_once(backend, as_gemm(product), blas.operations()); status != Status::done)
        return {give_up(r, backend, status)};
    }
    return {.reason = decision.reason, .computed = true};
  }
  if (problem.trivial) {  // C is in device memory, and is all that is read
    const BatchLayout c = args.c();
    const GemmArgs<T> scaling{Op::none, Op::none, c.rows, c.cols,    0,      T(0), nullptr,
                              c.rows,   nullptr,  1,      args.beta, args.C, c.ld};
    const Status status = at_once(backend, as_gemm(scaling), blas.operations());
    if (status != Status::done) return {give_up(r, backend, status)};
    return {.reason = decision.reason, .computed = true};
  }
  const auto there = [&](std::size_t x) { return operands[x].place == Place::on_a_device; };
  const BatchShape shape = shape_of(args);
  // From the sizes and the device's memory alone: neither what else is on it nor copies change the bits.  What is in
  // the program's device memory takes no room.
  const BatchCut cut = batch_cut(shape, precision_of<T>, r.arena.limit(),
                                 {.a = there(operand_a), .b = there(operand_b), .c = there(operand_c)});
  if (cut.width == 0) return {Reason::no_room};
  const Site& gemm = blas.routine(HostBlas::Kind::gemm);  // finding it might throw later
  std::uint64_t way = 0;
  PlannedCall<T> planned(r, site, backend, problem, operands, {.alpha = args.alpha, .beta = args.beta});
  const auto make_plan = [&](const std::vector<Placed>& at) {
    const Placed &a = at[operand_a], &b = at[operand_b], &c = at[operand_c];
    way = with_numbers(0, cut.width);
    for (const Placed& x : at)  // the device's library may choose by how matrices lie
      way = with_numbers(way, x.device != nullptr, x.in_place, x.device ? x.ld : 0);
    return plan_batch(shape, precision_of<T>, cut,
                      {a.device != nullptr, b.device != nullptr, c.device != nullptr, !a.in_place && !b.in_place});
  };
  Ending ending =
      planned.compute(decision, false, make_plan, [&](index first, index lines) { finish(gemm, args, first, lines); });
  ending.way = way;
  return ending;
}

}  // namespace

constinit const Family batch_family{.count = count,
                                    .text = text,
                                    .cpu_rate = cpu_rate_of_products,
                                    .cost = cost,
                                    .needs = Operation::Kinds(Operation::Kind::gemm_batch)};

template <class T>
void gemm_batch(const Site& site, const GemmBatchArgs<T>* args, Replay replay) {
  if (!enter(site)) return replay();
  if (!args) return refuse(site, replay);
  Runtime& r = runtime();
  Problem problem = problem_of(info(site.symbol).routine, *args);
  const bool regular = args->regular();
  if (!regular) problem.overlaps = true;  // such a call stays, too, unless its operands are in device memory
  (void)take_route(
      r, site, known.value, problem, *args, replay,
      [&](const GemmBatchArgs<T>& x, bool ephemeral) { return operands_of(r, x, ephemeral); },
      [&](Backend& backend, const GemmBatchArgs<T>& x, Operands& operands, const Decision& decision) {
        return compute(r, site, backend, problem, x, operands, decision);
      },
      [&](Decision& decision) {
        if (!regular && decision.reason == Reason::overlap) decision.reason = Reason::of_batch;
      });
}

#define GEMM_BATCH_STRIDED(name, type) template void gemm_batch(const Site&, const GemmBatchArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
