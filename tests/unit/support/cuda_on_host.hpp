// Enough of CUDA to run kernels on the CPU: one block after the other, a block's threads as fibers of one thread, which
// take turns at barriers in an order that chance decides.  To be included before the kernels.
#pragma once
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/cuda/core/phases.hpp"

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)

struct float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};

namespace cuda_on_host {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

/// One block's threads.
class Block {
 public:
  static constexpr std::size_t most_threads = 288, stack_bytes = std::size_t{64} << 10;

  /// Runs `kernel` by x * y threads.  Throws what a thread throws, and if all of them wait for something.
  void run(unsigned x, unsigned y, const std::function<void()>& kernel) {
    kernel_ = &kernel;
    threads_.assign(std::size_t{x} * y, {});
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      Thread& thread = threads_[t];
      thread.index = {static_cast<unsigned>(t) % x, static_cast<unsigned>(t) / x, 0};
      getcontext(&thread.context);
      thread.context.uc_stack.ss_sp = stacks_.data() + t * stack_bytes;
      thread.context.uc_stack.ss_size = stack_bytes;
      thread.context.uc_link = &scheduler_;
      makecontext(&thread.context, begin, 0);
    }
    while (turn()) {
    }
    if (!problem_.empty()) throw std::runtime_error(std::exchange(problem_, {}));
  }

  enum class State { ready, at_barrier, at_warp, ended };
  void wait(State state) {
    threads_[current_].state = state;
    swapcontext(&threads_[current_].context, &scheduler_);
  }
  Index thread() const { return threads_[current_].index; }

  template <class T>
  T shuffle_xor(T x, int distance) {
    return from_lane(x, static_cast<int>(current_ % 32) ^ distance);
  }
  template <class T>
  T shuffle_down(T x, int distance) {
    const int lane = static_cast<int>(current_ % 32) + distance;
    return from_lane(x, lane < 32 ? lane : static_cast<int>(current_ % 32));
  }
  template <class T>
  T shuffle_up(T x, int distance) {
    const int lane = static_cast<int>(current_ % 32) - distance;
    return from_lane(x, lane >= 0 ? lane : static_cast<int>(current_ % 32));
  }
  template <class T>
  T from_lane(T x, int lane) {
    with_warp(x, [&](const auto& of) { x = of(lane); });
    return x;
  }
  /// see(of), where of(lane) is what that thread of the warp has given.
  template <class T, class See>
  void with_warp(const T& x, const See& see) {
    static_assert(sizeof x <= sizeof(Thread::handed));
    std::memcpy(threads_[current_].handed, &x, sizeof x);
    wait(State::at_warp);
    see([this](int lane) {
      T other;
      std::memcpy(&other, threads_[current_ / 32 * 32 + static_cast<std::size_t>(lane)].handed, sizeof other);
      return other;
    });
    wait(State::at_warp);
  }
  bool any(bool x) {
    threads_[current_].handed[0] = x;
    wait(State::at_barrier);
    const bool found = std::any_of(threads_.begin(), threads_.end(), [](const Thread& y) { return y.handed[0] != 0; });
    wait(State::at_barrier);
    return found;
  }

  /// Nothing is copied before finish_copies().
  template <class T>
  void copy_later(T* to, const T* from) {
    threads_[current_].copies.push_back([=] { *to = *from; });
  }
  void finish_copies() {
    for (const auto& copy : std::exchange(threads_[current_].copies, {})) copy();
  }

  unsigned number = 0;  ///< of the block
  Index more;           ///< its other numbers, and of blocks that there are in x
  alignas(16) unsigned char dynamic[std::size_t{96} << 10];

 private:
  struct Thread {
    ucontext_t context;
    Index index;
    State state = State::ready;
    unsigned char handed[32];
    std::vector<std::function<void()>> copies;
  };

  static void begin();

  /// Lets every thread that can run do so until it waits.  False: all have ended, or cannot go on.
  bool turn() {
    std::vector<std::size_t> ready;
    for (std::size_t t = 0; t < threads_.size(); ++t)
      if (threads_[t].state == State::ready) ready.push_back(t);
    std::shuffle(ready.begin(), ready.end(), chance_);
    for (const std::size_t t : ready) {
      current_ = t;
      swapcontext(&scheduler_, &threads_[t].context);
    }
    bool released = release(0, threads_.size(), State::at_barrier);
    for (std::size_t warp = 0; warp < threads_.size(); warp += 32)
      released = release(warp, warp + 32, State::at_warp) || released;
    const auto ended =
        std::count_if(threads_.begin(), threads_.end(), [](const Thread& x) { return x.state == State::ended; });
    if (!released && static_cast<std::size_t>(ended) < threads_.size()) problem_ = "threads wait for ever";
    return released;
  }

  /// If all of these threads that have not ended have arrived.
  bool release(std::size_t from, std::size_t to, State at) {
    bool any = false;
    for (std::size_t t = from; t < to; ++t) {
      any = any || threads_[t].state == at;
      if (threads_[t].state != at && threads_[t].state != State::ended) return false;
    }
    for (std::size_t t = from; t < to; ++t)
      if (threads_[t].state == at) threads_[t].state = State::ready;
    return any;
  }

  std::vector<unsigned char> stacks_ = std::vector<unsigned char>(most_threads * stack_bytes);
  std::vector<Thread> threads_;
  std::size_t current_ = 0;
  ucontext_t scheduler_;
  const std::function<void()>* kernel_ = nullptr;
  std::string problem_;
  std::minstd_rand chance_{1};
};

inline Block block;

inline void Block::begin() {
  try {
    (*block.kernel_)();
  } catch (const std::exception& e) {
    block.problem_ = e.what();
  }
  block.threads_[block.current_].state = State::ended;
}

}  // namespace cuda_on_host

#define threadIdx (cuda_on_host::block.thread())
#define blockIdx \
  (cuda_on_host::Index{cuda_on_host::block.number, cuda_on_host::block.more.y, cuda_on_host::block.more.z})
#define gridDim (cuda_on_host::Index{cuda_on_host::block.more.x, 1, 1})

inline void __syncthreads() { cuda_on_host::block.wait(cuda_on_host::Block::State::at_barrier); }
inline void __syncwarp() { cuda_on_host::block.wait(cuda_on_host::Block::State::at_warp); }
template <class T>
T __shfl_xor_sync(unsigned, T x, int distance) {
  return cuda_on_host::block.shuffle_xor(x, distance);
}
template <class T>
T __shfl_down_sync(unsigned, T x, int distance) {
  return cuda_on_host::block.shuffle_down(x, distance);
}
template <class T>
T __shfl_up_sync(unsigned, T x, int distance) {
  return cuda_on_host::block.shuffle_up(x, distance);
}
template <class T>
T __shfl_sync(unsigned, T x, int lane) {
  return cuda_on_host::block.from_lane(x, lane);
}
inline int __syncthreads_or(int x) { return cuda_on_host::block.any(x != 0); }
inline unsigned atomicOr(unsigned* at, unsigned x) { return std::exchange(*at, *at | x); }
inline unsigned __float_as_uint(float x) {
  unsigned bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned bytes) {
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned from = bytes >> 4 * i & 7;
    result |= ((from < 4 ? x : y) >> from % 4 * 8 & 0xff) << 8 * i;
  }
  return result;
}
template <class T>
T __ldg(const T* at) {
  if (reinterpret_cast<std::uintptr_t>(at) % alignof(T) != 0) throw std::runtime_error("misaligned load");
  return *at;
}
template <class T>
T __ldcg(const T* at) {
  return *at;
}
template <class T>
T __ldcs(const T* at) {
  return __ldg(at);
}

namespace blaslift::streaming {

template <class T>
T load_once(const T* at) {
  return __ldg(at);
}

// Kernels run one after the other.
inline void let_next_kernel_begin() {}
inline void await_kernel_before() {}

}  // namespace blaslift::streaming

namespace blaslift::symv_order {

// Blocks run one after the other: a turn that has not come never will.
inline unsigned take(unsigned* counter) { return (*counter)++; }
inline void await(unsigned* ticket, unsigned turn) {
  if (*ticket != turn) throw std::runtime_error("a turn that never comes");
}
inline void pass_on(unsigned* ticket, unsigned turn) { *ticket = turn; }
inline void* dynamic_shared() { return cuda_on_host::block.dynamic; }

template <class T>
void fetch_to_shared(T* to, const T* from) {
  cuda_on_host::block.copy_later(to, from);
}
inline void await_fetched() {
  cuda_on_host::block.finish_copies();
  __syncwarp();
}

// Of a cluster's blocks, which have one memory here, the first comes last.
inline void begin_in_cluster() {}
inline void arrive_in_cluster() {}
inline void await_cluster() {}
template <class T>
T* in_first_block(T* shared) {
  return shared;
}

}  // namespace blaslift::symv_order

namespace blaslift::published {

// See bench/published_symv.hpp.
inline unsigned take(unsigned* counter) { return (*counter)++; }
inline void claim(int* ticket, int panel) {
  if (std::exchange(*ticket, -1) != panel) throw std::runtime_error("a turn that never comes");
}
inline void hand_on(int* ticket, int panel) { *ticket = panel - 1; }

}  // namespace blaslift::published

namespace blaslift::trsm_kernels {

inline unsigned char* dynamic_shared() { return cuda_on_host::block.dynamic; }

/// See kernels/cuda/trsm/trsm_kernels.hpp.
inline void add_products(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  struct Operands {
    unsigned a[4], b[2];
  };
  const auto number = [](unsigned word, int which) {
    const unsigned bits = which == 0 ? word << 16 : word & 0xffff0000u;
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  };
  const int own = static_cast<int>(threadIdx.x % 32);
  cuda_on_host::block.with_warp(Operands{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, [&](const auto& of) {
    for (int e = 0; e < 4; ++e)
      for (int k = 0; k < 16; ++k) {
        const int row = own / 4, column = own % 4 * 2 + e % 2, has = k % 8 / 2;
        const Operands left = of(4 * row + has), right = of(4 * column + has);
        c[e] += number(left.a[k / 8 * 2 + e / 2], k % 2) * number(right.b[k / 8], k % 2);
      }
  });
}

}  // namespace blaslift::trsm_kernels

namespace blaslift::phases {

// Kernels written as phases (kernels/cuda/core/phases.hpp), one block after the other.

template <class X>
class PerThread {
 public:
  X& operator[](int thread) { return x_[static_cast<std::size_t>(thread)]; }

 private:
  std::vector<X> x_ = std::vector<X>(threads);
};

/// The threads of a phase run one after the other, in an order that chance decides.
class Block {
 public:
  Block(int number, int count, unsigned seed) : number_(number), count_(count), chance_(seed + 1) {
    for (std::size_t t = 0; t < order_.size(); ++t) order_[t] = static_cast<int>(t);
  }
  int number() const { return number_; }
  int count() const { return count_; }

  template <class Body>
  void each(const Body& body) const {
    const auto turn = chance_() % 3;
    if (turn == 0) std::shuffle(order_.begin(), order_.end(), chance_);
    if (turn == 1) std::reverse(order_.begin(), order_.end());
    for (const int t : order_) body(t);
  }
  template <class Body>
  void each_at_once(const Body& body) const {
    each(body);
  }

  template <class Body>
  void each_of_first_warp(const Body& body) const {
    each([&](int t) {
      if (t < 32) body(t);
    });
  }

  template <class X, class Pick>
  auto of_lane(PerThread<X>& mine, int lane, const Pick& pick) const {
    return pick(mine[lane]);
  }

  void barrier() const {}

  template <class Operands, class Sums>
  void multiply(PerThread<Operands>& operands, PerThread<Sums>& sums) const {
    constexpr int count = sizeof(Operands::a) / sizeof(double), warp = 32;
    for (int first = 0; first < threads; first += warp)
      for (int u = 0; u < count; ++u)
        for (int thread = 0; thread < warp; ++thread)
          for (int e = 0; e < 2; ++e) {
            const int i = thread / 4, j = thread % 4 * 2 + e;
            double& c = sums[first + thread].c[u][e];
            for (int k = 0; k < 4; ++k) c += operands[first + 4 * i + k].a[u] * operands[first + 4 * j + k].b[u];
          }
  }

  /// Nothing is copied before it is waited for.
  template <class T>
  void fetch(T* to, const T* from) const {
    if (reinterpret_cast<std::uintptr_t>(from) % sizeof(T) != 0) throw std::runtime_error("misaligned copy");
    groups_[0].push_back({to, from, sizeof(T)});
  }
  /// Called by each thread: the groups of all of them end here.
  void end_group() const {
    if (++ends_ % threads != 0) return;
    std::rotate(groups_.rbegin(), groups_.rbegin() + 1, groups_.rend());
    copy(groups_[0]);
  }
  void await_all_but_last_group() const { copy(groups_[2]); }

  bool arrives_last(unsigned* counter, unsigned count) const {
    if (++*counter < count) return false;
    *counter = 0;
    return true;
  }

 private:
  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  static void copy(std::vector<Copy>& group) {
    for (const Copy& x : group) std::memcpy(x.to, x.from, x.bytes);
    group.clear();
  }

  int number_, count_;
  mutable std::minstd_rand chance_;
  mutable std::vector<int> order_ = std::vector<int>(threads);
  mutable std::array<std::vector<Copy>, 3> groups_;  ///< that is being asked for; the last; those before
  mutable int ends_ = 0;
};

/// Shared memory in which nothing may be read that was not written.
template <class Shared>
std::unique_ptr<Shared> fresh_shared() {
  auto shared = std::make_unique<Shared>();
  std::memset(static_cast<void*>(shared.get()), 0xff, sizeof(Shared));
  return shared;
}

/// All blocks of a cooperative launch: between its barriers one after the other, in an order that chance decides.
template <class Shared>
class Grid {
 public:
  Grid(int count, unsigned seed) : chance_(seed + 1) {
    for (int b = 0; b < count; ++b)
      blocks_.push_back({Block(b, count, seed + static_cast<unsigned>(b)), fresh_shared<Shared>()});
  }
  template <class Body>
  void each_block(const Body& body) const {
    std::shuffle(blocks_.begin(), blocks_.end(), chance_);
    for (const auto& [block, shared] : blocks_) body(block, *shared);
  }

 private:
  mutable std::minstd_rand chance_;
  mutable std::vector<std::pair<Block, std::unique_ptr<Shared>>> blocks_;
};

}  // namespace blaslift::phases
