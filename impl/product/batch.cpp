#include "impl/product/batch.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "impl/core/batch_call.hpp"
#include "impl/core/library_call.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/judge/judge.hpp"
#include "impl/product/at_once.hpp"
#include "impl/product/batch_plan.hpp"
#include "impl/route/planned.hpp"
#include "impl/route/route.hpp"
#include "kernels/systolic.hpp"

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
         " k=" + std::to_string(p.k) + " batch=" + std::to_string(p.count) +
         (p.batches > 1 ? " groups=" + std::to_string(p.batches) : "") + (p.alpha_zero ? " alpha=0" : "") +
         (p.beta_zero ? " beta=0" : "");
}

/// Small products read and write the device's memory more than they multiply, and their edges fill their tiles badly.
/// Of several batches each waits for the one before it.
Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  const Profile& profile = *facts.profile;
  constexpr double tile = 64, large = 1024, most_groups = 8;
  const auto filled = [](double x) { return x / (std::ceil(x / tile) * tile); };
  const double in = seconds_in(p, facts, spared) + static_cast<double>(p.apart) * profile.step_seconds,
               out = seconds_out(p, facts), m = static_cast<double>(p.m), n = static_cast<double>(p.n),
               k = static_cast<double>(p.k), batches = static_cast<double>(p.batches),
               products = p.volume / std::max(1.0, m * n * k),  // of these sizes
      groups = std::clamp(products / batches, 1.0, most_groups),
               rate = std::clamp(std::min({m, n, k}) / large, 0.5, 1.0) * filled(m) * filled(n) *
                      profile.gemm_rate[static_cast<int>(p.element.name)],
               accessed = (m * k + k * n + 2 * m * n) * products * static_cast<double>(element_size(p.element)),
               computing =
                   batches * groups * profile.step_seconds + std::max(p.flops / rate, accessed / profile.pass_rate),
               longest = std::max({computing, in, out});
  return {.seconds = batches * profile.latency_seconds + longest + (in + computing + out - longest) / groups};
}

template <class T>
Stored stored(const T* at, const BatchLayout& x) {
  return {at, x.rows, x.cols, x.ld, sizeof(T)};
}

/// Of one batch.
template <class T>
Problem problem_of(Routine routine, const GemmBatchArgs<T>& x) {
  const BatchLayout a = x.a(), b = x.b(), c = x.c();
  const auto is_apart = [](const BatchLayout& of) { return of.form == BatchForm::apart ? index{1} : index{0}; };
  const auto meets_c = [&](const T* at, const BatchLayout& of) {
    return overlap(x.C, c.rows, c.cols, c.ld, at, of.rows, of.cols, of.ld, sizeof(T));
  };
  const bool reads_c = x.beta != T(0);
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = x.m,
                  .n = x.n,
                  .k = x.k,
                  .alpha_zero = x.alpha == T(0),
                  .beta_zero = !reads_c,
                  .overlaps = x.regular() && (meets_c(x.A, a) || meets_c(x.B, b)),
                  .alpha_finite = is_finite(x.alpha),
                  .count = x.count,
                  .apart = x.count * (is_apart(a) + is_apart(b) + is_apart(c) * (reads_c ? 2 : 1)),
                  .same_a = a.form == BatchForm::alone,
                  .same_b = b.form == BatchForm::alone});
}

/// Of a call, whose batches are the elements of Args.
template <class T, class Args>
Problem problem_of_all(Routine routine, const Args& args) {
  Problem all = counted({.routine = routine, .element = precision_of<T>, .count = 0});
  double most = -1;
  index batches = 0;
  args.for_each([&](const GemmBatchArgs<T>& batch) {
    Problem one = problem_of(routine, batch.evenly());
    if (one.empty) return;
    if (++batches == 1) return void((most = one.flops, all = one));
    const Problem before = all;
    if (one.flops > most) most = one.flops, all = one;
    all.alpha_zero = before.alpha_zero && one.alpha_zero;
    all.beta_zero = before.beta_zero && one.beta_zero;
    all.overlaps = before.overlaps || one.overlaps;
    all.alpha_finite = before.alpha_finite && one.alpha_finite;
    all.trivial = before.trivial && one.trivial;
    all.count = before.count + one.count;
    all.apart = before.apart + one.apart;
    all.flops = before.flops + one.flops;
    all.volume = before.volume + one.volume;
    all.bytes_in = before.bytes_in + one.bytes_in;
    all.bytes_out = before.bytes_out + one.bytes_out;
  });
  all.batches = std::max<index>(1, batches);
  return all;
}

// ---- which matrices meet

struct Rectangle {
  Stored stored;
  Range range;
  bool written;
};

/// Whether a result has elements in common with another, or with what is read.  Of so many in a tangle that to look at
/// each pair would take too long they count as having some.  Throws std::bad_alloc.
template <class T, class Args>
bool results_meet(const Args& args) {
  std::vector<Rectangle> all;
  bool meet = false;
  args.for_each([&](const GemmBatchArgs<T>& given) {
    const GemmBatchArgs<T> x = given.evenly();
    if (x.empty()) return;
    meet = meet || x.same_results();
    const auto add = [&](const BatchLayout& of, auto at, index rows, index cols, bool written) {
      const bool apart = of.form == BatchForm::apart;
      for (index i = 0; i < (apart ? x.count : 1); ++i) {
        const Stored one = apart ? Stored{(x.*at)(i), rows, cols, of.ld, sizeof(T)} : stored<T>((x.*at)(0), of);
        all.push_back({one, one.range(), written});
      }
    };
    const GemmArgs<T> one = x.product(0);
    add(x.c(), &GemmBatchArgs<T>::c_at, x.m, x.n, true);
    if (!x.multiplies()) return;
    add(x.a(), &GemmBatchArgs<T>::a_at, one.rows_a(), one.cols_a(), false);
    add(x.b(), &GemmBatchArgs<T>::b_at, one.rows_b(), one.cols_b(), false);
  });
  if (meet) return true;
  std::sort(all.begin(), all.end(),
            [](const Rectangle& x, const Rectangle& y) { return x.range.begin < y.range.begin; });
  std::vector<const Rectangle*> open;  // those that reach to where the next one begins
  constexpr std::size_t most_pairs = 1000;
  std::size_t pairs = 0;
  for (const Rectangle& x : all) {
    std::erase_if(open, [&x](const Rectangle* y) { return y->range.end <= x.range.begin; });
    pairs += open.size();
    if (pairs > most_pairs * all.size()) return true;
    for (const Rectangle* y : open)
      if ((x.written || y->written) && overlap(x.stored.at, x.stored.rows, x.stored.cols, x.stored.ld, y->stored.at,
                                               y->stored.rows, y->stored.cols, y->stored.ld, sizeof(T)))
        return true;
    open.push_back(&x);
  }
  return false;
}

// ---- on the device

constinit Undestroyed<Learned> known;  // of such calls, in this process

enum { operand_a, operand_b, operand_c };

/// Those of the call's first batch that has any.  Where its first matrices are, all are, as far as decisions go; copies
/// that outlive the call there are of a single batch's.
template <class T, class Args>
Operands operands_of(Place& place, const Args& args, bool ephemeral) {
  GemmBatchArgs<T> x{};
  index batches = 0;
  args.for_each([&](const GemmBatchArgs<T>& batch) {
    if (!batch.empty() && batches++ == 0) x = batch.evenly();
  });
  const auto role = [&x](const BatchLayout& layout, const T* first, index rows, index cols, bool writes, bool reads) {
    const bool apart = layout.form == BatchForm::apart;
    return OperandRole{.stored = apart ? Stored{first, rows, cols, layout.ld, sizeof(T)} : stored(first, layout),
                       .writes = writes,
                       .reads = reads,
                       .vector = apart,
                       .matrices = apart ? x.count : 1};
  };
  const GemmArgs<T> first = x.count > 0 ? x.product(0) : GemmArgs<T>{};
  return Operands(place,
                  {role(x.a(), first.A, first.rows_a(), first.cols_a(), false, x.multiplies()),
                   role(x.b(), first.B, first.rows_b(), first.cols_b(), false, x.multiplies()),
                   role(x.c(), first.C, x.m, x.n, true, x.beta != T(0))},
                  ephemeral || batches > 1);
}

/// Columns, or rows, that a product's result has of the results as one matrix.
template <class T>
index lines_of_each(const GemmBatchArgs<T>& args) {
  const BatchForm form = args.c().form;
  return form == BatchForm::as_columns ? 1 : form == BatchForm::one_below_another ? args.m : args.n;
}

/// On the CPU: so many columns, or rows, of the results as one matrix; those that lie apart as if side by side.
template <class T>
void finish(const Site& gemm, const GemmBatchArgs<T>& args, index first, index lines) {
  const index each = lines_of_each(args), end = first + lines;
  for (index i = first / each; i * each < end; ++i) {
    GemmArgs<T> product = product_of(args, i);
    const index from = std::max(first - i * each, index{0}), to = std::min(end - i * each, each);
    if (to - from < each) {  // of columns each is final by itself
      product.n = to - from;
      product.B += from * (args.transb == Op::none ? args.ldb : 1);
      product.C += from * args.ldc;
    }
    call_product(gemm, as_gemm(product));
  }
}

/// Whether all matrices of each kind that lie apart are where the first one is.
template <class T>
bool in_one_place(Backend& backend, const GemmBatchArgs<T>& x, const Operands& operands) {
  const auto same = [&](const BatchLayout& layout, const Operand& first, auto at) {
    if (layout.form != BatchForm::apart || !first.touched()) return true;
    for (index i = 1; i < x.count; ++i)
      if ((backend.memory_kind((x.*at)(i), first.stored.range().size(), false) == MemoryKind::on_a_device) !=
          first.out_of_reach())
        return false;
    return true;
  };
  return same(x.a(), operands[operand_a], &GemmBatchArgs<T>::a_at) &&
         same(x.b(), operands[operand_b], &GemmBatchArgs<T>::b_at) &&
         same(x.c(), operands[operand_c], &GemmBatchArgs<T>::c_at);
}

/// One product after the other, where the CPU cannot compute: all operands are in device memory.
template <class T>
Ending one_by_one(Place& place, Backend& backend, const UnderlyingBlas& blas, const GemmBatchArgs<T>& args,
                  const Decision& decision) {
  for (index i = 0; i < args.count; ++i) {
    const GemmArgs<T> product = args.product(i);
    if (const Status status = at_once(backend, as_gemm(product), blas); status != Status::done)
      return {give_up(place, backend, status)};
  }
  return {.reason = decision.reason, .computed = true};
}

/// A batch on the device.  If that does not come to an end, C in the host's memory is what it was, or all of the
/// result.
/// @param args  evenly(); but for device memory its results do not meet anything
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& problem, const GemmBatchArgs<T>& args,
               Operands& operands, const Decision& decision) {
  HostBlas blas(site);
  operands.locate(backend);
  const BatchLayout layouts[] = {args.a(), args.b(), args.c()};
  const auto apart = [&](std::size_t x) { return layouts[x].form == BatchForm::apart; };
  const auto there = [&](std::size_t x) { return operands[x].memory == MemoryKind::on_a_device; };
  if (!args.regular()) {
    if (!in_one_place(backend, args, operands)) return {Reason::of_batch};
    if (operands.all_in_device_memory()) return one_by_one(place, backend, blas.operations(), args, decision);
    for (const std::size_t x : {operand_a, operand_b, operand_c})
      if (apart(x) && operands[x].out_of_reach()) return {Reason::of_batch};
    if (decision.reason == Reason::device_memory && results_meet<T>(args)) return {Reason::of_batch};
  }
  if (problem.trivial) {  // C is in device memory, and is all that is read
    const BatchLayout c = args.c();
    const GemmArgs<T> scaling{Op::none, Op::none, c.rows, c.cols,    0,      T(0), nullptr,
                              c.rows,   nullptr,  1,      args.beta, args.C, c.ld};
    const Status status = at_once(backend, as_gemm(scaling), blas.operations());
    if (status != Status::done) return {give_up(place, backend, status)};
    return {.reason = decision.reason, .computed = true};
  }
  BatchShape shape = shape_of(args);
  shape.systolic = place.options.systolic &&
                   systolic::can_multiply(precision_of<T>, shape.transa, shape.transb, shape.m, shape.n, shape.k);
  // From the sizes and the device's memory alone: neither what else is on it nor copies change the bits.  What is in
  // the program's device memory takes no room.
  const BatchCut cut = batch_cut(shape, precision_of<T>, place.arena.limit(),
                                 {.a = there(operand_a), .b = there(operand_b), .c = there(operand_c)});
  if (cut.width == 0) return {Reason::no_room};
  const Site& gemm = blas.routine(HostBlas::Kind::gemm);  // finding it might throw later
  std::uint64_t way = 0;
  PlannedCall<T> planned(place, site, backend, problem, operands, {.alpha = args.alpha, .beta = args.beta});
  const auto scatter = [&](std::size_t x, const T* const* each, const T* first, index stride) {
    if (apart(x) && !there(x)) planned.apart[x] = {each, first, stride, operands[x].stored.cols};
  };
  scatter(operand_a, args.each_a, args.A, args.stride_a);
  scatter(operand_b, args.each_b, args.B, args.stride_b);
  scatter(operand_c, args.each_c, args.C, args.stride_c);
  for (index i = 1; apart(operand_c) && i < args.count; ++i) {  // the first one is the operand
    Stored c = operands[operand_c].stored;
    c.at = args.c_at(i);
    place.residency.before_writing(c);
  }
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
  ending.systolic = shape.systolic && ending.computed;
  if (shape.systolic) ending.as_predicted = false;  // predictions are of the library's batches
  return ending;
}

/// The batches of a call, one after the other.  If the device computes none of them, it is as compute() has it.  What
/// it does not compute of others, the CPU does; so it does where nothing is multiplied.
template <class T, class Args>
Ending compute_all(Place& place, const Site& site, Backend& backend, const Problem& problem, const Args& args,
                   Operands& operands, const Decision& decision) {
  Ending all{.reason = decision.reason, .as_predicted = true};
  HostBlas blas(site);
  const Site* gemm = nullptr;
  bool begun = false, failed = false, undone = false;
  args.for_each([&](const GemmBatchArgs<T>& given) {
    if (given.empty() || undone) return;
    const GemmBatchArgs<T> batch = given.evenly();
    Ending one{Reason::no_room};
    bool device_memory = false, by_cpu = failed;
    try {
      if (problem.batches == 1) return void((all = compute(place, site, backend, problem, batch, operands, decision)));
      if (!gemm) gemm = &blas.routine(HostBlas::Kind::gemm);
      Operands own = operands_of<T>(place, batch, true);
      own.locate(backend);
      device_memory = own.in_device_memory();
      const Problem its = problem_of(problem.routine, batch);
      by_cpu = failed || ((its.trivial || its.overlaps) && !device_memory);
      if (!by_cpu) one = compute(place, site, backend, its, batch, own, decision);
    } catch (const std::exception&) {  // its results are what they were
      if (!begun) throw;
    }
    failed = failed || one.reason == Reason::failed;
    all.as_predicted = all.as_predicted && one.as_predicted;
    all.bytes_in += one.bytes_in;
    all.systolic = all.systolic || one.systolic;
    all.bytes_out += one.bytes_out;
    all.transfers.add(one.transfers);
    all.way = with_numbers(all.way, one.computed, one.way);
    undone = !one.computed && ((!begun && !by_cpu) || device_memory);
    if (undone) return void((all.reason = one.reason));
    if (!one.computed) finish(*gemm, batch, 0, batch.count * lines_of_each(batch));
    begun = all.computed = true;
  });
  if (undone) all.computed = false;
  if (all.computed && failed) all.reason = Reason::failed;
  return all;
}

/// Of so many products.
template <class T>
std::vector<GemmBatchArgs<T>> parts_of(const GemmBatchArgs<T>& x, int places) {
  std::vector<GemmBatchArgs<T>> parts;
  for (const Share& share : shares_of(x.count, places)) {
    GemmBatchArgs<T>& part = parts.emplace_back(x);
    const auto begin = [&](auto*& first, index stride, auto*& each) {
      each ? (void)(each += share.first) : (void)(first += share.first * stride);
    };
    begin(part.A, x.stride_a, part.each_a);
    begin(part.B, x.stride_b, part.each_b);
    begin(part.C, x.stride_c, part.each_c);
    part.count = share.count;
  }
  return parts;
}

template <class T>
constexpr Judging<GemmBatchArgs<T>> judging_of(const GemmBatchArgs<T>*) {
  return {.judge = judge,
          .with = judged_with_products<T>,
          .of_oracle = product_of_oracle<T>,
          .reference = call_by_products<T>};
}
/// CheckableBatches judges by itself.
template <class T>
constexpr Judging<GemmGroupsArgs<T>> judging_of(const GemmGroupsArgs<T>*) {
  return {};
}

/// Of calls of either routine.
template <class T, class Args>
constexpr Way<Args> way{.learned = together<known>,
                        .problem = problem_of_all<T, Args>,
                        .operands = operands_of<T, Args>,
                        .compute = compute_all<T, Args>,
                        .judging = judging_of(static_cast<const Args*>(nullptr)),
                        .refine = [](const Options&, const Problem&, const Args& x, Decision& decision) {
                          // Device memory is computed in order.
                          if (decision.route != Route::device || decision.reason == Reason::device_memory) return;
                          if (!results_meet<T>(x)) return;
                          decision.route = Route::cpu;
                          decision.reason = Reason::overlap;
                        }};

// ---- verification

/// A call whose matrices are not one matrix of each kind.
template <class T, class Args, class Repeat>
class CheckableBatches final : public Checkable {
 public:
  CheckableBatches(const Args& args, Replay replay, const Repeat& repeat)
      : args_(args), call_(args), replay_(replay), repeat_(repeat) {
    operands = call_.operands;
    arguments = call_.words();
    overlaps = results_meet<T>(args);
    same_as = recorded_as();
    of_oracle = judged_with_products<T>().front();
    beside = judged_with_products<T>();
  }

  void underneath(void* const* at) const override {
    if constexpr (std::is_same_v<Args, GemmGroupsArgs<T>>) {
      elsewhere(at, [this](const Args& other) {
        void* arrays[] = {const_cast<T**>(other.A), const_cast<T**>(other.B), const_cast<T**>(other.C)};
        replay_.elsewhere(arrays);
      });
    }
  }
  bool by(const Site& gemm, void* const* at) const override {
    for (const auto& x : call_.at(at))
      if (!call_by_products(gemm, x.args)) return false;
    return true;
  }
  Ending on_device(void* const* at, const Decision& decision) const override {
    return elsewhere(at, [&](const Args& other) { return repeat_(other, decision); });
  }
  Judgement judge(const JudgingLibrary& by, void* const* before, void* const* result, void* const* reference,
                  const Ending& ending) const override {
    const auto was = call_.at(before), is = call_.at(result), due = call_.at(reference);
    Judgement worst{};
    bool any = false;
    for (std::size_t i = 0; i < was.size(); ++i)
      for (index j = 0; j < was[i].args.count; ++j) {
        const Judgement one =
            blaslift::judge(*by.beside[0], product_of(was[i].args, j), is[i].args.c_at(j), due[i].args.c_at(j), ending);
        if (!std::exchange(any, true) || one.ratio > worst.ratio) worst = one;
      }
    return worst;
  }

 private:
  static std::optional<Routine> recorded_as() {
#define GEMM_BATCH(name, type) \
  if (std::is_same_v<T, type>) return Routine::name;
#include "api/routines.def"
    return std::nullopt;
  }

  /// With Args of these operands, wherever the call is.
  template <class With>
  auto elsewhere(void* const* at, const With& with) const {
    const auto moved = call_.at(at);
    Args other = args_;
    if constexpr (std::is_same_v<Args, GemmBatchArgs<T>>) {
      other = moved.front().args;
      return with(other);
    } else {
      std::vector<const T*> a, b;
      std::vector<T*> c;
      auto next = moved.begin();
      args_.for_each([&](const GemmBatchArgs<T>& batch) {
        const GemmBatchArgs<T>& x = batch.empty() ? batch : (next++)->args;
        for (index i = 0; i < batch.count; ++i) {
          // What is not to be read has no copies; libraries are there that read it.
          a.push_back(batch.multiplies() ? x.a_at(i) : args_.A[a.size()]);
          b.push_back(batch.multiplies() ? x.b_at(i) : args_.B[b.size()]);
          c.push_back(x.c_at(i));
        }
      });
      other.A = a.data();
      other.B = b.data();
      other.C = c.data();
      return with(other);
    }
  }

  const Args& args_;
  const BatchCall<T> call_;
  const Replay replay_;
  const Repeat repeat_;
};

}  // namespace

constinit const Family batch_family{.count = count,
                                    .text = text,
                                    .cpu_rate = cpu_rate_of_products,
                                    .cost = cost,
                                    .needs = Operation::Kinds(Operation::Kind::gemm_batch)};

// In place of what general code has.
template <class T, class Repeat>
std::unique_ptr<Checkable> checkable(const GemmGroupsArgs<T>& args, bool, Replay replay,
                                     const Judging<GemmGroupsArgs<T>>&, const Repeat& repeat) {
  return std::make_unique<CheckableBatches<T, GemmGroupsArgs<T>, Repeat>>(args, replay, repeat);
}
template <class T, class Repeat>
std::unique_ptr<Checkable> checkable(const GemmBatchArgs<T>& args, bool overlaps, Replay replay,
                                     const Judging<GemmBatchArgs<T>>& judging, const Repeat& repeat) {
  if (args.regular())
    return std::make_unique<CheckableCall<GemmBatchArgs<T>, Repeat>>(args, overlaps, replay, judging, repeat);
  return std::make_unique<CheckableBatches<T, GemmBatchArgs<T>, Repeat>>(args, replay, repeat);
}

template <class T>
Computed gemm_batch(const Site& site, const GemmBatchArgs<T>* args, Replay replay) {
  if (args && !args->regular()) replay.call_elsewhere = nullptr;  // there, its matrices need not lie so
  static constexpr Dealing<GemmBatchArgs<T>> dealing{
      .parts = parts_of<T>,
      .way = way<T, GemmBatchArgs<T>>,
      .on_cpu =
          [](const Site&, HostBlas& blas, const GemmBatchArgs<T>& part) {
            const GemmBatchArgs<T> batch = part.evenly();
            finish(blas.routine(HostBlas::Kind::gemm), batch, 0, batch.count * lines_of_each(batch));
          },
      .prepare = [](HostBlas& blas, const GemmBatchArgs<T>&) { (void)blas.routine(HostBlas::Kind::gemm); }};
  return take_route(site, args, replay, way<T, GemmBatchArgs<T>>, &dealing);
}
template <class T>
Computed gemm_batch(const Site& site, const GemmGroupsArgs<T>* args, Replay replay) {
  return take_route(site, args, replay, way<T, GemmGroupsArgs<T>>);
}

#define GEMM_BATCH_STRIDED(name, type)                                           \
  template Computed gemm_batch(const Site&, const GemmBatchArgs<type>*, Replay); \
  template Computed gemm_batch(const Site&, const GemmGroupsArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
