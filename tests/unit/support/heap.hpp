// A device whose memory is the heap, counted, and which runs out of it when it is told to.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "kernels/backend.hpp"

namespace blaslift {

class Heap final : public Backend {
 public:
  explicit Heap(std::size_t memory) { facts_.memory = memory; }

  std::atomic<int> refusals{0};  ///< allocations that will fail
  Status refusal = Status::no_memory;
  std::function<void()> while_refusing;     ///< what happens meanwhile
  MemoryKind where = MemoryKind::pageable;  ///< all of the program's memory
  std::atomic<std::size_t> given{0}, most{0};
  std::atomic<int> allocations{0};

  const DeviceFacts& facts() const override { return facts_; }
  Lane* acquire(const UnderlyingBlas&, std::size_t, Status& status) override { return status = Status::lost, nullptr; }
  void release(Lane*) override {}

  Status allocate(std::size_t bytes, void*& memory) override {
    for (int left = refusals; left > 0;)
      if (refusals.compare_exchange_weak(left, left - 1)) {
        if (while_refusing) while_refusing();
        return refusal;
      }
    auto* start = static_cast<char*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256 + 256));
    std::memcpy(start, &bytes, sizeof bytes);
    std::memset(start + 256, 0xa5, bytes);
    memory = start + 256;
    const std::size_t now = given += bytes;
    for (std::size_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    ++allocations;
    return Status::done;
  }

  void free(void* memory) override {
    char* start = static_cast<char*>(memory) - 256;
    std::size_t bytes;
    std::memcpy(&bytes, start, sizeof bytes);
    given -= bytes;
    --allocations;
    std::free(start);
  }

  MemoryKind memory_kind(const void*, std::size_t, bool) override { return where; }
  int candidates(const SquareProduct&, std::uint32_t, Candidate*, int) override { return 0; }
  void prefer(const Preference*, int) override {}

 private:
  DeviceFacts facts_{};
};

}  // namespace blaslift
