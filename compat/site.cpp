#include "compat/site.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "compat/builtin.hpp"
#include "compat/library.hpp"
#include "compat/loading.hpp"
#include "compat/objects.hpp"
#include "compat/reserve.hpp"
#include "compat/say.hpp"
#include "compat/shown.hpp"
#include "compat/trial.hpp"
#include "compat/undisturbed.hpp"

namespace blaslift {

constinit std::atomic<Site*> sites[site_buckets] = {};

namespace {

// Programs that generate code call from ever new addresses; past this many sites the answer is not kept.
constexpr int most_sites = 65536;
constinit std::atomic<int> site_count{0};

}  // namespace

extern "C" int __cxa_atexit(void (*)(void*), void*, void*);

namespace {

std::int64_t milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000 + 1;
}

/// Nobody calls by it any more.  Whoever is in a call yet, because this is the process's exit, may look at it.
void set_free(Site& site) {
  if (!site.caller.exchange(nullptr, std::memory_order_acq_rel)) return;
  site.free_since.store(milliseconds(), std::memory_order_release);
  site_count.fetch_sub(1, std::memory_order_relaxed);
}

bool same_content(const Site& a, const Site& b) {
  return a.symbol == b.symbol && a.function == b.function && a.wide == b.wide && a.twin == b.twin &&
         a.library == b.library && a.found_by == b.found_by;
}

/// A free site to use again.  One that says the same may be at any time: a call that is still under way sees no change.
/// @param same  it does; otherwise it is to be filled
Site* take_free(std::atomic<Site*>& bucket, const Site& wanted, bool& same) {
  constexpr std::int64_t long_ago = 2000;
  for (Site* s = bucket.load(std::memory_order_acquire); s; s = s->next) {
    std::int64_t since = s->free_since.load(std::memory_order_acquire);
    if (since == 0 || !s->free_since.compare_exchange_strong(since, 0, std::memory_order_acq_rel)) continue;
    same = same_content(*s, wanted);
    if (same || (!exit_has_begun() && milliseconds() >= since + long_ago)) return s;
    s->free_since.store(since, std::memory_order_release);
  }
  return nullptr;
}

/// A loaded object that calls us, or is called.  Entries are used again.
struct Watched {
  enum State : int { gone, being_written, there };
  std::atomic<int> state;
  std::uintptr_t start, end;
  std::atomic<bool> tells;  ///< we will be told of its unloading
  Watched* next;
};
constinit std::atomic<Watched*> watched{nullptr};

void unloaded(void* data) {
  auto& object = *static_cast<Watched*>(data);
  if (object.state.load(std::memory_order_acquire) != Watched::there) return;
  const std::uintptr_t start = object.start, end = object.end;
  if (int there = Watched::there; !object.state.compare_exchange_strong(there, Watched::gone)) return;
  const auto inside = [=](const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return start <= at && at < end;
  };
  for (auto& bucket : sites)
    for (Site* s = bucket.load(std::memory_order_acquire); s; s = s->next) {
      const void* caller = s->caller.load(std::memory_order_acquire);
      if (caller && (inside(caller) || inside(s->function))) set_free(*s);
    }
  forget_goes_on(start, end);
}

/// What dl_iterate_phdr knows of the object around an address.
struct Extent {
  std::uintptr_t at;  ///< in: the address
  std::uintptr_t start = 0, end = 0;
  static constexpr int most_parts = 16;
  struct {
    std::uintptr_t start, end;
  } data[most_parts];  ///< the writable parts that are in the file: tools that edit libraries (patchelf) add some
  int data_count = 0;
  bool found = false, program = false;  ///< program: it is the main program, which is never unloaded
};

Extent extent_of(const void* address) {
  Extent extent{reinterpret_cast<std::uintptr_t>(address)};
  for_each_object(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& e = *static_cast<Extent*>(data);
        Extent here{e.at};
        here.start = UINTPTR_MAX;
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& p = object->dlpi_phdr[i];
          if (p.p_type != PT_LOAD) continue;
          const std::uintptr_t start = object->dlpi_addr + p.p_vaddr;
          here.start = std::min(here.start, start);
          here.end = std::max(here.end, start + p.p_memsz);
          here.found = here.found || (start <= e.at && e.at <= start + p.p_memsz);
          if ((p.p_flags & PF_W) && here.data_count < Extent::most_parts)
            here.data[here.data_count++] = {start, start + p.p_filesz};
        }
        here.program = !object->dlpi_name || !*object->dlpi_name;
        if (here.found) e = here;
        return here.found ? 1 : 0;
      },
      &extent);
  return extent;
}

/// Registers `unloaded` for the object.  Unloading one calls __cxa_finalize with the object's own __dso_handle, and
/// with it whatever was registered under that handle.  The handle is hidden, but known by its content: it points to
/// itself. A few other words may, too; registering for them does no harm.
__attribute__((no_sanitize("address", "thread"))) bool register_for(const Extent& extent, Watched& object) {
  constexpr std::size_t most_bytes = std::size_t{4} << 20;
  constexpr int most_handles = 16;
  constexpr std::size_t word = sizeof(std::uintptr_t);
  int registered = 0;
  for (int part = 0; part < extent.data_count; ++part) {
    const auto [data, data_end] = extent.data[part];
    const std::uintptr_t end = std::min<std::uintptr_t>(data_end, data + most_bytes);
    for (std::uintptr_t at = (data + word - 1) / word * word; at + word <= end; at += word) {
      if (*reinterpret_cast<const volatile std::uintptr_t*>(at) != at) continue;
      if (__cxa_atexit(unloaded, &object, reinterpret_cast<void*>(at)) != 0) return false;
      if (++registered == most_handles) return true;
    }
  }
  return registered > 0;
}

/// Where nothing can be registered: the object is never to be unloaded.
bool pin_object_at(const void* address) {
  Dl_info where{};
  const Loading loading;
  return loading.allowed() && dladdr(address, &where) && where.dli_fname &&
         dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);  // the handle is kept on purpose
}

/// Whether what is said of this address stays true until we hear otherwise: its object is never unloaded, or we will be
/// told.
bool lasts(const void* address) {
  const Extent extent = extent_of(address);
  if (!extent.found || extent.program) return true;  // generated code reaches the same function from everywhere
  for (Watched* w = watched.load(std::memory_order_acquire); w; w = w->next)
    if (w->state.load(std::memory_order_acquire) == Watched::there && w->start == extent.start)
      return w->tells.load(std::memory_order_relaxed);
  Watched* object = watched.load(std::memory_order_acquire);
  for (; object; object = object->next)
    if (int gone = Watched::gone; object->state.compare_exchange_strong(gone, Watched::being_written)) break;
  const bool is_new = !object;
  if (is_new) object = new Watched{{Watched::being_written}, 0, 0, {false}, watched.load(std::memory_order_acquire)};
  object->start = extent.start;
  object->end = extent.end;
  object->tells.store(false, std::memory_order_relaxed);
  object->state.store(Watched::there, std::memory_order_release);
  const bool tells = locks_may_be_lost() ? pin_object_at(address) : register_for(extent, *object);
  object->tells.store(tells, std::memory_order_relaxed);
  while (is_new && !watched.compare_exchange_weak(object->next, object, std::memory_order_acq_rel)) {
  }
  return tells;
}

struct Origin {
  bool from_start = true;
  bool finalised = false;
  char path[PATH_MAX] = "";
};

Origin origin_of(const void* address) {
  Origin origin;
  look_at_objects([&](Objects& objects) {
    const Object* object = objects.around(address);
    if (!object) return;
    origin.from_start = object->from_start;
    origin.finalised = is_finalised(*object);
    std::snprintf(origin.path, sizeof origin.path, "%s", object->name);
  });
  return origin;
}

/// Whether a function can be called until we hear otherwise.  What nobody holds for the caller, who has no part in its
/// loading, and what does not tell of its unloading, is held by us.  Never with RTLD_NODELETE: a library that is just
/// being unloaded, with our caller in its last destructor, makes the loader end the process for it.
bool can_be_kept(const void* function, const void* caller) {
  const Origin target = origin_of(function);
  if (target.from_start) return !origin_of(caller).finalised;
  const Origin callers = origin_of(caller);
  if (callers.finalised || target.finalised) return false;  // it is told no more
  const bool tells = lasts(function);
  if (tells && !callers.from_start) return true;
  const Loading loading;
  if (!loading.allowed()) return true;  // nor is anything unloaded any more
  return dlopen(target.path, RTLD_LAZY | RTLD_NOLOAD) != nullptr || tells;
}

/// Whether `caller` is inside a CBLAS function that we forward to: its call is that function's Fortran twin.
bool is_twin(Symbol symbol, const void* caller) {
  const void* start = nullptr;
  if (info(symbol).interface != Interface::fortran || !enclosing_function(caller, start)) return false;
  for (const auto& bucket : sites)
    for (const Site* s = bucket.load(std::memory_order_acquire); s; s = s->next)
      if (s->caller.load(std::memory_order_acquire) && s->function == start &&
          info(s->symbol).interface == Interface::cblas && info(s->symbol).routine == info(symbol).routine)
        return true;
  return false;
}

/// A path that stays valid for the life of the process; equal paths share one copy.  Programs that make ever new copies
/// of a library are not told all their names.
const char* interned(const std::string& path) {
  constexpr int most_paths = 1000;
  static constinit std::atomic<int> count{0};
  struct Entry {
    const char* path;
    Entry* next;
  };
  static constinit std::atomic<Entry*> entries{nullptr};
  for (Entry* e = entries.load(std::memory_order_acquire); e; e = e->next)
    if (path == e->path) return e->path;
  if (count.fetch_add(1, std::memory_order_relaxed) >= most_paths) return "one of many libraries";
  char* copy = new char[path.size() + 1];
  std::memcpy(copy, path.c_str(), path.size() + 1);
  Entry* entry = new Entry{copy, entries.load(std::memory_order_acquire)};
  while (!entries.compare_exchange_weak(entry->next, entry, std::memory_order_acq_rel)) {
  }
  return entry->path;
}

void nothing() {}

/// The latest gemm that a caller of batches would have reached, and BLASLIFT_FALLBACK.
constinit std::atomic<void*> gemm_of_loops{nullptr};
constinit std::atomic<const char*> fallback_of_loops{nullptr};

/// For loops that are made of products: the gemm of Fortran's in that library.
LibraryGemm gemm_beside_loops(Symbol symbol) {
  Site here{};
  here.symbol = symbol;
  here.function = gemm_of_loops.load(std::memory_order_acquire);
  if (!here.function) here.function = reinterpret_cast<void*>(gemm_beside_loops);
  const Site* site = site_beside(here, info(symbol).routine, fallback_of_loops.load(std::memory_order_acquire));
  return site ? LibraryGemm{site->function, site->wide} : LibraryGemm{};
}

/// The reference's loops.
Target plain_loops(Symbol symbol) {
  Target target;
  target.wide = info(symbol).width == Width::wide;
  target.function = builtin(symbol, target.wide, gemm_beside_loops);
  target.library = "blaslift's own loops";
  target.found_by = "nobody";
  return target;
}

/// Loops that call a library's products, where it is these that few libraries have.
/// @param nearby  only those of the caller's own library
Target loops_over_products(Symbol symbol, const void* caller, const void* frame, const char* fallback, bool nearby) {
  Target target;
  const Routine gemm = products_of(info(symbol).routine);
  std::string looked;
  if (gemm == Routine::count || !find_target(symbol_beside(symbol, gemm), caller, fallback, target, looked, frame))
    return {};
  if (nearby && !target.nearby) return {};
  fallback_of_loops.store(fallback && *fallback ? interned(fallback) : nullptr, std::memory_order_release);
  gemm_of_loops.store(target.function, std::memory_order_release);
  target.function = builtin(symbol, target.wide, gemm_beside_loops);
  return target;
}

/// Beside what other routines of its library are looked for: loops have the gemm's.
void* place_of(const Site& of) {
  void* gemm = gemm_of_loops.load(std::memory_order_acquire);
  if (!gemm || products_of(info(of.symbol).routine) == Routine::count) return of.function;
  return of.function == builtin(of.symbol, of.wide, gemm_beside_loops) ? gemm : of.function;
}

void tell_that_there_is_none(const std::string& looked) {
  static constinit std::atomic<bool> told{false};
  if (told.exchange(true)) return;
  say("blaslift: no BLAS/LAPACK underneath: looked for ", shown(looked),
      ".\n"
      "blaslift: computed by plain loops of its own, which are slow.  Link the program with one "
      "(-Wl,--no-as-needed -lblaslift -lblas), or name one: BLASLIFT_FALLBACK=/path/to/libblas.so.3\n");
}

void fill(Site& site, Symbol symbol, const void* caller, const Target& target, bool twin) {
  site.symbol = symbol;
  site.wide = target.wide;
  site.twin = twin;
  site.counter = static_cast<std::uint8_t>(twin ? routine_count : static_cast<int>(info(symbol).routine));
  site.function = target.function;
  site.library = target.library.empty() ? nullptr : interned(target.library);
  site.found_by = target.found_by;
  site.caller.store(caller, std::memory_order_release);
}

/// @param lasting  whether it may be kept
const Site* put_down(Symbol symbol, const void* caller, const Target& target, bool lasting, Site& ephemeral) {
  const bool twin = is_twin(symbol, caller);
  if (!lasting || site_count.fetch_add(1, std::memory_order_relaxed) >= most_sites) {
    if (lasting) site_count.fetch_sub(1, std::memory_order_relaxed);
    fill(ephemeral, symbol, caller, target, twin);
    return &ephemeral;
  }
  auto& bucket = sites[site_bucket(symbol, caller)];
  Site wanted{};
  fill(wanted, symbol, caller, target, twin);
  bool same = false;
  if (Site* used = take_free(bucket, wanted, same)) {
    same ? used->caller.store(caller, std::memory_order_release) : fill(*used, symbol, caller, target, twin);
    return used;
  }
  Site* made = new Site{};
  fill(*made, symbol, caller, target, twin);
  made->next = bucket.load(std::memory_order_acquire);
  while (!bucket.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {
  }
  return made;
}

/// A site that is not to be remembered by its caller, with those of the same content: there are few functions, but many
/// callers.
const Site* interned(const Site& site) {
  static constinit std::atomic<Site*> all{nullptr};
  for (Site* s = all.load(std::memory_order_acquire); s; s = s->next)
    if (same_content(*s, site)) return s;
  Site* made = new Site{};
  made->symbol = site.symbol;
  made->wide = site.wide;
  made->twin = site.twin;
  made->counter = site.counter;
  made->function = site.function;
  made->library = site.library;
  made->found_by = site.found_by;
  made->next = all.load(std::memory_order_acquire);
  while (!all.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {
  }
  return made;
}

}  // namespace

namespace {

/// One thread at a time finds out what leads to us: a site that another one puts down meanwhile would make a switch
/// seem not to come back.  Who waits does so for a moment only, since the search may run code of the program's (trials,
/// constructors), which may wait for other threads.
class OneAtATime {
 public:
  OneAtATime() {
    constexpr int patience = 5000;
    for (int i = 0; i < patience; ++i) {
      pthread_t nobody{};
      mine_ = resolving.compare_exchange_strong(nobody, pthread_self(), std::memory_order_acquire);
      if (mine_ || nobody == pthread_self()) return;
      const timespec moment{0, 50000};
      nanosleep(&moment, nullptr);
    }
    resolving.store(pthread_self(), std::memory_order_release);
    mine_ = true;
  }
  ~OneAtATime() {
    pthread_t self = pthread_self();
    if (mine_) resolving.compare_exchange_strong(self, pthread_t{}, std::memory_order_release);
  }
  OneAtATime(const OneAtATime&) = delete;
  OneAtATime& operator=(const OneAtATime&) = delete;

  static void forget() { resolving.store(pthread_t{}, std::memory_order_relaxed); }

 private:
  static constinit std::atomic<pthread_t> resolving;
  bool mine_ = false;
};
constinit std::atomic<pthread_t> OneAtATime::resolving{};

const Site* resolve_now(Symbol symbol, const void* caller, const void* frame, const char* fallback, Site& ephemeral) {
  const OneAtATime one_at_a_time;
  const Reserve reserve;
  Target target;
  if (answers_trial(symbol)) {
    target.function = reinterpret_cast<void*>(nothing);
    fill(ephemeral, symbol, caller, target, true);  // as a twin it is not counted
    ephemeral.twin = true;
    return &ephemeral;
  }
  std::string looked;
  bool lasting = !in_handler();  // there nothing is registered: the C library may be in the middle of something
  const bool found = find_target(symbol, caller, fallback, target, looked, frame);
  // What has nothing to do with the caller gives way to the products of its own library.
  Target loops;
  if (!found || !target.nearby) loops = loops_over_products(symbol, caller, frame, fallback, found);
  if (loops.function) {
    target = loops;
    lasting = lasting && can_be_kept(gemm_of_loops.load(std::memory_order_acquire), caller) && lasts(caller);
  } else if (found) {
    lasting = lasting && target.settled && lasts(caller) && can_be_kept(target.function, caller);
  } else {
    tell_that_there_is_none(looked);
    target = plain_loops(symbol);
    lasting = lasting && lasts(caller);
  }
  return put_down(symbol, caller, target, lasting, ephemeral);
}

const Site* beside_now(Symbol symbol, const void* function, const char* fallback) {
  const Reserve reserve;
  Target target;
  if (!find_beside(symbol, function, fallback, target)) return nullptr;
  Site ephemeral;
  const bool lasting = !in_handler() && lasts(function) && can_be_kept(target.function, function);
  const Site* site = put_down(symbol, function, target, lasting, ephemeral);
  return site == &ephemeral ? interned(ephemeral) : site;
}

const Site* plain_loops_beside_now(Symbol symbol, const Site& of) {
  const Reserve reserve;
  Site ephemeral;
  fill(ephemeral, symbol, of.function, plain_loops(symbol), false);
  return interned(ephemeral);
}

/// Several times what finding a function takes, with the loader's part of it.
constexpr unsigned long room = 256 << 10;

}  // namespace

const Site* resolve_site(Symbol symbol, const void* caller, const char* fallback, Site& ephemeral) {
  const Site* site = nullptr;
  const void* frame = __builtin_frame_address(0);
  undisturbed([&] { with_room(room, [&] { site = resolve_now(symbol, caller, frame, fallback, ephemeral); }); });
  return site;
}

void forget_resolving() { OneAtATime::forget(); }

const Site* site_beside(const Site& of, Routine routine, const char* fallback) {
  const Symbol symbol = symbol_beside(of.symbol, routine);
  const void* function = place_of(of);
  const Site* site = known_site(symbol, function);
  if (!site) undisturbed([&] { with_room(room, [&] { site = beside_now(symbol, function, fallback); }); });
  return site;
}

const Site& any_site_beside(const Site& of, Routine routine, const char* fallback) {
  const Site* site = site_beside(of, routine, fallback);
  if (!site) undisturbed([&] { site = plain_loops_beside_now(symbol_beside(of.symbol, routine), of); });
  return *site;
}

void forget_sites_of(const void* function) {
  for (auto& bucket : sites)
    for (Site* s = bucket.load(std::memory_order_acquire); s; s = s->next)
      if (s->caller.load(std::memory_order_acquire) && s->function == function) {
        // Calls by it are under way: it is not used again.
        s->caller.store(nullptr, std::memory_order_release);
        site_count.fetch_sub(1, std::memory_order_relaxed);
      }
}

}  // namespace blaslift
