#include "compat/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compat/loading.hpp"
#include "compat/objects.hpp"
#include "compat/site.hpp"
#include "compat/trial.hpp"
#include "compat/undisturbed.hpp"

namespace blaslift {
namespace {

const link_map* object_of(const void* address) {
  Dl_info where{};
  link_map* map = nullptr;
  if (!address || !dladdr1(address, &where, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP)) return nullptr;
  return map;
}

bool is_among(std::span<const Object* const> tree, const Object* object) {
  return std::find(tree.begin(), tree.end(), object) != tree.end();
}

// ---------------------------------------------------------------------------------------------------------------
// How wide integers are

/// Functions of BLAS and LAPACK that do nothing where they are told of less than one element, and something otherwise.
/// @return whether it did something when told of n
using Acts = bool (*)(void* f, std::int64_t n);

template <class F>
F* as(void* f) {
  return reinterpret_cast<F*>(f);
}

constexpr std::int64_t one = 1;
using Size = const std::int64_t*;

struct Probe {
  const char* name;
  Acts acts;
};
// Fortran's names are of three elements, or of one, as Fortran counts them.
constexpr Probe fortran_probes[] = {
    {"isamax_",
     [](void* f, std::int64_t n) {
       static const float x[3] = {1, 5, 2};
       return as<int(Size, const float*, Size)>(f)(&n, x, &one) == 2;
     }},
    {"idamax_",
     [](void* f, std::int64_t n) {
       static const double x[3] = {1, 5, 2};
       return as<int(Size, const double*, Size)>(f)(&n, x, &one) == 2;
     }},
    {"dscal_",
     [](void* f, std::int64_t n) {
       double x[3] = {1, 5, 2};
       static const double two = 2;
       return as<void(Size, const double*, double*, Size)>(f)(&n, &two, x, &one), x[0] == 2;
     }},
    {"sscal_",
     [](void* f, std::int64_t n) {
       float x[3] = {1, 5, 2};
       static const float two = 2;
       return as<void(Size, const float*, float*, Size)>(f)(&n, &two, x, &one), x[0] == 2;
     }},
    {"dcopy_",
     [](void* f, std::int64_t n) {
       static const double x[3] = {1, 5, 2};
       double y[3] = {};
       return as<void(Size, const double*, Size, double*, Size)>(f)(&n, x, &one, y, &one), y[0] == 1;
     }},
    {"scopy_",
     [](void* f, std::int64_t n) {
       static const float x[3] = {1, 5, 2};
       float y[3] = {};
       return as<void(Size, const float*, Size, float*, Size)>(f)(&n, x, &one, y, &one), y[0] == 1;
     }},
    {"dlaset_",
     [](void* f, std::int64_t n) {
       static const double zero = 0, two = 2;
       static const std::int64_t lda = 3;
       double A[9] = {};
       using Laset = void(const char*, Size, Size, const double*, const double*, double*, Size, std::size_t);
       return as<Laset>(f)("A", &n, &n, &zero, &two, A, &lda, 1), A[0] == 2;
     }},
    {"slaset_",
     [](void* f, std::int64_t n) {
       static const float zero = 0, two = 2;
       static const std::int64_t lda = 3;
       float A[9] = {};
       using Laset = void(const char*, Size, Size, const float*, const float*, float*, Size, std::size_t);
       return as<Laset>(f)("A", &n, &n, &zero, &two, A, &lda, 1), A[0] == 2;
     }},
};
constexpr Probe cblas_probes[] = {
    {"cblas_isamax",
     [](void* f, std::int64_t n) {
       static const float x[3] = {1, 5, 2};
       return static_cast<std::uint32_t>(as<std::size_t(std::int64_t, const float*, std::int64_t)>(f)(n, x, 1)) == 1;
     }},
    {"cblas_idamax",
     [](void* f, std::int64_t n) {
       static const double x[3] = {1, 5, 2};
       return static_cast<std::uint32_t>(as<std::size_t(std::int64_t, const double*, std::int64_t)>(f)(n, x, 1)) == 1;
     }},
    {"cblas_dscal",
     [](void* f, std::int64_t n) {
       double x[3] = {1, 5, 2};
       return as<void(std::int64_t, double, double*, std::int64_t)>(f)(n, 2, x, 1), x[0] == 2;
     }},
    {"cblas_sscal",
     [](void* f, std::int64_t n) {
       float x[3] = {1, 5, 2};
       return as<void(std::int64_t, float, float*, std::int64_t)>(f)(n, 2, x, 1), x[0] == 2;
     }},
    {"cblas_dcopy",
     [](void* f, std::int64_t n) {
       static const double x[3] = {1, 5, 2};
       double y[3] = {};
       return as<void(std::int64_t, const double*, std::int64_t, double*, std::int64_t)>(f)(n, x, 1, y, 1), y[0] == 1;
     }},
    {"cblas_scopy",
     [](void* f, std::int64_t n) {
       static const float x[3] = {1, 5, 2};
       float y[3] = {};
       return as<void(std::int64_t, const float*, std::int64_t, float*, std::int64_t)>(f)(n, x, 1, y, 1), y[0] == 1;
     }},
};

/// 64-bit integers?  Asked by a length that reads 3 in 32 bits and negative in 64, of functions that stand in one
/// object with this one, in its version: another's have nothing to say about it.  None: no way to ask.
std::optional<bool> probed_width(void* function, const Definition& found, const std::string& prefix,
                                 Interface interface) {
  const auto ask = [&](std::span<const Probe> probes, bool& wide) {
    for (const Probe& probe : probes) {
      const std::string name = prefix + probe.name;
      Definition its;
      look_at_objects([&](Objects& objects) {
        const Object* library = objects.around(found.at ? found.at : function);
        if (!library) return;
        its = find_definition(*library, name.c_str(), {found.version != nullptr, found.version});
        if (!its) its = find_definition(*library, name.c_str());
      });
      void* f = its ? its.function() : nullptr;
      if (!f) continue;
      constexpr auto either = static_cast<std::int64_t>(0xffffffff00000003ULL);
      if (probe.acts(f, either)) return wide = false, true;
      if (probe.acts(f, 3)) return wide = true, true;
    }
    return false;
  };
  bool wide = false;
  const bool by_fortran = interface == Interface::fortran;
  const std::span<const Probe> first = by_fortran ? std::span<const Probe>(fortran_probes) : cblas_probes;
  const std::span<const Probe> second = by_fortran ? std::span<const Probe>(cblas_probes) : fortran_probes;
  return ask(first, wide) || ask(second, wide) ? std::optional<bool>(wide) : std::nullopt;
}
bool probe_wide(void* function, const Definition& found, const std::string& prefix, Interface interface) {
  // No way to ask: the names without a suffix are 32-bit by convention, and sizes read so are right in 64 bits, too.
  return probed_width(function, found, prefix, interface).value_or(false);
}

// ---------------------------------------------------------------------------------------------------------------
// The searches

bool symbol_named(const char* name, Symbol& symbol) {
  for (int i = 0; i < symbol_count; ++i)
    if (!std::strcmp(symbol_table[i].name, name)) return symbol = static_cast<Symbol>(i), true;
  return false;
}

struct Range {
  std::uintptr_t start = 0, end = 0;
};

Range range_of(const Object& object) {
  Range range{UINTPTR_MAX, 0};
  for (const ElfW(Phdr) & p : object.segments) {
    if (p.p_type != PT_LOAD) continue;
    range.start = std::min<std::uintptr_t>(range.start, object.base + p.p_vaddr);
    range.end = std::max<std::uintptr_t>(range.end, object.base + p.p_vaddr + p.p_memsz);
  }
  return range;
}

/// Looks one name up for one caller.
class Search {
 public:
  /// @param beside  `caller` is no code that calls, but a function of the library in which to look first
  /// @param frame   where the call stands on its thread's stack
  Search(const char* name, const void* caller, const void* frame, const char* fallback, bool beside)
      : name_(name), caller_(caller), fallback_(fallback && *fallback ? fallback : nullptr), beside_(beside) {
    is_symbol_ = symbol_named(name, symbol_);
    if (is_symbol_) products_ = products_of(info(symbol_).routine);
    look_at_objects([this](Objects& objects) {
      const Object* object = objects.around(caller_);
      const Object* ours = objects.ours();
      from_start_ = !object || object->from_start;
      by_ours_ = object && ours && object == ours && !beside_;
      late_ = !ours || !ours->from_start;
      if (!object) return;
      version_ = beside_ ? version_at(*object, caller_) : reference_in(*object, name_);
      linked_ = version_.linked;
      if (!from_start_) behind_ours_ = is_among(objects.tree(*object), ours);
    });
    frame_ = reinterpret_cast<std::uintptr_t>(frame);
  }

  /// 64-bit integers are promised: functions that probe otherwise are not taken.
  bool wide_only = false;

  bool run() {
    if (!in_handler() && !locks_may_be_lost()) end_loading_at_exit();
    // What the loader would take first, then whatever version there is.
    const bool strict = version_.name != nullptr;
    if (strict && (nearby() || step(Where::everywhere, "a loaded object"))) return true;
    version_ = beside_ && !strict ? version_ : Version{version_.linked && !strict, nullptr};
    if (nearby() || step(Where::everywhere, "a loaded object")) return true;
    if (fallback_ && opened(fallback_, "BLASLIFT_FALLBACK", true)) return true;
    if (step(Where::in_front, "an object in front of blaslift")) return true;
    if (called_by_itself()) return true;
    return caller_ && by_itself();
  }

  void* function() const { return function_; }
  const Definition& definition() const { return found_; }
  const char* found_by() const { return found_by_; }
  /// Not, if what was found may be on its way to us: then it shows when it comes back.
  bool settled() const { return settled_; }
  FirstCall first_call() const { return {symbol_, function_, caller_, frame_}; }
  bool is_symbol() const { return is_symbol_; }
  bool is_nearby() const { return is_nearby_; }

 private:
  enum class Where { preloaded, own_tree, start, everywhere, in_front };

  bool nearby() { return is_nearby_ = look_nearby(); }
  bool look_nearby() {
    if (step(Where::preloaded, "LD_PRELOAD")) return true;
    // Got by dlsym from the library that has brought us, it is meant to be that library's.
    const bool own_first = linked_ || !late_ || behind_ours_ || beside_;
    if (!from_start_ && own_first && step(Where::own_tree, "the caller's own libraries")) return true;
    if (step(Where::start, from_start_ ? "the caller's own libraries" : "the global scope")) return true;
    if (next(RTLD_NEXT, "the next object in the global scope")) return true;
    if (!from_start_ && !own_first && step(Where::own_tree, "the caller's own libraries")) return true;
    return next(RTLD_DEFAULT, "the global scope");
  }

  /// Every call passes through what stands before us in the global scope: where it gets to us, it has been led on from
  /// there, and would come back.
  bool in_front(const Objects& objects, const Object& x) const {
    return x.from_start && (late_ || &x < objects.ours());
  }

  bool refused(const void* at) const { return std::find(refused_.begin(), refused_.end(), at) != refused_.end(); }

  Definition in(const Object& x) const {
    if (x.passed_over) return {};
    const Definition found = find_definition(x, name_, version_);
    return found && !refused(found.at) ? found : Definition{};
  }

  Definition look(Objects& objects, Where where) const {
    if (where == Where::own_tree) {
      const Object* object = objects.around(caller_);
      if (!object) return {};
      const auto tree = objects.tree(*object);
      const auto ours = late_ && !beside_ ? std::find(tree.begin(), tree.end(), objects.ours()) : tree.end();
      for (auto x = ours == tree.end() ? tree.begin() : ours + 1; x != tree.end(); ++x)
        if (ours != tree.end() || beside_ || !in_front(objects, **x))
          if (const Definition found = in(**x)) return found;
      return {};
    }
    for (const Object& x : objects.all()) {
      if (in_front(objects, x) != (where == Where::in_front)) continue;
      if (where == Where::preloaded && !x.preloaded) continue;
      if (where == Where::start && !x.from_start) continue;
      if (const Definition found = in(x)) return found;
    }
    return {};
  }

  bool step(Where where, const char* text) {
    for (;;) {
      Definition found;
      look_at_objects([&](Objects& objects) { found = look(objects, where); });
      if (!found) return false;
      // Objects that have nothing to do with the caller may just be loaded or unloaded: dladdr waits until that is
      // done.
      Dl_info at{};
      if (where == Where::everywhere && !dladdr(found.at, &at)) return false;
      if (accept(found, text, where == Where::in_front)) return true;
    }
  }

  /// What the loader finds from here.
  bool next(void* from, const char* text) {
    void* f = dlsym(from, name_);
    if (!f) return false;
    Definition found;
    look_at_objects([&](Objects& objects) {
      const Object* object = objects.around(f);
      if (!object || object->passed_over || (from == RTLD_DEFAULT && in_front(objects, *object))) return;
      found = in(*object);
      if (!found && !version_.name) found = {f, false, 0, nullptr};  // an IFUNC's, or generated
      if (refused(found.at)) found = {};
    });
    return found && accept(found, text, false);
  }

  /// In a library that is opened for good, and what it needs.
  bool opened(const char* path, const char* text, bool needed) {
    const Loading loading;
    if (!needed && !loading.allowed()) return false;
    void* handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    link_map* map = nullptr;
    if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return false;
    for (;;) {
      Definition found;
      look_at_objects([&](Objects& objects) {
        const Object* root = objects.around(map->l_ld);
        if (!root) return;
        for (const Object* x : objects.tree(*root))
          if ((found = in(*x))) return;
      });
      if (!found) return false;
      if (accept(found, text, false)) return true;
    }
  }

  /// What the system has under the usual names, in the width that the name says.
  bool by_itself() {
    const bool wide = std::strstr(name_, "64") != nullptr || wide_only;
    constexpr const char* narrow_ones[] = {"libblas.so.3", "liblapack.so.3", "libcblas.so.3", "libopenblas.so.0"};
    constexpr const char* wide_ones[] = {"libblas64.so.3", "liblapack64.so.3", "libopenblas64.so.0",
                                         "libopenblas64_.so.0"};
    for (const char* library : wide ? wide_ones : narrow_ones)
      if (opened(library, "itself", false)) return true;
    return false;
  }

  /// A function in which the call itself stands, and there is no other: it may be one that calls itself for parts.
  bool called_by_itself() {
    if (!is_symbol_ || !inside_) return false;
    void* f = inside_.function();
    if (comes_back(symbol_, f)) return false;
    forget_goes_on(inside_.at);
    return take(inside_, f, "the caller's own libraries");
  }

  bool take(const Definition& found, void* f, const char* text) {
    found_ = found;
    function_ = f;
    found_by_ = text;
    return true;
  }

  /// Of a batch of products: whether its object tells how wide integers are, or has the gemm of the same set of names.
  /// Libraries that rename what they export have left out such new ones, whose integers are not those of their names.
  bool tells_its_width(void* f, const Definition& found) const {
    const SymbolInfo& batch = info(symbol_);
    if (batch.width == Width::wide || probed_width(f, found, batch.prefix, batch.interface)) return true;
    bool has_gemm = true;  // generated code is in no object
    look_at_objects([&](Objects& objects) {
      if (const Object* its = objects.around(found.at))
        has_gemm = bool{find_definition(*its, info(symbol_beside(symbol_, products_)).name)};
    });
    return has_gemm;
  }

  /// False: it goes on to us, or is not what is wanted, and was refused.
  bool accept(const Definition& found, const char* text, bool suspicious) {
    void* f = found.function();
    const auto refuse = [&] {
      refused_.push_back(found.at);
      return false;
    };
    if (!f || goes_on(found.at, beside_ ? nullptr : caller_)) return refuse();
    if (wide_only && !probe_wide(f, found, "", is_symbol_ ? info(symbol_).interface : Interface::fortran))
      return refuse();
    if (products_ != Routine::count && !tells_its_width(f, found)) return refuse();
    if (beside_) return take(found, f, text);

    const auto at = reinterpret_cast<std::uintptr_t>(caller_), start = reinterpret_cast<std::uintptr_t>(found.at);
    Range object;
    bool own = false;  // the caller is in its object, or in what that needs
    look_at_objects([&](Objects& objects) {
      const Object* its = objects.around(found.at);
      const Object* callers = objects.around(caller_);
      if (!its) return;
      object = range_of(*its);
      own = callers && is_among(objects.tree(*its), callers);
    });
    // A return address may be one past a call, the last of the function.
    if (!found.resolver && start < at && at <= start + found.size) {
      inside_ = found;
      note_goes_on(found.at, object.start, object.end, false);
      return refuse();
    }
    if (!is_symbol_) return suspicious ? refuse() : take(found, f, text);
    const FirstCall call{symbol_, f, caller_, frame_};
    const bool tried = suspicious || by_ours_ || may_be_inside(call);
    if (tried && comes_back(symbol_, f)) {
      note_goes_on(found.at, object.start, object.end, true);
      forget_sites_of(f);
      return refuse();
    }
    settled_ = !by_ours_ && (!own || tried || seen_before(call));
    return take(found, f, text);
  }

  const char* name_;
  const void* caller_;
  const char* fallback_;
  bool beside_, is_symbol_ = false;
  Symbol symbol_{};
  Routine products_ = Routine::count;  ///< of which a batch is made
  Version version_;
  bool from_start_ = true;    ///< the caller was there when the program started, or is none
  bool linked_ = false;       ///< it has a reference to the name
  bool by_ours_ = false;      ///< it is us: what we have called has left its call to us, by a jump
  bool late_ = false;         ///< we are not from the start
  bool behind_ours_ = false;  ///< we are among the caller's own libraries
  std::uintptr_t frame_ = 0;
  std::vector<const void*> refused_;
  Definition inside_;

  Definition found_;
  void* function_ = nullptr;
  const char* found_by_ = "";
  bool is_nearby_ = false;
  bool settled_ = true;
};

/// Whether this process runs with a sanitizer's runtime that looks at every dlopen; built into the program, it need not
/// be among the names that the program exports.
bool has_sanitizer() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  for (const char* name : {"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init"})
    if (dlsym(RTLD_DEFAULT, name)) return true;
  bool in_program = false;  // linked statically, it may show by nothing else
  look_at_objects([&](Objects& objects) { in_program = bool{find_definition(objects.program(), "dlopen")}; });
  return in_program;
#endif
}

}  // namespace

void* find_function(const char* name, const void* caller, const char* fallback, const char*& found_by) {
  Search search(name, caller, __builtin_frame_address(0), fallback, false);
  if (!search.run()) return nullptr;
  found_by = search.found_by();
  return search.function();
}

bool find_in(const char* path, Routine routine, Symbol& symbol, Target& target, std::string& why) {
  const Loading loading;
  if (!loading.allowed()) return why = "the process is exiting", false;
  // Its own LAPACK shall call its own BLAS.  Sanitizers cannot see into libraries that are bound like that, and end a
  // program that asks for it.
  const int own = has_sanitizer() ? 0 : RTLD_DEEPBIND;
  // Where there was no memory for the last of it, glibc leaves a library behind that it finds the next time, and whose
  // constructors have never run.
  static constinit std::atomic<std::size_t> unopened{0};
  const std::size_t name = std::hash<std::string_view>()(path);
  if (unopened.load(std::memory_order_relaxed) == name)
    return why = std::string(path) + " could not be opened before", false;
  void* handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE | own);
  if (!handle) {
    unopened.store(name, std::memory_order_relaxed);
    const char* error = dlerror();
    return why = error ? error : std::string(path) + " cannot be opened", false;
  }
  for (int i = 0; i < symbol_count; ++i) {
    const SymbolInfo& candidate = symbol_table[i];
    if (candidate.routine != routine || candidate.interface != Interface::fortran) continue;
    Definition found;
    if (void* f = dlsym(handle, candidate.name))
      look_at_objects([&](Objects& objects) {
        const Object* object = objects.around(f);
        if (!object || object->passed_over) return;
        found = find_definition(*object, candidate.name);
        if (!found) found = {f, false, 0, nullptr};
      });
    void* f = found.function();
    if (!f) continue;
    symbol = static_cast<Symbol>(i);
    target.function = f;
    target.wide = candidate.width == Width::wide || probe_wide(f, found, candidate.prefix, Interface::fortran);
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

namespace {

bool find(Symbol symbol, const void* caller, const void* frame, const char* fallback, bool beside, Target& target) {
  const SymbolInfo& wanted = info(symbol);
  const auto filled = [&](const Search& search, bool wide) {
    target.function = search.function();
    target.wide = wide;
    target.found_by = search.found_by();
    target.nearby = search.is_nearby();
    target.settled = search.settled();
    if (const link_map* found = object_of(target.function))
      target.library = *found->l_name ? found->l_name : "the program itself";
    if (!beside && search.is_symbol()) note_first_call(search.first_call());
    return true;
  };
  Search search(wanted.name, caller, frame, fallback, beside);
  if (search.run())
    return filled(search, wanted.width == Width::wide ||
                              probe_wide(search.function(), search.definition(), wanted.prefix, wanted.interface));
  if (wanted.width != Width::wide || *wanted.prefix) return false;
  // Debian's 64-bit libraries export the plain names.
  const std::string plain =
      wanted.interface == Interface::fortran ? std::string(wanted.base) + "_" : std::string("cblas_") + wanted.base;
  Search plainly(plain.c_str(), caller, frame, fallback, beside);
  plainly.wide_only = true;
  return plainly.run() && filled(plainly, true);
}

}  // namespace

bool find_target(Symbol symbol, const void* caller, const char* fallback, Target& target, std::string& looked,
                 const void* frame) {
  if (find(symbol, caller, frame ? frame : __builtin_frame_address(0), fallback, false, target)) return true;
  const link_map* map = object_of(caller);
  looked = std::string(info(symbol).name) + " in " + (map && *map->l_name ? map->l_name : "the calling program") +
           " and its dependencies, in the global scope, in every loaded object" +
           (fallback && *fallback ? std::string(" and in BLASLIFT_FALLBACK=") + fallback
                                  : std::string("; BLASLIFT_FALLBACK is not set"));
  return false;
}

bool find_beside(Symbol symbol, const void* function, const char* fallback, Target& target) {
  return find(symbol, function, __builtin_frame_address(0), fallback, true, target);
}

}  // namespace blaslift
