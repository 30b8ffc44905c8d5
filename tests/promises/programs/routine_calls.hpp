// What a program tells of its calls, by routine, and what xerbla has told it.  For the one source of a program.
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "check.hpp"

namespace promises {

inline std::string told;  ///< by xerbla
/// Never destroyed: threads that go on while the process exits call, too.
inline std::map<std::string, int>& calls = *new std::map<std::string, int>;

inline void note_call(const char* name) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  ++calls[name];
}

/// The last line of a program: what it called, and whether all was well.  Returns the exit status.
inline int verdict_of_calls() {
  std::printf("calls {");
  const char* separator = "";
  for (const auto& [name, count] : calls)
    std::printf("%s\"%s\": %d", std::exchange(separator, ", "), name.c_str(), count);
  std::printf("}\n%s\n", failures.load() ? "WRONG" : "ok");
  return failures.load() ? 1 : 0;
}

}  // namespace promises

extern "C" {
__attribute__((visibility("default"), used)) inline void xerbla_(const char* routine, const int* argument,
                                                                 std::size_t length) {
  std::string name(routine, length < 32 ? length : 6);
  while (!name.empty() && (name.back() == ' ' || name.back() == '\0')) name.pop_back();
  promises::told += "xerbla(" + name + ", " + std::to_string(*argument) + ") ";
}
__attribute__((visibility("default"), used)) inline void cblas_xerbla(int argument, const char* routine, const char*,
                                                                      ...) {
  promises::told += "cblas_xerbla(" + std::string(routine) + ", " + std::to_string(argument) + ") ";
}
}
