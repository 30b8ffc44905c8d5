// SYMV and HEMV of one element type: every kernel for every blocking, and their launches.  A unit an element type
// includes this, so that they compile beside each other.
#pragma once
#include <cstdint>
#include <cstring>

#include "kernels/cuda/core/early.hpp"
#include "kernels/cuda/symv/symv.hpp"
#include "kernels/cuda/symv/symv_kernels.hpp"

namespace blaslift {
namespace {

using namespace symv_order;

template <class T>
Job<T> job_of(const Symv& p) {
  // BLAS begins a vector with a negative increment at its far end.
  const auto first = [&p](auto* at, index inc) { return inc < 0 ? at + (1 - p.n) * inc : at; };
  const Order order(p);
  Job<T> job{.order = order,
             .A = static_cast<const T*>(p.A),
             .lda = p.lda,
             .x = first(static_cast<const T*>(p.x), p.incx),
             .incx = p.incx,
             .y = first(static_cast<T*>(p.y), p.incy),
             .incy = p.incy,
             .hermitian = p.hermitian,
             .conjugated = p.conjugated,
             .by_tickets = p.way == SymvWay::tickets};
  std::memcpy(&job.alpha, p.alpha, sizeof job.alpha);
  std::memcpy(&job.beta, p.beta, sizeof job.beta);
  job.rows = static_cast<T*>(p.workspace);
  job.columns = job.rows + order.row_parts(p.way);
  job.counter = reinterpret_cast<unsigned*>(job.columns + order.column_parts());
  job.tickets = job.counter + 1;
  return job;
}

template <class T, int U, int Tx, int Ty, bool wide>
cudaError_t start_tiles(const Symv& p, const Job<T>& job, cudaStream_t stream) {
  const dim3 block(Tx, Ty);
  const auto tiles = static_cast<unsigned>(job.order.tiles());
  if (!job.by_tickets) {
    sum_tiles<T, U, Tx, Ty, wide, false><<<tiles, block, 0, stream>>>(job);
    return cudaGetLastError();
  }
  const std::size_t counters = static_cast<std::size_t>(job.order.counters(p.way)) * sizeof(unsigned);
  if (const cudaError_t error = cudaMemsetAsync(job.counter, 0, counters, stream); error != cudaSuccess) return error;
  sum_tiles<T, U, Tx, Ty, wide, true><<<tiles, block, static_cast<std::size_t>(job.order.H) * sizeof(T), stream>>>(job);
  return cudaGetLastError();
}

/// With the list's I-th blocking, or a later one, if that is what is asked for.
template <class T, const auto& list, std::size_t I = 0>
cudaError_t start_tiles(const Symv& p, const Job<T>& job, cudaStream_t stream) {
  if constexpr (I == std::size(list)) {
    return cudaErrorInvalidValue;
  } else {
    constexpr SymvBlocking b = list[I];
    if (p.blocking.U != b.U || p.blocking.Tx != b.Tx || p.blocking.Ty != b.Ty)
      return start_tiles<T, list, I + 1>(p, job, stream);
    if constexpr (sizeof(T) < 16) {
      const bool aligned =
          reinterpret_cast<std::uintptr_t>(p.A) % 16 == 0 && p.lda * static_cast<index>(sizeof(T)) % 16 == 0;
      if (!aligned) return start_tiles<T, b.U, b.Tx, b.Ty, false>(p, job, stream);
    }
    return start_tiles<T, b.U, b.Tx, b.Ty, true>(p, job, stream);
  }
}

template <class T>
cudaError_t start_rows(const Job<T>& job, bool hopper, cudaStream_t stream) {
  const auto strips = static_cast<unsigned>((job.order.n - 1) / strip + 1);
  const auto shares = static_cast<unsigned>(job.order.shares);
  const dim3 block(32, warps(sizeof(T)));
  if (!hopper || shares == 1 || equals(job.alpha, 0)) {
    sum_rows<T, false><<<strips, block, 0, stream>>>(job);
    return cudaGetLastError();
  }
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {shares, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = strips * shares;
  config.blockDim = block;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, sum_rows<T, true>, job);
}

/// Behind the tiles, which it waits for itself: its blocks are there when they end.
template <class T>
cudaError_t start_parts(const Job<T>& job, bool hopper, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((job.order.n - 1) / 32 + 1);
  return start_early(add_parts<T>, blocks, dim3(32, chains), job, hopper, stream);
}

template <class T>
cudaError_t symv_as(const Symv& p, cudaStream_t stream) {
  const Job<T> job = job_of<T>(p);
  const bool alone = equals(job.alpha, 0);
  if (alone && equals(job.beta, 1)) return cudaSuccess;
  bool hopper = false;
  if (const cudaError_t error = is_hopper_or_later(hopper); error != cudaSuccess) return error;
  if (alone || p.blocking.U == 0) return start_rows(job, hopper, stream);
  cudaError_t error = cudaErrorInvalidValue;
  if constexpr (sizeof(T) < 16)
    error = start_tiles<T, symv_blockings>(p, job, stream);
  else
    error = start_tiles<T, symv_blockings_16>(p, job, stream);
  return error == cudaSuccess ? start_parts(job, hopper, stream) : error;
}

}  // namespace
}  // namespace blaslift
