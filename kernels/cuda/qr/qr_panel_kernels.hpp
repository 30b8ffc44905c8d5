// The kernels of a panel of QR.  Apart from their launches, so that tests can run them where there is no GPU: after
// tests/unit/support/cuda_on_host.hpp.
//
// The fast way is Cholesky QR, twice, and Householder vectors found for its Q (docs/developer/qr.md):
//
//     gram       G = A^H A, in parts                       cholesky    G = R1^H R1
//     solve      Q1 = A R1^-1, into V                      gram        of Q1, below the first n rows
//     rebuild    Q1^H Q1 = R2^H R2, Q = Q1 R2^-1, Q - [D; 0] = V U in the first n rows; T, tau, R = D R2 R1; the check
//     solve      V2 = Q1 (U R2)^-1 below them, into V and A
//
// A is not written before the check, which looks at what the rows below will give before they are there: their part of
// V^H V is (U R2)^-H (their part of Q1^H Q1) (U R2)^-1.  What does not pass is left to the last kernel, Householder's
// way column by column; it returns at once where there is nothing left to do.
//
// A panel that is factored already needs its V and T only:
//
//     gram       G = V^H V below the first n rows, which are copied on the way
//     triangle   G of all rows; T of G and tau; V's first n rows
//
// Gram matrices and all that is n x n is in double precision, also for s and c: R1 is good then whatever the condition
// that single precision can see.  Every sum has one order, which follows from m and n alone.
#pragma once
#include <array>

#include "kernels/cuda/qr/qr_gram.hpp"
#include "kernels/cuda/qr/qr_householder.hpp"
#include "kernels/cuda/qr/qr_rebuild.hpp"
#include "kernels/cuda/qr/qr_solve.hpp"

namespace blaslift::qr_kernels {

enum class Kernel {
  gram_of_a,
  cholesky,
  solve_a,
  gram_of_q,
  rebuild,
  solve_q,
  gram_of_reflectors,
  triangle,
  householder
};

/// In one stream, in this order.
struct Launch {
  Kernel kernel;
  int blocks;
};

/// The same whatever the panel holds: what is not needed returns at once.  Householder's blocks are at most so many,
/// all of them there at a time; its bits do not depend on how many.
template <class T, int N>
struct Launches {
  std::array<Launch, 7> all;
  int count;

  explicit Launches(const Job<T>& job) {
    const index below = job.m - job.n;
    if (job.factored) {
      all[0] = {Kernel::gram_of_reflectors, GramCut<T, N>::blocks(below)};
      all[1] = {Kernel::triangle, 1};
      count = 2;
      return;
    }
    const Launch last{Kernel::householder, chunks_of(job.m)};
    if (job.householder) {
      all[0] = last;
      count = 1;
      return;
    }
    all = {Launch{Kernel::gram_of_a, GramCut<T, N>::blocks(job.m)},
           {Kernel::cholesky, 1},
           {Kernel::solve_a, SolveCut<T, N>::blocks(job.m)},
           {Kernel::gram_of_q, GramCut<T, N>::blocks(below)},
           {Kernel::rebuild, 1},
           {Kernel::solve_q, SolveCut<T, N>::blocks(below)},
           last};
    count = 7;
  }
};

template <Kernel kernel, class T, int N>
struct SharedOf {
  using type = SmallShared<Wide<T>, N>;
};
template <Kernel kernel, class T, int N>
requires(kernel == Kernel::gram_of_a || kernel == Kernel::gram_of_q ||
         kernel == Kernel::gram_of_reflectors) struct SharedOf<kernel, T, N> {
  using type = GramShared<T, N>;
};
template <Kernel kernel, class T, int N>
requires(kernel == Kernel::solve_a || kernel == Kernel::solve_q) struct SharedOf<kernel, T, N> {
  using type = SolveShared<T, N>;
};
template <class T, int N>
struct SharedOf<Kernel::householder, T, N> {
  using type = HouseholderShared<T, N>;
};

/// One block's work of any kernel but Householder's.
template <Kernel kernel, int N, class T, class Block, class Shared>
__device__ void run(const Block& block, const Job<T>& job, Shared& shared) {
  const auto groups = [](index m) { return (GramCut<T, N>::blocks(m) - 1) / group + 1; };
  if constexpr (kernel == Kernel::gram_of_a)
    gram<GramOf::a, N>(block, job, shared);
  else if constexpr (kernel == Kernel::cholesky)
    cholesky<N>(block, job, groups(job.m), shared);
  else if constexpr (kernel == Kernel::solve_a)
    solve<true, N>(block, job, shared);
  else if constexpr (kernel == Kernel::gram_of_q)
    gram<GramOf::q, N>(block, job, shared);
  else if constexpr (kernel == Kernel::rebuild)
    rebuild<N>(block, job, groups(job.m - job.n), shared);
  else if constexpr (kernel == Kernel::solve_q)
    solve<false, N>(block, job, shared);
  else if constexpr (kernel == Kernel::gram_of_reflectors)
    gram<GramOf::reflectors, N>(block, job, shared);
  else
    triangle<N>(block, job, groups(job.m - job.n), shared);
}

}  // namespace blaslift::qr_kernels
