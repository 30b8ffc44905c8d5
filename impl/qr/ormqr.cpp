#include "impl/qr/ormqr.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/qr/qr_section.hpp"

#include <limits>
#include <string_view>
#include <vector>

#include "impl/core/library_call.hpp"
#include "impl/judge/judge.hpp"
#include "impl/qr/qr_execute.hpp"
#include "impl/qr/qr_family.hpp"
#include "impl/route/in_place.hpp"
#include "impl/route/route.hpp"

namespace blaslift {
namespace {

constinit Undestroyed<Learned> known;  // of such calls, in this process

enum { operand_a, operand_tau, operand_c };

template <class T>
Operands operands_of(Place& place, const OrmqrArgs<T>& args, bool ephemeral) {
  const QProduct& p = args.product;
  const index long_way = p.order();
  // Q made in place of its reflectors leaves none of them.
  return Operands(place,
                  {{.stored = {args.A, p.rows ? p.k : long_way, p.rows ? long_way : p.k, args.lda, sizeof(T)},
                    .reads = true,
                    .destroyed = p.of_identity},
                   {.stored = {args.tau, p.k, 1, p.k, sizeof(T)}, .reads = true, .vector = true},
                   {.stored = {args.C, p.stored_rows(), p.stored_cols(), args.ldc, sizeof(T)},
                    .writes = true,
                    .reads = !p.of_identity,
                    .destroyed = true}},
                  ephemeral);
}

/// From the sizes, the profile and the device's memory alone: neither what else is on it nor copies change the bits.
template <class T>
QCut cut_for(const Place& place, const OrmqrArgs<T>& args, const Operands& operands) {
  const auto there = [&](std::size_t x) { return operands[x].memory == MemoryKind::on_a_device; };
  // What is in the program's device memory is worked on there, and fits, or not at all.
  const std::size_t memory =
      there(operand_a) || there(operand_c) ? std::numeric_limits<std::size_t>::max() : place.arena.limit();
  return q_cut(args.product, qr_widths(place.device.profile(), precision_of<T>, args.product.k), sizeof(T), memory);
}

/// With the copies that the operands have now, or in a lease.
template <class T>
Outcome attempt(Place& place, const Site& site, Backend& backend, const OrmqrArgs<T>& args, const Operands& operands,
                bool wait) {
  const Operand &a = operands[operand_a], &tau = operands[operand_tau], &c = operands[operand_c];
  const QCut cut = cut_for(place, args, operands);
  const QPlan plan = plan_q(args.product, cut.block, cut.panel, cut.part, cut.window, cut.streamed);
  QPlacement placement{.lease = nullptr, .A = placed(a), .tau = nullptr, .C = placed(c)};
  if (tau.memory == MemoryKind::on_a_device) placement.tau = const_cast<T*>(args.tau);
  const bool c_is_there =
      placement.C.device && (args.product.turned() || !(placement.C.in_place && args.product.of_identity));
  const std::size_t bytes = plan.bytes(sizeof(T), placement.A.device, placement.tau, c_is_there),
                    piece = piece_bytes(backend, c.stored.bytes());
  const double moved =
      a.stored.bytes() + sent_again(args.product, cut, sizeof(T)) + 2 * c.stored.bytes() - operands.spared();
  return run_plan(place, site, backend, operands, bytes, wait, moved, [&](Lane& lane, void* lease) {
    placement.lease = lease;
    return execute(plan, args, placement, piece, lane, not_exiting);
  });
}

/// Of columns of C with Q on the left, or of rows.
template <class T>
std::vector<OrmqrArgs<T>> parts_of(const OrmqrArgs<T>& x, int places) {
  std::vector<OrmqrArgs<T>> parts;
  const QProduct& q = x.product;
  if (q.of_identity) return parts;
  for (const Share& share : shares_of(q.left ? q.n : q.m, places)) {
    parts.push_back(x);
    parts.back().C += q.left ? share.first * x.ldc : share.first;
    (q.left ? parts.back().product.n : parts.back().product.m) = share.count;
  }
  return parts;
}

/// What no reflectors leave of C, in the program's device memory: an identity.
template <class T>
Outcome identity(const Site& site, Backend& backend, const OrmqrArgs<T>& args) {
  const index m = args.product.m, n = args.product.n;
  const T zero{};
  std::vector<T> ones(static_cast<std::size_t>(std::min(m, n)), T(1));
  Outcome outcome;
  HostBlas blas(site);
  if (Lane* lane = backend.acquire(blas.operations(), ones.size() * sizeof(T), outcome.status)) {
    const Acquired acquired(backend, lane);
    const Gemm clear{.precision = precision_of<T>,
                     .transa = Op::none,
                     .transb = Op::none,
                     .m = m,
                     .n = n,
                     .k = 0,
                     .alpha = &zero,
                     .A = args.C,
                     .lda = args.ldc,
                     .B = args.C,
                     .ldb = args.ldc,
                     .beta = &zero,
                     .C = args.C,
                     .ldc = args.ldc};
    constexpr Ticket cleared = 0;
    outcome.status = not_exiting() ? lane->ask(clear, {nullptr, 0}) : Status::lost;
    if (outcome.status == Status::done) {
      outcome.bytes_in = static_cast<double>(ones.size() * sizeof(T));
      outcome.status =
          lane->upload({args.C, args.ldc + 1, ones.data(), 1, 1, std::min(m, n), sizeof(T)}, {&cleared, 1});
    }
    const Status drained = lane->drain();
    outcome.transfers = lane->transfer_times();
    if (outcome.status == Status::done) outcome.status = drained;
  }
  return outcome;
}

/// What is around C, in the program's device memory.
template <class T>
Status frame(const Site& site, Backend& backend, const OrmqrArgs<T>& args) {
  HostBlas blas(site);
  Status status = Status::done;
  Lane* lane = backend.acquire(blas.operations(), 0, status);
  if (!lane) return status;
  const Acquired acquired(backend, lane);
  args.around([&](index row, index col, index rows, index cols) {
    if (status != Status::done) return;
    const Assign identity{.precision = precision_of<T>,
                          .part = Part::whole,
                          .strict = false,
                          .transposed = false,
                          .m = rows,
                          .n = cols,
                          .below = row - col,
                          .A = nullptr,
                          .lda = args.ldc,
                          .C = args.C + row + col * args.ldc,
                          .ldc = args.ldc};
    status = not_exiting() ? lane->ask(identity, {nullptr, 0}) : Status::lost;
  });
  const Status drained = lane->drain();
  return status == Status::done ? drained : status;
}

/// On the device.  If that does not come to an end, C in the host's memory is what it was.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem&, const OrmqrArgs<T>& args,
               Operands& operands, const Decision& decision) {
  operands.locate(backend);
  const Operand &a = operands[operand_a], &c = operands[operand_c];
  if (args.product.k == 0)
    return computed_in_place(
        place, backend, decision, operands, [] { return false; }, [&](bool) { return identity(site, backend, args); });
  const bool framed = args.before + args.after > 0, frame_there = framed && c.memory == MemoryKind::on_a_device;
  const auto can = [&](Operation::Kind kind) { return backend.facts().computes.can(kind, precision_of<T>); };
  if (!can(args.product.reversed ? Operation::Kind::trsm : Operation::Kind::qr_panel) ||
      ((frame_there || args.product.rows || args.product.reversed) && !can(Operation::Kind::assign)))
    return {Reason::no_route};
  const QCut cut = cut_for(place, args, operands);
  if (cut.streamed) {
    operands.forget();  // copies would take the room that there is
  } else {
    operands.look();
    operands.keep_inputs();
  }
  // Without the copy that it is sent for, it would be sent again and again.
  if (decision.reason == Reason::reuse && !a.known.hold) return {Reason::transfers};
  // A copy of a part that nobody has by its address would be of no use.
  if (!cut.streamed && !framed) operands.keep_result();
  args.around([&](index row, index col, index rows, index cols) {
    place.residency.before_writing({args.C + row + col * args.ldc, rows, cols, args.ldc, sizeof(T)});
  });
  // Another try begins with C as it was: in the program's device memory a first one may have changed it.
  Ending ending = computed_in_place(
      place, backend, decision, operands, [&] { return c.memory != MemoryKind::on_a_device; },
      [&](bool wait) {
        Outcome outcome = attempt(place, site, backend, args, operands, wait);
        if (frame_there && outcome.status == Status::done) outcome.status = frame(site, backend, args);
        return outcome;
      });
  if (framed && !frame_there && ending.computed)
    args.around([&](index row, index col, index rows, index cols) {
      for (index j = col; j < col + cols; ++j)
        for (index i = row; i < row + rows; ++i) args.C[i + j * args.ldc] = T(i == j ? 1 : 0);
    });
  ending.way = with_numbers(0, cut.block, cut.panel, cut.part, cut.window, cut.streamed);
  return ending;
}

}  // namespace

template <class T>
Computed ormqr(const Site& site, const OrmqrArgs<T>* args, Replay replay) {
  static constexpr Way<OrmqrArgs<T>> way{.learned = together<known>,
                                         .problem = problem_of<T>,
                                         .operands = operands_of<T>,
                                         .compute = compute<T>,
                                         .judging = {.judge = judge<T>, .same_as = same_as<T>}};
  static constexpr Dealing<OrmqrArgs<T>> dealing{
      .parts = parts_of<T>, .way = way, .on_cpu = [](const Site& from, HostBlas&, const OrmqrArgs<T>& part) {
        call_library(from, part);
      }};
  // Another routine's call that is the same product is made by another name, with other words: it has no parts.
  const std::string_view name = name_of(info(site.symbol).routine);
  return take_route(site, args, replay, way, name.ends_with("gemqr") ? nullptr : &dealing);
}

template <class T>
Computed ormtr(const Site& site, const ReductionQArgs<T>* args, Replay replay) {
  using Args = ReductionQArgs<T>;
  return take_route(
      site, args, replay,
      {.learned = together<known>,
       .problem = problem_of<T>,
       .operands = [](Place& place, const Args& x, bool ephemeral) { return operands_of(place, x.part(), ephemeral); },
       .compute =
           [](Place& place, const Site& from, Backend& backend, const Problem& problem, const Args& x,
              Operands& operands, const Decision& decision) {
             return compute(place, from, backend, problem, x.part(), operands, decision);
           },
       .judging = {.judge = judge<T>}});
}

#define ORMQR(name, type)                                               \
  template Computed ormqr(const Site&, const OrmqrArgs<type>*, Replay); \
  template Computed ormtr(const Site&, const ReductionQArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
