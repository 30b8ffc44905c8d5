// Which process this is.  A child that has a copy of this memory has none of the threads, files and devices that its
// parent's part of it speaks of, and is not always told: _Fork, clone and the system call run no handlers of
// pthread_atfork.  So the kernel tells it, by a page that is zero in every child (MADV_WIPEONFORK).  Children that
// share the memory (vfork, posix_spawn) are threads to us: there the page stays as it is.
#pragma once
#include <atomic>
#include <cstdint>

namespace blaslift {

/// One page, of which a copy is zero.
struct alignas(4096) ThisProcess {
  /// Products below this take the forwarding path.  Zero until the runtime is made, and in a child until its first
  /// call: then every call goes the long way.  Minus infinity while measuring and where routes are forced; infinite
  /// when switched off.
  std::atomic<double> gate;
  std::atomic<std::int32_t> known;  ///< the process that remember_process() was called in; negative: it is being reset
};
extern constinit ThisProcess this_process;

/// This process is the one whose state this is.  Before that state can be seen.
void remember_process();

/// Whether it is.  Where the kernel knows no such pages, by a system call.
bool is_remembered();

/// In a child: `reset`, which only stores, is run by the first caller; others wait for it.  In own time.
void take_over(void (*reset)());

}  // namespace blaslift
