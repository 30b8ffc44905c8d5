// Systolic products of one element type: their launches.  A unit an element type includes this.
#pragma once
#include "kernels/cuda/systolic/systolic.hpp"
#include "kernels/cuda/systolic/systolic_kernels.hpp"

namespace blaslift::systolic {
namespace {

template <class T>
using Kernel = void (*)(Job<T>);

/// A kernel for each t that is a power of two, and one for all others.
template <class T, template <class, int> class Walk>
Kernel<T> with_steps(int t) {
  switch (t) {
    case 1: return Walk<T, 1>::kernel;
    case 2: return Walk<T, 2>::kernel;
    case 4: return Walk<T, 4>::kernel;
    case 8: return Walk<T, 8>::kernel;
    case 16: return Walk<T, 16>::kernel;
    case 32: return Walk<T, 32>::kernel;
  }
  return Walk<T, 0>::kernel;
}
template <class T, int t>
struct Global {
  static constexpr Kernel<T> kernel = walk_in_global_memory<T, t>;
};
template <class T, int t>
struct Shared {
  static constexpr Kernel<T> kernel = walk_in_shared_memory<T, t>;
};

template <class T>
Kernel<T> kernel_of(Variant variant, int t) {
  switch (variant) {
    case Variant::g1:
    case Variant::gt: return with_steps<T, Global>(t);
    case Variant::s1:
    case Variant::st: return with_steps<T, Shared>(t);
    case Variant::l1: return loop_over_k<T, false>;
    case Variant::lr: return loop_over_k<T, true>;
    case Variant::ls: return loop_over_tiles<T>;
    case Variant::shuffled: break;
  }
  return pass_on_by_shuffles<T>;
}

template <class T>
cudaError_t start_as(Variant variant, const Schedule& schedule, const Deal& deal, const Operands<T>& operands,
                     cudaStream_t stream) {
  constexpr index most_blocks = 65535;  // in y and in z
  const bool by_warp = variant == Variant::shuffled;
  Job<T> job{schedule, deal, operands};
  Schedule& s = job.schedule;
  if (!has_steps(variant)) s.t = 1;
  const bool sizes = s.m >= 1 && s.n >= 1 && s.k >= 1 && deal.count >= 1 && deal.arrays >= 1 &&
                     index{s.m} + s.n + s.k <= Schedule::largest && s.t >= 1 && s.t <= most_steps &&
                     (!is_array(variant) || (s.g >= s.k && s.g <= Schedule::largest));
  const bool begins = operands.from_c || (variant != Variant::g1 && variant != Variant::gt && variant != Variant::l1);
  if (!sizes || !begins) return cudaErrorInvalidValue;
  const int cols = by_warp ? warp_columns * warps_together : edge;
  if (s.block_cols(cols) > most_blocks || deal.arrays > most_blocks) return cudaErrorInvalidValue;
  const dim3 blocks(static_cast<unsigned>(s.block_rows(by_warp ? warp : edge)),
                    static_cast<unsigned>(s.block_cols(cols)), static_cast<unsigned>(deal.arrays)),
      threads = by_warp ? dim3(warp, warps_together) : dim3(edge, edge);
  kernel_of<T>(variant, s.t)<<<blocks, threads, 0, stream>>>(job);
  return cudaGetLastError();
}

}  // namespace
}  // namespace blaslift::systolic
