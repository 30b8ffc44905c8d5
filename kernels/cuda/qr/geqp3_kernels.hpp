// By panels of columns, as LAPACK's xLAQPS and xGEQP3 (Quintana-Orti, Sun and Bischof, A BLAS-3 version of the QR
// factorization with column pivoting, SIAM J. Sci. Comput. 19, 1998).  A panel's reflectors V change columns behind it
// at its end, by one product with F: A -= V F^H.  Until then a column and the panel's rows get what they need of that.
// LAPACK ends a panel where a norm has to be computed anew; here the column's kernel makes what it would be after the
// panel, and only its norm is kept.  So what is started depends on the sizes alone, and nothing waits for the host.
// Sums of many blocks are added in an order that depends on the sizes alone.
#pragma once
#include <algorithm>

#include "kernels/cuda/core/householder.hpp"
#include "kernels/cuda/qr/wide_panel.hpp"

namespace blaslift::geqp3_kernels {

using namespace householder;

inline constexpr int width = warp;  // of a panel: a lane sums up each of its columns
inline constexpr index most_blocks = 4096;

/// A panel while one of its columns is worked on: that is number `pivot`, and so is its reflector's first row.
template <class T>
struct Panel {
  index m, n, pivot;
  int col;  ///< as many columns before it have a reflector
  T* A;     ///< all of the matrix
  index lda;
  T* F;            ///< n x width
  T* v;            ///< m: the reflector, from its first row on
  T* order;        ///< n
  Real<T>* norms;  ///< n: of what is left of a column
  Real<T>* exact;  ///< n: when it was last computed
  T* tau;          ///< this column's
  index* fixed;    ///< how many columns are
  index* moves;    ///< n: of fixed columns, where each was
  // Between the kernels: which column comes next; columns whose norms are computed anew; by block of rows, products of
  // the reflector with the panel's others, and its length; the number that is reflected.
  index* chosen;
  char* renewed;
  T* products;
  Squares<Real<T>>* squares;
  T* alpha;

  __device__ T& at(index i, index j) const { return A[i + j * lda]; }
  /// The panel's column.
  __device__ index number(int c) const { return pivot - col + c; }
};

template <class X>
__device__ void exchange(X& a, X& b) {
  const X kept = a;
  a = b;
  b = kept;
}

/// The columns' numbers, and how fixed ones are exchanged to the front: by one thread, if there are any.
template <class T>
__global__ void arrange(Panel<T> p, const T* fixed) {
  bool any = false;
  for (index j = own_thread(); j < p.n; j += threads) {
    p.order[j] = number<T>(static_cast<Real<T>>(j + 1));
    any = any || re(fixed[j]) != 0 || im(fixed[j]) != 0;
  }
  any = __syncthreads_or(any);
  if (own_thread() > 0) return;
  index count = 0;
  for (index j = 0; any && j < p.n; ++j)
    if (re(fixed[j]) != 0 || im(fixed[j]) != 0) {
      exchange(p.order[j], p.order[count]);
      p.moves[count++] = j;
    }
  *p.fixed = count;
}

/// So in every row.
template <class T>
__global__ void move(Panel<T> p) {
  const index i = own_row(), count = *p.fixed;
  for (index j = 0; i < p.m && j < count; ++j) exchange(p.at(i, j), p.at(i, p.moves[j]));
}

/// The first of the longest columns, or the fixed one; all but the matrix's columns change places.
template <class T>
__global__ void choose(Panel<T> p) {
  using R = Real<T>;
  struct Longest {
    R norm;
    index at;
  };
  const auto longer = [](const Longest& a, const Longest& b) {
    return b.norm > a.norm || (b.norm == a.norm && b.at < a.at) ? b : a;
  };
  Longest own{-1, p.pivot};
  for (index j = p.pivot + own_thread(); j < p.n; j += threads) own = longer(own, {p.norms[j], j});
  const index found = over_block(own, longer).at, chosen = p.pivot < *p.fixed ? p.pivot : found;
  if (own_thread() == 0) {
    *p.chosen = chosen;
    exchange(p.order[p.pivot], p.order[chosen]);
    p.norms[chosen] = p.norms[p.pivot];
    p.exact[chosen] = p.exact[p.pivot];
  }
  if (own_thread() < p.col) exchange(p.F[p.pivot + own_thread() * p.n], p.F[chosen + own_thread() * p.n]);
}

/// That column comes to its place and gets what the panel's reflectors do: b -= V f^H.  Then what its reflector is made
/// of.
template <class T>
__global__ void update_column(Panel<T> p) {
  __shared__ T f[width];
  if (own_thread() < p.col) f[own_thread()] = conj(p.F[p.pivot + own_thread() * p.n]);
  __syncthreads();
  const index i = own_row(), chosen = *p.chosen;
  T b{};
  if (i < p.m) {
    b = p.at(i, chosen);
    if (chosen != p.pivot) p.at(i, chosen) = p.at(i, p.pivot);
    for (int c = 0; i >= p.pivot && c < p.col; ++c) b = minus_product(p.at(i, p.number(c)), f[c], b);
    p.at(i, p.pivot) = b;
  }
  if (i == p.pivot) *p.alpha = b;
  if (i <= p.pivot) b = T{};
  const Squares<Real<T>> squares = squares_of_rows(b);
  if (own_thread() == 0) p.squares[blockIdx.x] = squares;
}

/// The reflector, to A and to v; and its products with the panel's others.
template <class T>
__global__ void reflect(Panel<T> p) {
  const Reflector<T> h(*p.alpha, sum_of_squares(p.squares, gridDim.x));
  const index i = own_row();
  T v{};
  if (i >= p.pivot && i < p.m) {
    T& a = p.at(i, p.pivot);
    v = i == p.pivot ? number<T>(1) : h.of(a);
    a = i == p.pivot ? h.beta : v;
    p.v[i] = v;
  }
  if (i == p.pivot) *p.tau = h.tau;
  start_products(&p.at(0, p.number(0)), p.lda, p.m, p.col, v, p.products);
}

/// F's column, of which A^H v is there, R's row, and what is left of norms below it.
/// @param blocks  that products come from
template <class T>
__global__ void finish_row(Panel<T> p, index blocks) {
  using R = Real<T>;
  __shared__ T products[width], row[width];
  if (p.col > 0) finish_products(p.products, blocks, p.col, products);
  if (own_thread() < p.col) row[own_thread()] = p.at(p.pivot, p.number(own_thread()));
  __syncthreads();
  const index j = p.pivot + 1 + own_row();
  if (j >= p.n) return;
  T f = p.F[j + p.col * p.n], a = p.at(p.pivot, j);
  for (int c = 0; c < p.col; ++c) {
    const T other = p.F[j + c * p.n];
    f = minus_product(other, products[c], f);
    a = minus_product(row[c], conj(other), a);
  }
  f = times(*p.tau, f);
  a = plus(a, minus(conj(f)));
  p.F[j + p.col * p.n] = f;
  p.at(p.pivot, j) = a;
  const R norm = p.norms[j];
  p.renewed[j] = false;
  if (norm == 0 || p.pivot + 1 == p.m) return;
  const R part = std::hypot(re(a), im(a)) / norm, left = std::fmax(R(0), (1 + part) * (1 - part)),
          ratio = norm / p.exact[j];
  // Squares lose half of their digits meanwhile (Drmac and Bujanovic, ACM TOMS 35, 2008).
  if (left * ratio * ratio > std::sqrt(eps<T> / 2))
    p.norms[j] = norm * std::sqrt(left);
  else
    p.renewed[j] = true;
}

/// Norms of columns from number `first_col` on, in rows from `first_row` on, as they are after `count` of the panel's
/// reflectors; of all columns, or those that say so.
template <class T>
__global__ void measure(Panel<T> p, index first_row, index first_col, int count, bool all) {
  __shared__ T f[width];
  for (index j = first_col + blockIdx.x; j < p.n; j += gridDim.x) {
    if (!all && !p.renewed[j]) continue;
    if (own_thread() < count) f[own_thread()] = conj(p.F[j + own_thread() * p.n]);
    __syncthreads();
    Squares<Real<T>> own{0, 0};
    for (index i = first_row + own_thread(); i < p.m; i += threads) {
      T x = p.at(i, j);
      for (int c = 0; c < count; ++c) x = minus_product(p.at(i, p.number(c)), f[c], x);
      const int exponent = exponent_of(largest_part(x));
      x = with_exponent(x, -exponent);
      own = plus_squares(own, {re(x) * re(x) + im(x) * im(x), exponent});
    }
    own = over_block(own, [](const Squares<Real<T>>& a, const Squares<Real<T>>& b) { return plus_squares(a, b); });
    if (own_thread() == 0) p.norms[j] = p.exact[j] = std::scalbn(std::sqrt(own.sum), own.exponent);
    __syncthreads();
  }
}

/// Says so where something is not finite.  Threads share a column, blocks the columns.
template <class T>
__global__ void look(Geqp3 p) {
  const T *const A = static_cast<const T*>(p.A), *const tau = static_cast<const T*>(p.tau);
  bool good = true;
  for (index j = blockIdx.x; j < p.n; j += gridDim.x) {
    if (j < p.m) good = good && is_number(tau[j]);
    for (index i = own_thread(); i < p.m; i += threads) good = good && is_number(A[i + j * p.lda]);
  }
  if (!good) *static_cast<T*>(p.failed) = number<T>(1);
}

/// What is started, one after the other, of a matrix with columns.
template <class T>
class Factorisation {
 public:
  explicit Factorisation(const Geqp3& p) : p_(p) {}

  /// What it works in.
  void lay_out(Parts& parts) {
    const index rows = std::max<index>(1, blocks_of(p_.m));
    panel_ = {.m = p_.m,
              .n = p_.n,
              .pivot = 0,
              .col = 0,
              .A = static_cast<T*>(p_.A),
              .lda = p_.lda,
              .F = parts.add<T>(p_.n * width),
              .v = parts.add<T>(p_.m),
              .order = static_cast<T*>(p_.order),
              .norms = parts.add<Real<T>>(p_.n),
              .exact = parts.add<Real<T>>(p_.n),
              .tau = static_cast<T*>(p_.tau),
              .fixed = parts.add<index>(1),
              .moves = parts.add<index>(p_.n),
              .chosen = parts.add<index>(1),
              .renewed = parts.add<char>(p_.n),
              .products = parts.add<T>(rows * width),
              .squares = parts.add<Squares<Real<T>>>(rows),
              .alpha = parts.add<T>(1)};
  }

  /// launch(blocks, kernel, arguments...) starts a kernel, multiply(product) a Gemm, where n is 1 and opb none of
  /// vectors; both return a status, zero where all is well.  Returns the first that is not.  Geqp3::failed is zero
  /// before.
  template <class Launch, class Multiply>
  auto start(const Launch& launch, const Multiply& multiply) const -> decltype(multiply(Gemm())) {
    decltype(multiply(Gemm())) status{};
    const auto go = [&](index blocks, auto kernel, const auto&... arguments) {
      if (!static_cast<int>(status)) status = launch(static_cast<unsigned>(blocks), kernel, arguments...);
    };
    const auto product = [&](const Gemm& x) {
      if (!static_cast<int>(status)) status = multiply(x);
    };
    go(1, arrange<T>, panel_, static_cast<const T*>(p_.fixed));
    go(blocks_of(p_.m), move<T>, panel_);
    go(std::min(p_.n, most_blocks), measure<T>, panel_, index{0}, index{0}, 0, true);
    const index count = p_.factored();
    for (index first = 0; first < count; first += width) {
      const index behind = std::min<index>(first + width, count);
      for (index pivot = first; pivot < behind; ++pivot) {
        Panel<T> panel = panel_;
        panel.pivot = pivot;
        panel.col = static_cast<int>(pivot - first);
        panel.tau += pivot;
        const index rows = blocks_of(p_.m), below = pivot + 1, others = p_.n - below;
        go(1, choose<T>, panel);
        go(rows, update_column<T>, panel);
        go(rows, reflect<T>, panel);
        if (others == 0) continue;
        product(gemm(Op::conjugate, Op::none, others, 1, p_.m - pivot, 1, A(pivot, below), p_.lda, panel.v + pivot,
                     p_.m, 0, panel.F + below + panel.col * p_.n, p_.n));
        go(blocks_of(others), finish_row<T>, panel, rows);
        if (below < p_.m) go(std::min(others, most_blocks), measure<T>, panel, below, below, panel.col + 1, false);
      }
      if (behind < p_.m && behind < p_.n)
        product(gemm(Op::none, Op::conjugate, p_.m - behind, p_.n - behind, behind - first, -1, A(behind, first),
                     p_.lda, panel_.F + behind, p_.n, 1, A(behind, behind), p_.lda));
    }
    go(std::min(p_.n, most_blocks), look<T>, p_);
    return status;
  }

 private:
  T* A(index row, index col) const { return panel_.A + row + col * p_.lda; }
  Gemm gemm(Op opa, Op opb, index m, index n, index k, int alpha, const T* a, index lda, const T* b, index ldb,
            int beta, T* c, index ldc) const {
    return {.precision = p_.precision,
            .transa = opa,
            .transb = opb,
            .m = m,
            .n = n,
            .k = k,
            .alpha = wide_panel::scalar(p_.precision, alpha),
            .A = a,
            .lda = lda,
            .B = b,
            .ldb = ldb,
            .beta = wide_panel::scalar(p_.precision, beta),
            .C = c,
            .ldc = ldc};
  }

  const Geqp3& p_;
  Panel<T> panel_{};
};

}  // namespace blaslift::geqp3_kernels
