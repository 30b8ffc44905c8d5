#include "kernels/host/host.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <thread>

#include "kernels/copy.hpp"
#include "kernels/engine/lane.hpp"
#include "kernels/host/assign.hpp"
#include "kernels/host/gebrd.hpp"
#include "kernels/host/geev.hpp"
#include "kernels/host/gehrd.hpp"
#include "kernels/host/gemv.hpp"
#include "kernels/host/geqp3.hpp"
#include "kernels/host/getrf.hpp"
#include "kernels/host/passes.hpp"
#include "kernels/host/potrf.hpp"
#include "kernels/host/qr_panel.hpp"
#include "kernels/host/residues.hpp"
#include "kernels/host/svd.hpp"
#include "kernels/host/syevd.hpp"
#include "kernels/host/symv.hpp"
#include "kernels/host/systolic.hpp"
#include "kernels/host/sytrd.hpp"
#include "kernels/host/trsm.hpp"

namespace blaslift {
namespace {

void* fresh(std::size_t bytes) {
  constexpr std::size_t alignment = 256;
  if (bytes > PTRDIFF_MAX) return nullptr;
  void* p = std::aligned_alloc(alignment, (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment);
#ifdef BLASLIFT_POISON
  if (p) std::memset(p, 0xff, bytes);  // NaN in every precision: what is read without being written shows
#endif
  return p;
}

int some_threads() { return static_cast<int>(std::clamp(std::thread::hardware_concurrency() / 2, 1u, 4u)); }

/// Everything happens when it is started, so there is nothing to wait for.
class HostLane final : public EngineLane {
 public:
  HostLane(Engine& engine, std::size_t bytes, int lanes, const UnderlyingBlas& underlying, FaultPlan* faults)
      : EngineLane(engine, bytes, lanes), underlying_(underlying), slot_bytes_(engine.sizes().out), faults_(faults) {}
  ~HostLane() { (void)drain(); }

  void serve(const UnderlyingBlas& underlying, std::size_t bytes, int lanes) {
    underlying_ = underlying;
    serve_next(bytes, lanes);
  }

 private:
  Status wait(Queue, Ticket) override { return outcome(); }
  Status mark(Queue, Ticket) override { return outcome(); }
  Status idle(Queue) override { return outcome(); }
  Status compute(Queue, const Operation& operation) override {
    if (fails()) return faults_->status;
    operation.visit([this](const auto& x) { compute(x); });
    return Status::done;
  }
  void compute(const Gemm& product) {
    if (product.m == 0 || product.n == 0) return;
    if (product.E)
      copy_block(product.C, product.ldc, product.E, product.lde, product.m, product.n, element_size(product.precision));
    underlying_.call(underlying_.context, product);
  }
  void compute(const GemmBatch& batch) {
    if (batch.systolic) return systolic::multiply(batch);
    for (index i = 0; i < batch.count; ++i) compute(batch.product(i));
  }
  void compute(const GemmByResidues& product) {
    if (multiply_by_residues(product)) return make_diagonal_real(product);
    *product.declined = true;
    compute(static_cast<const Gemm&>(product));
  }
  /// Of a herk.  Where an element overflows, its imaginary part is none.
  static void make_diagonal_real(const Gemm& p) {
    const std::size_t element = element_size(p.precision);
    for (index i = 0; p.hermitian() && i < p.n; ++i)
      std::memset(static_cast<char*>(p.C) + static_cast<std::size_t>(i * (p.ldc + 1)) * element + element / 2, 0,
                  element / 2);
  }
  void compute(const Combination& combination) { combine(combination); }
  void compute(const Survey& x) { survey(x); }
  void compute(const Symv& product) { symv(product); }
  void compute(const Gemv& product) { gemv(product); }
  void compute(const QrPanel& panel) { factor_panel(panel, some_threads()); }
  void compute(const Trsm& system) { solve_triangular(system, underlying_); }
  void compute(const Potrf& matrix) { factor_definite(matrix, underlying_); }
  void compute(const Getrf& matrix) { factor_general(matrix, underlying_); }
  void compute(const RowSwaps& x) { exchange_rows(x); }
  void compute(const Syevd& matrix) { find_eigenvalues(matrix); }
  void compute(const Gebrd& matrix) { reduce_to_bidiagonal(matrix); }
  void compute(const Sytrd& matrix) { reduce_to_tridiagonal(matrix); }
  void compute(const Gehrd& matrix) { reduce_to_hessenberg(matrix); }
  void compute(const Geqp3& matrix) { factor_with_pivots(matrix); }
  void compute(const Svd& matrix) {
    decompose(matrix, [this](const Operation& asked) { asked.visit([this](const auto& x) { compute(x); }); });
  }
  void compute(const Assign& x) { assign(x); }
  void compute(const Geev& matrix) { find_eigenvalues(matrix); }
  void compute(const Mirror& x) { mirror(x); }
  Status send(Queue, Slot& slot, const Transfer& p) override {
    if (fails()) return faults_->status;
    copy_block(p.device, p.ldd, slot.memory, p.rows, p.rows, p.cols, p.element);
    return Status::done;
  }
  Status receive(Queue, Slot& slot, const Transfer& p) override {
    if (fails()) return torn(slot);
    copy_block(slot.memory, p.rows, p.device, p.ldd, p.rows, p.cols, p.element);
    return Status::done;
  }
  Status settle(Slot& slot) override { return fails() ? torn(slot) : Status::done; }
  bool has_peers() const override { return true; }
  Status note_there(Queue, void*& mark) override { return mark = this, outcome(); }
  Status settle_there(void*) override { return outcome(); }
  Status fetch(Queue, const OnDevice& from, const Transfer& p) override {
    if (fails()) return faults_->status;
    copy_block(p.device, p.ldd, from.memory, from.ld, p.rows, p.cols, p.element);
    return Status::done;
  }

  bool fails() { return faults_ && faults_->seen.fetch_add(1) + 1 == faults_->at; }
  Status outcome() { return fails() ? faults_->status : Status::done; }
  Status torn(Slot& slot) {
    if (faults_->scribble) std::memset(slot.memory, 0x5a, slot_bytes_);
    return faults_->status;
  }

  UnderlyingBlas underlying_;
  const std::size_t slot_bytes_;
  FaultPlan* faults_;
};

constexpr std::size_t most_slot_bytes = std::size_t{1} << 20;
/// Several of each kind, however few cores there are: what they do to each other is to show in tests everywhere.
constexpr Engine::Threads threads{.in = 4, .out = 3, .spare = 1};

class HostBackend final : public Backend {
 public:
  HostBackend(std::size_t memory, const OpenRequest& request, FaultPlan* faults)
      // A limited device has slots in proportion, so that small products, too, are committed in pieces.
      : engine_(slots(std::clamp<std::size_t>(memory / 8, 64, most_slot_bytes)), threads,
                {this,
                 [](void* self) {
                   const OpenRequest& r = static_cast<HostBackend*>(self)->request_;
                   if (r.adopt) r.adopt();
                   return true;
                 },
                 [](void*, Slot* slots, int count, std::size_t bytes) {
                   auto* made = static_cast<char*>(fresh(static_cast<std::size_t>(count) * bytes));
                   for (int i = 0; made && i < count; ++i) slots[i].memory = made + static_cast<std::size_t>(i) * bytes;
                   return made != nullptr;
                 },
                 [](void* self) {
                   const OpenRequest& r = static_cast<HostBackend*>(self)->request_;
                   if (r.idle)
                     r.idle(
                         r.idle_context, [](void*) {}, nullptr);
                 }}),
        request_(request),
        faults_(faults) {
    facts_.memory = memory;
    facts_.piece_bytes = engine_.sizes().out;
    facts_.exchanges = true;
    facts_.devices = std::max(1, request.most_used);  // any number: they are all the CPU
    using enum Operation::Kind;
    facts_.computes.add(gemm, "sdcz")
        .add(combine, "sdcz")
        .add(survey, "sdcz")
        .add(symv, "sdczw")
        .add(gemv, "sdcz")
        .add(qr_panel, "sdcz")
        .add(trsm, "sdcz")
        .add(potrf, "sdcz")
        .add(getrf, "sdcz")
        .add(row_swaps, "sdcz")
        .add(syevd, "sdcz")
        .add(gebrd, "sdcz")
        .add(Operation::Kind::sytrd, "sdcz")
        .add(gehrd, "sdcz")
        .add(geqp3, "sdcz")
        .add(svd, "sdcz")
        .add(assign, "sdcz")
        .add(geev, "sdcz")
        .add(Operation::Kind::mirror, "sdcz")
        .add(gemm_batch, "sdcz")
        .add(residues, "sdcz");
    std::snprintf(facts_.name, sizeof facts_.name, "host backend: the plans on the CPU");
    std::snprintf(facts_.profile, sizeof facts_.profile, "host");
  }

  const DeviceFacts& facts() const override { return facts_; }

  Lane* acquire(const UnderlyingBlas& underlying, std::size_t bytes, Status& status) override {
    if (fails()) return status = faults_->status, nullptr;
    const int lanes = lanes_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (HostLane* lane = idle_.exchange(nullptr)) {
      lane->serve(underlying, bytes, lanes);
      return status = Status::done, lane;
    }
    try {
      Lane* lane = new HostLane(engine_, bytes, lanes, underlying, faults_);
      return status = Status::done, lane;
    } catch (const std::exception&) {
      lanes_.fetch_sub(1, std::memory_order_relaxed);
      return status = Status::no_memory, nullptr;
    }
  }

  void release(Lane* released) override {
    auto* lane = static_cast<HostLane*>(released);
    (void)lane->drain();
    delete idle_.exchange(lane);
    lanes_.fetch_sub(1, std::memory_order_relaxed);
  }

  Status allocate(std::size_t bytes, void*& memory) override {
    if (fails()) return faults_->status;
    memory = fresh(bytes);
    return memory ? Status::done : Status::no_memory;
  }

  void free(void* memory) override { std::free(memory); }

  MemoryKind memory_kind(const void*, std::size_t, bool) override { return MemoryKind::pageable; }

  // The library underneath has one way to compute a product.
  int candidates(const SquareProduct&, std::uint32_t, Candidate*, int) override { return 0; }
  void prefer(const Preference*, int) override {}

 private:
  static Engine::Sizes slots(std::size_t bytes) { return {bytes, bytes}; }
  bool fails() { return faults_ && faults_->seen.fetch_add(1) + 1 == faults_->at; }

  DeviceFacts facts_{};
  Engine engine_;
  const OpenRequest request_;
  FaultPlan* faults_;
  std::atomic<int> lanes_{0};
  std::atomic<HostLane*> idle_{nullptr};  ///< used again, as a GPU's are; no mutex, for a fork would keep it locked
};

}  // namespace

Backend* make_host_backend(const OpenRequest& request, FaultPlan* faults) {
  const auto pages = static_cast<std::size_t>(std::max(1L, sysconf(_SC_PHYS_PAGES)));
  const std::size_t quarter = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 4;
  return new HostBackend(request.memory_limit ? request.memory_limit : quarter, request, faults);
}

}  // namespace blaslift
