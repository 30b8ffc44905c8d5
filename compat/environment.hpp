// The environment, as far as it may be believed.  A process that has more rights than whoever started it (setuid,
// setgid, file capabilities: AT_SECURE) takes no word from there: each variable would have its file written, its
// library opened or its device chosen with rights that the one who set it lacks.
#pragma once
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>

namespace blaslift {

inline bool more_rights_than_its_caller() { return getauxval(AT_SECURE) != 0; }

/// The only way in which the library reads a variable; null: not set, or not to be believed.
inline const char* variable(const char* name) { return more_rights_than_its_caller() ? nullptr : std::getenv(name); }

/// All of them, in environ's form.
inline char** all_variables() {
  static char* none[] = {nullptr};
  return more_rights_than_its_caller() ? none : environ;
}

}  // namespace blaslift
