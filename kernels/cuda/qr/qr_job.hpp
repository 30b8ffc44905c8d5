// A panel of QR as its kernels are told of it: sizes, operands, and what is where in the workspace.
#pragma once
#include <cstddef>

#include "kernels/cuda/core/numbers.hpp"
#include "kernels/cuda/core/phases.hpp"
#include "kernels/types.hpp"

namespace blaslift::qr_kernels {

using namespace numbers;
using phases::PerThread, phases::threads;

/// What the kernels take at once; the shared memory of all devices has room for its n x n matrices.
template <class T>
inline constexpr int most_columns = is_complex_number<T> ? 32 : 64;

template <class T>
struct Job {
  using W = Wide<T>;
  index m;
  int n;
  T* A;
  index lda;
  T* tau;
  int above, block;
  T* V;  ///< from the panel's first row on
  index ldv;
  T* t;  ///< with the rows above the panel's
  index ldt;
  bool householder;  ///< without trying the fast way
  bool factored;     ///< A and tau are only read

  // The workspace.
  W* parts;            ///< of Gram matrices, by block; of scalar products, by chunk
  W* groups;           ///< sums of parts
  T *R, *S, *product;  ///< N x N by rows: R1, U R2, R2 R1; or the Householder way's R
  Real<T>* scale;      ///< of A's columns, powers of two
  Real<T>* largest;    ///< by chunk
  unsigned* counters;  ///< by group; zero between kernels
  int* failed;         ///< whether the Householder way is to be taken
};

// Of the largest kernels, in elements.
inline constexpr int most_parts = 256, group = 16, most_groups = most_parts / group, most_chunks = 128;
template <class T>
inline constexpr index square = index{most_columns<T>} * most_columns<T>;

/// @return bytes
template <class T>
std::size_t place_workspace(Job<T>& job, void* memory) {
  std::size_t used = 0;
  const auto part = [&]<class X>(X*& at, index count) {
    at = reinterpret_cast<X*>(static_cast<char*>(memory) + used);
    used += (static_cast<std::size_t>(count) * sizeof(X) + 255) / 256 * 256;
  };
  part(job.counters, most_groups);  // first: zero before any kernel, whatever the precision
  part(job.failed, 1);
  part(job.parts, most_parts * square<T>);
  part(job.groups, most_groups * square<T>);
  part(job.R, square<T>);
  part(job.S, square<T>);
  part(job.product, square<T>);
  part(job.scale, most_columns<T>);
  part(job.largest, most_chunks);
  return used;
}
inline constexpr std::size_t counter_bytes = 512;  ///< at the beginning, that have to be zero before the first kernel

/// The kernels' width: n <= N.
template <class T>
constexpr int width(int n) {
  return is_complex_number<T> ? 32 : n <= 16 ? 16 : n <= 32 ? 32 : 64;
}

/// The panel of p, and its workspace.
/// @param householder  whether only Householder's way is to be tried; otherwise where Gram matrices can say nothing
template <class T>
Job<T> job_of(const QrPanel& p, void* workspace, bool householder) {
  Job<T> job{.m = p.m,
             .n = static_cast<int>(p.n),
             .A = static_cast<T*>(p.A),
             .lda = p.lda,
             .tau = static_cast<T*>(p.tau),
             .above = static_cast<int>(p.above),
             .block = static_cast<int>(p.block),
             .V = static_cast<T*>(p.V) + p.above,
             .ldv = p.ldv,
             .t = static_cast<T*>(p.T),
             .ldt = p.ldt,
             // Of a square matrix the last reflector is the identity.
             .householder = householder || p.m == p.n,
             .factored = p.factored};
  place_workspace(job, workspace);
  return job;
}

}  // namespace blaslift::qr_kernels
