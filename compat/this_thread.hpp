// What compat/ keeps per thread, in one place: a library that is opened late finds little room for what threads have
// from their start, and none of this may be allocated when it is needed.
#pragma once
#include <cstdint>

namespace blaslift {

struct ThisThread {
  std::uint64_t signals;  ///< compat/undisturbed: blocked before own time, as the kernel has it; with it:
  std::uint8_t cancel_state, cancel_type;
  bool held;
  enum : std::uint8_t { unknown, no, yes } handler;
  bool reserve, reserve_first;  ///< compat/reserve: is open; before malloc
  std::int8_t loading;          ///< compat/loading: under way, by this thread
  const void* room;             ///< compat/undisturbed: the stack of with_room that this thread is on, null: none
};
extern thread_local constinit ThisThread this_thread __attribute__((tls_model("initial-exec")));

}  // namespace blaslift
