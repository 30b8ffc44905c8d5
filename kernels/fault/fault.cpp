#include "kernels/fault/fault.hpp"

#include <cstring>

namespace blaslift {
namespace {

class FaultLane final : public Lane {
 public:
  FaultLane(Lane& lane, FaultPlan& plan) : lane_(lane), plan_(plan) {}

  Status lease(std::size_t bytes, void*& memory) override {
    return fails() ? plan_.status : lane_.lease(bytes, memory);
  }
  Status upload(void* to, index ldd, const void* from, index lds, index rows, index cols,
                std::size_t element) override {
    return fails() ? plan_.status : lane_.upload(to, ldd, from, lds, rows, cols, element);
  }
  Status gemm(const Gemm& product) override { return fails() ? plan_.status : lane_.gemm(product); }
  Status fetch(int slot, const void* from, index lds, index rows, index cols, std::size_t element) override {
    return fails() ? torn(slot) : lane_.fetch(slot, from, lds, rows, cols, element);
  }
  Status arrived(int slot) override { return fails() ? torn(slot) : lane_.arrived(slot); }
  const void* ring(int slot) const override { return lane_.ring(slot); }
  std::size_t ring_bytes() const override { return lane_.ring_bytes(); }

  Lane& inner() { return lane_; }

 private:
  bool fails() { return plan_.seen.fetch_add(1) + 1 == plan_.at; }
  Status torn(int slot) {
    if (plan_.scribble) std::memset(const_cast<void*>(lane_.ring(slot)), 0x5a, lane_.ring_bytes());
    return plan_.status;
  }

  Lane& lane_;
  FaultPlan& plan_;
};

class FaultBackend final : public Backend {
 public:
  FaultBackend(Backend& backend, FaultPlan& plan) : backend_(backend), plan_(plan) {}
  const DeviceFacts& facts() const override { return backend_.facts(); }

  Lane* acquire(const UnderlyingGemm& underlying, Status& status) override {
    if (plan_.seen.fetch_add(1) + 1 == plan_.at) return status = plan_.status, nullptr;
    Lane* lane = backend_.acquire(underlying, status);
    return lane ? new FaultLane(*lane, plan_) : nullptr;
  }
  void release(Lane* lane) override {
    auto* mine = static_cast<FaultLane*>(lane);
    backend_.release(&mine->inner());
    delete mine;
  }

 private:
  Backend& backend_;
  FaultPlan& plan_;
};

}  // namespace

Backend* make_fault_backend(Backend& backend, FaultPlan& plan) { return new FaultBackend(backend, plan); }

}  // namespace blaslift
