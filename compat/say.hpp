// What the library has to say, on the stderr that the process had when the library was loaded; and writing without a
// signal to the program.
#pragma once
#include <signal.h>

#include <cstddef>
#include <string_view>

namespace blaslift {

/// While it lives, a write of this thread that fails raises no signal: nobody reads any more (SIGPIPE), the file is
/// beyond the process's limit (SIGXFSZ), the terminal is another job's (SIGTTOU).
class NoWriteSignals {
 public:
  NoWriteSignals();
  ~NoWriteSignals();
  NoWriteSignals(const NoWriteSignals&) = delete;
  NoWriteSignals& operator=(const NoWriteSignals&) = delete;

 private:
  sigset_t before_, pending_;
};

/// Writes `text`, at most so many bytes at once, and waits a second at most for room in a pipe.  No signal.  In own
/// time (compat/undisturbed.hpp).
/// @return how many bytes were written; where these are not all, errno says why
std::size_t write_all(int fd, std::string_view text, std::size_t at_once = SIZE_MAX);

/// What descriptor 2 is now is the process's first stderr, and all that is written to.  Where this is never called, in
/// a program of our own, that is whatever it is.
void look_at_stderr();

/// From here on the process's first stderr is kept open, so that a summary gets there even if the program closes
/// descriptor 2.
void keep_stderr();

void say_parts(const std::string_view* parts, std::size_t count);

/// Says all parts, the last of which ends a line.  If descriptor 2 has become something else, and keep_stderr() was not
/// called in time, nobody hears it.  Allocates nothing; errno stays.
template <class... Parts>
void say(const Parts&... parts) {
  const std::string_view all[] = {parts...};
  say_parts(all, sizeof...(parts));
}

}  // namespace blaslift
