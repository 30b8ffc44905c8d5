#include "impl/route/replay.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "compat/undisturbed.hpp"
#include "impl/observe/counters.hpp"

namespace blaslift::replay_tests {
namespace {

// Sanitizers do not follow a thread to another stack, so there is no room with them.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

struct Seen {
  bool above = false, in_room = false, counts = true, still_inside = false;
};

/// In a route, a call from a stack of with_room.
void* call_from_room(void* seen_by) {
  auto& seen = *static_cast<Seen*>(seen_by);
  const int route = 0;
  thread_state.inside = &route;
  with_room(64 << 10, [&] {
    const void* frame = __builtin_frame_address(0);
    seen.above = reinterpret_cast<std::uintptr_t>(frame) > reinterpret_cast<std::uintptr_t>(&route);
    seen.in_room = is_in_room(frame);
    Site site{};
    seen.counts = enter(site);
    seen.still_inside = thread_state.inside == &route;
  });
  seen.in_room = seen.in_room && !is_in_room(__builtin_frame_address(0));
  thread_state.inside = nullptr;
  return nullptr;
}

TEST(Replay, ARouteIsNotLeftByACallFromAStackOfOursAboveIt) {
  // The kernel takes the highest gap that is large enough: there is one above the thread's stack.
  constexpr std::size_t gap = 1 << 20, size = 1 << 20;
  char* const both = static_cast<char*>(
      mmap(nullptr, size + gap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(both, MAP_FAILED);
  ASSERT_EQ(munmap(both + size, gap), 0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstack(&attributes, both, size), 0);
  Seen seen;
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, call_from_room, &seen), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  munmap(both, size);
  EXPECT_TRUE(seen.above);
  EXPECT_TRUE(seen.in_room);
  EXPECT_FALSE(seen.counts);
  EXPECT_TRUE(seen.still_inside);
}
#endif

}  // namespace
}  // namespace blaslift::replay_tests
