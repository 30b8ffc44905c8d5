#include <algorithm>

#include "kernels/cuda/svd/matrix.cuh"
#include "kernels/cuda/svd/svd.hpp"

namespace blaslift {
namespace {

using namespace of_svd;

/// What is known of a matrix while it is worked on, on the device.
struct State {
  unsigned long long largest;             ///< as bits_of() has it
  unsigned long long largest_in_vectors;  ///< likewise
};
static_assert(sizeof(State) <= Solver::words);

/// Whether the vendor's decomposition can be trusted with it: it is not zero, and LAPACK's drivers would not scale it
/// (sqrt(safe minimum) / eps).
template <class R>
__device__ bool bearable(const State& state) {
  constexpr int exponent = sizeof(R) == 4 ? 39 : 458;
  const R largest = number_of<R>(state.largest);
  return isfinite(largest) && largest > 0 && unbearable_exponent(largest, exponent) == 0;
}

/// What cannot be computed with becomes an identity.
template <class R, int parts>
__global__ void replace_unbearable(index rows, index cols, R* A, index ld, const State* state) {
  if (bearable<R>(*state)) return;
  for (index j = blockIdx.x; j < cols; j += gridDim.x)
    for (index i = threadIdx.x; i < rows * parts; i += threads) A[i + j * ld * parts] = i == j * parts ? 1 : 0;
}

/// One block.
template <class R, int parts>
__global__ void finish(const R* s, index count, const State* state, const int* info, bool of_another, R* said) {
  __shared__ int failed;
  if (threadIdx.x == 0)
    failed = of_another || *info != 0 || !bearable<R>(*state) || !isfinite(number_of<R>(state->largest_in_vectors));
  __syncthreads();
  for (index i = threadIdx.x; i < count; i += threads)
    if (!isfinite(s[i]) || s[i] < 0 || (i > 0 && s[i - 1] < s[i])) failed = 1;
  __syncthreads();
  if (threadIdx.x < parts) said[threadIdx.x] = threadIdx.x == 0 && failed ? 1 : 0;
}

/// Of a wide matrix by its adjoint, whose U is the wide one's V.
template <class R, int parts, class E>
class Decomposition {
 public:
  Decomposition(const Svd& p, Solver& solver, cudaStream_t stream)
      : p_(p),
        solver_(solver),
        stream_(stream),
        wide_(p.m < p.n),
        vectors_(p.u_cols > 0 || p.vt_rows > 0),
        rows_(std::max(p.m, p.n)),
        cols_(p.count()),
        made_((wide_ ? p.vt_rows : p.u_cols) > cols_ ? rows_ : cols_) {}

  /// In memory of our own: the tall matrix, which the vendor's library destroys, and what is not to be where it makes
  /// it: it makes V, and V^H is asked for.
  cudaError_t run() {
    if (const cudaError_t error = solver_.prepare(stream_); error != cudaSuccess) return error;
    // Without vectors, too: cuSOLVER 12.0 writes R of a tall matrix where V would be.  And what lies between columns
    // is not its own, but it writes there.
    const bool elsewhere = !vectors_ || p_.u_cols == 0 || p_.ldu != p_.m, own_left = wide_ || elsewhere,
               own_right = !wide_ || elsewhere;
    const std::size_t matrix = bytes(rows_, cols_), left = own_left ? bytes(rows_, made_) : 0,
                      right = own_right ? bytes(cols_, cols_) : 0;
    char* own = nullptr;
    if (const cudaError_t error = cudaMallocAsync(reinterpret_cast<void**>(&own), matrix + left + right, stream_);
        error != cudaSuccess)
      return error;
    const TallSvd tall{.precision = p_.precision,
                       .vectors = vectors_,
                       .rows = rows_,
                       .cols = cols_,
                       .u_cols = made_,
                       .A = own,
                       .lda = rows_,
                       .s = p_.s,
                       .U = own_left ? own + matrix : p_.U,
                       .ldu = own_left ? rows_ : p_.ldu,
                       .V = own_right ? own + matrix + left : p_.U,
                       .ldv = own_right ? cols_ : p_.ldu};
    cudaError_t error = take(tall);
    if (error == cudaSuccess) error = find(tall);
    const cudaError_t freed = cudaFreeAsync(own, stream_);
    return error == cudaSuccess ? freed : error;
  }

 private:
  static std::size_t bytes(index rows, index cols) {
    constexpr std::size_t aligned = 256;
    return (static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) * sizeof(E) + aligned - 1) / aligned *
           aligned;
  }
  static unsigned blocks(index cols) { return static_cast<unsigned>(std::min(cols, most_blocks)); }

  cudaError_t take(const TallSvd& tall) const {
    if (wide_)
      return start_transpose(p_.m, p_.n, static_cast<const E*>(p_.A), p_.lda, static_cast<E*>(tall.A), tall.lda,
                             stream_);
    const std::size_t column = static_cast<std::size_t>(rows_) * sizeof(E);
    return cudaMemcpy2DAsync(tall.A, column, p_.A, static_cast<std::size_t>(p_.lda) * sizeof(E), column,
                             static_cast<std::size_t>(cols_), cudaMemcpyDeviceToDevice, stream_);
  }

  cudaError_t find(const TallSvd& tall) const {
    auto* const state = static_cast<State*>(solver_.scratch());
    if (const cudaError_t error = cudaMemsetAsync(state, 0, sizeof *state, stream_); error != cudaSuccess) return error;
    if (const cudaError_t error = cudaMemsetAsync(const_cast<int*>(solver_.info()), 0, sizeof(int), stream_);
        error != cudaSuccess)
      return error;
    const auto look_at = [&](const void* matrix, index rows, index cols, index ld, unsigned long long* largest) {
      survey<<<blocks(cols), threads, 0, stream_>>>(rows * parts, cols, static_cast<const R*>(matrix), ld * parts,
                                                    largest);
      return started();
    };
    const auto begin = [&] {
      const cudaError_t error = look_at(tall.A, rows_, cols_, tall.lda, &state->largest);
      if (error != cudaSuccess) return error;
      replace_unbearable<R, parts>
          <<<blocks(cols_), threads, 0, stream_>>>(rows_, cols_, static_cast<R*>(tall.A), tall.lda, state);
      return started();
    };
    bool of_another = true;
    cudaError_t error = solver_.gesvdp(tall, stream_, begin, of_another);
    if (error == cudaSuccess && vectors_) error = look_at(tall.U, rows_, made_, tall.ldu, &state->largest_in_vectors);
    if (error == cudaSuccess && vectors_) error = look_at(tall.V, cols_, cols_, tall.ldv, &state->largest_in_vectors);
    const void* const made = wide_ ? tall.V : tall.U;
    if (error == cudaSuccess && p_.u_cols > 0 && made != p_.U) error = give_left(made, wide_ ? tall.ldv : tall.ldu);
    if (error == cudaSuccess && p_.vt_rows > 0) error = give(tall);
    if (error != cudaSuccess) return error;
    finish<R, parts><<<1, threads, 0, stream_>>>(static_cast<const R*>(p_.s), cols_, state, solver_.info(), of_another,
                                                 static_cast<R*>(p_.failed));
    return started();
  }

  cudaError_t give_left(const void* made, index ld) const {
    return cudaMemcpy2DAsync(p_.U, static_cast<std::size_t>(p_.ldu) * sizeof(E), made,
                             static_cast<std::size_t>(ld) * sizeof(E), static_cast<std::size_t>(p_.m) * sizeof(E),
                             static_cast<std::size_t>(p_.u_cols), cudaMemcpyDeviceToDevice, stream_);
  }

  /// V^H, of a wide matrix the adjoint of what is U here.
  cudaError_t give(const TallSvd& tall) const {
    return start_transpose(p_.n, p_.vt_rows, static_cast<const E*>(wide_ ? tall.U : tall.V),
                           wide_ ? tall.ldu : tall.ldv, static_cast<E*>(p_.VT), p_.ldvt, stream_);
  }

  const Svd& p_;
  Solver& solver_;
  const cudaStream_t stream_;
  const bool wide_, vectors_;
  const index rows_, cols_, made_;  ///< of the tall matrix, and how many of its left singular vectors
};

}  // namespace

cudaError_t svd(const Svd& p, Solver& solver, cudaStream_t stream) {
  switch (p.precision) {
    case Precision::s: return Decomposition<float, 1, float>(p, solver, stream).run();
    case Precision::d: return Decomposition<double, 1, double>(p, solver, stream).run();
    case Precision::c: return Decomposition<float, 2, float2>(p, solver, stream).run();
    case Precision::z: break;
  }
  return Decomposition<double, 2, double2>(p, solver, stream).run();
}

}  // namespace blaslift
