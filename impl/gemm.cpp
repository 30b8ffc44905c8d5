#include "impl/gemm.hpp"

#include <algorithm>
#include <exception>

#include "compat/call.hpp"
#include "impl/execute.hpp"
#include "impl/runtime.hpp"

namespace blaslift {
namespace {

/// While one of our own routes runs on this thread: what it calls underneath is not ours to count or route, and errno
/// is the caller's again afterwards.
class Inside {
 public:
  explicit Inside(Runtime& runtime) : runtime_(runtime), slot_(thread_state.slot) {
    thread_state.slot = nullptr;
    thread_state.inside = true;
    runtime_.in_flight.fetch_add(1, std::memory_order_seq_cst);
  }
  ~Inside() {
    runtime_.in_flight.fetch_sub(1, std::memory_order_seq_cst);
    thread_state.inside = false;
    thread_state.slot = slot_;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Runtime& runtime_;
  ThreadCounters* slot_;
  ErrnoKept errno_kept_;
};

bool not_exiting() { return !runtime().exiting.load(std::memory_order_relaxed); }

Decision decide_now(Runtime& r, const Product& product) {
  // Fixed decisions may not depend on whether the device is open yet: its own profile is known only then.
  const double volume =
      static_cast<double>(product.m) * static_cast<double>(product.n) * static_cast<double>(product.k);
  if (r.options.fixed && r.options.on && !r.options.measure && volume >= small_product && !product.alpha_zero &&
      !product.overlaps && !r.forked.load(std::memory_order_relaxed) && !r.exiting.load(std::memory_order_relaxed) &&
      r.device.state() == DeviceState::unopened) {
    const Inside inside(r);
    open_device(r);
  }
  const Profile& profile = r.device.profile();
  const Facts facts{
      .device = r.device.state(),
      .profile = &profile,
      .cpu_rate = r.cpu.rate(product.precision, product.flops(), profile.cpu_rate[static_cast<int>(product.precision)]),
      .slowdown = r.slowdown.load(std::memory_order_relaxed),
      .missed_seconds = r.missed_seconds.load(std::memory_order_relaxed),
      .forked = r.forked.load(std::memory_order_relaxed),
      .exiting = r.exiting.load(std::memory_order_relaxed)};
  const Policy policy{.on = r.options.on,
                      .measuring = r.options.measure,
                      .forced = (r.options.forced >> static_cast<int>(product.routine) & 1) != 0,
                      .fixed = r.options.fixed};
  return decide(product, facts, policy);
}

/// Contention makes the device slower than predicted; a call that stays because of it lets the memory of it fade.
void learn_device(Runtime& r, double predicted, double measured) {
  constexpr int calls_that_load_code = 4;
  if (r.warm_calls.fetch_add(1, std::memory_order_relaxed) < calls_that_load_code || !(predicted > 0)) return;
  const double before = r.slowdown.load(std::memory_order_relaxed);
  const double now = std::clamp(before * measured / predicted, 0.2, 50.0);
  r.slowdown.store(before + 0.25 * (now - before), std::memory_order_relaxed);
}

void learn_cpu(Runtime& r, const Product& product, const Decision& decision, double seconds) {
  if (seconds <= 0) return;
  r.cpu.learn(product.precision, product.flops(), seconds);
  if (decision.reason == Reason::startup) {
    double missed = r.missed_seconds.load(std::memory_order_relaxed);
    const double more = std::max(0.0, seconds - decision.device_seconds);
    while (!r.missed_seconds.compare_exchange_weak(missed, missed + more, std::memory_order_relaxed)) {
    }
  }
  if (decision.reason == Reason::transfers) {
    const double slowdown = r.slowdown.load(std::memory_order_relaxed);
    if (slowdown > 1) r.slowdown.store(1 + 0.98 * (slowdown - 1), std::memory_order_relaxed);
  }
}

void note_offloadable(const Site& site, const Product& product, const Decision& decision, double seconds) {
  if (decision.device_seconds <= 0 || seconds <= decision.device_seconds) return;
  SizeCounters& size = counters().sizes[site.counter][size_class(product.flops())];
  size.offloadable_ns.fetch_add(static_cast<std::uint64_t>(seconds * 1e9), std::memory_order_relaxed);
  size.device_ns.fetch_add(static_cast<std::uint64_t>(decision.device_seconds * 1e9), std::memory_order_relaxed);
}

/// Runs the product on the device.  True: C is whole; then `reason` is `failed` if the library underneath had to finish
/// it.  False: C is untouched, and `reason` says why.
template <class T>
bool on_device(Runtime& r, const Site& site, const Product& product, const GemmArgs<T>& args, const Decision& decision,
               Reason& reason) {
  auto unable = [&reason](Reason why) { return reason = why, false; };
  Inside inside(r);
  Backend* backend = open_device(r);
  if (!backend) return unable(Reason::no_device);

  GemmSchedule schedule;
  Cut cut;
  Status status = Status::done;
  const UnderlyingGemm underlying{
      [](const void* context, const Gemm& p) { call_gemm(*static_cast<const Site*>(context), p); }, &site};
  const std::uint64_t start = now_ns();
  if (!cut_to_fit(args.m, args.n, args.k, sizeof(T), backend->facts().memory, cut)) return unable(Reason::no_room);
  Lane* lane = backend->acquire(underlying, status);
  if (lane) {
    try {
      schedule = plan_gemm(args.m, args.n, args.k, !product.beta_zero, sizeof(T), cut, lane->piece_bytes());
    } catch (const std::exception&) {  // no memory for the plan: nothing has happened yet
      backend->release(lane);
      return unable(Reason::no_room);
    }
  }
  Outcome outcome;
  outcome.status = status;
  if (lane) {
    outcome = execute(schedule, args, *lane, not_exiting);
    backend->release(lane);
  }
  const bool exiting = !not_exiting();
  if (outcome.status == Status::lost && !exiting)
    r.device.lose(std::string(backend->facts().name) + " was lost: a device operation failed");

  RoutineCounters& c = counters().routines[site.counter];
  c.bytes_in.fetch_add(static_cast<std::uint64_t>(outcome.bytes_in), std::memory_order_relaxed);
  c.bytes_out.fetch_add(static_cast<std::uint64_t>(outcome.bytes_out), std::memory_order_relaxed);
  if (outcome.status != Status::done && outcome.untouched())  // nothing committed, as if we had never been there
    return unable(exiting ? Reason::exiting : outcome.status == Status::no_memory ? Reason::no_room : Reason::failed);
  if (outcome.status != Status::done) {
    finish(schedule, outcome, args, underlying);
    reason = Reason::failed;
  }
  const std::uint64_t elapsed = now_ns() - start;
  c.device_ns.fetch_add(elapsed, std::memory_order_relaxed);
  counters().last_ns.store(start + elapsed, std::memory_order_relaxed);
  if (outcome.status == Status::done) learn_device(r, decision.device_seconds, 1e-9 * static_cast<double>(elapsed));
  return true;
}

}  // namespace

template <class T>
void gemm(const Site& site, const GemmArgs<T>* args, Replay replay) {
  if (!enter(site)) return replay();
  RoutineCounters& c = counters().routines[site.counter];
  if (!args) {
    c.stayed[static_cast<int>(Reason::invalid)].fetch_add(1, std::memory_order_relaxed);
    return replay();
  }
  Runtime& r = runtime();
  const Product product = product_of(info(site.symbol).routine, *args);
  Decision decision = decide_now(r, product);
  if (decision.route == Route::device) {
    if (on_device(r, site, product, *args, decision, decision.reason)) {
      (decision.reason == Reason::failed ? c.stayed[static_cast<int>(Reason::failed)] : c.routed)
          .fetch_add(1, std::memory_order_relaxed);
      return;
    }
    decision.route = Route::cpu;
  }
  const double seconds = stay(site, decision.reason, product.flops(), replay);
  learn_cpu(r, product, decision, seconds);
  if (r.options.measure) note_offloadable(site, product, decision, seconds);
}

#define GEMM(name, type) template void gemm(const Site&, const GemmArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
