#include "compat/loading.hpp"

#include <atomic>
#include <cstdlib>
#include <ctime>

#include "compat/this_thread.hpp"

namespace blaslift {
namespace {

constinit std::atomic<bool> ended{false};
constinit std::atomic<int> under_way{0};

/// Of this thread's: a constructor that we have run may call exit, which must not wait for itself.
std::int8_t& mine() { return this_thread.loading; }

/// Never a hang: exit may be called by a constructor, with the loader's lock, for which those under way may be waiting.
void end_loading() {
  if (ended.exchange(true, std::memory_order_seq_cst)) return;
  for (int i = 0; i < 2000 && under_way.load(std::memory_order_seq_cst) > mine(); ++i) {
    const timespec millisecond{0, 1000000};
    nanosleep(&millisecond, nullptr);
  }
}

/// For a process that calls us for the first time now, or did before its main.  Objects are finalised before those that
/// they need, and otherwise in the order of loading: us before the libraries underneath, which we stand in front of.
[[gnu::destructor]] void end_loading_when_finalised() { end_loading(); }

}  // namespace

Loading::Loading() {
  ++mine();
  under_way.fetch_add(1, std::memory_order_seq_cst);
  allowed_ = !exit_has_begun();
}

Loading::~Loading() {
  under_way.fetch_sub(1, std::memory_order_seq_cst);
  --mine();
}

void end_loading_at_exit() {
  static constinit std::atomic<bool> registered{false};
  if (!registered.load(std::memory_order_relaxed) && !registered.exchange(true)) std::atexit(end_loading);
}

bool exit_has_begun() { return ended.load(std::memory_order_seq_cst); }

void forget_loading() { under_way.store(mine(), std::memory_order_seq_cst); }

}  // namespace blaslift
