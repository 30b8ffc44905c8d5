#include "compat/site.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

#include "compat/library.hpp"
#include "compat/loading.hpp"
#include "compat/objects.hpp"
#include "compat/reserve.hpp"
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

/// A loaded object that calls us.
struct Watched {
  std::uintptr_t start, end;
  bool tells;  ///< we will be told of its unloading
  std::atomic<bool> loaded;
  Watched* next;
};
constinit std::atomic<Watched*> watched{nullptr};

void unloaded(void* data) {
  auto& object = *static_cast<Watched*>(data);
  if (!object.loaded.exchange(false)) return;
  for (auto& bucket : sites)
    for (Site* s = bucket.load(std::memory_order_acquire); s; s = s->next) {
      const auto caller = reinterpret_cast<std::uintptr_t>(s->caller.load(std::memory_order_relaxed));
      if (object.start <= caller && caller < object.end) s->caller.store(nullptr, std::memory_order_relaxed);
    }
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

/// Whether a site of this caller may be kept: its object is never unloaded, or we will be told.
bool may_keep(const void* caller) {
  const Extent extent = extent_of(caller);
  if (!extent.found || extent.program) return true;  // generated code reaches the same function from everywhere
  for (Watched* w = watched.load(std::memory_order_acquire); w; w = w->next)
    if (w->start == extent.start && w->loaded.load(std::memory_order_acquire)) return w->tells;
  auto* object = new Watched{extent.start, extent.end, true, true, watched.load(std::memory_order_acquire)};
  object->tells = locks_may_be_lost() ? pin_object_at(caller) : register_for(extent, *object);
  while (!watched.compare_exchange_weak(object->next, object, std::memory_order_acq_rel)) {
  }
  return object->tells;
}

/// Whether `caller` is inside a CBLAS function that we forward to: its call is that function's Fortran twin.
bool is_twin(Symbol symbol, const void* caller) {
  const void* start = nullptr;
  if (info(symbol).interface != Interface::fortran || !enclosing_function(caller, start)) return false;
  for (const auto& bucket : sites)
    for (const Site* s = bucket.load(std::memory_order_acquire); s; s = s->next)
      if (s->function == start && info(s->symbol).interface == Interface::cblas &&
          info(s->symbol).routine == info(symbol).routine)
        return true;
  return false;
}

/// A path that stays valid for the life of the process; equal paths share one copy.
const char* interned(const std::string& path) {
  struct Entry {
    const char* path;
    Entry* next;
  };
  static constinit std::atomic<Entry*> entries{nullptr};
  for (Entry* e = entries.load(std::memory_order_acquire); e; e = e->next)
    if (path == e->path) return e->path;
  char* copy = new char[path.size() + 1];
  std::memcpy(copy, path.c_str(), path.size() + 1);
  Entry* entry = new Entry{copy, entries.load(std::memory_order_acquire)};
  while (!entries.compare_exchange_weak(entry->next, entry, std::memory_order_acq_rel)) {
  }
  return entry->path;
}

}  // namespace

namespace {

const Site* resolve_now(Symbol symbol, const void* caller, const char* fallback) {
  const Reserve reserve;
  Target target;
  std::string looked;
  if (!find_target(symbol, caller, fallback, target, looked)) {
    std::fprintf(stderr,
                 "blaslift: no BLAS/LAPACK underneath: looked for %s.\n"
                 "blaslift: link the program with one (-Wl,--no-as-needed -lblaslift -lblas), or name one: "
                 "BLASLIFT_FALLBACK=/path/to/libblas.so.3\n",
                 looked.c_str());
    std::abort();
  }
  // In a handler nothing is registered: the C library may be in the middle of something.
  const bool keep =
      !in_handler() && may_keep(caller) && site_count.fetch_add(1, std::memory_order_relaxed) < most_sites;
  // For this call only.  Several, because a library underneath may call us again from within it.
  static thread_local Site passing[16];
  static thread_local unsigned next_passing = 0;
  Site* site = keep ? new Site : &passing[next_passing++ % std::size(passing)];
  site->symbol = symbol;
  site->wide = target.wide;
  site->twin = is_twin(symbol, caller);
  site->counter = static_cast<std::uint8_t>(site->twin ? routine_count : static_cast<int>(info(symbol).routine));
  site->function = target.function;
  site->library = interned(target.library);
  site->found_by = target.found_by;
  site->caller.store(caller, std::memory_order_release);
  if (keep) {
    auto& bucket = sites[site_bucket(symbol, caller)];
    site->next = bucket.load(std::memory_order_acquire);
    while (!bucket.compare_exchange_weak(site->next, site, std::memory_order_acq_rel)) {
    }
  }
  return site;
}

const Site* beside_now(Symbol symbol, const Site& of, const char* fallback) {
  const Reserve reserve;
  Target target;
  std::string looked;
  return find_target(symbol, of.function, fallback, target, looked) ? resolve_now(symbol, of.function, fallback)
                                                                    : nullptr;
}

/// Several times what finding a function takes, with the loader's part of it.
constexpr unsigned long room = 256 << 10;

}  // namespace

const Site* resolve_site(Symbol symbol, const void* caller, const char* fallback) {
  const Site* site = nullptr;
  undisturbed([&] { with_room(room, [&] { site = resolve_now(symbol, caller, fallback); }); });
  return site;
}

const Site* site_beside(const Site& of, Routine routine, const char* fallback) {
  const Symbol symbol = symbol_beside(of.symbol, routine);
  const Site* site = known_site(symbol, of.function);
  if (!site) undisturbed([&] { with_room(room, [&] { site = beside_now(symbol, of, fallback); }); });
  return site;
}

}  // namespace blaslift
