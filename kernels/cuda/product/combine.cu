// One pass over memory, whose speed is the memory's: 16 bytes at a time wherever addresses allow it, and eight of them
// asked for by a thread before it waits for the first.
#include "kernels/cuda/product/combine.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace blaslift {
namespace of_combine {
namespace {

constexpr int most_sources = Combination::most_sources, most_targets = Combination::most_targets;
constexpr int threads = 256;

/// What the kernel does, in real numbers: a complex element is two rows.  Sources are bits in the masks.
template <class Real>
struct Job {
  struct Block {
    Real* at;
    index ld;
  };
  Block source[most_sources];
  Block target[most_targets];
  unsigned added[most_targets], subtracted[most_targets];
  unsigned scaled;
  int sources, targets;
  index units, cols;  ///< units: down a column
  Real scale[2];      ///< the imaginary part where there is one
};

/// What a thread reads and writes at a time.
template <class Real, int size>
struct alignas(size * sizeof(Real)) Unit {
  Real x[size];
};

// Never fused with the sum that follows: the host rounds both.
__device__ inline float times(float x, float y) { return __fmul_rn(x, y); }
__device__ inline double times(double x, double y) { return __dmul_rn(x, y); }

template <bool complex, class Real, int size>
__device__ inline void multiply(Unit<Real, size>& unit, const Real (&scale)[2]) {
  if constexpr (complex) {
#pragma unroll
    for (int i = 0; i < size; i += 2) {
      const Real re = unit.x[i], im = unit.x[i + 1];
      unit.x[i] = times(scale[0], re) - times(scale[1], im);
      unit.x[i + 1] = times(scale[0], im) + times(scale[1], re);
    }
  } else {
#pragma unroll
    for (Real& x : unit.x) x = times(scale[0], x);
  }
}

/// Grid-stride over columns (y) and units (x).  Whatever a thread writes it has read before, and no other reads it: a
/// target may be a source.  All conditions but those on `units` and `cols` are the same for all threads.
template <class Real, int size, bool complex, int up_to_sources, int up_to_targets>
__global__ void __launch_bounds__(threads) combine_kernel(const __grid_constant__ Job<Real> job) {
  constexpr int ahead = 8 / up_to_sources;
  using U = Unit<Real, size>;
  const index step = static_cast<index>(blockDim.x) * ahead;
  for (index j = blockIdx.y * static_cast<index>(blockDim.y) + threadIdx.y; j < job.cols;
       j += static_cast<index>(gridDim.y) * blockDim.y)
    for (index i = blockIdx.x * step + threadIdx.x; i < job.units; i += gridDim.x * step) {
      U value[up_to_sources][ahead];
#pragma unroll
      for (int s = 0; s < up_to_sources; ++s) {
        const auto* from = reinterpret_cast<const U*>(job.source[s].at + j * job.source[s].ld) + i;
#pragma unroll
        for (int u = 0; u < ahead; ++u)
          if (s < job.sources && i + u * blockDim.x < job.units) value[s][u] = from[u * blockDim.x];
      }
#pragma unroll
      for (int s = 0; s < up_to_sources; ++s)
        if (job.scaled >> s & 1)
#pragma unroll
          for (int u = 0; u < ahead; ++u) multiply<complex>(value[s][u], job.scale);
#pragma unroll
      for (int t = 0; t < up_to_targets; ++t) {
        if (t >= job.targets) continue;
        U sum[ahead] = {};
#pragma unroll
        for (int s = 0; s < up_to_sources; ++s) {
          const bool subtracted = job.subtracted[t] >> s & 1;
          if (!subtracted && !(job.added[t] >> s & 1)) continue;
          const bool first = ((job.added[t] | job.subtracted[t]) & ((1u << s) - 1)) == 0;
#pragma unroll
          for (int u = 0; u < ahead; ++u)
#pragma unroll
            for (int x = 0; x < size; ++x) {
              const Real term = subtracted ? -value[s][u].x[x] : value[s][u].x[x];
              sum[u].x[x] = first ? term : sum[u].x[x] + term;
            }
        }
        auto* to = reinterpret_cast<U*>(job.target[t].at + j * job.target[t].ld) + i;
#pragma unroll
        for (int u = 0; u < ahead; ++u)
          if (i + u * blockDim.x < job.units) to[u * blockDim.x] = sum[u];
      }
    }
}

template <class Real, int size, bool complex, int up_to_sources, int up_to_targets>
cudaError_t launch(const Job<Real>& job, cudaStream_t stream) {
  int across = 1;  // threads down a column: columns shorter than a block share it
  while (across < threads && across < job.units) across *= 2;
  const index down = across * (8 / up_to_sources), beside = threads / across;
  const dim3 block(static_cast<unsigned>(across), static_cast<unsigned>(beside));
  const dim3 grid(static_cast<unsigned>(std::min<index>((job.units + down - 1) / down, 4096)),
                  static_cast<unsigned>(std::min<index>((job.cols + beside - 1) / beside, 16384)));
  combine_kernel<Real, size, complex, up_to_sources, up_to_targets><<<grid, block, 0, stream>>>(job);
  return cudaGetLastError();
}

/// `rows` reals of each column, in units of `size`, by the smallest kernel.
template <class Real, int size, bool complex>
cudaError_t run(Job<Real> job, index rows, cudaStream_t stream) {
  job.units = rows / size;
  if (job.units == 0) return cudaSuccess;
  const auto with_targets = [&]<int sources>() {
    return job.targets <= 1   ? launch<Real, size, complex, sources, 1>(job, stream)
           : job.targets <= 2 ? launch<Real, size, complex, sources, 2>(job, stream)
                              : launch<Real, size, complex, sources, most_targets>(job, stream);
  };
  return job.sources <= 2   ? with_targets.template operator()<2>()
         : job.sources <= 4 ? with_targets.template operator()<4>()
                            : with_targets.template operator()<most_sources>();
}

template <class Real, bool complex>
cudaError_t combine_as(const Combination& p, cudaStream_t stream) {
  constexpr int element = complex ? 2 : 1, wide = 16 / sizeof(Real);  // reals
  index rows = p.rows * element;
  Job<Real> job{.targets = p.targets, .cols = p.cols};
  bool gapless = true;
  const auto block = [&](const void* at, index ld) {
    gapless = gapless && (ld == p.rows || p.cols == 1);
    return typename Job<Real>::Block{static_cast<Real*>(const_cast<void*>(at)), ld * element};
  };
  for (int t = 0; t < p.targets; ++t) job.target[t] = block(p.target[t].at, p.target[t].ld);
  for (int s = 0; s < p.sources; ++s) {
    const unsigned bit = 1u << job.sources;
    bool counts = false;
    for (int t = 0; t < p.targets; ++t) {
      const signed char sign = p.target[t].sign[s];
      if (sign != 0) (sign > 0 ? job.added : job.subtracted)[t] |= bit, counts = true;
    }
    if (!counts) continue;
    job.source[job.sources++] = block(p.source[s].at, p.source[s].ld);
    if (p.source[s].scaled) job.scaled |= bit;
  }
  if (job.scaled) std::memcpy(job.scale, p.scale, element * sizeof(Real));
  if (gapless) {
    rows *= job.cols;
    job.cols = 1;
  }

  const auto is_aligned = [&](const typename Job<Real>::Block& x) {
    return reinterpret_cast<std::uintptr_t>(x.at) % 16 == 0 && (job.cols == 1 || x.ld % wide == 0);
  };
  const bool aligned = std::all_of(job.source, job.source + job.sources, is_aligned) &&
                       std::all_of(job.target, job.target + job.targets, is_aligned);
  const index by_wide = aligned ? rows / wide * wide : 0;
  if (const cudaError_t error = run<Real, wide, complex>(job, by_wide, stream); error != cudaSuccess) return error;
  for (int s = 0; s < job.sources; ++s) job.source[s].at += by_wide;
  for (int t = 0; t < job.targets; ++t) job.target[t].at += by_wide;
  return run<Real, element, complex>(job, rows - by_wide, stream);
}

}  // namespace
}  // namespace of_combine

cudaError_t combine(const Combination& p, cudaStream_t stream) {
  using namespace of_combine;
  if (p.rows <= 0 || p.cols <= 0) return cudaSuccess;
  switch (p.precision) {
    case Precision::s: return combine_as<float, false>(p, stream);
    case Precision::d: return combine_as<double, false>(p, stream);
    case Precision::c: return combine_as<float, true>(p, stream);
    case Precision::z: return combine_as<double, true>(p, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace blaslift
