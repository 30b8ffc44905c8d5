#include "compat/library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace blaslift {
namespace {

const char* basename_of(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/// Handle of an object that is loaded already, or null.  The caller closes it.
void* handle_of(const char* name) { return dlopen(name && *name ? name : nullptr, RTLD_LAZY | RTLD_NOLOAD); }

void* acceptable(void* function) { return function && !is_ours(function) ? function : nullptr; }

const link_map* object_of(const void* address) {
  Dl_info where{};
  link_map* map = nullptr;
  if (!address || !dladdr1(address, &where, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP)) return nullptr;
  return map;
}

/// An object and its dependencies, breadth first, as the loader orders them.
std::vector<const link_map*> tree_of(const link_map* root) {
  std::vector<const link_map*> tree{root};
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const link_map* object = tree[i];
    const char* strings = nullptr;
    for (const ElfW(Dyn)* d = object->l_ld; d && d->d_tag != DT_NULL; ++d)
      if (d->d_tag == DT_STRTAB) {
        // Some architectures leave the dynamic section unrelocated.
        const ElfW(Addr) at = d->d_un.d_ptr < object->l_addr ? d->d_un.d_ptr + object->l_addr : d->d_un.d_ptr;
        strings = reinterpret_cast<const char*>(at);
      }
    for (const ElfW(Dyn)* d = object->l_ld; strings && d && d->d_tag != DT_NULL; ++d) {
      if (d->d_tag != DT_NEEDED) continue;
      void* needed = handle_of(strings + d->d_un.d_val);
      if (!needed) continue;
      link_map* next = nullptr;
      const bool known = dlinfo(needed, RTLD_DI_LINKMAP, &next) == 0;
      dlclose(needed);  // the object that needs it keeps it loaded
      if (known && std::find(tree.begin(), tree.end(), next) == tree.end()) tree.push_back(next);
    }
  }
  return tree;
}

/// The first object of the tree, other than ourselves, that defines `name`.  dlsym alone would stop at us when we stand
/// among the dependencies or before the main program's.
void* search_tree(const std::vector<const link_map*>& tree, const char* name) {
  void* elsewhere = nullptr;  // found through an object, but not defined in it: a later one may define it
  for (const link_map* object : tree) {
    void* handle = handle_of(object->l_name);
    if (!handle) continue;
    void* function = acceptable(dlsym(handle, name));
    dlclose(handle);
    if (function && object_of(function) == object) return function;
    if (function && !elsewhere) elsewhere = function;
  }
  return elsewhere;
}

/// Looks `name` up for code in `caller`: an object that the program was started with sees the program's libraries in
/// the program's order (LAPACK linked after a BLAS of the program's choice calls that one); one that was opened later
/// sees its own.
void* search_dependencies(const link_map* caller, const char* name) {
  link_map* program = nullptr;
  if (void* handle = handle_of(nullptr)) {
    if (dlinfo(handle, RTLD_DI_LINKMAP, &program) != 0) program = nullptr;
    dlclose(handle);
  }
  if (program) {
    const std::vector<const link_map*> tree = tree_of(program);
    if (std::find(tree.begin(), tree.end(), caller) != tree.end()) return search_tree(tree, name);
  }
  return search_tree(tree_of(caller), name);
}

/// What the user preloads beside us stands before every library, for every caller.
void* search_preloaded(const char* name) {
  const char* list = std::getenv("LD_PRELOAD");
  for (std::string_view rest = list ? list : ""; !rest.empty();) {
    const std::size_t end = rest.find_first_of(": ");
    const std::string object(rest.substr(0, end));
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    void* handle = object.empty() ? nullptr : handle_of(object.c_str());
    if (!handle) continue;
    void* function = acceptable(dlsym(handle, name));
    link_map* map = nullptr;
    const bool its_own = function && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && object_of(function) == map;
    dlclose(handle);
    if (its_own) return function;
  }
  return nullptr;
}

void* search_every_object(const char* name) {
  void* self = handle_of(nullptr);
  if (!self) return nullptr;
  link_map* map = nullptr;
  void* function = nullptr;
  // Names first: looking up while walking would race with another thread's dlclose for longer than needed.
  std::vector<std::string> names;
  if (dlinfo(self, RTLD_DI_LINKMAP, &map) == 0)
    for (; map; map = map->l_next)
      if (map->l_name && *map->l_name) names.emplace_back(map->l_name);
  dlclose(self);
  for (const std::string& object : names) {
    void* handle = handle_of(object.c_str());
    if (!handle) continue;
    function = acceptable(dlsym(handle, name));
    dlclose(handle);
    if (function) break;
  }
  return function;
}

/// 64-bit integers?  isamax over a vector whose length reads 3 in 32 bits and negative in 64, where it answers 0.
bool probe_wide(void* function, const char* prefix) {
  const link_map* map = object_of(function);
  static const float x[3] = {1, 5, 2};
  static const std::int64_t n = static_cast<std::int64_t>(0xffffffff00000003ULL), one = 1;
  const std::string fortran = std::string(prefix) + "isamax_", cblas = std::string(prefix) + "cblas_isamax";
  auto look = [&](const std::string& name) {
    void* f = map ? search_tree(tree_of(map), name.c_str()) : nullptr;
    return f ? f : search_every_object(name.c_str());
  };
  if (void* f = look(fortran)) {
    using Isamax = int (*)(const std::int64_t*, const float*, const std::int64_t*);
    return reinterpret_cast<Isamax>(f)(&n, x, &one) == 0;
  }
  if (void* f = look(cblas)) {  // counts from 0: the maximum of the three stands at 1
    using Isamax = std::size_t (*)(std::int64_t, const float*, std::int64_t);
    return static_cast<std::uint32_t>(reinterpret_cast<Isamax>(f)(n, x, 1)) == 0;
  }
  return false;  // no way to ask: the names without a suffix are 32-bit by convention
}

/// The searches, in order, for one name.
void* search(const char* name, const link_map* caller, const char* fallback, const char*& found_by) {
  if (void* f = search_preloaded(name)) return found_by = "LD_PRELOAD", f;
  if (caller)
    if (void* f = search_dependencies(caller, name)) return found_by = "the caller's own libraries", f;
  if (void* f = acceptable(dlsym(RTLD_NEXT, name))) return found_by = "the next object in the global scope", f;
  if (void* f = acceptable(dlsym(RTLD_DEFAULT, name))) return found_by = "the global scope", f;
  if (void* f = search_every_object(name)) return found_by = "a loaded object", f;
  if (fallback && *fallback)
    if (void* handle = dlopen(fallback, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE))
      if (void* f = acceptable(dlsym(handle, name))) return found_by = "BLASLIFT_FALLBACK", f;
  return nullptr;
}

}  // namespace

void* find_function(const char* name, const void* caller, const char* fallback, const char*& found_by) {
  return search(name, object_of(caller), fallback, found_by);
}

bool is_ours(const void* address) {
  static const char here = 0;
  Dl_info self{}, other{};
  if (!dladdr(address, &other)) return false;
  if (dladdr(&here, &self) && self.dli_fbase == other.dli_fbase) return true;
  // A second copy (one preloaded, one linked) must not be taken for a BLAS: the two would call each other forever.
  return other.dli_fname && std::string_view(basename_of(other.dli_fname)).starts_with("libblaslift");
}

bool enclosing_function(const void* address, const void*& start) {
  Dl_info where{};
  const ElfW(Sym)* symbol = nullptr;
  const auto extra = reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol));
  if (!dladdr1(address, &where, extra, RTLD_DL_SYMENT) || !where.dli_saddr || !symbol) return false;
  const auto* first = static_cast<const char*>(where.dli_saddr);
  start = first;
  return static_cast<const char*>(address) < first + symbol->st_size + 1;  // a return address may be one past a call
}

bool find_target(Symbol symbol, const void* caller, const char* fallback, Target& target, std::string& looked) {
  const SymbolInfo& wanted = info(symbol);
  const link_map* map = object_of(caller);

  void* f = search(wanted.name, map, fallback, target.found_by);
  if (f) {
    target.wide = wanted.width == Width::wide || probe_wide(f, wanted.prefix);
  } else if (wanted.width == Width::wide && !*wanted.prefix) {
    // Debian's 64-bit libraries export the plain names.
    const std::string plain =
        wanted.interface == Interface::fortran ? std::string(wanted.base) + "_" : std::string("cblas_") + wanted.base;
    f = search(plain.c_str(), map, fallback, target.found_by);
    if (f && !probe_wide(f, wanted.prefix)) f = nullptr;
    target.wide = true;
  }
  if (!f) {
    looked = std::string(wanted.name) + " in " + (map && *map->l_name ? map->l_name : "the calling program") +
             " and its dependencies, in the global scope, in every loaded object" +
             (fallback && *fallback ? std::string(" and in BLASLIFT_FALLBACK=") + fallback
                                    : std::string("; BLASLIFT_FALLBACK is not set"));
    return false;
  }
  target.function = f;
  if (const link_map* found = object_of(f)) {
    target.library = *found->l_name ? found->l_name : "the program itself";
    // Cached addresses must outlive a dlclose by whoever loaded it.  The handle is kept on purpose.
    (void)dlopen(*found->l_name ? found->l_name : nullptr, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
  return true;
}

}  // namespace blaslift
