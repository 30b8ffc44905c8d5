// Triangular systems of one element type: launches of their kernels.  A unit an element type includes this, so that
// they compile beside each other.
#pragma once
#include "kernels/cuda/trsm/trsm.hpp"
#include "kernels/cuda/trsm/trsm_kernels.hpp"

namespace blaslift {
namespace {

using namespace trsm_kernels;

template <class T>
inline constexpr int tile = sizeof(T) == 16 ? 32 : 64;  // TrsmLayout::least_tile

template <class T>
constexpr std::size_t tiles_memory() {
  return (2 * std::size_t{tile<T>} * (tile<T> + 1) + tile<T>)*sizeof(T);
}
template <class T>
constexpr std::size_t most_memory() {
  return std::max(bound_memory<T, 2 * strip<T>>(most_trsm_block), substitution_memory<T>(most_trsm_block));
}
static_assert(std::max(most_memory<double>(), most_memory<Complex<double>>()) <= trsm_shared_memory);

template <class T>
T* in_workspace(const Trsm& p, std::size_t offset) {
  return reinterpret_cast<T*>(static_cast<char*>(p.workspace) + offset);
}

template <class T>
Blocks<T> blocks_of(const Trsm& p) {
  const TrsmLayout layout(p);
  return {.A = static_cast<const T*>(p.A),
          .lda = p.lda,
          .order = p.order(),
          .block = layout.block,
          .blocks = layout.blocks,
          .upper = p.uplo == Uplo::upper,
          .unit = p.unit,
          .inverses = in_workspace<T>(p, layout.inverses),
          .triangles = in_workspace<T>(p, layout.triangles),
          .inverse_sizes = in_workspace<std::uint16_t>(p, layout.inverse_sizes),
          .triangle_sizes = in_workspace<std::uint16_t>(p, layout.triangle_sizes),
          .sums = in_workspace<Real<T>>(p, layout.sums),
          .refused = in_workspace<unsigned>(p, layout.refused),
          .addresses = in_workspace<T*>(p, layout.addresses),
          .pairs = layout.pairs()};
}

template <class Kernel>
cudaError_t allow_memory(Kernel* kernel, std::size_t bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
}

template <class T>
cudaError_t take(const Trsm& p, cudaStream_t stream) {
  const Blocks<T> job = blocks_of<T>(p);
  constexpr int E = tile<T>;
  const auto blocks = static_cast<unsigned>(job.blocks);
  const dim3 grid(static_cast<unsigned>(std::min<index>(job.block * job.block / threads, 64)), blocks);
  take_blocks<T><<<grid, threads, 0, stream>>>(job, E);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  if (const cudaError_t error = allow_memory(invert_tiles<T, E>, tiles_memory<T>()); error != cudaSuccess) return error;
  invert_tiles<T, E><<<blocks* static_cast<unsigned>(job.block / E), threads, tiles_memory<T>(), stream>>>(job);
  return cudaGetLastError();
}

template <class T>
cudaError_t check(const Trsm& p, cudaStream_t stream) {
  const Blocks<T> job = blocks_of<T>(p);
  const dim3 grid(static_cast<unsigned>(job.block / warp), static_cast<unsigned>(job.blocks), 2);
  sum_blocks<T><<<grid, threads, 0, stream>>>(job, job.triangles, nullptr, most_size<T>, job.sums);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  sum_blocks<T><<<grid, threads, 0, stream>>>(job, job.inverses, job.sums, static_cast<Real<T>>(most_growth(p.order())),
                                              nullptr);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  take_sizes<T><<<dim3(16, static_cast<unsigned>(job.blocks)), threads, 0, stream>>>(job);
  return cudaGetLastError();
}

template <class T, int C>
cudaError_t start_check(const Finish<T>& job, cudaStream_t stream) {
  const std::size_t memory = bound_memory<T, C>(job.block);
  if (const cudaError_t error = allow_memory(check_block<T, C>, memory); error != cudaSuccess) return error;
  check_block<T, C><<<static_cast<unsigned>((job.others + C - 1) / C), threads, memory, stream>>>(job);
  return cudaGetLastError();
}

template <class T>
cudaError_t finish(const Trsm& p, index i, cudaStream_t stream) {
  const TrsmLayout layout(p);
  const bool right = p.side == Side::right, transposed = (p.trans != Op::none) != right;
  const index first = i * layout.block, r = layout.rows(i, p.order());
  const Finish<T> job{.triangle = in_workspace<T>(p, layout.triangles) + first * layout.block,
                      .inverse_sizes = in_workspace<std::uint16_t>(p, layout.inverse_sizes) + first * layout.block,
                      .triangle_sizes = in_workspace<std::uint16_t>(p, layout.triangle_sizes) + first * layout.block,
                      .block = layout.block,
                      .r = static_cast<int>(r),
                      .lower = (p.uplo == Uplo::lower) != transposed,
                      .transposed = transposed,
                      .conjugated = p.trans == Op::conjugate,
                      .right = right,
                      .refused = in_workspace<unsigned>(p, layout.refused) + i,
                      .counts = transposed ? refused_transposed : refused_as_it_is,
                      .most_growth = static_cast<float>(most_growth(p.order())),
                      .substituted = in_workspace<unsigned>(p, layout.substituted),
                      .W = in_workspace<T>(p, layout.panel),
                      .ldw = right ? p.m : r,
                      .X = static_cast<T*>(p.B) + (right ? first * p.ldb : first),
                      .ldx = p.ldb,
                      .others = p.others()};
  // Wide ones where two of them come to each processor (of an H100); and for substitution few blocks of threads, since
  // mostly there is nothing to do.
  constexpr index processors = 132;
  constexpr int narrow = strip<T>, wide = 2 * narrow;
  const index strips = (job.others + narrow - 1) / narrow;
  const cudaError_t checked =
      strips > 2 * processors ? start_check<T, wide>(job, stream) : start_check<T, narrow>(job, stream);
  if (checked != cudaSuccess) return checked;
  const std::size_t memory = substitution_memory<T>(layout.block);
  if (const cudaError_t error = allow_memory(substitute_in_block<T>, memory); error != cudaSuccess) return error;
  substitute_in_block<T><<<static_cast<unsigned>(std::min(strips, 2 * processors)), threads, memory, stream>>>(job);
  return cudaGetLastError();
}

}  // namespace

#define BLASLIFT_TRSM_OF(T, letter)                                                                          \
  cudaError_t take_trsm_blocks_##letter(const Trsm& p, cudaStream_t stream) { return take<T>(p, stream); }   \
  cudaError_t check_trsm_blocks_##letter(const Trsm& p, cudaStream_t stream) { return check<T>(p, stream); } \
  cudaError_t finish_trsm_block_##letter(const Trsm& p, index i, cudaStream_t stream) {                      \
    return finish<T>(p, i, stream);                                                                          \
  }

}  // namespace blaslift
