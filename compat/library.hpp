// The library underneath: finding, for one caller, the function that its call would have reached without us, and asking
// that function's library how wide its integers are.
#pragma once
#include <string>

#include "compat/symbols.hpp"

namespace blaslift {

/// What a caller's call would have reached without us.
struct Target {
  void* function = nullptr;   ///< never null in a Target that `find_target` reports found
  bool wide = false;          ///< 64-bit integers
  bool nearby = false;        ///< by a search that begins with the caller, up to what dlsym finds from here
  bool settled = true;        ///< false: for this call only, which may come back
  std::string library;        ///< path of the object that defines `function`
  const char* found_by = "";  ///< which of the searches below found it
};

/// Finds `symbol` for code at address `caller`, in this order: what is preloaded behind us (LD_PRELOAD); for code that
/// was opened later, its object and its dependencies, breadth first; what the program was started with, in the loader's
/// order; what dlsym finds from here; every loaded object; the library that `fallback` names (a path, may be null);
/// what stands before us in the global scope, through which the call must have come; the system's libraries by their
/// usual names.  An object counts with the version of the name that the caller was linked with, if it was with one.
///
/// Passed over are all copies of blaslift, libblastrampoline, the function in which the call stands, and every function
/// that goes on to us (compat/trial.hpp).  A 64-bit name that no library defines is looked for once more under its
/// plain name, in libraries that probe as 64-bit.  Objects are looked at, not opened (compat/objects.hpp says why), so
/// that a call may come at any time, also when the process's exit has finalised them.
/// @param looked  receives, when nothing is found, the list of what was looked for.
/// @param frame   where the call stands on its thread's stack, if this is another one; null: here
/// @return whether a function was found.  Takes no lock of ours and may run in a forked child.
bool find_target(Symbol symbol, const void* caller, const char* fallback, Target& target, std::string& looked,
                 const void* frame = nullptr);

/// The same for us, beside `function` of a library underneath.
bool find_beside(Symbol symbol, const void* function, const char* fallback, Target& target);

/// The searches of find_target for a name of any kind; null if nothing has it.
void* find_function(const char* name, const void* caller, const char* fallback, const char*& found_by);

/// The Fortran function of a routine in the library at `path`, whatever else is loaded; opens it for good, by itself as
/// far as that goes.  False with a sentence in `why`.
bool find_in(const char* path, Routine routine, Symbol& symbol, Target& target, std::string& why);

/// Name and extent of the dynamic symbol around `address`; false where the loader knows none.
bool enclosing_function(const void* address, const void*& start);

}  // namespace blaslift
