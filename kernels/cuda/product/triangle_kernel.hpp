// The kernel of triangle.hpp.
#pragma once
#include "kernels/arithmetic.hpp"

namespace blaslift::triangle_kernels {

inline constexpr int threads = 256;

/// What C's elements become: W, or nothing where W is null, and beta C.
enum class Keeps : int {
  nothing,  ///< beta = 0: C is not read
  all,      ///< beta = 1: not C * 1, which would touch NaN and Inf
  scaled
};

/// Grid-stride over columns (y) and rows (x): any n up to 64 bits.
template <class T>
__global__ void __launch_bounds__(threads)
    triangle_kernel(Part part, index n, const T* W, index ldw, T beta, Keeps keeps, T* C, index ldc) {
  for (index j = blockIdx.y; j < n; j += gridDim.y) {
    const index begin = part == Part::upper ? 0 : j, end = part == Part::upper ? j + 1 : n;
    for (index i = begin + blockIdx.x * static_cast<index>(threads) + threadIdx.x; i < end;
         i += static_cast<index>(gridDim.x) * threads) {
      T& c = C[i + j * ldc];
      const T w = W ? W[i + j * ldw] : T{};
      if (keeps == Keeps::nothing)
        c = w;
      else if (keeps == Keeps::all)
        c = W ? arithmetic::plus(w, c) : c;
      else
        c = W ? arithmetic::add_product(beta, c, w) : arithmetic::times(beta, c);
    }
  }
}

}  // namespace blaslift::triangle_kernels
