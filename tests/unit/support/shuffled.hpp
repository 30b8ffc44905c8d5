// A lane that runs what it is asked for in any order that its tickets allow.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/copy.hpp"
#include "kernels/host/assign.hpp"
#include "kernels/host/gebrd.hpp"
#include "kernels/host/geev.hpp"
#include "kernels/host/gehrd.hpp"
#include "kernels/host/geqp3.hpp"
#include "kernels/host/getrf.hpp"
#include "kernels/host/passes.hpp"
#include "kernels/host/potrf.hpp"
#include "kernels/host/qr_panel.hpp"
#include "kernels/host/svd.hpp"
#include "kernels/host/syevd.hpp"
#include "kernels/host/systolic.hpp"
#include "kernels/host/sytrd.hpp"
#include "kernels/host/trsm.hpp"
#include "tests/unit/support/by_residues.hpp"
#include "tests/unit/support/reference.hpp"

namespace blaslift {

/// Remembers what it is asked for; drain() does it in an order that respects nothing but `after`, and await() as much
/// of it as it takes.
class Shuffled final : public Lane {
 public:
  /// @param seed  0: what was asked for last as early as it may be; otherwise at random
  explicit Shuffled(unsigned seed) : seed_(seed), random_(seed) {}
  int by_arrays = 0;  ///< batches that it was asked to compute by systolic arrays

  Status upload(const Transfer& t, After after) override {
    return add(after, [t] {
      copy_part(t.part, t.below, t.device, t.ldd, t.host, t.ldh, t.rows, t.cols, t.element, copy_block);
    });
  }
  Status ask(const Operation& operation, After after) override {
    return operation.visit([&](const auto& x) { return ask_for(x, after); });
  }
  Status ask_for(const Gemm& g, After after) {
    std::array<std::array<char, 16>, 2> scalars;
    std::memcpy(scalars[0].data(), g.alpha, element_size(g.precision));
    std::memcpy(scalars[1].data(), g.beta, element_size(g.precision));
    return add(after, [product = g, scalars]() mutable {
      product.alpha = scalars[0].data();
      product.beta = scalars[1].data();
      reference::naive(product);
    });
  }
  Status ask_for(const GemmByResidues& g, After after) {
    std::array<std::array<char, 16>, 2> scalars;
    std::memcpy(scalars[0].data(), g.alpha, element_size(g.precision));
    std::memcpy(scalars[1].data(), g.beta, element_size(g.precision));
    return add(after, [product = g, scalars]() mutable {
      product.alpha = scalars[0].data();
      product.beta = scalars[1].data();
      reference::split_and_multiply(product);
    });
  }
  Status ask_for(const GemmBatch& g, After after) {
    std::array<std::array<char, 16>, 2> scalars;
    std::memcpy(scalars[0].data(), g.alpha, element_size(g.precision));
    std::memcpy(scalars[1].data(), g.beta, element_size(g.precision));
    by_arrays += g.systolic;
    return add(after, [batch = g, scalars]() mutable {
      batch.alpha = scalars[0].data();
      batch.beta = scalars[1].data();
      if (batch.systolic) return systolic::multiply(batch);
      for (index i = 0; i < batch.count; ++i) reference::naive(batch.product(i));
    });
  }
  Status ask_for(const QrPanel& p, After after) {
    return add(after, [p] { factor_panel(p, 1); });
  }
  Status ask_for(const Trsm& x, After after) {
    std::array<char, 16> alpha;
    std::memcpy(alpha.data(), x.alpha, element_size(x.precision));
    return add(after, [system = x, alpha]() mutable {
      system.alpha = alpha.data();
      solve_triangular(system, {[](const void*, const Operation& o) { reference::naive(*o.get<Gemm>()); }, nullptr});
    });
  }
  Status ask_for(const Potrf& x, After after) {
    return add(after, [x] {
      factor_definite(x, {[](const void*, const Operation& o) { reference::naive(*o.get<Gemm>()); }, nullptr});
    });
  }
  Status ask_for(const Getrf& x, After after) {
    return add(after, [x] {
      factor_general(x, {[](const void*, const Operation& o) { reference::naive(*o.get<Gemm>()); }, nullptr});
    });
  }
  Status ask_for(const Syevd& x, After after) {
    return add(after, [x] { find_eigenvalues(x); });
  }
  Status ask_for(const Gebrd& x, After after) {
    return add(after, [x] { reduce_to_bidiagonal(x); });
  }
  Status ask_for(const Sytrd& x, After after) {
    return add(after, [x] { reduce_to_tridiagonal(x); });
  }
  Status ask_for(const Gehrd& x, After after) {
    return add(after, [x] { reduce_to_hessenberg(x); });
  }
  Status ask_for(const Geqp3& x, After after) {
    return add(after, [x] { factor_with_pivots(x); });
  }
  Status ask_for(const Svd& x, After after) {
    return add(after, [x] {
      decompose(x, [](const Operation& asked) {
        Shuffled own(0);
        (void)own.ask(asked, {});
        (void)own.drain();
      });
    });
  }
  Status ask_for(const Assign& x, After after) {
    return add(after, [x] { assign(x); });
  }
  Status ask_for(const Mirror& x, After after) {
    return add(after, [x] { mirror(x); });
  }
  Status ask_for(const Survey& x, After after) {
    return add(after, [x] { survey(x); });
  }
  Status ask_for(const Geev& x, After after) {
    return add(after, [x] { find_eigenvalues(x); });
  }
  Status ask_for(const RowSwaps& x, After after) {
    // What later ones are told to find there is written by the first one.
    return add(after, [this, x] {
      auto* const moves = static_cast<unsigned char*>(x.moves);
      const std::size_t bytes = row_swaps_workspace(x.count);
      if (x.prepared)
        well_prepared = well_prepared && std::all_of(moves, moves + bytes, [](unsigned char c) { return c == 0x3c; });
      else
        std::memset(moves, 0x3c, bytes);
      exchange_rows(x);
    });
  }
  Status download(const Transfer& t, After after, std::atomic<bool>& landed) override {
    return add(after, [t, &landed] {
      if (t.keep) copy_part(t.part, t.below, t.keep, t.ldk, t.host, t.ldh, t.rows, t.cols, t.element, copy_block);
      copy_part(t.part, t.below, t.host, t.ldh, t.device, t.ldd, t.rows, t.cols, t.element, copy_block);
      landed = true;
    });
  }
  Status ask_for(const Combination& c, After after) {
    return add(after, [c] { blaslift::combine(c); });
  }
  template <class Other>
  Status ask_for(const Other&, After) {
    return Status::lost;
  }
  bool well_prepared = true;  ///< whatever was said to be prepared was

  Status share(After after, void*& mark) override {
    mark = this;
    bool shared = false;
    const Status asked = add(after, [&shared] { shared = true; });
    while (asked == Status::done && !shared)
      if (!run_one()) return Status::lost;
    return asked;
  }
  Status copy_shared(const OnDevice& from, const Transfer& to, After after) override {
    return add(after,
               [from, to] { copy_block(to.device, to.ldd, from.memory, from.ld, to.rows, to.cols, to.element); });
  }
  Status await(const std::atomic<bool>& landed) override {
    while (!landed)
      if (!run_one()) return Status::lost;
    return Status::done;
  }
  void abandon() override {}
  Status drain() override {
    while (run_one()) {
    }
    return Status::done;
  }

 private:
  /// One that may run now; false: there is none.
  bool run_one() {
    if (ready_.empty()) return false;
    const std::size_t i = seed_ == 0 ? ready_.size() - 1 : random_() % ready_.size();
    const std::size_t next = ready_[i];
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(i));
    operations_[next].run();
    operations_[next].done = true;
    for (const std::size_t later : operations_[next].before)
      if (--operations_[later].missing == 0) may_run(later);
    return true;
  }

  struct Asked {
    std::function<void()> run;
    int missing = 0;                    ///< of what it comes after
    std::vector<std::size_t> before{};  ///< what waits for it, and for others perhaps
    bool done = false;
  };
  Status add(After after, std::function<void()> run) {
    const std::size_t here = operations_.size();
    operations_.push_back({std::move(run)});
    for (int i = 0; i < after.count; ++i) {
      Asked& earlier = operations_.at(static_cast<std::size_t>(after.tickets[i]));
      if (earlier.done) continue;
      earlier.before.push_back(here);
      ++operations_[here].missing;
    }
    if (operations_[here].missing == 0) may_run(here);
    return Status::done;
  }
  /// In the order asked for, whenever they became so.
  void may_run(std::size_t i) { ready_.insert(std::lower_bound(ready_.begin(), ready_.end(), i), i); }

  unsigned seed_;
  std::minstd_rand random_;
  std::vector<Asked> operations_{};
  std::vector<std::size_t> ready_{};  ///< sorted
};

}  // namespace blaslift
