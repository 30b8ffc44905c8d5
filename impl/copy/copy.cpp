#include "impl/copy/copy.hpp"

#include "impl/copy/copy_family.hpp"
#include "impl/copy/gain.hpp"
#include "impl/core/errno_kept.hpp"
#include "impl/core/undestroyed.hpp"
#include "impl/core/workers.hpp"
#include "impl/route/route.hpp"

namespace blaslift {
namespace {

constinit Undestroyed<Learned> known;
constinit Undestroyed<PartCrew> crew;
constinit Undestroyed<Gain> gain;  // next() is asked by who has the crew

/// Without a look at the device, which it does not matter to.
Decision decision_on(const Runtime& r, const Problem& problem) {
  const Facts facts{.device = DeviceState::unopened,
                    .profile = &r.first.device.profile(),
                    .cpu_rate = 1,
                    .slowdown = 1,
                    .missed_seconds = 0,
                    .forked = r.inherited.load(std::memory_order_relaxed),
                    .exiting = too_late(r)};
  const Policy policy{.on = r.options.on, .measuring = r.options.measure, .forced = false, .fixed = false};
  return decide(problem, facts, policy);
}

/// A call's vectors, cut into as many parts as there are: of who has the crew.  A thread of the crew may still look at
/// it when a handler has left the call by a jump.
template <class T>
struct Parts {
  CopyArgs<T> args;
  int count;

  static void copy(void* self, int number) {
    const auto& [args, count] = *static_cast<const Parts*>(self);
    const index length = args.n / count, longer = args.n % count;  // the first ones are one longer
    const index from = number * length + std::min<index>(number, longer),
                to = from + length + (number < longer ? 1 : 0);
    const T* x = args.x + from * args.incx;
    T* y = args.y + from * args.incy;
    for (index i = from; i < to; ++i, x += args.incx, y += args.incy) *y = *x;
  }
  /// As a Replay has it.
  static void copy_all(const void* self) { (void)crew->run(copy, const_cast<void*>(self)); }
};
template <class T>
constinit Undestroyed<Parts<T>> shared;

/// By who has the crew.
/// @return whether the copy is made
template <class T>
bool helped(const Call& call, const CopyArgs<T>& args, Decision& decision, Gain::Way way) {
  Parts<T>& parts = shared<T>.value;
  parts = {args, crew->parts()};
  if (parts.count == 1) return false;
  decision.reason = Reason::helped;
  const Replayed done = stay(call.site, decision.reason, 0, {Parts<T>::copy_all, &parts}, call.timed);
  gain->took(way, done.seconds() / static_cast<double>(args.n));
  note_replayed(call, decision, done);
  return true;
}

/// The program's own call, and how long it takes.
struct Timed {
  const Replay& replay;
  mutable std::uint64_t ns = 0;

  static void call(const void* self) {
    const auto& timed = *static_cast<const Timed*>(self);
    const std::uint64_t start = now_ns();
    timed.replay();
    timed.ns = now_ns() - start;
  }
};

}  // namespace

template <class T>
void copy(const Site& site, const CopyArgs<T>* args, Replay replay) {
  if (!enter(site)) return replay();
  if (!args) return refuse(site, replay);
  Runtime& r = runtime();
  const Routine routine = info(site.symbol).routine;
  const Problem problem = problem_of(routine, *args);
  // Where calls of others are forced, all small ones come here, millions of them in LAPACK: nothing is looked at.
  if (problem.volume < small_product && r.options.on && !r.options.measure) {
    stay(site, problem.empty ? Reason::nothing : Reason::small, 0, replay, 1);
    return;
  }
  const Call call{site, known.value, problem, 0};
  const bool forced = r.options.forced[static_cast<std::size_t>(routine)];
  Decision decision = decision_on(r, problem);
  Gain::Way way = Gain::Way::alone;
  bool done = false;
  if (decision.reason == Reason::helped) {
    decision.reason = Reason::small;  // to gain now
    const int this_thread = thread_state.on_cpu ? 1 : 0;
    // Own time costs system calls, so who copies alone does not enter it.
    if (r.on_cpu.load(std::memory_order_relaxed) <= this_thread && (forced || !gain->rests()))
      undisturbed([&] {
        const ErrnoKept errno_kept;
        if (in_handler() || !crew->take(&thread_state, __builtin_frame_address(0))) return;
        way = forced ? Gain::Way::helped : gain->next();
        done = (way == Gain::Way::helped || way == Gain::Way::timed_helped) && helped(call, *args, decision, way);
        crew->give_back();
      });
  }
  if (done) return;
  const Timed timed{replay};
  stay(r, call, decision, {Timed::call, &timed});
  if (way == Gain::Way::timed_alone)
    gain->took(way, 1e-9 * static_cast<double>(timed.ns) / static_cast<double>(args->n));
}

#define COPY(name, type) template void copy(const Site&, const CopyArgs<type>*, Replay);
#include "api/routines.def"

}  // namespace blaslift
