#include "kernels/host/qr_panel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/host/qr_tiles.hpp"
#include "kernels/host/run_tasks.hpp"
#include "kernels/host/scalars.hpp"

namespace blaslift {
namespace {

using namespace host;

static_assert(most_panel_columns <= most_ib);  // the Householder way has one inner block

std::size_t elements(index rows, index cols) { return static_cast<std::size_t>(rows * cols); }

/// A panel's copy that is factored by the tree, and what is needed to apply its Q.
template <class T>
class TreeFactors {
 public:
  TreeFactors(index m, index n, const T* A, index lda, const QrPanelCut& cut)
      : m_(m),
        n_(n),
        cut_(cut),
        tiles_(cut.tiles(m)),
        factors_(elements(m, n)),
        of_tile_(elements(tiles_ * cut.ib, n)),
        of_pair_(elements(tiles_ * cut.ib, n)) {
    for (index j = 0; j < n; ++j) std::copy_n(A + j * lda, m, at(j));
  }

  void factor(int threads) {
    const QrGraph graph = factor_graph(tiles_, 1, cut_.tree);
    run_tasks(graph.after, threads, [&](std::size_t i) {
      const QrTask& task = graph.tasks[i];
      T* A = tile(factors_, task.row);
      switch (task.kind) {
        case QrTaskKind::geqrt: return geqrt(rows(task.row), n_, cut_.ib, A, m_, t(of_tile_, task.row), cut_.ib);
        case QrTaskKind::tsqrt:
          return tsqrt(rows(task.row), n_, cut_.ib, tile(factors_, task.by), m_, A, m_, t(of_pair_, task.row), cut_.ib);
        case QrTaskKind::ttqrt:
          return ttqrt(triangle_rows(task.row), n_, cut_.ib, tile(factors_, task.by), m_, A, m_, t(of_pair_, task.row),
                       cut_.ib);
        default: return;  // one column of tiles: nothing on its right
      }
    });
  }

  /// m x n: Q's first n columns.
  std::vector<T> thin_q(int threads) {
    std::vector<T> q(elements(m_, n_));
    for (index j = 0; j < n_; ++j) q[elements(m_, j) + static_cast<std::size_t>(j)] = T(1);
    const QrGraph graph = apply_graph(tiles_, 1, 1, cut_.tree, false);
    run_tasks(graph.after, threads, [&](std::size_t i) {
      const QrTask& task = graph.tasks[i];
      const T* V = tile(factors_, task.row);
      T* C = tile(q, task.row);
      switch (task.kind) {
        case QrTaskKind::larfb:
          return larfb(Op::none, rows(task.row), n_, triangle_rows(task.row), cut_.ib, V, m_, t(of_tile_, task.row),
                       cut_.ib, C, m_);
        case QrTaskKind::ssrfb:
          return ssrfb(Op::none, rows(task.row), n_, n_, cut_.ib, V, m_, t(of_pair_, task.row), cut_.ib,
                       tile(q, task.by), m_, C, m_);
        case QrTaskKind::ttmqr:
          return ttmqr(Op::none, triangle_rows(task.row), n_, n_, cut_.ib, V, m_, t(of_pair_, task.row), cut_.ib,
                       tile(q, task.by), m_, C, m_);
        default: return;
      }
    });
    return q;
  }

  /// Whether in some column there was nothing to annihilate, in any tile.
  bool leaves_a_column_alone() const {
    std::vector<bool> busy(static_cast<std::size_t>(n_));
    // What the tree does not make stays zero.
    auto look = [&](const std::vector<T>& all, index row, index reflectors) {
      for (index j = 0; j < reflectors; ++j)
        if (t(all, row)[j % cut_.ib + j * cut_.ib] != T(0)) busy[static_cast<std::size_t>(j)] = true;
    };
    for (index row = 0; row < tiles_; ++row) {
      look(of_tile_, row, triangle_rows(row));
      look(of_pair_, row, n_);
    }
    return std::find(busy.begin(), busy.end(), false) != busy.end();
  }

  const T& r(index i, index j) const { return factors_[elements(m_, j) + static_cast<std::size_t>(i)]; }

 private:
  index rows(index row) const { return cut_.rows(m_, row); }
  index triangle_rows(index row) const { return std::min(rows(row), n_); }
  T* at(index j) { return factors_.data() + j * m_; }
  T* tile(std::vector<T>& of, index row) const { return of.data() + row * cut_.tile; }
  T* t(std::vector<T>& of, index row) const { return of.data() + row * cut_.ib * n_; }
  const T* t(const std::vector<T>& of, index row) const { return of.data() + row * cut_.ib * n_; }

  const index m_, n_;
  const QrPanelCut cut_;
  const index tiles_;
  std::vector<T> factors_, of_tile_, of_pair_;
};

void for_tiles(index tiles, int threads, const std::function<void(std::size_t)>& act) {
  run_tasks(std::vector<std::vector<QrEdge>>(static_cast<std::size_t>(tiles)), threads, act);
}

/// The upper triangle (n x n) of V^H V: each tile's, added in pairs, pairs of pairs, and so on.
template <class T>
std::vector<T> gram(index m, index n, const T* V, index ldv, const QrPanelCut& cut, int threads) {
  const index tiles = cut.tiles(m);
  std::vector<std::vector<T>> parts(static_cast<std::size_t>(tiles), std::vector<T>(elements(n, n)));
  for_tiles(tiles, threads, [&](std::size_t i) {
    const index first = static_cast<index>(i) * cut.tile, rows = cut.rows(m, static_cast<index>(i));
    for (index q = 0; q < n; ++q)
      for (index p = 0; p <= q; ++p) {
        const T *x = V + first + p * ldv, *y = V + first + q * ldv;
        T& sum = parts[i][elements(n, q) + static_cast<std::size_t>(p)];
        if (i > 0)
          sum = dot(rows, x, y);
        else  // column q begins with a 1 in row q
          sum = (p == q ? T(1) : conjugate(x[q])) + dot(rows - q - 1, x + q + 1, y + q + 1);
      }
  });
  for (std::size_t distance = 1; distance < parts.size(); distance *= 2)
    for (std::size_t i = 0; i + distance < parts.size(); i += 2 * distance)
      for (std::size_t e = 0; e < parts[i].size(); ++e) parts[i][e] += parts[i + distance][e];
  return std::move(parts[0]);
}

/// T of reflectors with this Gram matrix, as larft makes it.
template <class T>
void triangular_factor(index n, const std::vector<T>& G, const T* tau, T* t, index ldt) {
  for (index j = 0; j < n; ++j) {
    T* z = t + j * ldt;
    for (index p = 0; p < j; ++p) z[p] = times(-tau[j], G[elements(n, j) + static_cast<std::size_t>(p)]);
    for (index p = 0; p < j; ++p) {
      T sum{};
      for (index q = p; q < j; ++q) sum += times(t[p + q * ldt], z[q]);
      z[p] = sum;
    }
    z[j] = tau[j];
  }
}

}  // namespace

template <class T>
bool reconstruct(index m, index n, T* V, index ldv, T* tau, T* t, index ldt, std::vector<int>& sign,
                 const QrPanelCut& cut, int threads) {
  using R = Real<T>;
  sign.assign(static_cast<std::size_t>(n), 1);
  // Q1 - D = V1 U
  for (index p = 0; p < n; ++p) {
    T* column = V + p * ldv;
    const int d = std::real(column[p]) >= 0 ? -1 : 1;
    sign[static_cast<std::size_t>(p)] = d;
    column[p] -= static_cast<R>(d);
    const T inverse = T(1) / column[p];
    for (index i = p + 1; i < n; ++i) column[i] = times(inverse, column[i]);
    for (index j = p + 1; j < n; ++j) subtract(n - p - 1, V[p + j * ldv], column + p + 1, V + p + 1 + j * ldv);
  }
  // Q2 = V2 U
  for_tiles(cut.tiles(m), threads, [&](std::size_t i) {
    const index first = i == 0 ? n : static_cast<index>(i) * cut.tile;
    const index rows = static_cast<index>(i) * cut.tile + cut.rows(m, static_cast<index>(i)) - first;
    for (index j = 0; j < n; ++j) {
      T* column = V + first + j * ldv;
      for (index p = 0; p < j; ++p) subtract(rows, V[p + j * ldv], V + first + p * ldv, column);
      const T inverse = T(1) / V[j + j * ldv];
      for (index r = 0; r < rows; ++r) column[r] = times(inverse, column[r]);
    }
  });
  const std::vector<T> G = gram(m, n, V, ldv, cut, threads);
  for (index j = 0; j < n; ++j) tau[j] = -V[j + j * ldv] * static_cast<R>(sign[static_cast<std::size_t>(j)]);
  triangular_factor(n, G, tau, t, ldt);
  // A column's element is a sum of n terms below 2 in size, or a dot product whose factors have norms of about 1.
  const R allowed = 8 * static_cast<R>(n + 8) * std::numeric_limits<R>::epsilon();
  for (index j = 0; j < n; ++j) {
    const R length = std::real(G[elements(n, j) + static_cast<std::size_t>(j)]), due = 2 * std::real(T(1) / tau[j]);
    if (!(std::abs(length - due) <= allowed)) return false;
    for (index i = 0; i <= j; ++i) {
      T sum{};
      for (index q = i; q <= j; ++q) sum += q == j ? t[i + q * ldt] : times(t[i + q * ldt], conjugate(V[j + q * ldv]));
      const T error = V[i + j * ldv] + sum * static_cast<R>(sign[static_cast<std::size_t>(j)]);
      if (!(std::abs(std::real(error)) + std::abs(std::imag(error)) <= allowed)) return false;
    }
  }
  return true;
}

template <class T>
QrPanelWay factor_panel(index m, index n, T* A, index lda, T* tau, T* t, index ldt, const QrPanelCut& cut,
                        int threads) {
  if (cut.tiles(m) > 1) {
    TreeFactors<T> tree(m, n, A, lda, cut);
    tree.factor(threads);
    if (!tree.leaves_a_column_alone()) {
      std::vector<T> V = tree.thin_q(threads);
      std::vector<int> sign;
      if (reconstruct(m, n, V.data(), m, tau, t, ldt, sign, cut, threads)) {
        for (index j = 0; j < n; ++j) {
          for (index i = 0; i <= j; ++i)
            A[i + j * lda] = static_cast<Real<T>>(sign[static_cast<std::size_t>(i)]) * tree.r(i, j);
          std::copy_n(V.data() + j * m + j + 1, m - j - 1, A + j * lda + j + 1);
        }
        return QrPanelWay::reconstructed;
      }
    }
  }
  geqrt(m, n, n, A, lda, t, ldt);
  for (index j = 0; j < n; ++j) tau[j] = t[j + j * ldt];
  return QrPanelWay::householder;
}

namespace {

template <class T>
void factor_panel(const QrPanel& p, int threads) {
  T *A = static_cast<T*>(p.A), *V = static_cast<T*>(p.V), *t = static_cast<T*>(p.T);
  for (index j = 0; j < p.n; ++j) std::fill_n(t + j * p.ldt, p.block, T(0));
  T* tau = static_cast<T*>(p.tau);
  const QrPanelCut cut = qr_panel_cut(p.n);
  if (!p.factored) blaslift::factor_panel(p.m, p.n, A, p.lda, tau, t + p.above, p.ldt, cut, threads);
  for (index j = 0; j < p.n; ++j) {
    T* v = std::fill_n(V + j * p.ldv, p.above + j, T(0));
    *v = T(1);
    std::copy_n(A + j * p.lda + j + 1, p.m - j - 1, v + 1);
  }
  if (p.factored) triangular_factor(p.n, gram(p.m, p.n, V + p.above, p.ldv, cut, threads), tau, t + p.above, p.ldt);
}

}  // namespace

void factor_panel(const QrPanel& panel, int threads) {
  switch (panel.precision) {
    case Precision::s: return factor_panel<float>(panel, threads);
    case Precision::d: return factor_panel<double>(panel, threads);
    case Precision::c: return factor_panel<std::complex<float>>(panel, threads);
    case Precision::z: return factor_panel<std::complex<double>>(panel, threads);
  }
}

#define INSTANTIATE(T)                                                                              \
  template QrPanelWay factor_panel(index, index, T*, index, T*, T*, index, const QrPanelCut&, int); \
  template bool reconstruct(index, index, T*, index, T*, T*, index, std::vector<int>&, const QrPanelCut&, int);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(std::complex<float>)
INSTANTIATE(std::complex<double>)

}  // namespace blaslift
