#include "impl/core/own_memory.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>

namespace blaslift {
namespace {

constexpr std::size_t large_page = std::size_t{2} << 20, least_waiting = std::size_t{8} << 20;

struct Mapping {
  char* at = nullptr;
  std::size_t size = 0;
};
constinit Mapping waiting[4] = {};  // a result or two, of as many calls
constinit std::mutex mutex;

/// The smallest that will do; one much larger is left to whoever needs it.
Mapping take(std::size_t size) {
  std::lock_guard lock(mutex);
  Mapping* best = nullptr;
  for (Mapping& x : waiting)
    if (x.at && x.size >= size && x.size / 4 <= size && (!best || x.size < best->size)) best = &x;
  return best ? std::exchange(*best, {}) : Mapping{};
}

/// What has to give way.
Mapping keep(Mapping mapping) {
  // Its pages are the system's as soon as that needs them, even before it would swap.  Addresses are not.
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur != RLIM_INFINITY) return mapping;
  if (madvise(mapping.at, mapping.size, MADV_FREE) != 0) return mapping;
  std::lock_guard lock(mutex);
  Mapping& smallest =
      *std::min_element(std::begin(waiting), std::end(waiting), [](auto& x, auto& y) { return x.size < y.size; });
  if (smallest.size < mapping.size) std::swap(smallest, mapping);
  return mapping;
}

}  // namespace

OwnMemory::OwnMemory(std::size_t bytes) {
  const bool large = bytes >= large_page;  // what is less would cost a large page's zeros
  size_ = std::max<std::size_t>(bytes, 1) + (large ? large_page : 0);
  const Mapping known = size_ >= least_waiting ? take(size_) : Mapping{};
  if (known.at) {
    mapping_ = known.at;
    size_ = known.size;
  } else {
    void* const mapping =
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    mapping_ = static_cast<char*>(mapping);
  }
  at_ = mapping_;
  if (!large) return;
  at_ += (large_page - reinterpret_cast<std::uintptr_t>(mapping_) % large_page) % large_page;
  if (!known.at) madvise(at_, size_ - large_page, MADV_HUGEPAGE);
}

OwnMemory::~OwnMemory() {
  if (!mapping_) return;
  Mapping unwanted{mapping_, size_};
  if (size_ >= least_waiting) unwanted = keep(unwanted);
  if (unwanted.at) munmap(unwanted.at, unwanted.size);
}

void OwnMemory::trim() {
  std::lock_guard lock(mutex);
  for (Mapping& x : waiting) {
    if (x.at) munmap(x.at, x.size);
    x = {};
  }
}

}  // namespace blaslift
