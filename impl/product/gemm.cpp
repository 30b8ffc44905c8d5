#include "impl/product/gemm.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/product/plan_cache.hpp"
#include "impl/product/product_family.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "impl/judge/judge.hpp"
#include "impl/product/at_once.hpp"
#include "impl/product/execute.hpp"
#include "impl/product/glance.hpp"
#include "impl/product/product_parts.hpp"
#include "impl/product/streams.hpp"
#include "impl/product/tiling.hpp"
#include "impl/route/attempts.hpp"
#include "impl/route/host_blas.hpp"
#include "impl/route/route.hpp"
#include "kernels/crowd.hpp"
#include "kernels/residues.hpp"

namespace blaslift {
namespace {

/// What the process knows of products.
struct Known {
  Learned gemm, of_triangles[3];      ///< by Update
  Plans plans, plans_without_levels;  ///< apart: those by levels take longer to make, and are fewer
  Plans plans_by_residues;            ///< apart, likewise
  std::atomic<int> refusals{0};       ///< of levels by the guard, since it last let some pass
  std::atomic<int> declined{0};       ///< products by residues, since their guard last accepted one
};
constinit Undestroyed<Known> known;

/// A call's operands.  Where B is A, it is not one of them.
template <class T>
Operands operands_of(Place& place, const GemmArgs<T>& x, bool ephemeral) {
  const bool multiplies = x.k != 0 && x.alpha != T(0);
  const OperandRole a{.stored = {x.A, x.rows_a(), x.cols_a(), x.lda, sizeof(T)},
                      .transposed = x.transa != Op::none,
                      .reads = multiplies},
      c{.stored = {x.C, x.m, x.n, x.ldc, sizeof(T), x.part}, .writes = true, .reads = x.beta != T(0)};
  if (!x.own_b()) return Operands(place, {a, c}, ephemeral);
  return Operands(place,
                  {a,
                   {.stored = {x.B, x.rows_b(), x.cols_b(), x.ldb, sizeof(T)},
                    .transposed = x.transb != Op::none,
                    .reads = multiplies},
                   c},
                  ephemeral);
}

/// What one try on the device came to.
struct Attempt {
  Plans::Plan schedule;  ///< null: none fits
  ProductOutcome outcome;
  index tile = 0;           ///< of levels
  bool distrusted = false;  ///< the guard has refused levels: the schedule is one without; or parts by residues
  int levels() const { return schedule ? schedule->depth : 0; }
  bool residues() const { return outcome.by_residues > outcome.declined; }
};

/// What a result's bits follow from besides the operands'.
std::uint64_t way_of(const GemmSchedule& schedule) {
  const Cut& cut = schedule.cut;
  std::uint64_t way =
      with_numbers(0, cut.mb, cut.nb, cut.kb, cut.whole_a, cut.whole_b, cut.whole_c, schedule.depth, schedule.residues);
  for (const Step& s : schedule.steps)
    if (s.kind == StepKind::multiply || s.kind == StepKind::leaf || s.kind == StepKind::pass)
      way = with_numbers(way, s.kind, s.block.row, s.block.col, s.block.rows, s.block.cols, s.k0, s.kb, s.first,
                         s.apart, s.number);
  return way;
}

/// The product by levels; null if what they take does not fit into `room`.
template <class T>
Plans::Plan plan_by_levels(const Problem& product, const GemmArgs<T>& args, const Residents& residents,
                           const Decision& decision, const Options& options, const Profile& profile, std::size_t room,
                           std::size_t piece) {
  const index tile = decision.tile;
  const strassen::Level* list = options.level_list ? options.level_list : &strassen::fused();
  Tiling tiling{strassen::chain(*list, decision.levels), tile};
  tiling.two_streams = options.two_streams && strassen::says_streams(*list);
  tiling.at_all_levels = options.at_all_levels;
  tiling.head = decision.head;
  GemmSchedule schedule =
      plan_levels_in(room, args.m, args.n, args.k, args.transa != Op::none, args.transb != Op::none, !product.beta_zero,
                     sizeof(T), tiling, residents, piece, args.part, args.update);
  if (schedule.bytes(sizeof(T)) > room) return nullptr;
  if (options.two_streams && !tiling.two_streams) {
    constexpr double change_of_stream = 3e-6;
    spread(schedule, sizeof(T), is_complex(precision_of<T>),
           {profile.gemm_rate[static_cast<int>(precision_of<T>)], profile.pass_rate, profile.in_rate,
            profile.step_seconds, change_of_stream});
  }
  return std::make_shared<const GemmSchedule>(std::move(schedule));
}

/// A plan that is kept for the next such product, or a new one where its operands' copies are not complete.
template <class T, class Make>
Plans::Plan kept_plan(Plans& plans, PlanKey key, const Problem& product, const GemmArgs<T>& args,
                      const Residents& residents, Make make) {
  key.precision = precision_of<T>;
  key.m = args.m;
  key.n = args.n;
  key.k = args.k;
  key.transposed_a = args.transa != Op::none;
  key.transposed_b = args.transb != Op::none;
  key.reads_c = !product.beta_zero;
  key.part = args.part;
  key.update = args.update;
  const Resident* operands[] = {&residents.a, &residents.b, &residents.c};
  for (int x = 0; x < 3; ++x) {
    if (!operands[x]->missing.empty()) return make();
    key.whole[x] = operands[x]->whole;
    key.in_place[x] = operands[x]->in_place;
  }
  return plans.get(key, std::cref(make));  // which allocates nothing
}

template <class T>
Plans::Plan by_levels(Place& place, const Problem& product, const GemmArgs<T>& args, const Residents& residents,
                      const Decision& decision, std::size_t room, std::size_t piece) {
  const PlanKey key{.list = place.options.level_list,
                    .levels = decision.levels,
                    .tile = decision.tile,
                    .head = decision.head,
                    .room = room,
                    .piece = piece};
  return kept_plan(known->plans, key, product, args, residents, [&] {
    return plan_by_levels(product, args, residents, decision, place.options, place.device.profile(), room, piece);
  });
}

/// The product without levels; null if it does not fit into `room`.
template <class T>
Plans::Plan without_levels(const Problem& product, const GemmArgs<T>& args, const Residents& residents, index head,
                           std::size_t room, std::size_t piece) {
  const PlanKey key{.list = nullptr, .levels = 0, .tile = 0, .head = head, .room = room, .piece = piece};
  return kept_plan(known->plans_without_levels, key, product, args, residents, [&]() -> Plans::Plan {
    Cut cut;
    if (!cut_to_fit(args.m, args.n, args.k, sizeof(T), room, residents, cut, args.part, args.update)) return nullptr;
    const auto plan = [&](index first) {
      return std::make_shared<const GemmSchedule>(
          plan_gemm(args.m, args.n, args.k, !product.beta_zero, sizeof(T), cut, residents, piece, usual_panel, first));
    };
    Plans::Plan with_head = plan(head);
    return with_head->bytes(sizeof(T)) > room ? plan(0) : with_head;
  });
}

/// The product by residues; null if what it takes does not fit into `room`, or C or k would have to be cut.  Of a
/// triangle all of the squares on its diagonal are computed: in a buffer, which nobody else reads.
template <class T>
Plans::Plan by_residues(const Problem& product, const GemmArgs<T>& args, const Residents& residents, std::size_t room,
                        std::size_t piece) {
  if (args.part != Part::whole && residents.c.whole) return nullptr;
  const PlanKey key{.list = nullptr, .levels = 0, .tile = 0, .head = 0, .room = room, .piece = piece};
  return kept_plan(known->plans_by_residues, key, product, args, residents, [&]() -> Plans::Plan {
    const Cut whole{.mb = args.m,
                    .nb = args.n,
                    .kb = args.k,
                    .whole_a = residents.a.whole,
                    .whole_b = residents.b.whole || !args.own_b(),
                    .whole_c = residents.c.whole,
                    .part = args.part,
                    .update = args.update};
    auto schedule = std::make_shared<const GemmSchedule>(
        plan_by_residues(args.m, args.n, args.k, !product.beta_zero, precision_of<T>, whole, residents, piece));
    return schedule->bytes(sizeof(T)) > room ? nullptr : schedule;
  });
}

/// What is known of A and B before anything is asked of the device.
template <class T>
Seen look_at(const GemmArgs<T>& args, const Operands& x, const Residents& residents, const GemmSchedule& schedule) {
  const auto is_there = [](const Resident& operand) { return operand.whole && operand.missing.empty(); };
  const bool own_b = args.own_b();
  // Where nothing has to arrive, the device has seen all in a moment.
  if (!schedule.surveyed || (is_there(residents.a) && (!own_b || is_there(residents.b)))) return {};
  // Memory that the device reaches may be there, and come back for this.
  if (x[0].memory != MemoryKind::pageable || (own_b && x[1].memory != MemoryKind::pageable)) return {};
  return glance(args, schedule.slice, schedule.slices());
}

/// Runs the product on the device, with the copies that the operands hold.
/// @param wait  for room; otherwise the outcome is no_memory if there is none now
template <class T>
Attempt attempt(Place& place, Backend& backend, const Problem& product, const GemmArgs<T>& args, const Operands& x,
                const UnderlyingBlas& underlying, const Decision& decision, bool wait) {
  Attempt t;
  Status& status = t.outcome.status = Status::no_memory;
  const Operand as_if_streamed({});  // B, where it is A
  const Operand &a = x[0], &b = args.own_b() ? x[1] : as_if_streamed, &c = x.result();
  const Residents residents{a.resident(), b.resident(), c.resident()};
  const std::size_t room = place.arena.limit() - std::min(place.arena.limit(), x.held_bytes());
  const auto moved = static_cast<std::size_t>(x.moved());
  // Pieces of small results are small, so that several threads share them; in a crowd each call has but one.
  constexpr std::size_t least_piece = std::size_t{256} << 10;
  const bool crowded = moved > little_moves && caller_moves(moved, runtime().in_flight.load(std::memory_order_relaxed));
  const std::size_t piece = std::max(least_piece, static_cast<std::size_t>(product.bytes_out) / (crowded ? 1 : 16));
  const std::size_t piece_bytes = std::min(piece, backend.facts().piece_bytes);
  if (decision.residues && backend.facts().computes.can(Operation::Kind::residues, precision_of<T>))
    t.schedule = by_residues(product, args, residents, room, piece_bytes);
  // Where they are not to be, or find no room, levels are the next best.  Smaller tiles take less memory beside the
  // operands'.
  for (Decision tiles = decision; !t.schedule && tiles.levels > 0; --tiles.levels, tiles.tile /= 2) {
    t.schedule = by_levels(place, product, args, residents, tiles, room, piece_bytes);
    t.tile = tiles.tile;
  }
  const auto classical = [&] { return without_levels(product, args, residents, decision.head, room, piece_bytes); };
  Refusal refusal;
  if (t.levels() > 0) {
    refusal.seen = look_at(args, x, residents, *t.schedule);
    const auto alpha = static_cast<double>(std::abs(args.alpha));
    t.distrusted = judge_early<decltype(std::abs(T{}))>(refusal.seen, static_cast<double>(args.k), t.levels(), alpha,
                                                        !product.beta_zero) != Verdict::sound;
    if (t.distrusted) t.schedule = nullptr;
  }
  if (!t.schedule) t.schedule = classical();
  if (!t.schedule) return t;

  const auto direct = [](const Operand& o) { return o.memory == MemoryKind::reachable; };
  // A piece of C that a failure tears is computed again, so it may not be needed for that.
  const bool c_direct = direct(c) && product.beta_zero;
  Placement placement{.a = a.placement(direct(a)), .b = b.placement(direct(b)), .c = c.placement(c_direct)};
  if (x.deal) placement.staying = staying(*t.schedule);
  std::size_t bytes = t.schedule->bytes(sizeof(T));
  if (t.levels() > 0) {
    // A product that is gone on with without levels may want room beside the operands for a head.
    const std::size_t buffers = t.schedule->cut.bytes(sizeof(T));
    if (decision.head > 0 && !product.beta_zero && args.part == Part::whole)
      bytes = std::max(bytes, std::min(room, buffers + leased_bytes(args.m, args.n, sizeof(T))));
    refusal.plan = [&, bytes, buffers]() -> Plans::Plan {
      Plans::Plan plan = classical();
      if (!plan || (!args.own_b() && !plan->cut.whole_b)) return nullptr;
      return buffers + plan->bytes(sizeof(T)) - plan->cut.bytes(sizeof(T)) > bytes ? nullptr : plan;
    };
  }
  if (bytes && (status = place.arena.take(bytes, wait, placement.lease)) != Status::done) return t;
  const Leased leased(place.arena, placement.lease, bytes);
  // From here on nothing throws.
  if (Lane* lane = backend.acquire(underlying, moved, status)) {
    const Acquired acquired(backend, lane, x);
    t.outcome = execute(*t.schedule, args, placement, *lane, not_exiting, refusal);
  }
  t.distrusted = t.distrusted || t.outcome.declined > 0;
  if (t.outcome.instead) {
    t.schedule = t.outcome.instead;
    t.distrusted = true;
  }
  return t;
}

/// On the device.  A product that has failed there with a part of C done is finished by the host BLAS.
template <class T>
Ending compute(Place& place, const Site& site, Backend& backend, const Problem& product, const GemmArgs<T>& args,
               Operands& operands, const Decision& decision) {
  HostBlas blas(site);
  const UnderlyingBlas underlying = blas.operations();
  operands.locate(backend);
  // A triangle has a plan of squares and rectangles, unless nothing is multiplied.
  if (decision.levels == 0 && !decision.residues && operands.all_in_device_memory() &&
      (args.part == Part::whole || product.trivial)) {
    // Nothing has moved, and nothing is held: no more is done than has to be.
    if (const Status status = at_once(backend, as_gemm(args), underlying); status != Status::done)
      return {.reason = give_up(place, backend, status)};
    return {.reason = decision.reason, .computed = true, .as_predicted = true};
  }
  (void)blas.routine(HostBlas::Kind::gemm);  // finding it might throw later
  operands.look();
  operands.keep_inputs();
  if (!decision.residues || args.part == Part::whole) operands.keep_result();
  const Operand& c = operands.result();
  place.residency.before_writing(c.stored);
  Decision how = decision;
  // After so many refusals in a row, levels are tried in one call of so many.
  constexpr int most_refusals = 4, retry_interval = 16;
  const bool choosy = place.options.levels < 0 && !place.options.fixed && !decision.repeats;
  if (choosy && known->refusals.load(std::memory_order_relaxed) >= most_refusals &&
      known->refusals.fetch_add(1, std::memory_order_relaxed) % retry_interval != 0)
    how.levels = 0;
  if (choosy && place.options.products == Products::automatic &&
      known->declined.load(std::memory_order_relaxed) >= most_refusals &&
      known->declined.fetch_add(1, std::memory_order_relaxed) % retry_interval != 0)
    how.residues = false;
  Attempt done;
  bool distrusted = false;
  // Another try begins with C as it was: in the program's device memory a first one may have changed it.
  const auto may_try_again = [&] {
    const bool kept = c.memory != MemoryKind::on_a_device || product.beta_zero;
    return done.outcome.status == Status::no_memory && done.outcome.untouched() &&
           (kept || done.outcome.committed.empty());
  };
  const auto attempts = [&](bool wait) -> Outcome {
    Outcome all;  // what the attempts before the last have moved
    const auto again = [&] {
      all.add(done.outcome);
      how.levels = 0;
      how.residues = false;
      operands.spoil_result();
      done = attempt(place, backend, product, args, operands, underlying, how, wait);
    };
    done = attempt(place, backend, product, args, operands, underlying, how, wait);
    distrusted = distrusted || done.distrusted;
    // It could not be gone on with at once.  Nothing is lost: A, B and C are as they were.
    if (done.outcome.status == Status::done && done.outcome.verdict != Verdict::sound && !done.outcome.instead) {
      distrusted = true;
      again();
    }
    if (distrusted) how.levels = 0;
    // Without levels less memory will do: none, where all operands are in device memory.
    if ((done.levels() > 0 || (done.schedule && done.schedule->residues)) && may_try_again()) again();
    Outcome last = done.outcome;
    last.add(all);
    return last;
  };
  const Outcome outcome = in_attempts(operands, attempts, may_try_again);
  // From here on nothing throws.
  const bool by_residues = done.schedule && done.schedule->residues;
  if (distrusted && !by_residues) known->refusals.fetch_add(1, std::memory_order_relaxed);
  if (by_residues && !decision.repeats)
    done.residues() ? known->declined.store(0, std::memory_order_relaxed)
                    : (void)known->declined.fetch_add(1, std::memory_order_relaxed);
  Ending ending = ended(place, backend, decision, operands, outcome);
  ending.distrusted = distrusted;
  if (outcome.status != Status::done) {
    // Nothing committed, as if we had never been there; or nobody else can finish it.
    if (done.outcome.untouched() || decision.reason == Reason::device_memory) return ending;
    operands.close(false);
    finish(*done.schedule, done.outcome, args, underlying);
    ending.reason = Reason::failed;
    ending.computed = true;
    return ending;
  }
  ending.residues = done.residues();
  if (done.levels() > 0) {
    known->refusals.store(0, std::memory_order_relaxed);
    ending.levels = done.levels();
    ending.tile = done.tile;
  }
  if (place.options.verify) ending.way = way_of(*done.schedule);
  ending.as_predicted = decision.residues ? ending.residues && !distrusted : done.levels() == decision.levels;
  return ending;
}

/// As another one was cut up, if that is possible, and a schedule has no more steps than any other may have.
void cut_as(const Cutting& cutting, const Problem& product, Decision& decision) {
  const bool whole = product.part == Part::whole;
  const index most_tile = std::min(whole ? std::min(product.m, product.n) : product.n / 2, product.k);
  if (decision.route != Route::device || cutting.tile > most_tile || cutting.head >= std::max<index>(1, product.k))
    return;
  if (cutting.levels > 0 && leaves_of(product, cutting.levels, cutting.tile) > most_leaves) return;
  // Of what a head leaves, a leaf has something.
  if (cutting.levels > 0 && (product.k - cutting.head) / (product.k / cutting.tile) >> cutting.levels == 0) return;
  decision.levels = cutting.levels;
  decision.tile = cutting.tile;
  decision.head = whole ? cutting.head : 0;
  decision.residues = cutting.residues && has_residues(product);
  decision.repeats = true;
}

template <class T>
const GemmArgs<T>& product_of(const GemmArgs<T>& x) {
  return x;
}
template <class Args>
auto product_of(const Args& x) {
  return x.product();
}

template <class T>
constexpr Judging<GemmArgs<T>> judging_of(const GemmArgs<T>*) {
  return {.judge = judge, .of_oracle = product_of_oracle<T>};  // also of gemm3m
}
template <class T>
constexpr Judging<GemmtArgs<T>> judging_of(const GemmtArgs<T>*) {
  return {.judge = judge,
          .with = judged_with_products<T>,
          .of_oracle = product_of_oracle<T>,
          .reference = call_by_products<T>};
}
template <class Args>
constexpr Judging<Args> judging_of(const Args*) {
  return {.judge = judge};
}

/// The way of calls that are such a product.
template <class Args>
constexpr Way<Args> way{.learned = [](const Args& x) -> Learned& {
                          const auto& product = product_of(x);
                          return product.part == Part::whole ? known->gemm
                                                             : known->of_triangles[static_cast<int>(product.update)];
                        },
                        .problem = [](Routine routine, const Args& x) { return problem_of(routine, product_of(x)); },
                        .operands = [](Place& place, const Args& x,
                                       bool ephemeral) { return operands_of(place, product_of(x), ephemeral); },
                        .compute =
                            [](Place& place, const Site& site, Backend& backend, const Problem& problem, const Args& x,
                               Operands& operands, const Decision& decision) {
                              return compute(place, site, backend, problem, product_of(x), operands, decision);
                            },
                        .judging = judging_of(static_cast<const Args*>(nullptr)),
                        .refine =
                            [](const Options& options, const Problem& problem, const Args&, Decision& decision) {
                              if (options.cutting) cut_as(*options.cutting, problem, decision);
                            }};

/// How such a call is dealt out.
template <class Args>
constexpr Dealing<Args, std::decay_t<decltype(product_of(std::declval<Args>()))>> dealing{
    .parts = [](const Args& x, int places) { return parts_of(product_of(x), places); },
    .way = way<std::decay_t<decltype(product_of(std::declval<Args>()))>>,
    .on_cpu =
        [](const Site&, HostBlas& blas, const auto& part) {
          const UnderlyingBlas underlying = blas.operations();
          underlying.call(underlying.context, as_gemm(part));
        },
    .prepare = [](HostBlas& blas, const auto& part) { (void)blas.routine(HostBlas::kind_of(as_gemm(part))); },
    .keeps_result = false};

}  // namespace

template <class T>
Computed gemm(const Site& site, const GemmArgs<T>* args, Replay replay) {
  return take_route(site, args, replay, way<GemmArgs<T>>, &dealing<GemmArgs<T>>);
}
template <class T>
Computed gemmt(const Site& site, const GemmtArgs<T>* args, Replay replay) {
  return take_route(site, args, replay, way<GemmtArgs<T>>, &dealing<GemmtArgs<T>>);
}
template <class T>
Computed syrk(const Site& site, const SyrkArgs<T>* args, Replay replay) {
  return take_route(site, args, replay, way<SyrkArgs<T>>, &dealing<SyrkArgs<T>>);
}
template <class T>
Computed syr2k(const Site& site, const Syr2kArgs<T>* args, Replay replay) {
  return take_route(site, args, replay, way<Syr2kArgs<T>>, &dealing<Syr2kArgs<T>>);
}

#define GEMM(name, type)                                                \
  template Computed gemm(const Site&, const GemmArgs<type>*, Replay);   \
  template Computed gemmt(const Site&, const GemmtArgs<type>*, Replay); \
  template Computed syrk(const Site&, const SyrkArgs<type>*, Replay);   \
  template Computed syr2k(const Site&, const Syr2kArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
