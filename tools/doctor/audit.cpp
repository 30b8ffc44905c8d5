// What the dynamic linker does with the names that blaslift intercepts, told by itself (rtld-audit(7)): every object it
// loads, and every symbol that it binds, with who asked and who was found.  A line each, appended to the file
// `bindings` of the directory that `blaslift doctor --run` names:
//
//   open <tab> program <tab> namespace <tab> object
//   bind <tab> program <tab> symbol <tab> by dlsym: 0 or 1 <tab> object that asked <tab> object that was found
//
// The code runs inside the loader, before anything of the program does: no allocation, no C++ runtime, errno kept.
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "compat/symbols.hpp"

namespace {

class Line {
 public:
  Line& operator<<(const char* field) {
    if (length_ > 0) put('\t');
    for (; *field; ++field) put(*field == '\t' || *field == '\n' ? '?' : *field);
    return *this;
  }

  /// In one write, so that processes do not mix.
  void append_to_file() {
    const int before = errno;
    const char* directory = std::getenv("BLASLIFT_COUNTERS");
    char path[PATH_MAX];
    constexpr char name[] = "/bindings";
    if (directory && std::strlen(directory) + sizeof name <= sizeof path) {
      std::strcpy(path, directory);
      std::strcat(path, name);
      const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
      text_[length_++] = '\n';
      if (fd >= 0) {
        (void)!write(fd, text_, length_);
        close(fd);
      }
    }
    errno = before;
  }

 private:
  void put(char c) {
    if (length_ + 1 < sizeof text_) text_[length_++] = c;
  }

  char text_[3 * PATH_MAX + 256];
  std::size_t length_ = 0;
};

const char* program() {
  static char path[PATH_MAX];
  if (!path[0] && readlink("/proc/self/exe", path, sizeof path - 1) < 0) path[0] = '?';
  return path;
}

const char* path_of(std::uintptr_t cookie) {  // which is what the loader made it: the object's link map
  const char* name = reinterpret_cast<const link_map*>(cookie)->l_name;
  return name && *name ? name : program();
}

bool is_about_a_routine(const char* symbol) {
  for (const char* routine : blaslift::routine_names)
    if (strcasestr(symbol, routine)) return true;
  return false;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] unsigned la_version(unsigned version) {
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

[[gnu::visibility("default")]] unsigned la_objopen(link_map* map, Lmid_t name_space, std::uintptr_t* cookie) {
  *cookie = reinterpret_cast<std::uintptr_t>(map);
  Line line;
  line << "open" << program() << (name_space == LM_ID_BASE ? "0" : "1") << path_of(*cookie);
  line.append_to_file();
  return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

[[gnu::visibility("default")]] std::uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned, std::uintptr_t* asked,
                                                           std::uintptr_t* found, unsigned* flags, const char* name) {
  if (is_about_a_routine(name)) {
    Line line;
    line << "bind" << program() << name << (*flags & LA_SYMB_DLSYM ? "1" : "0") << path_of(*asked) << path_of(*found);
    line.append_to_file();
  }
  return symbol->st_value;
}

}  // extern "C"
