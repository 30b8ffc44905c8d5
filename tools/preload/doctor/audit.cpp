// What the dynamic linker does with the names that blaslift intercepts, told by itself (rtld-audit(7)): every object it
// loads, and every symbol that it binds, with who asked and who was found.  A line each, appended to the file
// `bindings` of the directory that `blaslift doctor --run` names:
//
//   open <tab> program <tab> namespace <tab> object
//   bind <tab> program <tab> symbol <tab> by dlsym: 0 or 1 <tab> object that asked <tab> object that was found
//
// The code runs inside the loader, in any thread, with a C library of its own that has not set these threads up:
// nothing that allocates or knows a locale.  The program's errno is another one.
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "compat/symbols.hpp"

namespace {

char program[PATH_MAX] = "?", file[PATH_MAX];

/// For this thread, to which the kernel sends it.
class LimitSignalBlocked {
 public:
  LimitSignalBlocked() {
    syscall(SYS_rt_sigpending, &was_pending_, sizeof signal_);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &signal_, &before_, sizeof signal_);
  }
  ~LimitSignalBlocked() {
    const timespec now{0, 0};
    while (!(was_pending_ & signal_) &&
           syscall(SYS_rt_sigtimedwait, &signal_, nullptr, &now, sizeof signal_) == SIGXFSZ) {
    }
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof signal_);
  }
  LimitSignalBlocked(const LimitSignalBlocked&) = delete;
  LimitSignalBlocked& operator=(const LimitSignalBlocked&) = delete;

 private:
  const std::uint64_t signal_ = std::uint64_t{1} << (SIGXFSZ - 1);
  std::uint64_t before_ = 0, was_pending_ = 0;
};

class Line {
 public:
  Line& operator<<(const char* field) {
    if (length_ > 0) put('\t');
    for (; *field; ++field) {
      const bool special = *field == '\t' || *field == '\n' || *field == '\\';
      if (special) put('\\');
      put(*field == '\t' ? 't' : *field == '\n' ? 'n' : *field);
    }
    return *this;
  }

  /// In one write, so that processes do not mix; without the C library's wrappers, at which threads may be cancelled. A
  /// line beyond the limit on the size of files is not written: the signal for it would end the program.
  void append_to_file() {
    text_[length_++] = '\n';
    const long fd = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return;
    const LimitSignalBlocked blocked;
    syscall(SYS_write, fd, text_, length_);
    syscall(SYS_close, fd);
  }

 private:
  void put(char c) {
    if (length_ + 1 < sizeof text_) text_[length_++] = c;
  }

  char text_[3 * PATH_MAX + 256];
  std::size_t length_ = 0;
};

const char* path_of(std::uintptr_t cookie) {  // which is what the loader made it: the object's link map
  const char* name = reinterpret_cast<const link_map*>(cookie)->l_name;
  return name && *name ? name : program;
}

/// Whether a routine's name, in lower case, stands somewhere in the symbol's.
bool is_about_a_routine(const char* symbol) {
  const auto begins = [](const char* text, const char* name) {
    for (; *name; ++text, ++name)
      if ((*text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text) != *name) return false;
    return true;
  };
  for (; *symbol; ++symbol)
    for (const char* routine : blaslift::routine_names)
      if (begins(symbol, routine)) return true;
  return false;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] unsigned la_version(unsigned version) {
  const char* directory = secure_getenv("BLASLIFT_INTERNAL_COUNTERS");
  constexpr char name[] = "/bindings";
  if (!directory || std::strlen(directory) + sizeof name > sizeof file) return 0;  // not wanted
  std::strcpy(file, directory);
  std::strcat(file, name);
  (void)!readlink("/proc/self/exe", program, sizeof program - 1);
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

[[gnu::visibility("default")]] unsigned la_objopen(link_map* map, Lmid_t name_space, std::uintptr_t* cookie) {
  *cookie = reinterpret_cast<std::uintptr_t>(map);
  Line line;
  line << "open" << program << (name_space == LM_ID_BASE ? "0" : "1") << path_of(*cookie);
  line.append_to_file();
  return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

[[gnu::visibility("default")]] std::uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned, std::uintptr_t* asked,
                                                           std::uintptr_t* found, unsigned* flags, const char* name) {
  if (is_about_a_routine(name)) {
    Line line;
    line << "bind" << program << name << (*flags & LA_SYMB_DLSYM ? "1" : "0") << path_of(*asked) << path_of(*found);
    line.append_to_file();
  }
  return symbol->st_value;
}

}  // extern "C"
