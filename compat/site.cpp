#include "compat/site.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "compat/library.hpp"

namespace blaslift {

constinit std::atomic<Site*> sites[site_buckets] = {};

namespace {

// Programs that generate code call from ever new addresses; past this many sites the answer is not kept.
constexpr int most_sites = 65536;
constinit std::atomic<int> site_count{0};
constexpr std::uint64_t no_code = 0;

/// Whether the eight bytes before `caller` lie in the same loaded segment, so that reading them is safe.
bool code_readable(const void* caller) {
  struct Query {
    std::uintptr_t at;
    bool found;
  } query{reinterpret_cast<std::uintptr_t>(caller), false};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& q = *static_cast<Query*>(data);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& p = object->dlpi_phdr[i];
          const std::uintptr_t start = object->dlpi_addr + p.p_vaddr;
          if (p.p_type == PT_LOAD && (p.p_flags & PF_R) && start + 8 <= q.at && q.at <= start + p.p_memsz)
            q.found = true;
        }
        return q.found ? 1 : 0;
      },
      &query);
  return query.found;
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
  Entry* entry = new Entry{strdup(path.c_str()), entries.load(std::memory_order_acquire)};
  while (!entries.compare_exchange_weak(entry->next, entry, std::memory_order_acq_rel)) {
  }
  return entry->path;
}

}  // namespace

const Site* resolve_site(Symbol symbol, const void* caller, const char* fallback) {
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
  const bool twin = is_twin(symbol, caller);
  const Site found{.caller = caller,
                   .symbol = symbol,
                   .wide = target.wide,
                   .twin = twin,
                   .counter = static_cast<std::uint8_t>(twin ? routine_count : static_cast<int>(info(symbol).routine)),
                   .function = target.function,
                   .code = &no_code,
                   .code_was = 0,
                   .library = interned(target.library),
                   .found_by = target.found_by,
                   .next = nullptr};
  const bool keep = site_count.fetch_add(1, std::memory_order_relaxed) < most_sites;
  static thread_local Site passing;
  Site* site = keep ? new Site(found) : &(passing = found);
  if (code_readable(caller)) {
    site->code = static_cast<const char*>(caller) - 8;
    std::memcpy(&site->code_was, site->code, sizeof site->code_was);
  }
  if (keep) {
    auto& bucket = sites[site_bucket(symbol, caller)];
    site->next = bucket.load(std::memory_order_acquire);
    while (!bucket.compare_exchange_weak(site->next, site, std::memory_order_acq_rel)) {
    }
  }
  return site;
}

}  // namespace blaslift
