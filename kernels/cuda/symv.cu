#include <cstdint>
#include <cstring>

#include "kernels/cuda/symv.hpp"
#include "kernels/cuda/symv_kernels.hpp"

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
cudaError_t symv_as(const Symv& p, cudaStream_t stream) {
  const Job<T> job = job_of<T>(p);
  const bool alone = equals(job.alpha, 0);
  if (alone && equals(job.beta, 1)) return cudaSuccess;
  if (alone || p.blocking.U == 0) {
    sum_rows<T><<<static_cast<unsigned>((p.n + strip - 1) / strip), dim3(32, warps(sizeof(T))), 0, stream>>>(job);
    return cudaGetLastError();
  }
  cudaError_t error = cudaErrorInvalidValue;
  if constexpr (sizeof(T) < 16)
    error = start_tiles<T, symv_blockings>(p, job, stream);
  else
    error = start_tiles<T, symv_blockings_16>(p, job, stream);
  if (error != cudaSuccess) return error;
  add_parts<T><<<static_cast<unsigned>((p.n + 31) / 32), dim3(32, chains), 0, stream>>>(job);
  return cudaGetLastError();
}

}  // namespace

cudaError_t symv(const Symv& p, cudaStream_t stream) {
  if (p.n == 0) return cudaSuccess;
  if (p.n > INT32_MAX || !symv_fits(p.blocking, p.precision)) return cudaErrorInvalidValue;
  switch (p.precision) {
    case SymvPrecision::s: return symv_as<float>(p, stream);
    case SymvPrecision::d: return symv_as<double>(p, stream);
    case SymvPrecision::c: return symv_as<Complex<float>>(p, stream);
    case SymvPrecision::z: return symv_as<Complex<double>>(p, stream);
    case SymvPrecision::w: return symv_as<DoubleDouble>(p, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace blaslift
