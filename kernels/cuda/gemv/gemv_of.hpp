// GEMV of one element type: its kernels and their launches.  A unit an element type includes this, so that they compile
// beside each other.
#pragma once
#include <cstdint>
#include <cstring>

#include "kernels/cuda/core/early.hpp"
#include "kernels/cuda/gemv/gemv.hpp"
#include "kernels/cuda/gemv/gemv_kernels.hpp"

namespace blaslift {
namespace {

using namespace gemv_order;

template <class T>
Job<T> job_of(const Gemv& p) {
  // BLAS begins a vector with a negative increment at its far end.
  const auto first = [](auto* at, index n, index inc) { return inc < 0 ? at + (1 - n) * inc : at; };
  Job<T> job{.order = Order(p),
             .A = static_cast<const T*>(p.A),
             .lda = p.lda,
             .x = first(static_cast<const T*>(p.x), p.terms(), p.incx),
             .incx = p.incx,
             .y = first(static_cast<T*>(p.y), p.results(), p.incy),
             .incy = p.incy,
             .alpha = {},
             .beta = {},
             .conjugated = p.conjugated,
             .parts = static_cast<T*>(p.workspace)};
  std::memcpy(&job.alpha, p.alpha, sizeof job.alpha);
  std::memcpy(&job.beta, p.beta, sizeof job.beta);
  return job;
}

template <class T, bool wide>
cudaError_t start_sums(const Job<T>& job, cudaStream_t stream) {
  const Order& order = job.order;
  const auto blocks = static_cast<unsigned>(order.blocks * order.chunks);
  if (order.transposed && order.together == threads)
    sum_rows<T, threads, wide><<<blocks, threads, 0, stream>>>(job);
  else if (order.transposed)
    sum_rows<T, 32, wide><<<blocks, threads, 0, stream>>>(job);
  else if (order.together == warps)
    sum_columns<T, warps, wide><<<blocks, threads, 0, stream>>>(job);
  else
    sum_columns<T, 1, wide><<<blocks, threads, 0, stream>>>(job);
  return cudaGetLastError();
}

template <class T>
cudaError_t gemv_as(const Gemv& p, cudaStream_t stream) {
  const Job<T> job = job_of<T>(p);
  const auto blocks_of_parts = static_cast<unsigned>((job.order.results - 1) / rows_of_parts + 1);
  if (equals(job.alpha, 0)) {
    if (!equals(job.beta, 1)) add_parts<T><<<blocks_of_parts, threads, 0, stream>>>(job);
    return cudaGetLastError();
  }
  bool wide = true;  // an element of 16 bytes always is
  if constexpr (sizeof(T) < 16)
    wide = reinterpret_cast<std::uintptr_t>(p.A) % 16 == 0 && p.lda * static_cast<index>(sizeof(T)) % 16 == 0;
  cudaError_t error = cudaSuccess;
  if (wide)
    error = start_sums<T, true>(job, stream);
  else if constexpr (sizeof(T) < 16)
    error = start_sums<T, false>(job, stream);
  if (error != cudaSuccess || job.order.chunks == 1) return error;
  bool hopper = false;
  if (error = is_hopper_or_later(hopper); error != cudaSuccess) return error;
  return start_early(add_parts<T>, blocks_of_parts, dim3(threads), job, hopper, stream);
}

}  // namespace
}  // namespace blaslift
