#include "compat/reserve.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "compat/this_thread.hpp"
#include "compat/undisturbed.hpp"

namespace blaslift {
namespace {

/// Blocks follow each other, each behind a unit that says how many units it has and whether it is taken.
struct alignas(64) Unit {
  std::uint32_t units;
  bool taken;
};

// Several times what a runtime, hundreds of call sites and finding one more take.
constexpr std::size_t reserve_units = 8192;
constinit Unit reserve[reserve_units] = {};
constinit std::atomic<bool> busy{false};

/// Others do not hold it for long, unless a fork has left them behind.
class Busy {
 public:
  Busy() {
    constexpr int patience = 1000000;
    for (int i = 0; i < patience && !mine_; ++i) {
      mine_ = !busy.exchange(true, std::memory_order_acquire);
      if (!mine_) sched_yield();
    }
  }
  ~Busy() {
    if (mine_) busy.store(false, std::memory_order_release);
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  explicit operator bool() const { return mine_; }

 private:
  bool mine_ = false;
};

/// The first block that is free and long enough; free neighbours become one on the way.  Null: there is none, or this
/// thread may not have it.
void* from_reserve(std::size_t bytes, std::size_t alignment) {
  if (!this_thread.reserve || bytes > sizeof reserve || alignment > sizeof(Unit)) return nullptr;
  const Busy mine;
  if (!mine) return nullptr;
  const auto wanted = static_cast<std::uint32_t>((bytes + sizeof(Unit) - 1) / sizeof(Unit));
  if (reserve[0].units == 0) reserve[0].units = reserve_units - 1;  // never used
  for (std::size_t at = 0; at < reserve_units; at += 1 + reserve[at].units) {
    Unit& block = reserve[at];
    if (block.taken) continue;
    const auto next = [&] { return at + 1 + block.units; };
    while (next() < reserve_units && !reserve[next()].taken) block.units += 1 + reserve[next()].units;
    if (block.units < wanted) continue;
    if (block.units > wanted) reserve[at + 1 + wanted] = {block.units - wanted - 1, false};
    block = {wanted, true};
    return &block + 1;
  }
  return nullptr;
}

[[maybe_unused]] void* allocate(std::size_t bytes, std::size_t alignment) {
  alignment = std::max(alignment, alignof(std::max_align_t));
  bytes = std::max<std::size_t>(bytes, 1);
  void* memory = this_thread.reserve_first ? from_reserve(bytes, alignment) : nullptr;
  if (memory) return memory;
  if (alignment == alignof(std::max_align_t))
    memory = std::malloc(bytes);
  else if (posix_memalign(&memory, alignment, bytes) != 0)
    memory = nullptr;
  if (!memory) memory = from_reserve(bytes, alignment);
  if (!memory) throw std::bad_alloc();
  return memory;
}

[[maybe_unused]] void give_back(void* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory), begin = reinterpret_cast<std::uintptr_t>(reserve);
  if (address < begin || address >= begin + sizeof reserve) return std::free(memory);
  if (const Busy mine; mine) (static_cast<Unit*>(memory) - 1)->taken = false;
}

}  // namespace

Reserve::Reserve() : before_(this_thread.reserve), first_before_(this_thread.reserve_first) {
  this_thread.reserve = true;
  this_thread.reserve_first = in_handler();
}
Reserve::~Reserve() {
  this_thread.reserve = before_;
  this_thread.reserve_first = first_before_;
}

void forget_reserve() { busy.store(false, std::memory_order_release); }

}  // namespace blaslift

// The library's own: nothing of it is visible outside.  Sanitizers have theirs, in which every form has its match.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t bytes) { return blaslift::allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return blaslift::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { blaslift::give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { blaslift::give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { blaslift::give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { blaslift::give_back(memory); }
#endif
