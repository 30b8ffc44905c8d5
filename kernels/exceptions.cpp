// An exception that says that there is no memory must itself need none.  The C++ runtime that we link has its reserve
// for exceptions from malloc, when it is loaded, and what it keeps a thread, in a module, from malloc at that thread's
// first exception; where malloc has nothing then, the process is ended.  Here both lie in the library's own memory.
//
// The runtime is linked statically: these stand in for its functions of the same names (Itanium C++ ABI, 2.2 and
// 2.4.2).  Sanitizers bring one of their own.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>

#if defined(__GLIBCXX__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace blaslift {
namespace {

/// What the runtime keeps in front of an exception: at most.  It reaches there from the exception's own address.
constexpr std::size_t in_front = 256;

struct alignas(16) Block {
  unsigned char bytes[512];
};
constexpr std::size_t most_blocks = 128;
constinit Block blocks[most_blocks] = {};
constinit std::atomic<bool> taken[most_blocks] = {};

void* take(std::size_t bytes) {
  if (void* memory = std::malloc(bytes)) return std::memset(memory, 0, bytes);
  // Whoever has one lets it go soon: nobody here throws but to say that there is no memory, and all is caught.
  constexpr int patience = 1000000;
  for (int i = 0; bytes <= sizeof(Block) && i < patience; ++i) {
    for (std::size_t block = 0; block < most_blocks; ++block)
      if (!taken[block].exchange(true, std::memory_order_acquire))
        return std::memset(blocks[block].bytes, 0, sizeof(Block));
    sched_yield();
  }
  std::terminate();
}

void give_back(void* memory) {
  const auto* at = static_cast<const unsigned char*>(memory);
  const auto* begin = blocks[0].bytes;
  if (at < begin || at >= begin + sizeof blocks) return std::free(memory);
  taken[static_cast<std::size_t>(at - begin) / sizeof(Block)].store(false, std::memory_order_release);
}

/// As the ABI says: the exceptions that are being handled, and how many are on their way.
struct OfThread {
  void* caught;
  unsigned int uncaught;
};

// A module is opened late, and libraries that are linked into it have storage of several pages for each thread: all of
// it would have to be static, for which there is no room then.  So each thread has an entry of its own here.  One that
// ends leaves it as it was at first, for the next thread of the same address.
struct Entry {
  std::atomic<std::uintptr_t> thread;
  OfThread of;
};
constexpr std::size_t most_threads = 4096;
constinit Entry entries[most_threads] = {};

OfThread* globals() {
  const auto self = static_cast<std::uintptr_t>(pthread_self());
  for (std::size_t i = 0, at = self / 4096; i < most_threads; ++i, ++at) {
    Entry& entry = entries[at % most_threads];
    std::uintptr_t owner = entry.thread.load(std::memory_order_relaxed);
    if (owner == 0 && entry.thread.compare_exchange_strong(owner, self, std::memory_order_relaxed)) return &entry.of;
    if (owner == self) return &entry.of;
  }
  // All have been taken: one that is in no use now, whose thread has ended or finds another.
  for (std::size_t at = self / 4096;; ++at) {
    Entry& entry = entries[at % most_threads];
    std::uintptr_t owner = entry.thread.load(std::memory_order_relaxed);
    if (entry.of.caught || entry.of.uncaught) continue;
    if (entry.thread.compare_exchange_strong(owner, self, std::memory_order_relaxed)) return &entry.of;
  }
}

}  // namespace
}  // namespace blaslift

extern "C" {
// Declared here, since the compiler knows them by types of its own.
void* __cxa_allocate_exception(std::size_t bytes) noexcept;
void __cxa_free_exception(void* exception) noexcept;
void* __cxa_allocate_dependent_exception() noexcept;
void __cxa_free_dependent_exception(void* exception) noexcept;
void* __cxa_get_globals() noexcept;
void* __cxa_get_globals_fast() noexcept;

void* __cxa_allocate_exception(std::size_t bytes) noexcept {
  return static_cast<unsigned char*>(blaslift::take(bytes + blaslift::in_front)) + blaslift::in_front;
}
void __cxa_free_exception(void* exception) noexcept {
  blaslift::give_back(static_cast<unsigned char*>(exception) - blaslift::in_front);
}
void* __cxa_allocate_dependent_exception() noexcept { return blaslift::take(blaslift::in_front); }
void __cxa_free_dependent_exception(void* exception) noexcept { blaslift::give_back(exception); }
void* __cxa_get_globals() noexcept { return blaslift::globals(); }
void* __cxa_get_globals_fast() noexcept { return blaslift::globals(); }
}

#endif
