#include "compat/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "compat/loading.hpp"
#include "compat/objects.hpp"
#include "compat/undisturbed.hpp"

namespace blaslift {
namespace {

bool is_passed_over(const void* address) {
  bool passed_over = false;
  look_at_objects([&](Objects& objects) {
    const Object* object = objects.around(address);
    passed_over = object && object->passed_over;
  });
  return passed_over;
}

void* acceptable(void* function) { return function && !is_passed_over(function) ? function : nullptr; }

const link_map* object_of(const void* address) {
  Dl_info where{};
  link_map* map = nullptr;
  if (!address || !dladdr1(address, &where, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP)) return nullptr;
  return map;
}

/// What LD_PRELOAD names.
std::vector<std::string> preloaded() {
  std::vector<std::string> names;
  any_preloaded([&](std::string_view name) {
    names.emplace_back(name);
    return false;
  });
  return names;
}

bool is_among(std::span<const Object* const> tree, const Object* object) {
  return std::find(tree.begin(), tree.end(), object) != tree.end();
}

/// `name` in one object, unless that is passed over.
Definition search_object(const Object* object, const char* name) {
  return object && !object->passed_over ? find_definition(*object, name) : Definition{};
}

/// The first object of the tree, other than ourselves, that defines `name`.  dlsym would stop at us when we stand among
/// the dependencies or before the main program's.
Definition search_tree(std::span<const Object* const> tree, const char* name) {
  for (const Object* object : tree)
    if (const Definition found = search_object(object, name)) return found;
  return {};
}

/// Looks `name` up for code at `caller`: an object that the program was started with sees the program's libraries in
/// the program's order (LAPACK linked after a BLAS of the program's choice calls that one); one that was opened later
/// sees its own.
Definition search_dependencies(Objects& objects, const void* caller, const char* name) {
  const Object* object = objects.around(caller);
  if (!object) return {};
  const auto program = objects.tree(objects.program());
  return search_tree(is_among(program, object) ? program : objects.tree(*object), name);
}

/// What the user preloads beside us stands before every library, for every caller.
Definition search_preloaded(const Objects& objects, const std::vector<std::string>& names, const char* name) {
  for (const std::string& object : names)
    if (const Definition found = search_object(objects.named(object.c_str()), name)) return found;
  return {};
}

Definition search_every_object(const Objects& objects, const char* name) {
  for (const Object& object : objects.all())
    if (const Definition found = search_object(&object, name)) return found;
  return {};
}

/// The function found in an object that may have nothing to do with the caller: another thread may just be loading or
/// unloading it.  dladdr waits until that is done.
void* once_loaded(const Definition& found) {
  Dl_info where{};
  return found && dladdr(found.at, &where) ? found.function() : nullptr;
}

/// 64-bit integers?  isamax over a vector whose length reads 3 in 32 bits and negative in 64, where it answers 0.
bool probe_wide(void* function, const char* prefix) {
  static const float x[3] = {1, 5, 2};
  static const std::int64_t n = static_cast<std::int64_t>(0xffffffff00000003ULL), one = 1;
  const std::string fortran = std::string(prefix) + "isamax_", cblas = std::string(prefix) + "cblas_isamax";
  auto look = [&](const std::string& name) {
    Definition found;
    look_at_objects([&](Objects& objects) {
      if (const Object* library = objects.around(function)) found = search_tree(objects.tree(*library), name.c_str());
      if (!found) found = search_every_object(objects, name.c_str());
    });
    return once_loaded(found);
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
void* search(const char* name, const void* caller, const char* fallback, const char*& found_by) {
  if (!in_handler() && !locks_may_be_lost()) end_loading_at_exit();
  const std::vector<std::string> preloads = preloaded();
  Definition found;
  look_at_objects([&](Objects& objects) {
    found_by = "LD_PRELOAD";
    if ((found = search_preloaded(objects, preloads, name))) return;
    found_by = "the caller's own libraries";
    found = search_dependencies(objects, caller, name);
  });
  if (void* f = found.function()) return f;
  if (void* f = acceptable(dlsym(RTLD_NEXT, name))) return found_by = "the next object in the global scope", f;
  if (void* f = acceptable(dlsym(RTLD_DEFAULT, name))) return found_by = "the global scope", f;
  look_at_objects([&](Objects& objects) { found = search_every_object(objects, name); });
  if (void* f = once_loaded(found)) return found_by = "a loaded object", f;
  if (!fallback || !*fallback) return nullptr;
  const Loading loading;  // allowed or not: without it there would be no result
  if (void* handle = dlopen(fallback, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE))
    if (void* f = acceptable(dlsym(handle, name))) return found_by = "BLASLIFT_FALLBACK", f;
  return nullptr;
}

/// Whether the object around `address` came with the program and is never unloaded.
bool there_from_the_start(const void* address) {
  const std::vector<std::string> preloads = preloaded();
  bool found = false;
  look_at_objects([&](Objects& objects) {
    const Object* object = objects.around(address);
    found = is_among(objects.tree(objects.program()), object);
    for (const std::string& name : preloads)
      if (const Object* preload = objects.named(name.c_str()); preload && !found)
        found = is_among(objects.tree(*preload), object);
  });
  return found;
}

/// Cached addresses must outlive a dlclose by whoever loaded the object.
void pin(const void* address, const char* object) {
  if (in_handler() || there_from_the_start(address)) return;  // of a call from a handler nothing is kept
  const Loading loading;
  if (loading.allowed())
    (void)dlopen(object, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);  // the handle is kept on purpose
}

}  // namespace

void* find_function(const char* name, const void* caller, const char* fallback, const char*& found_by) {
  return search(name, caller, fallback, found_by);
}

bool find_in(const char* path, Routine routine, Symbol& symbol, Target& target, std::string& why) {
  const Loading loading;
  if (!loading.allowed()) return why = "the process is exiting", false;
    // Its own LAPACK shall call its own BLAS.  Sanitizers cannot see into libraries that are bound like that.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int own = 0;
#else
  constexpr int own = RTLD_DEEPBIND;
#endif
  void* handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE | own);
  if (!handle) {
    const char* error = dlerror();
    return why = error ? error : std::string(path) + " cannot be opened", false;
  }
  for (int i = 0; i < symbol_count; ++i) {
    const SymbolInfo& candidate = symbol_table[i];
    if (candidate.routine != routine || candidate.interface != Interface::fortran) continue;
    void* f = acceptable(dlsym(handle, candidate.name));
    if (!f) continue;
    symbol = static_cast<Symbol>(i);
    target.function = f;
    target.wide = candidate.width == Width::wide || probe_wide(f, candidate.prefix);
    target.library = path;
    target.found_by = "its name";
    return true;
  }
  return why = std::string(path) + " has no " + name_of(routine), false;
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

  void* f = search(wanted.name, caller, fallback, target.found_by);
  if (f) {
    target.wide = wanted.width == Width::wide || probe_wide(f, wanted.prefix);
  } else if (wanted.width == Width::wide && !*wanted.prefix) {
    // Debian's 64-bit libraries export the plain names.
    const std::string plain =
        wanted.interface == Interface::fortran ? std::string(wanted.base) + "_" : std::string("cblas_") + wanted.base;
    f = search(plain.c_str(), caller, fallback, target.found_by);
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
    pin(f, found->l_name);
  }
  return true;
}

}  // namespace blaslift
