#include "kernels/host/host.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernels/host/copier.hpp"
#include "kernels/share.hpp"

namespace blaslift {
namespace {

class HostLane final : public Lane {
 public:
  HostLane(const UnderlyingGemm& underlying, std::size_t ring_bytes, Share& share)
      : underlying_(underlying), ring_bytes_(ring_bytes), share_(share) {}
  ~HostLane() {
    end_lease();
    std::free(ring_);
  }
  HostLane(const HostLane&) = delete;
  HostLane& operator=(const HostLane&) = delete;

  bool has_ring() { return (ring_ = static_cast<char*>(fresh(ring_bytes_ * ring_slots))) != nullptr; }

  Status lease(std::size_t bytes, void*& memory) override {
    end_lease();
    if (!share_.take(bytes)) return Status::no_memory;
    leased_ = bytes;
    memory_ = memory = fresh(bytes);
    return memory ? Status::done : Status::no_memory;
  }

  Status upload(void* to, index ldd, const void* from, index lds, index rows, index cols,
                std::size_t element) override {
    parallel_copy(to, ldd, from, lds, rows, cols, element);
    return Status::done;
  }

  Status gemm(const Gemm& product) override {
    if (product.m > 0 && product.n > 0) underlying_.call(underlying_.context, product);
    return Status::done;
  }

  Status fetch(int slot, const void* from, index lds, index rows, index cols, std::size_t element) override {
    parallel_copy(ring_ + static_cast<std::size_t>(slot) * ring_bytes_, rows, from, lds, rows, cols, element);
    return Status::done;
  }

  Status arrived(int) override { return Status::done; }
  const void* ring(int slot) const override { return ring_ + static_cast<std::size_t>(slot) * ring_bytes_; }
  std::size_t ring_bytes() const override { return ring_bytes_; }

 private:
  void end_lease() {
    std::free(memory_);
    memory_ = nullptr;
    if (leased_) share_.give_back(leased_);
    leased_ = 0;
  }

  static void* fresh(std::size_t bytes) {
    constexpr std::size_t alignment = 256;
    void* p = std::aligned_alloc(alignment, (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment);
#ifdef BLASLIFT_POISON
    if (p) std::memset(p, 0xff, bytes);  // NaN in every precision: what is read without being written shows
#endif
    return p;
  }

  UnderlyingGemm underlying_;
  std::size_t ring_bytes_;
  Share& share_;
  void* memory_ = nullptr;
  std::size_t leased_ = 0;
  char* ring_ = nullptr;
};

class HostBackend final : public Backend {
 public:
  explicit HostBackend(std::size_t memory_limit) {
    const auto pages = static_cast<std::size_t>(std::max(1L, sysconf(_SC_PHYS_PAGES)));
    facts_.memory = memory_limit ? memory_limit : pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 4;
    std::snprintf(facts_.name, sizeof facts_.name, "host backend: the schedules on the CPU");
    std::snprintf(facts_.profile, sizeof facts_.profile, "host");
    share_.set_limit(facts_.memory);
    // A limited device has a ring in proportion, so that small products, too, are committed in pieces.
    ring_bytes_ = std::clamp<std::size_t>(facts_.memory / 8, 64, std::size_t{4} << 20);
  }

  const DeviceFacts& facts() const override { return facts_; }

  Lane* acquire(const UnderlyingGemm& underlying, Status& status) override {
    HostLane* lane = new (std::nothrow) HostLane(underlying, ring_bytes_, share_);
    if (lane && lane->has_ring()) return status = Status::done, lane;
    delete lane;
    status = Status::no_memory;
    return nullptr;
  }

  void release(Lane* lane) override { delete static_cast<HostLane*>(lane); }

 private:
  DeviceFacts facts_{};
  std::size_t ring_bytes_;
  Share share_;
};

}  // namespace

Backend* make_host_backend(std::size_t memory_limit) { return new HostBackend(memory_limit); }

}  // namespace blaslift
