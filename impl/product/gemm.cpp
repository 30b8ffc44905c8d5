#include "impl/product/gemm.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/product/plan_cache.hpp"
#include "impl/product/product_decision.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "impl/judge/judge.hpp"
#include "impl/product/execute.hpp"
#include "impl/product/glance.hpp"
#include "impl/product/streams.hpp"
#include "impl/product/tiling.hpp"
#include "impl/route/host_blas.hpp"
#include "impl/route/route.hpp"
#include "kernels/crowd.hpp"

namespace blaslift {
namespace {

void open_for_fixed(Runtime& r, const Product& product) {
  if (!product.alpha_zero && !product.overlaps)
    open_for_fixed(r, policy_for(r, product.routine), product.volume() >= small_product);
}

/// What the process knows of products.
struct Known {
  Learned gemm, syrk;
  Plans plans, plans_without_levels;  ///< apart: those by levels take longer to make, and are fewer
  std::atomic<int> refusals{0};       ///< of levels by the guard, since it last let some pass
};
constinit Undestroyed<Known> known;

Learned& learned(const Product& product) { return product.part == Part::whole ? known->gemm : known->syrk; }

Facts facts_now(Runtime& r, const Product& product) {
  const double until_measured = r.device.profile().cpu_rate[static_cast<int>(product.precision)];
  Facts facts = facts_now(r, learned(product), product.precision, product.flops(), until_measured);
  facts.estimator = r.device.estimator(product.precision);
  return facts;
}

/// A call's operands; lets go of their copies at the end.  Where B is A, it is not one of them.
class Operands {
 public:
  template <class T>
  Operands(Runtime& r, const GemmArgs<T>& x, const Product& product, bool passing = false)
      : a{{x.A, x.rows_a(), x.cols_a(), x.lda, sizeof(T)}, x.transa != Op::none, false, !product.only_scales()},
        b{{x.B, x.rows_b(), x.cols_b(), x.ldb, sizeof(T)}, x.transb != Op::none, false, !product.only_scales()},
        c{{x.C, x.m, x.n, x.ldc, sizeof(T), x.part}, false, true, !product.beta_zero},
        runtime_(r),
        share_of_c_(product.results() / std::max(1.0, static_cast<double>(x.m) * static_cast<double>(x.n))),
        count_(x.part == Part::whole ? 3 : 2),
        all_{&a, count_ == 3 ? &b : &c, &c} {
    for (Operand* operand : all()) operand->passing = passing;
  }
  ~Operands() { close(false); }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  /// Once, as soon as the device is open.
  void locate(Backend& backend) {
    if (std::exchange(located_, true)) return;
    for (Operand* x : all()) x->locate(backend);
  }

  /// Once, after locate: takes hold of the copies that there are.
  void look() {
    if (std::exchange(looked_, true)) return;
    for (Operand* x : all()) x->look(runtime_.residency, glance_);
  }

  /// After look: makes copies to be filled by this call, of what deserves one; the larger input first.
  void keep() {
    Operand* order[] = {all_[0], all_[1], all_[2]};
    if (order[1] == &b && b.stored.bytes() > a.stored.bytes()) std::swap(order[0], order[1]);
    for (Operand* x : std::span(order, count_)) x->keep(runtime_.residency, glance_);
  }

  /// `good`: what was uploaded and computed is there.
  void close(bool good) {
    for (Operand* x : all()) runtime_.residency.close(x->known.hold, good);
  }

  /// C's copy holds something else now.
  void spoil_result() {
    if (c.known.hold) c.known.hold.missing = {{0, 0, c.stored.rows, c.stored.cols}};
  }

  bool any_hold() const { return a.known.hold || b.known.hold || c.known.hold; }
  std::size_t held_bytes() const { return a.known.hold.bytes + b.known.hold.bytes + c.known.hold.bytes; }
  /// Of a triangle a part counts.
  double counted(const Operand& x, double bytes) const { return &x == &c ? share_of_c_ * bytes : bytes; }
  double spared() const { return a.known.spared + b.known.spared + counted(c, c.known.spared); }
  /// How many have copies that spare bytes.
  int reused() const {
    return static_cast<int>(std::count_if(all_, all_ + count_, [](const Operand* x) { return x->known.spared > 0; }));
  }
  /// Bytes, there and back.
  double moved() const {
    double bytes = 0;
    for (const Operand* x : all())
      if (x->place != Place::on_a_device)
        bytes += counted(*x, x->stored.bytes() * ((x->reads ? 1 : 0) + (x->writes ? 1 : 0)) - x->known.spared);
    return bytes;
  }
  /// Bytes that are read where they are, in device memory of the program's.
  double in_place() const {
    double bytes = 0;
    for (const Operand* x : all())
      if (x->reads && x->place == Place::on_a_device) bytes += counted(*x, x->stored.bytes());
    return bytes;
  }
  /// What is not touched counts as there.
  bool all_in_device_memory() const {
    return std::all_of(all_, all_ + count_, [](const Operand* x) { return x->place == Place::on_a_device; });
  }
  bool in_device_memory() const {
    return std::any_of(all_, all_ + count_, [](const Operand* x) { return x->out_of_reach(); });
  }

  std::span<Operand* const> all() const { return {all_, count_}; }

  Operand a, b, c;

 private:
  Runtime& runtime_;
  const double share_of_c_;
  const std::size_t count_;
  Operand* const all_[3];
  Residency::Glance glance_;
  bool located_ = false, looked_ = false;
};

/// The decision, with a look at the operands where they matter.
Decision decide_now(Runtime& r, const Product& product, Operands& operands) {
  open_for_fixed(r, product);
  Facts facts = facts_now(r, product);
  const Policy policy = policy_for(r, product.routine);
  if (not_open_yet(facts.device)) {
    const Decision guess = decide(product, facts, policy);
    if (!opens(guess, policy) || !open_device(r)) return guess;
    facts = facts_now(r, product);  // by the device's own profile
  }
  if (!may_ask(facts, policy)) return decide(product, facts, policy);
  operands.locate(r.device.backend());
  facts.device_memory = operands.in_device_memory();
  if (facts.device_memory) {
    facts.spared = operands.in_place();
    facts.result_stays = operands.c.place == Place::on_a_device;
    return decide(product, facts, policy);
  }
  Decision decision = decide(product, facts, policy);
  if (!copies_matter(product, facts, policy, decision)) return decision;
  operands.look();
  facts.spared = operands.spared();
  for (const Operand* x : operands.all())
    if (x->reads && !x->known.hold && x->known.unchanged) {
      facts.reusable += operands.counted(*x, x->stored.bytes());
      facts.missed_reuse = std::max(facts.missed_reuse, x->known.missed);
    }
  decision = decide(product, facts, policy);
  if (decision.route == Route::cpu && decision.reuse_seconds > 0)
    for (const Operand* x : operands.all())
      if (x->reads && !x->known.hold && x->known.unchanged) r.residency.note_missed(x->stored, decision.reuse_seconds);
  return decision;
}

/// What one try on the device came to.
struct Attempt {
  Plans::Plan schedule;  ///< null: none fits
  Outcome outcome;
  index tile = 0;           ///< of levels
  bool distrusted = false;  ///< the guard has refused levels: the schedule is one without
  int levels() const { return schedule ? schedule->depth : 0; }
};

/// What a result's bits follow from besides the operands'.
std::uint64_t way_of(const GemmSchedule& schedule) {
  const Cut& cut = schedule.cut;
  std::uint64_t way = with_numbers(0, cut.mb, cut.nb, cut.kb, cut.whole_a, cut.whole_b, cut.whole_c, schedule.depth);
  for (const Step& s : schedule.steps)
    if (s.kind == StepKind::multiply || s.kind == StepKind::leaf || s.kind == StepKind::pass)
      way = with_numbers(way, s.kind, s.block.row, s.block.col, s.block.rows, s.block.cols, s.k0, s.kb, s.first,
                         s.apart, s.number);
  return way;
}

/// The product by levels; null if what they take does not fit into `room`.
template <class T>
Plans::Plan plan_by_levels(const Product& product, const GemmArgs<T>& args, const Residents& residents,
                           const Decision& decision, const Options& options, const Profile& profile, std::size_t room,
                           std::size_t piece) {
  const index tile = decision.tile;
  const strassen::Level* list = options.level_list ? options.level_list : &strassen::fused();
  Tiling tiling{strassen::chain(*list, decision.levels), tile};
  tiling.two_streams = options.two_streams && strassen::says_streams(*list);
  auto plan = [&] {
    return plan_levels(args.m, args.n, args.k, args.transa != Op::none, args.transb != Op::none, !product.beta_zero,
                       sizeof(T), tiling, residents, piece, args.part);
  };
  const bool may = args.part == Part::whole && may_overwrite(args.m, args.n, tile, residents);
  // Rather in more memory: operands that are still there need not be sent again if the guard refuses them.  Some lists
  // take more steps, or can do less, where operands are to be kept.
  const bool alone = args.m == tile && args.n == tile, better = list->destroys_inputs || list->basis.changes();
  tiling.overwrite = may && alone && better;
  GemmSchedule schedule = plan();
  // Strips have to come first then, and wait for all of A and B.
  const std::size_t enough = alone ? room / 2 : room;
  if (schedule.bytes(sizeof(T)) > enough && may && !tiling.overwrite) {
    tiling.overwrite = true;
    schedule = plan();
  }
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
Plans::Plan kept_plan(Plans& plans, PlanKey key, const Product& product, const GemmArgs<T>& args,
                      const Residents& residents, Make make) {
  key.precision = precision_of<T>;
  key.m = args.m;
  key.n = args.n;
  key.k = args.k;
  key.transposed_a = args.transa != Op::none;
  key.transposed_b = args.transb != Op::none;
  key.reads_c = !product.beta_zero;
  key.part = args.part;
  const Resident* operands[] = {&residents.a, &residents.b, &residents.c};
  for (int x = 0; x < 3; ++x) {
    if (!operands[x]->missing.empty()) return make();
    key.whole[x] = operands[x]->whole;
    key.in_place[x] = operands[x]->in_place;
  }
  return plans.get(key, std::cref(make));  // which allocates nothing
}

template <class T>
Plans::Plan by_levels(Runtime& r, const Product& product, const GemmArgs<T>& args, const Residents& residents,
                      const Decision& decision, std::size_t room, std::size_t piece) {
  const PlanKey key{.list = r.options.level_list,
                    .levels = decision.levels,
                    .tile = decision.tile,
                    .head = 0,
                    .room = room,
                    .piece = piece};
  return kept_plan(known->plans, key, product, args, residents, [&] {
    return plan_by_levels(product, args, residents, decision, r.options, r.device.profile(), room, piece);
  });
}

/// The product without levels; null if it does not fit into `room`.
template <class T>
Plans::Plan without_levels(const Product& product, const GemmArgs<T>& args, const Residents& residents, index head,
                           std::size_t room, std::size_t piece) {
  const PlanKey key{.list = nullptr, .levels = 0, .tile = 0, .head = head, .room = room, .piece = piece};
  return kept_plan(known->plans_without_levels, key, product, args, residents, [&]() -> Plans::Plan {
    Cut cut;
    if (!cut_to_fit(args.m, args.n, args.k, sizeof(T), room, residents, cut, args.part)) return nullptr;
    const auto plan = [&](index first) {
      return std::make_shared<const GemmSchedule>(
          plan_gemm(args.m, args.n, args.k, !product.beta_zero, sizeof(T), cut, residents, piece, usual_panel, first));
    };
    Plans::Plan with_head = plan(head);
    return with_head->bytes(sizeof(T)) > room ? plan(0) : with_head;
  });
}

/// What is known of A and B before anything is asked of the device.
template <class T>
Seen look_at(const GemmArgs<T>& args, const Operands& x, const Residents& residents, const GemmSchedule& schedule) {
  const auto is_there = [](const Resident& operand) { return operand.whole && operand.missing.empty(); };
  const bool own_b = args.part == Part::whole;
  // Where nothing has to arrive, the device has seen all in a moment.
  if (!schedule.surveyed || (is_there(residents.a) && (!own_b || is_there(residents.b)))) return {};
  // Memory that the device reaches may be there, and come back for this.
  if (x.a.place != Place::pageable || (own_b && x.b.place != Place::pageable)) return {};
  return glance(args, schedule.slice, schedule.slices());
}

/// Runs the product on the device, with the copies that the operands hold.
/// @param wait  for room; otherwise the outcome is no_memory if there is none now
template <class T>
Attempt attempt(Runtime& r, Backend& backend, const Product& product, const GemmArgs<T>& args, const Operands& x,
                const UnderlyingBlas& underlying, const Decision& decision, bool wait) {
  Attempt t;
  Status& status = t.outcome.status = Status::no_memory;
  const Residents residents{x.a.resident(), x.b.resident(), x.c.resident()};  // b: as if streamed, where it is A
  const std::size_t room = r.arena.limit() - std::min(r.arena.limit(), x.held_bytes());
  const auto moved = static_cast<std::size_t>(x.moved());
  // Pieces of small results are small, so that several threads share them; in a crowd each call has but one.
  constexpr std::size_t least_piece = std::size_t{256} << 10;
  const bool crowded = moved > little_moves && caller_moves(moved, r.in_flight.load(std::memory_order_relaxed));
  const std::size_t piece = std::max(least_piece, static_cast<std::size_t>(product.bytes_out()) / (crowded ? 1 : 16));
  const std::size_t piece_bytes = std::min(piece, backend.facts().piece_bytes);
  // Smaller tiles take less memory beside the operands'.
  for (Decision tiles = decision; !t.schedule && tiles.levels > 0; --tiles.levels, tiles.tile /= 2) {
    t.schedule = by_levels(r, product, args, residents, tiles, room, piece_bytes);
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

  const auto direct = [](const Operand& o) { return o.place == Place::reachable; };
  // A piece of C that a failure tears is computed again, so it may not be needed for that.
  const bool c_direct = direct(x.c) && product.beta_zero;
  Placement placement{.a = x.a.placement(direct(x.a)), .b = x.b.placement(direct(x.b)), .c = x.c.placement(c_direct)};
  std::size_t bytes = t.schedule->bytes(sizeof(T));
  if (t.levels() > 0) {
    // A product that is gone on with without levels may want room beside the operands for a head.
    const std::size_t buffers = t.schedule->cut.bytes(sizeof(T));
    if (decision.head > 0 && !product.beta_zero && args.part == Part::whole)
      bytes = std::max(bytes, std::min(room, buffers + leased_bytes(args.m, args.n, sizeof(T))));
    refusal.plan = [&, bytes, buffers]() -> Plans::Plan {
      Plans::Plan plan = classical();
      if (!plan || (args.part != Part::whole && !plan->cut.whole_b)) return nullptr;
      return buffers + plan->bytes(sizeof(T)) - plan->cut.bytes(sizeof(T)) > bytes ? nullptr : plan;
    };
  }
  if (bytes && (status = r.arena.take(bytes, wait, placement.lease)) != Status::done) return t;
  // From here on nothing throws.
  if (Lane* lane = backend.acquire(underlying, moved, status)) {
    t.outcome = execute(*t.schedule, args, placement, *lane, not_exiting, refusal);
    backend.release(lane);
  }
  if (t.outcome.instead) {
    t.schedule = t.outcome.instead;
    t.distrusted = true;
  }
  if (bytes) r.arena.give_back(placement.lease, bytes);
  return t;
}

/// Where all operands are where they are computed with, and there is nothing to plan.
template <class T>
Ending at_once(Runtime& r, Backend& backend, const GemmArgs<T>& args, const UnderlyingBlas& underlying,
               const Decision& decision) {
  Gemm product = as_gemm(args);
  product.awaited = false;
  Status status = Status::lost;
  // From here on nothing throws.
  if (Lane* lane = backend.acquire(underlying, 0, status)) {
    status = not_exiting() ? lane->ask(product, {nullptr, 0}) : Status::lost;
    const Status drained = lane->drain();
    if (status == Status::done) status = drained;
    backend.release(lane);
  }
  if (status != Status::done) return {.reason = give_up(r, backend, status)};
  return {.reason = decision.reason, .computed = true, .as_predicted = true};
}

/// On the device.  A product that has failed there with a part of C done is finished by the library underneath.
template <class T>
Ending compute(Runtime& r, const Site& site, Backend& backend, const Product& product, const GemmArgs<T>& args,
               Operands& operands, const Decision& decision) {
  HostBlas blas(site);
  (void)blas.routine("gemm");  // finding it might throw later
  const UnderlyingBlas underlying = blas.operations();
  operands.locate(backend);
  // A triangle has a plan of squares and rectangles, unless nothing is multiplied.
  if (decision.levels == 0 && operands.all_in_device_memory() && (args.part == Part::whole || product.only_scales()))
    return at_once(r, backend, args, underlying, decision);
  operands.look();
  operands.keep();
  r.residency.before_writing(operands.c.stored);
  double spared = operands.spared();
  int reused = operands.reused();
  // Whoever holds copies may not wait for room: others may hold copies and wait, too.
  Decision how = decision;
  // Who has been refused again and again is asked only now and then.
  constexpr int patience = 4, seldom = 16;
  const bool choosy = r.options.levels < 0 && !r.options.fixed && !decision.repeats;
  if (choosy && known->refusals.load(std::memory_order_relaxed) >= patience &&
      known->refusals.fetch_add(1, std::memory_order_relaxed) % seldom != 0)
    how.levels = 0;
  TransferTimes transfers;  // of attempts before the last
  Attempt done = attempt(r, backend, product, args, operands, underlying, how, !operands.any_hold());
  bool distrusted = done.distrusted;
  if (done.outcome.status == Status::done && done.outcome.verdict != Verdict::sound && !done.outcome.instead) {
    // It could not be gone on with at once.  Nothing is lost: A, B and C are as they were.
    how.levels = 0;
    distrusted = true;
    operands.spoil_result();
    const double bytes_in = done.outcome.bytes_in;
    transfers.add(done.outcome.transfers);
    done = attempt(r, backend, product, args, operands, underlying, how, !operands.any_hold());
    done.outcome.bytes_in += bytes_in;
  }
  if (distrusted) {
    how.levels = 0;
    known->refusals.fetch_add(1, std::memory_order_relaxed);
  }
  // Another try begins with C as it was: in the program's device memory a first one may have changed it.
  const auto may_try_again = [&] {
    const bool kept = operands.c.place != Place::on_a_device || product.beta_zero;
    return done.outcome.status == Status::no_memory && done.outcome.untouched() &&
           (kept || done.outcome.committed.empty());
  };
  // Without levels less memory will do: none, where all operands are in device memory.
  if (done.levels() > 0 && may_try_again()) {
    how.levels = 0;
    operands.spoil_result();
    transfers.add(done.outcome.transfers);
    done = attempt(r, backend, product, args, operands, underlying, how, !operands.any_hold());
  }
  if (operands.any_hold() && may_try_again()) {
    transfers.add(done.outcome.transfers);
    operands.close(false);
    for (Operand* x : operands.all()) x->known = {};
    spared = 0;
    reused = 0;
    done = attempt(r, backend, product, args, operands, underlying, how, true);
  }
  // From here on nothing throws.
  const Outcome& outcome = done.outcome;
  transfers.add(outcome.transfers);
  Ending ending{.reason = decision.reason,
                .bytes_in = outcome.bytes_in,
                .bytes_out = outcome.bytes_out,
                .transfers = transfers,
                .distrusted = distrusted};
  if (outcome.status != Status::done) {
    ending.reason = give_up(r, backend, outcome.status);
    // Nothing committed, as if we had never been there; or nobody else can finish it.
    if (outcome.untouched() || decision.reason == Reason::device_memory) return ending;
    operands.close(false);
    finish(*done.schedule, outcome, args, underlying);
    ending.reason = Reason::failed;
    ending.computed = true;
    return ending;
  }
  if (done.levels() > 0) {
    known->refusals.store(0, std::memory_order_relaxed);
    ending.levels = done.levels();
    ending.tile = done.tile;
  }
  if (r.options.verify) ending.way = way_of(*done.schedule);
  operands.close(true);
  if (operands.c.cared_for) r.residency.note_result(operands.c.stored);
  ending.computed = true;
  ending.as_predicted = done.levels() == decision.levels;
  ending.bytes_spared = spared;
  ending.reused = reused;
  return ending;
}

/// As another one was cut up, if that is possible, and a schedule has no more steps than any other may have.
void cut_as(const Cutting& cutting, const Product& product, Decision& decision) {
  const bool whole = product.part == Part::whole;
  const index most_tile = std::min(whole ? std::min(product.m, product.n) : product.n / 2, product.k);
  if (decision.route != Route::device || cutting.tile > most_tile || cutting.head >= std::max<index>(1, product.k))
    return;
  if (cutting.levels > 0 && leaves_of(product, cutting.levels, cutting.tile) > most_leaves) return;
  decision.levels = cutting.levels;
  decision.tile = cutting.tile;
  decision.head = whole ? cutting.head : 0;
  decision.repeats = true;
}

template <class T>
bool try_device(Runtime& r, const Call& call, const Product& product, const GemmArgs<T>& args, Decision& decision) {
  Operands operands(r, args, product);  // lets go of its copies while we are still inside
  decision = decide_now(r, product, operands);
  if (r.options.cutting) cut_as(*r.options.cutting, product, decision);
  return on_device(r, call, decision,
                   [&](Backend& backend) { return compute(r, call.site, backend, product, args, operands, decision); });
}

/// Computes what has been computed before, on other operands.
template <class T>
Ending repeat(Runtime& r, const Call& call, const Product& product, const GemmArgs<T>& args, const Decision& decision) {
  Operands operands(r, args, product, true);
  return compute(r, call.site, r.device.backend(), product, args, operands, decision);
}

}  // namespace

template <class T>
void gemm(const Site& site, const GemmArgs<T>* args, Replay replay) {
  if (!enter(site)) return replay();
  if (!args) return refuse(site, replay);
  Runtime& r = runtime();
  const Product product = product_of(info(site.symbol).routine, *args);
  Call call{site, learned(product), product.precision, product.flops(), timed_flops, shape_of(product)};
  take_route(
      r, call, replay, [&](Decision& decision) { return try_device(r, call, product, *args, decision); },
      [&] {
        return checkable(*args, product.overlaps, replay, [&](const GemmArgs<T>& other, const Decision& decision) {
          return repeat(r, call, product, other, decision);
        });
      });
}

template <class T>
void syrk(const Site& site, const SyrkArgs<T>* args, Replay replay) {
  if (!enter(site)) return replay();
  if (!args) return refuse(site, replay);
  Runtime& r = runtime();
  const GemmArgs<T> gemm = args->product();
  const Product product = product_of(info(site.symbol).routine, gemm);
  Call call{site, learned(product), product.precision, product.flops(), timed_flops, shape_of(product)};
  take_route(
      r, call, replay, [&](Decision& decision) { return try_device(r, call, product, gemm, decision); },
      [&] {
        return checkable(*args, product.overlaps, replay, [&](const SyrkArgs<T>& other, const Decision& decision) {
          return repeat(r, call, product, other.product(), decision);
        });
      });
}

#define GEMM(name, type) template void gemm(const Site&, const GemmArgs<type>*, Replay);
#define SYRK(name, type) template void syrk(const Site&, const SyrkArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
