// The loaded objects and what they define, looked at without the loader's help: its dlopen, even with RTLD_NOLOAD, runs
// constructors a second time once the process's exit has run destructors.
#pragma once
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "compat/environment.hpp"

namespace blaslift {

/// A loaded object: the program, a library or a plugin.  Its tables are null where it has none.
struct Object {
  const char* name;     ///< path as the loader has it; empty for the program
  std::uintptr_t base;  ///< what is added to the addresses in its file
  std::span<const ElfW(Phdr)> segments;
  const ElfW(Dyn) * dynamic;
  const char* strings;
  const char* soname;
  const ElfW(Sym) * symbols;
  const ElfW(Half) * versions;
  const ElfW(Verdef) * defined_versions;
  const ElfW(Verneed) * needed_versions;
  const std::uint32_t *gnu_hash, *hash;
  bool ours;         ///< this very library
  bool passed_over;  ///< never what lies underneath: never_underneath(), or this very library
  bool preloaded;    ///< LD_PRELOAD names it
  bool from_start;   ///< there since the program was started: in the tree of the program or of what is preloaded

  bool contains(const void* address) const;
};

/// Whether `is` holds for a name in LD_PRELOAD, asked in their order.  Allocates nothing.
template <class Is>
bool any_preloaded(Is is) {
  const char* list = variable("LD_PRELOAD");
  for (std::string_view rest = list ? list : ""; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(": "), rest.size());
    if (end != 0 && is(rest.substr(0, end))) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

/// dl_iterate_phdr, which waits for a lock of the C library's.  No fork resets that in the child, so a child of a
/// process with threads may wait for a thread that it does not have, and walks through the objects without it.
int for_each_object(int (*look)(dl_phdr_info* object, std::size_t size, void* data), void* data);

/// Whether this is such a child: whoever held a lock of the C library's may be missing.  atexit has one, too.
bool locks_may_be_lost();

/// Whether objects can be opened all the same: a thread of our own tries the locks that it takes, for half a second.
bool locks_are_free();

/// In a forked child.  Only stores.
void forget_lost_locks();

/// Whether an object of this path is a copy of blaslift or a module of it.
bool named_as_ours(const char* path);

/// Whether it is one, or libblastrampoline: that forwards to whatever library it was told to, which may be ours.
bool never_underneath(const char* path);

/// A function as an object defines it.
struct Definition {
  void* at = nullptr;
  bool resolver = false;          ///< what stands there says where the function is (STT_GNU_IFUNC)
  std::size_t size = 0;           ///< in bytes; 0: not known
  const char* version = nullptr;  ///< in the object's memory; null: none

  explicit operator bool() const { return at != nullptr; }
  /// The function's address, null if there is none.  Calls the resolver, so not while looking at objects.
  void* function() const;
};

/// Which of several versions of a function is wanted, as the loader has it: dlsym gives the newest one; a reference
/// gets the one that it names, and where it names none what the library had first.
struct Version {
  bool linked = false;         ///< by a reference
  const char* name = nullptr;  ///< of the version that it names
};

/// The function `name` of an object's own.
Definition find_definition(const Object& object, const char* name, Version version = {});

/// Whether what was registered for the object's unloading has been run already, by its last destructors' time.  As
/// GCC's start files note it; false where they are not to be seen.
bool is_finalised(const Object& object);

/// How the object's own code refers to `name`.
Version reference_in(const Object& object, const char* name);

/// The version under which an object defines what stands at this very address.
Version version_at(const Object& object, const void* address);

/// All loaded objects in load order, the program first.
class Objects {
 public:
  /// @param room  for a tree of them all
  Objects(std::span<const Object> all, std::span<const Object*> room) : all_(all), room_(room) {}

  std::span<const Object> all() const { return all_; }
  const Object& program() const { return all_.front(); }

  /// This very library; null if it is none of them.
  const Object* ours() const;

  /// The object around an address, or null.
  const Object* around(const void* address) const;

  /// The object that stands for this entry of DT_NEEDED or LD_PRELOAD; null if none is loaded.
  const Object* named(const char* name) const;

  /// An object and its dependencies, breadth first, as the loader orders them.  Good until asked for the next one.
  std::span<const Object* const> tree(const Object& root);

 private:
  std::span<const Object> all_;
  std::span<const Object*> room_;
};

/// Shows the loaded objects to `look`, under the lock that keeps them from being loaded and unloaded: `look` may
/// neither allocate nor throw, nor call the loader or other code that is not ours.
void look_at_objects(void (*look)(Objects& objects, void* context), void* context);

template <class Look>
void look_at_objects(Look look) {
  look_at_objects([](Objects& objects, void* context) { (*static_cast<Look*>(context))(objects); }, &look);
}

}  // namespace blaslift
