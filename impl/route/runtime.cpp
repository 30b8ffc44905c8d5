#include "impl/route/runtime.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <mutex>
#include <utility>

#include "compat/environment.hpp"
#include "compat/loading.hpp"
#include "compat/objects.hpp"
#include "compat/process.hpp"
#include "compat/reserve.hpp"
#include "compat/say.hpp"
#include "compat/shown.hpp"
#include "compat/site.hpp"
#include "compat/undisturbed.hpp"
#include "impl/core/floats.hpp"
#include "impl/core/own_memory.hpp"
#include "impl/observe/report.hpp"
#include "impl/observe/trace.hpp"
#include "impl/residency/tracker.hpp"

namespace blaslift {

namespace {

constinit std::atomic<Runtime*> the_runtime{nullptr};

constinit std::atomic<double> gate{0};  ///< this_process's, which a child has to set anew

void set_gate(double products) {
  gate.store(products, std::memory_order_relaxed);
  this_process.gate.store(products, std::memory_order_release);
}

/// A child inherits neither an open device nor the threads that copy: if its parent had any, it computes on the CPU.
/// Its counters are its own.  Only stores here: the child of a threaded process may do little else.
void in_forked_child() {
  if (Runtime* r = the_runtime.load(std::memory_order_acquire)) {
    if (r->device.touched()) r->forked.store(true, std::memory_order_release);
    r->on_cpu.store(0, std::memory_order_relaxed);  // the parent's other threads are not here
    r->recurring.forget_lock();
    this_process.gate.store(gate.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  forget_loading();
  forget_reserve();
  forget_resolving();
  forget_lost_locks();
  forget_counters();
}

/// Children find out by themselves at their first call; where the kernel helps less, fork tells them.
[[gnu::constructor]] void remember_this_process() {
  remember_process();
  pthread_atfork(nullptr, nullptr, [] { take_over(in_forked_child); });
}

/// Before the device's libraries tear themselves down: no new route starts, those under way stop at their next step and
/// finish on the CPU.  They get a moment for it; exit never hangs on them.
void at_exit() {
  Runtime* r = the_runtime.load(std::memory_order_acquire);
  if (!r || !is_remembered()) return;
  r->exiting.store(true, std::memory_order_seq_cst);
  if (r->forked.load(std::memory_order_acquire)) return;
  for (int i = 0; i < 2000 && r->in_flight.load(std::memory_order_seq_cst) > 0; ++i) {
    const timespec millisecond{0, 1000000};
    nanosleep(&millisecond, nullptr);
  }
}

/// The profile without what no decision depends on.
std::string rates_of(Profile profile) {
  profile.algorithms.clear();
  std::erase_if(profile.sections, [](const SectionLine& line) { return !line.section->decides; });
  return to_text(profile);
}

/// Nothing has moved for a while: the device's memory is for others, and so is the host's.
void give_up_copies(void* runtime, void (*trim)(void* backend), void* backend) {
  auto* r = static_cast<Runtime*>(runtime);
  r->in_flight.fetch_add(1, std::memory_order_seq_cst);
  while (!r->exiting.load(std::memory_order_seq_cst) && r->residency.evict_one()) {
  }
  if (!r->exiting.load(std::memory_order_seq_cst)) trim(backend);
  OwnMemory::trim();
  r->in_flight.fetch_sub(1, std::memory_order_seq_cst);
}

/// The summary.  Touches no device, and nothing at all in a process that made no call.
[[gnu::destructor]] void report_at_exit() {
  Runtime* r = the_runtime.load(std::memory_order_acquire);
  if (!r || !is_remembered() || !counters_exist() || r->options.report == "off") return;
  undisturbed([&] {
    const Reserve reserve;
    try {
      const Noting noting(counters());
      write_report(counters(), r->options.report);
    } catch (const std::exception&) {  // and of the reserve
      say("blaslift: there is no report of this process: out of memory\n");
    }
  });
}

}  // namespace

Runtime::Runtime()
    : options(read_options(all_variables(), warnings)),
      device(
          [this]() -> const Options& {
            if (options.measure) options.verify = 0;
            // Counters before the device, which notes there why it is absent.
            set_counters_up(options.counters.empty() ? nullptr : options.counters.c_str(),
                            options.on ? Reason::small : Reason::off);
            if (std::string problem; !options.trace.empty()) {
              options.trace = make_trace_directory(options.trace, problem);
              if (!problem.empty()) warnings += "blaslift: there will be no trace: " + shown(problem) + "\n";
            }
            set_trace_up(options.trace.empty() ? nullptr : options.trace.c_str());
            return options;
          }(),
          give_up_copies, this),
      // What was kept from earlier calls must not show in the bits of a fixed route.
      residency(options.fixed ? ResidencyMode::off : options.residency) {}

namespace {

Runtime& make_runtime() {
  // No lock and no static guard: a child forked while another thread is in here must not wait for that thread.
  Runtime* made = nullptr;
  const Reserve reserve;
  Runtime* mine = new Runtime;
  // The loser of a race is left: the counters may already have its directory's name.
  if (!the_runtime.compare_exchange_strong(made, mine, std::memory_order_acq_rel)) return *made;
  say(mine->warnings, mine->device.warnings());
  const Options& o = mine->options;
  if (o.report == "stderr") keep_stderr();
  if (!o.trace.empty()) {
    counters();
    trace_profile(rates_of(mine->device.profile()), false);
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const bool all = (o.on && (o.measure || o.forced.any())) || (o.verify != 0 && !o.oracle.empty());
  set_gate(all ? -infinity : o.on ? small_product : infinity);
  return *mine;
}

/// That of this very process, null if it has none.
Runtime* own_runtime() {
  if (!is_remembered()) take_over(in_forked_child);
  return the_runtime.load(std::memory_order_acquire);
}

}  // namespace

Runtime& runtime() {
  Runtime* made = the_runtime.load(std::memory_order_acquire);
  if (made && is_remembered()) return *made;
  constexpr unsigned long room = 256 << 10;  // profiles and lists of options pass through the stack
  undisturbed([&] {
    made = own_runtime();
    if (!made) with_room(room, [&] { made = &make_runtime(); });
  });
  return *made;
}

bool too_late(const Runtime& r) { return exit_has_begun() || r.exiting.load(std::memory_order_relaxed); }

bool may_have_runtime() { return own_runtime() || !in_handler(); }

namespace {

constinit std::atomic<bool> ready{false};

Backend* open_now(Runtime& r) try {
  const Loading loading;  // exit waits until it will wait for what the device does
  if (!loading.allowed()) return nullptr;
  const ToNearest to_nearest;  // for the self-test, and for threads that start now
  TraceEvent event{.what = Traced::opening};
  if (tracing() && r.device.state() == DeviceState::unopened) event.begin_ns = now_ns();
  Backend* backend = r.device.open();
  if (event.begin_ns) {
    event.end_ns = now_ns();
    event.own_ns = event.end_ns - event.begin_ns;
    event.reason = backend ? Reason::faster : Reason::no_device;
    event.computed = backend != nullptr;
    trace(event);
  }
  if (!backend) return nullptr;
  static constinit std::mutex opening;
  static constinit bool opened = false;
  std::lock_guard lock(opening);
  if (std::exchange(opened, true)) return backend;
  // Registered after the device's libraries have registered theirs, so that it runs before them.
  if (std::atexit(at_exit) != 0) return r.device.lose("out of memory"), nullptr;
  r.arena.open(*backend,
               {[](void* residency) { return static_cast<Residency*>(residency)->evict_one(); }, &r.residency});
  try {
    std::string why;
    Tracker* tracker = nullptr;
    if (*backend->facts().unseen_writes)
      why = backend->facts().unseen_writes;
    else if (!r.options.fixed && r.options.residency != ResidencyMode::off)
      tracker = open_tracker(why);
    r.residency.open(r.arena, *backend, tracker, why);
    counters().residency.set(r.residency.state().c_str());
    if (tracing()) trace_profile(rates_of(r.device.profile()), true);
  } catch (const std::exception&) {  // without copies, then
    counters().residency.set("off: out of memory");
  }
  ready.store(true, std::memory_order_release);
  return backend;
} catch (const std::exception&) {  // out of memory
  return nullptr;
}

}  // namespace

Backend* open_device(Runtime& r) {
  if (ready.load(std::memory_order_acquire) && r.device.state() == DeviceState::ready && !exit_has_begun())
    return &r.device.backend();
  Backend* backend = nullptr;
  constexpr unsigned long room = 8 << 20;  // drivers expect what threads usually have
  with_room(room, [&] { backend = open_now(r); });
  return backend;
}

}  // namespace blaslift
