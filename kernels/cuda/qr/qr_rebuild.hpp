// What is n x n of a panel of QR, each kernel one block of threads: R1 from a Gram matrix, Householder vectors from Q1,
// T of vectors that are there.
#pragma once
#include <cmath>

#include "kernels/cuda/core/small_factor.hpp"
#include "kernels/cuda/core/small_solve.hpp"
#include "kernels/cuda/qr/qr_gram.hpp"

namespace blaslift::qr_kernels {

using namespace small_matrix;

/// What the kernels for n x n matrices share.
template <class W, int N>
struct SmallShared {
  SharedMatrix<W, N> first, second, third, fourth;
  W inverse[N];
  double diagonal[N];
  int sign[N];
  int bad, far;
};

/// The sum of the groups; the rest of N columns as in the identity.
template <int N, class T, class Block>
__device__ void load_gram(const Block& block, const Job<T>& job, int groups, PerThread<Fragment<Wide<T>, N>>& X,
                          SmallShared<Wide<T>, N>& s) {
  using W = Wide<T>;
  using Cut = GramCut<T, N>;
  W* const sums = &s.fourth[0][0];
  static_assert(Cut::size * sizeof(W) <= sizeof s.fourth);
  block.each([&](int t) {
    if (t == 0) s.bad = s.far = 0;
    for (int e = t; e < Cut::size; e += threads) {
      W x[most_groups];
#pragma unroll
      for (int g = 0; g < most_groups; ++g) x[g] = g < groups ? job.groups[g * Cut::size + e] : W{};
      W sum = x[0];
#pragma unroll
      for (int g = 1; g < most_groups; ++g) sum = plus(sum, x[g]);
      sums[e] = sum;
    }
  });
  block.each([&](int t) {
    X[t].each(t, [&](W& x, int i, int j) {
      if (i >= job.n || j >= job.n) {
        x = number<W>(i == j ? 1 : 0);
        return;
      }
      const W sum = sums[Cut::place(i < j ? i : j, i < j ? j : i)];
      x = i == j ? number<W>(re(sum)) : i < j ? sum : conj(sum);
    });
  });
}

/// The fast way's first decision: one block.
template <int N, class T, class Block>
__device__ void cholesky(const Block& block, const Job<T>& job, int groups, SmallShared<Wide<T>, N>& s) {
  using W = Wide<T>;
  PerThread<Fragment<W, N>> X;
  load_gram<N>(block, job, groups, X, s);
  // Below this what is left of a column is made of roundings.  What is above may still be no good: Q1's Gram matrix
  // will tell.
  const double least = 16 * job.n * eps<double>;
  factor_cholesky<N>(block, least, X, s.first, s, s.bad);
  block.each([&](int t) {
    X[t].each(t, [&](W&, int i, int j) {
      job.R[i * N + j] = narrow<T>(s.first[i][j]);
      // Neither over- nor underflow has touched the products.
      if (i == j && i < job.n && !(s.diagonal[i] > 0x1p-400 && s.diagonal[i] < 0x1p400)) s.bad = 1;
    });
  });
  block.each([&](int t) {
    if (t == 0) *job.failed = s.bad;
  });
}

/// V's first n rows and T, with zeros where they have nothing of the panel's.  A column to a warp.
template <class T, class Block, class V, class F>
__device__ void write_factors(const Block& block, const Job<T>& job, const V& v_of, const F& t_of) {
  block.each([&](int t) {
    for (int j = t / 32; j < job.n; j += threads / 32) {
      T* const v = job.V + j * job.ldv;
      for (int i = t % 32; i < job.n; i += 32) v[i] = narrow<T>(v_of(i, j));
      for (int i = t % 32; i < job.above; i += 32) v[i - job.above] = T{};
      for (int row = t % 32; row < job.block; row += 32) {
        const int i = row - job.above;
        job.t[row + j * job.ldt] = i >= 0 && i <= j ? narrow<T>(t_of(i, j)) : T{};
      }
    }
  });
}

/// Everything between Q1's Gram matrix and the last pass, the check, and the first n rows of the result: one block.
template <int N, class T, class Block>
__device__ void rebuild(const Block& block, const Job<T>& job, int groups, SmallShared<Wide<T>, N>& s) {
  using W = Wide<T>;
  if (*job.failed) return;
  const int n = job.n;
  const double allowed = 8 * (n + 8) * static_cast<double>(eps<T>);
  // What is in the same place follows on each other, in this order.
  SharedMatrix<W, N>&R2 = s.first, &S = s.first, &U = s.first, &Q = s.second, &product = s.second, &below = s.third,
                  &t_ = s.third, &R1 = s.fourth, &V = s.fourth;
  PerThread<Fragment<W, N>> X;
  load_gram<N>(block, job, groups, X, s);
  block.each([&](int t) {
    X[t].each(t, [&](W& x, int i, int j) {
      below[i][j] = i < n && j < n ? x : W{};
      R1[i][j] = wide(job.R[i * N + j]);
    });
    for (int e = t; e < N * N; e += threads) {
      const int i = e % N, j = e / N;
      Q[i][j] = i < n && j < n ? wide(job.V[i + j * job.ldv]) : W{};
    }
  });
  block.each([&](int t) {
    X[t].template add_products<AllTiles>(
        t, [&](int i, int k) { return conj(Q[k][i]); }, [&](int k, int j) { return Q[k][j]; });
    // Q1 is well enough conditioned for one more step; or so well that its square is nothing.
    X[t].each(t, [&](W& x, int i, int j) {
      const double off = largest_part(plus(x, number<W>(i == j ? -1 : 0)));
      if (!(off <= 0.5 / n)) s.bad = 1;
      if (!(off * off * n <= eps<T> / 16)) s.far = 1;
    });
  });
  // Q := Q1 R2^-1
  if (s.far) {
    factor_cholesky<N>(block, 0, X, R2, s, s.bad);
    block.each([&](int t) { X[t].each(t, [&](W& x, int i, int j) { x = Q[i][j]; }); });
    solve_right_upper<N>(
        block, X, Q, [&](int k, int j) { return R2[k][j]; }, [&](int k) { return number<W>(s.diagonal[k]); });
    block.each([&](int t) { X[t].each(t, [&](W& x, int i, int j) { x = Q[i][j]; }); });
  } else {
    // R2 = 1 + E and its inverse 1 - E, where E^H + E is what Q1^H Q1 is away from 1.
    block.each([&](int t) {
      X[t].each(t, [&](W& x, int i, int j) {
        R2[i][j] = i < j ? x : i == j ? number<W>((re(x) - 1) / 2) : W{};
        x = Q[i][j];
      });
    });
    block.each([&](int t) {
      X[t].template add_products<TimesUpper, true>(
          t, [&](int i, int k) { return Q[i][k]; }, [&](int k, int j) { return R2[k][j]; });
    });
    block.each([&](int t) {
      if (t < N) R2[t][t] = plus(R2[t][t], number<W>(1));
    });
  }
  // V U := Q - D
  factor_lu<LuOf::less_signs, N>(block, X, Q, s);

  // R2 R1, which waits in the workspace, and S := U R2 in R2's place.
  PerThread<Fragment<W, N>> Y;
  block.each([&](int t) {
    X[t] = {};
    Y[t] = {};
    X[t].template add_products<UpperTimesUpper>(
        t, [&](int i, int k) { return R2[i][k]; }, [&](int k, int j) { return R1[k][j]; });
    Y[t].template add_products<UpperTimesUpper>(
        t, [&](int i, int k) { return i <= k ? Q[i][k] : W{}; }, [&](int k, int j) { return R2[k][j]; });
    X[t].each(t, [&](W& x, int i, int j) { job.product[i * N + j] = narrow<T>(x); });
  });
  // V without the ones on its diagonal.
  block.each([&](int t) {
    Y[t].each(t, [&](W& y, int i, int j) {
      S[i][j] = i >= n || j >= n ? number<W>(i == j ? 1 : 0) : y;
      if (i == j) s.inverse[i] = inverse(S[i][i]);
      job.S[i * N + j] = narrow<T>(S[i][j]);
      V[i][j] = i > j ? Q[i][j] : W{};
    });
  });

  // V^H V: of the rows below, S^-H (Q1^H Q1) S^-1, and of the first n.
  const auto s_of = [&](int k, int j) { return S[k][j]; };
  const auto s_inverse = [&](int k) { return s.inverse[k]; };
  block.each([&](int t) { X[t].each(t, [&](W& x, int i, int j) { x = below[i][j]; }); });
  solve_right_upper<N>(block, X, below, s_of, s_inverse);
  block.each([&](int t) { X[t].each(t, [&](W& x, int i, int j) { x = conj(below[j][i]); }); });
  solve_right_upper<N>(block, X, below, s_of, s_inverse);
  block.each([&](int t) {
    X[t].each(t, [&](W& x, int i, int j) {
      x = below[i][j];
      U[i][j] = i <= j ? Q[i][j] : W{};
    });
    X[t].template add_products<LowerAdjointTimesLower>(
        t, [&](int i, int k) { return conj(V[k][i]); }, [&](int k, int j) { return V[k][j]; });
  });
  // In its place the inverse of T: what V^H V has above the diagonal, and 1 / tau.
  block.each([&](int t) {
    X[t].each(t, [&](W& x, int i, int j) {
      t_[i][j] = i < j ? plus(x, conj(V[j][i])) : W{};
      if (i == j) s.diagonal[i] = re(x);
      product[i][j] = wide(job.product[i * N + j]);
    });
  });
  block.each([&](int t) {
    if (t >= N) return;
    const W over_tau = inverse(scaled(U[t][t], static_cast<double>(-s.sign[t])));
    t_[t][t] = over_tau;
    if (t >= n) return;
    s.inverse[t] = number<W>(1 / static_cast<double>(job.scale[t]));
    const double square = s.diagonal[t];
    if (!(std::fabs(1 + square - 2 * re(over_tau)) <= allowed)) s.bad = 1;
    // Nothing below the diagonal: LAPACK's reflector is the identity.
    if (!(square > static_cast<double>(eps<T>) * eps<T>)) s.bad = 1;
  });
  // T^-1 U = -V1^H D, if T is that of these reflectors and Q theirs.
  block.each([&](int t) {
    X[t] = {};
    X[t].template add_products<UpperTimesUpper>(
        t, [&](int i, int k) { return t_[i][k]; }, [&](int k, int j) { return U[k][j]; });
    X[t].each(t, [&](W& x, int i, int j) {
      const W v = i == j ? number<W>(1) : V[j][i], error = plus(x, scaled(conj(v), static_cast<double>(s.sign[j])));
      if (i < n && j < n && !(largest_part(error) <= allowed)) s.bad = 1;
      x = scaled(U[i][j], static_cast<double>(-s.sign[j]));
    });
  });
  // T = -U D V1^-H
  solve_right_upper<N>(
      block, X, t_, [&](int k, int j) { return conj(V[j][k]); }, [](int) { return number<W>(1); });
  if (s.bad) {
    block.each([&](int t) {
      if (t == 0) *job.failed = 1;
    });
    return;
  }

  block.each([&](int t) {
    for (int e = t; e < N * N; e += threads) {
      const int i = e % N, j = e / N;
      if (i >= n || j >= n) continue;
      // The product was rounded to T before, so that scales are exact.
      const T r = scaled(narrow<T>(product[i][j]), static_cast<Real<T>>(s.sign[i] * re(s.inverse[j])));
      job.A[i + j * job.lda] = i > j ? narrow<T>(V[i][j]) : i < j ? r : number<T>(re(r));
      if (i == j) job.tau[j] = narrow<T>(t_[j][j]);
    }
  });
  write_factors(
      block, job, [&](int i, int j) { return i == j ? number<W>(1) : V[i][j]; },
      [&](int i, int j) { return t_[i][j]; });
}

/// Of a panel that is factored already, after its Gram matrix below the first n rows: one block.  A column of T is
/// -tau_j T (V^H v_j) above tau_j, as larft makes it; so T (1 + U diag(tau)) = diag(tau) with what V^H V has above its
/// diagonal in U, and where tau_j is 0, T's column is.
template <int N, class T, class Block>
__device__ void triangle(const Block& block, const Job<T>& job, int groups, SmallShared<Wide<T>, N>& s) {
  using W = Wide<T>;
  const int n = job.n;
  SharedMatrix<W, N>&V = s.first, &G = s.second, &t_ = s.third;
  PerThread<Fragment<W, N>> X;
  load_gram<N>(block, job, groups, X, s);
  block.each([&](int t) {
    for (int e = t; e < N * N; e += threads) {
      const int i = e % N, j = e / N;
      V[i][j] = i > j && i < n ? wide(job.A[i + j * job.lda]) : W{};
    }
    if (t < N) s.inverse[t] = t < n ? wide(job.tau[t]) : W{};
  });
  block.each([&](int t) {
    X[t].template add_products<LowerAdjointTimesLower>(
        t, [&](int i, int k) { return conj(V[k][i]); }, [&](int k, int j) { return V[k][j]; });
    X[t].each(t, [&](W& x, int i, int j) {
      G[i][j] = i < j && j < n ? times(plus(x, conj(V[j][i])), s.inverse[j]) : W{};
      x = i == j ? s.inverse[j] : W{};
    });
  });
  solve_right_upper<N>(
      block, X, t_, [&](int k, int j) { return G[k][j]; }, [](int) { return number<W>(1); });
  write_factors(
      block, job, [&](int i, int j) { return i == j ? number<W>(1) : V[i][j]; },
      [&](int i, int j) { return t_[i][j]; });
}

}  // namespace blaslift::qr_kernels
