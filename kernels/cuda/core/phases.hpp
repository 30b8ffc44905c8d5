// Kernels written as phases: what each thread of a block does, then a barrier.  The same text runs on the device and,
// in tests, on the CPU, where tests/unit/support/cuda_on_host.hpp has these classes with loops over the threads in any
// order: what one thread writes for others in a phase they may read in the next one only.
#pragma once
#ifdef __CUDACC__
#include <cooperative_groups.h>
#endif

namespace blaslift::phases {

inline constexpr int threads = 256;  ///< of every block

#ifdef __CUDACC__

/// What each thread has for itself, in registers; in loops that are unrolled, indices are known.
template <class X>
class PerThread {
 public:
  __device__ __forceinline__ X& operator[](int) { return x_; }

 private:
  X x_{};
};

class Block {
 public:
  __device__ __forceinline__ int number() const { return static_cast<int>(blockIdx.x); }
  __device__ __forceinline__ int count() const { return static_cast<int>(gridDim.x); }

  /// A phase.
  template <class Body>
  __device__ __forceinline__ void each(const Body& body) const {
    body(static_cast<int>(threadIdx.x));
    __syncthreads();
  }
  /// A part of the phase that follows.
  template <class Body>
  __device__ __forceinline__ void each_at_once(const Body& body) const {
    body(static_cast<int>(threadIdx.x));
  }

  /// A phase of the first 32 threads alone, with their own barrier; for what the others do next it takes a barrier.
  template <class Body>
  __device__ __forceinline__ void each_of_first_warp(const Body& body) const {
    if (threadIdx.x < 32) body(static_cast<int>(threadIdx.x));
    __syncwarp();
  }

  /// What a lane of the first warp has, for all of them: pick(its X), of 4-byte words.  In a phase in which that lane
  /// does not change it.
  template <class X, class Pick>
  __device__ __forceinline__ auto of_lane(PerThread<X>& mine, int lane, const Pick& pick) const {
    auto x = pick(mine[0]);
    constexpr int words = sizeof x / sizeof(int);
    int word[words];
    memcpy(word, &x, sizeof x);
#pragma unroll
    for (int i = 0; i < words; ++i) word[i] = __shfl_sync(0xffffffff, word[i], lane);
    memcpy(&x, word, sizeof x);
    return x;
  }

  /// Between phases that end without one.
  __device__ __forceinline__ void barrier() const { __syncthreads(); }

  /// c := a b + c for 8 x 4 times 4 x 8, several of them, by the threads of each warp together: thread 4 i + k of a
  /// warp has a(i, k) and b(k, i), and c(i, 2 k) and c(i, 2 k + 1).
  template <class Operands, class Sums>
  __device__ __forceinline__ void multiply(PerThread<Operands>& operands, PerThread<Sums>& sums) const {
    constexpr int count = sizeof(Operands::a) / sizeof(double);
    Operands& x = operands[0];
#pragma unroll
    for (int u = 0; u < count; ++u) {
      double(&c)[2] = sums[0].c[u];
      asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
          : "+d"(c[0]), "+d"(c[1])
          : "d"(x.a[u]), "d"(x.b[u]));
    }
  }

  /// Copies to shared memory on its own, without a register; elements of 4, 8 or 16 bytes, aligned to their size.
  template <class T>
  __device__ __forceinline__ void fetch(T* to, const T* from) const {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from), "n"(sizeof(T))
                 : "memory");
  }
  /// What has been asked for since the last time is one group.
  __device__ __forceinline__ void end_group() const { asm volatile("cp.async.commit_group;" ::: "memory"); }
  /// All groups but the last are there, for all threads.
  __device__ __forceinline__ void await_all_but_last_group() const {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
  }

  /// Counts a block that has come so far.  True for the last one of `count`: what the others have written before is
  /// there for it.  The counter is zero again then.  By one thread, between barriers.
  __device__ __forceinline__ bool arrives_last(unsigned* counter, unsigned count) const {
    __threadfence();
    const bool last = atomicAdd(counter, 1) + 1 == count;
    if (last) *counter = 0;
    __threadfence();
    return last;
  }
};

/// All blocks of a cooperative launch, each with its `Shared`.
template <class Shared>
class Grid {
 public:
  __device__ __forceinline__ explicit Grid(Shared& shared) : shared_(shared) {}

  /// What each block does, then a barrier of all of them.
  template <class Body>
  __device__ __forceinline__ void each_block(const Body& body) const {
    body(Block(), shared_);
    cooperative_groups::this_grid().sync();
  }

 private:
  Shared& shared_;
};

#endif

}  // namespace blaslift::phases
