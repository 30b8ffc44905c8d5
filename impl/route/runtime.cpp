#include "impl/route/runtime.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
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
#include "impl/route/warming.hpp"
#include "kernels/own_thread.hpp"

/// glibc's: a function for the end of the calling thread.
extern "C" int __cxa_thread_atexit_impl(void (*function)(void*), void* argument, void* object);
extern "C" __attribute__((visibility("hidden"))) void* __dso_handle;

namespace blaslift {

namespace {

constinit std::atomic<Runtime*> the_runtime{nullptr};

/// A thread of ours opens the device, for which the main thread waits before it ends.
constinit std::atomic<bool> opening_beside{false}, main_thread_ends{false};

constinit std::atomic<double> gate{0};  ///< this_process's, which a child has to set anew

void set_gate(double products) {
  gate.store(products, std::memory_order_relaxed);
  this_process.gate.store(products, std::memory_order_release);
}

/// A child inherits neither an open device nor the threads that copy: if its parent had any, it computes on the CPU.
/// Its counters are its own.  Only stores here: the child of a threaded process may do little else.
void in_forked_child() {
  opening_beside.store(false, std::memory_order_relaxed);
  if (Runtime* r = the_runtime.load(std::memory_order_acquire)) {
    r->inherited.store(true, std::memory_order_relaxed);
    if (r->first.device.touched()) r->forked.store(true, std::memory_order_release);
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
/// Before the constructors without a number, one of which may start a thread (api/loaded.cpp).
[[gnu::constructor(1000)]] void remember_this_process() {
  remember_process();
  pthread_atfork(nullptr, note_fork, [] { take_over(in_forked_child); });
}

/// Before the device's libraries tear themselves down: no new route starts, those under way stop at their next step and
/// finish on the CPU.  They get a moment for it; exit never hangs on them.
void at_exit() {
  Runtime* r = the_runtime.load(std::memory_order_acquire);
  if (!r || !is_remembered()) return;
  r->exiting.store(true, std::memory_order_seq_cst);
  if (r->forked.load(std::memory_order_acquire)) return;
  for (int i = 0;
       i < 2000 && (r->in_flight.load(std::memory_order_seq_cst) > 0 || r->warming.load(std::memory_order_seq_cst));
       ++i) {
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
void give_up_copies(void* place, void (*trim)(void* backend), void* backend) {
  Runtime* r = the_runtime.load(std::memory_order_acquire);
  r->in_flight.fetch_add(1, std::memory_order_seq_cst);
  while (!r->exiting.load(std::memory_order_seq_cst) && static_cast<Place*>(place)->residency.evict_one()) {
  }
  if (!r->exiting.load(std::memory_order_seq_cst)) trim(backend);
  OwnMemory::trim();
  r->in_flight.fetch_sub(1, std::memory_order_seq_cst);
}

/// The summary.  Touches no device, and nothing at all in a process that made no call.
[[gnu::destructor]] void report_at_exit() {
  Runtime* r = the_runtime.load(std::memory_order_acquire);
  if (!r || !is_remembered() || !counters_exist()) return;
  counters().reported.store(1, std::memory_order_relaxed);
  if (r->options.report == "off") return;
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
      first(
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
          0) {}

Place::Place(const Options& process_options, int which)
    : options(process_options),
      device(process_options, which, give_up_copies, this),
      // What was kept from earlier calls must not show in the bits of a fixed route.
      residency(options.fixed ? ResidencyMode::off : options.residency),
      number(which) {}

int Runtime::places() const {
  if (options.devices == 1 || first.device.state() != DeviceState::ready) return 1;
  const int there = std::min(first.device.backend().facts().devices, most_places);
  int places = options.devices == 0 ? there : std::min(options.devices, there);
  // What is lost is not asked again, nor what is behind it; nor, unless it has been asked for, what others have filled.
  constexpr int most_refused = 3;
  for (int i = 1; i < places; ++i)
    if (const Place* other = others_[static_cast<std::size_t>(i)].load(std::memory_order_acquire);
        other && (other->device.state() == DeviceState::absent ||
                  (options.devices == 0 && other->refused.load(std::memory_order_relaxed) >= most_refused)))
      places = i;
  return std::max(1, places);
}

Place& Runtime::place(int number) {
  if (number == 0) return first;
  std::atomic<Place*>& other = others_[static_cast<std::size_t>(number)];
  if (Place* made = other.load(std::memory_order_acquire)) return *made;
  Place* made = nullptr;
  auto mine = std::make_unique<Place>(options, number);
  if (other.compare_exchange_strong(made, mine.get(), std::memory_order_acq_rel)) made = mine.release();
  return *made;
}

namespace {

Runtime& make_runtime() {
  // No lock and no static guard: a child forked while another thread is in here must not wait for that thread.
  Runtime* made = nullptr;
  const Reserve reserve;
  Runtime* mine = new Runtime;
  // The loser of a race is left: the counters may already have its directory's name.
  if (!the_runtime.compare_exchange_strong(made, mine, std::memory_order_acq_rel)) return *made;
  say(mine->warnings, mine->first.device.warnings());
  const Options& o = mine->options;
  if (o.report == "stderr") keep_stderr();
  if (!o.trace.empty()) {
    counters();
    trace_profile(rates_of(mine->first.device.profile()), false);
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

/// Of the first place, whose device is open.
void open_residency(Runtime& r) try {
  Place& place = r.first;
  Backend& backend = place.device.backend();
  std::string why;
  std::shared_ptr<Pages> pages;
  if (*backend.facts().unseen_writes)
    why = backend.facts().unseen_writes;
  else if (!r.options.fixed && r.options.residency != ResidencyMode::off)
    if (Tracker* tracker = open_tracker(why)) pages = std::make_shared<Pages>(*tracker);
  place.residency.open(place.arena, backend, std::move(pages), why);
  counters().residency.set(place.residency.state().c_str());
  if (tracing()) trace_profile(rates_of(place.device.profile()), true);
} catch (const std::exception&) {  // without copies, then
  counters().residency.set("off: out of memory");
}

}  // namespace

Backend* Place::open_now(Runtime& r) try {
  const Loading loading;  // exit waits until it will wait for what the device does
  if (!loading.allowed()) return nullptr;
  const ToNearest to_nearest;  // for the self-test, and for threads that start now
  TraceEvent event{.what = Traced::opening};
  if (tracing() && device.state() == DeviceState::unopened) event.begin_ns = now_ns();
  Backend* backend = device.open();
  if (event.begin_ns) {
    event.end_ns = now_ns();
    event.own_ns = event.end_ns - event.begin_ns;
    event.reason = backend ? Reason::faster : Reason::no_device;
    event.computed = backend != nullptr;
    trace(event);
  }
  if (!backend) return nullptr;
  std::lock_guard lock(opening_);
  if (std::exchange(opened_, true)) return backend;
  const bool is_first = number == 0;
  // Registered after the device's libraries have registered theirs, so that it runs before them.
  if (is_first && std::atexit(at_exit) != 0) return device.lose("out of memory"), nullptr;
  arena.open(*backend, {[](void* copies) { return static_cast<Residency*>(copies)->evict_one(); }, &residency});
  if (is_first)
    open_residency(r);
  else
    residency.open(arena, *backend, *backend->facts().unseen_writes ? nullptr : r.first.residency.pages(),
                   "the first device has none, or this one writes unseen");
  ready_.store(true, std::memory_order_release);
  return backend;
} catch (const std::exception&) {  // out of memory
  return nullptr;
}

Backend* open_place(Runtime& r, Place& place) {
  if (place.ready_.load(std::memory_order_acquire) && place.device.state() == DeviceState::ready && !exit_has_begun())
    return &place.device.backend();
  Backend* backend = nullptr;
  constexpr unsigned long room = 8 << 20;  // drivers expect what threads usually have
  with_room(room, [&] { backend = place.open_now(r); });
  return backend;
}

namespace {

/// A driver that is being initialised has registered handlers of exit already, and ends badly if these run meanwhile.
/// The destructors of the thread that calls exit come before all handlers.  Never a hang: ten seconds at most.
void await_opening(void*) {
  if (!is_remembered()) return;  // a forked child: whoever opens is not there
  main_thread_ends.store(true, std::memory_order_seq_cst);
  if (!opening_beside.load(std::memory_order_seq_cst)) return;
  const std::uint64_t start = now_ns();
  for (int i = 0; i < 10000 && opening_beside.load(std::memory_order_seq_cst); ++i) {
    const timespec millisecond{0, 1000000};
    nanosleep(&millisecond, nullptr);
  }
  if (counters_exist()) counters().opening_ns.fetch_add(now_ns() - start, std::memory_order_relaxed);
}

/// By the main thread, whose end is the process's as a rule.
bool awaits_opening() { return __cxa_thread_atexit_impl(await_opening, nullptr, &__dso_handle) == 0; }

/// By a thread of ours that the main thread awaits.
/// @param expected  what it is made ready for
void open_beside(Runtime& r, const Routines& expected) {
  const auto goes_on = [] { return !main_thread_ends.load(std::memory_order_seq_cst) && not_exiting(); };
  opening_beside.store(true, std::memory_order_seq_cst);
  if (Backend* backend = goes_on() ? open_device(r) : nullptr) {
    r.warming.store(true, std::memory_order_seq_cst);  // exit by another thread waits, too
    warm(
        *backend, r.first.arena, expected,
        [&r](Operation::Kind kind, Precision p) { return r.first.device.can(kind, p); }, goes_on);
    r.warming.store(false, std::memory_order_seq_cst);
  }
  opening_beside.store(false, std::memory_order_seq_cst);
}

}  // namespace

void open_device_meanwhile(Runtime& r, Routine routine) {
  if (r.opened_meanwhile.load(std::memory_order_relaxed) || syscall(SYS_gettid) != getpid()) return;
  if (r.opened_meanwhile.exchange(true, std::memory_order_relaxed) || !awaits_opening()) return;
  const OwnThreads threads;
  (void)threads.start("blaslift-open", [&r, routine] {
    thread_state.inside = &thread_state;
    open_beside(r, Routines().set(static_cast<std::size_t>(routine)));
  });
}

namespace {

/// Whether an object is a BLAS or LAPACK, by its file's name.
bool is_blas(const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash ? slash + 1 : path;
  if (named_as_ours(path)) return false;
  for (const char* part : {"blas", "lapack", "mkl", "libblis", "nvpl", "libsci", "armpl", "essl", "atlas"})
    if (std::strstr(name, part)) return true;
  return false;
}

bool has_loaded_blas() {
  return for_each_object([](dl_phdr_info* object, std::size_t, void*) -> int { return is_blas(object->dlpi_name); },
                         nullptr) != 0;
}

/// Waits for the process to load a BLAS, which an interpreter does after a while, and opens the device.
void open_device_early(const Routines& expected) {
  using namespace std::chrono_literals;
  constexpr std::chrono::milliseconds often = 10ms, seldom = 100ms, soon = 10s, patience = 100s;
  thread_state.inside = &thread_state;
  const auto begun = std::chrono::steady_clock::now();
  for (auto passed = begun - begun; passed < patience; passed = std::chrono::steady_clock::now() - begun) {
    std::this_thread::sleep_for(passed < soon ? often : seldom);  // first, since now others are being initialised
    if (main_thread_ends.load(std::memory_order_relaxed) || exit_has_begun()) return;
    if (!has_loaded_blas()) continue;
    Runtime& r = runtime();
    if (r.options.on && !r.options.measure && !r.forked.load(std::memory_order_relaxed)) open_beside(r, expected);
    return;
  }
}

}  // namespace

void open_device_early_if_wanted() {
  const char* value = variable("BLASLIFT_START");
  const std::optional<Start> start = value ? start_of(value) : std::nullopt;
  if (!start || !start->early || !awaits_opening()) return;
  const OwnThreads threads;
  (void)threads.start("blaslift-start", [expected = start->routines] { open_device_early(expected); });
}

}  // namespace blaslift
