// What the trampolines call: where to go, and how long it took.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>

#include "compat/library.hpp"
#include "compat/reserve.hpp"
#include "impl/core/errno_kept.hpp"
#include "impl/observe/counters.hpp"
#include "impl/route/replay.hpp"
#include "impl/route/runtime.hpp"
#include "tools/preload/measure/others.hpp"

extern "C" {
void* measure_enter(int symbol, void** return_address);
void* measure_leave(void** return_address);
void measure_leave_stub();
}

namespace {

using namespace blaslift;

constexpr struct {
  const char* name;
  int routine;  ///< in other_names
} symbols[] = {
#define STUB(name, routine) {#name, routine},
#include "symbols.inc"
};

struct Frame {
  void** slot;  ///< stack address of the return address that was replaced
  void* return_address;
  void* target;
  int routine;
  std::uint64_t start_ns;
  std::uint64_t nested_before;
};

/// Calls under way on this thread.  Deeper ones than this run untimed.
struct Stack {
  static constexpr int most = 128;
  Frame frames[most];
  int depth = 0;
  std::map<std::pair<int, void*>, void*> targets;  ///< by symbol and return address
};

Stack& stack() {
  static thread_local Stack* mine = new Stack;  // outlives the thread's other destructors, which may call BLAS
  return *mine;
}

OtherCounters& others() {
  static OtherCounters& mapped = []() -> OtherCounters& {
    runtime();  // says where counters go
    auto* c = static_cast<OtherCounters*>(map_counters(sizeof(OtherCounters)));
    static OtherCounters last_resort;
    if (!c) c = &last_resort;
    c->layout = OtherCounters::this_layout;
    return *c;
  }();
  return mapped;
}

}  // namespace

namespace {

void* find(int symbol, void* caller) {
  const char* found_by = "";
  void* target = find_function(symbols[symbol].name, caller, runtime().options.fallback.c_str(), found_by);
  if (target) return target;
  std::fprintf(stderr, "blaslift: %s is in no library underneath\n", symbols[symbol].name);
  std::abort();
}

}  // namespace

void* measure_enter(int symbol, void** return_address) try {
  const ErrnoKept errno_kept;
  const Reserve reserve;
  Stack& s = stack();
  // A routine whose last step is this call, and which jumped here (dptsv, dpttrs): both return to the same place, this
  // one first, and by way of the stub, which finds the other's frame there.
  const bool jumped = *return_address == reinterpret_cast<void*>(measure_leave_stub);
  // The stack grows down: frames at or below this one were left by a jump (an xerbla that does not return).
  while (s.depth > 0 &&
         (jumped ? s.frames[s.depth - 1].slot < return_address : s.frames[s.depth - 1].slot <= return_address))
    --s.depth;
  void* const caller = jumped && s.depth > 0 ? s.frames[s.depth - 1].target : *return_address;
  void*& target = s.targets[{symbol, caller}];
  if (!target) target = find(symbol, caller);
  if (s.depth == Stack::most) return target;
  s.frames[s.depth++] = {return_address,          *return_address, target,
                         symbols[symbol].routine, now_ns(),        thread_state.nested_ns};
  thread_state.nested_ns = 0;
  *return_address = reinterpret_cast<void*>(measure_leave_stub);
  return target;
} catch (const std::bad_alloc&) {  // goes on untimed, found anew each time
  const ErrnoKept errno_kept;
  const Reserve reserve;
  return find(symbol, *return_address);
}

void* measure_leave(void** return_address) {
  const ErrnoKept errno_kept;
  Stack& s = stack();
  while (s.depth > 0 && s.frames[s.depth - 1].slot != return_address) --s.depth;
  if (s.depth == 0) std::abort();  // the return address is lost: nothing can be right from here
  const Frame& frame = s.frames[--s.depth];
  const std::uint64_t elapsed = now_ns() - frame.start_ns, nested = thread_state.nested_ns;
  auto& counters = others().routines[frame.routine];
  counters.calls.fetch_add(1, std::memory_order_relaxed);
  counters.own_ns.fetch_add(elapsed > nested ? elapsed - nested : 0, std::memory_order_relaxed);
  thread_state.nested_ns = frame.nested_before + elapsed;
  return frame.return_address;
}
