// QR of a whole matrix of tiles by any number of threads, left as the tree has it (Takayanagi, Tile CAQR, 2021,
// chapters 4 and 5): what tests and benchmarks of trees run.  Calls of LAPACK's go by panels
// (kernels/host/qr_panel.hpp).
#pragma once
#include <algorithm>
#include <vector>

#include "kernels/host/qr_tiles.hpp"
#include "kernels/host/run_tasks.hpp"

namespace blaslift {

/// Tiles of b x b, fewer rows and columns at the ends; a tile may hold fewer rows than columns.  A (m x n) is the
/// caller's, and holds R and the tasks' reflectors after factor(); the triangular factors are here.
template <class T>
class TileQr {
 public:
  /// @param ib  columns of an inner block, at most most_ib
  /// Throws std::bad_alloc.
  TileQr(index m, index n, T* A, index lda, index b, index ib, QrTree tree)
      : m_(m),
        n_(n),
        lda_(lda),
        b_(b),
        ib_(ib),
        p_((m + b - 1) / b),
        q_((n + b - 1) / b),
        tree_(tree),
        A_(A),
        of_tile(static_cast<std::size_t>(p_ * q_ * ib * b)),
        of_pair(of_tile.size()) {}

  QrGraph graph() const { return factor_graph(p_, q_, tree_); }

  /// @param around  void(const QrTask&, run): calls run() once, from the thread that the task is on; must not throw
  template <class Around>
  void factor(const QrGraph& graph, int threads, const Around& around) {
    run(graph, A_, lda_, n_, threads, around);
  }
  void factor(int threads) {
    factor(graph(), threads, [](const QrTask&, const auto& task) { task(); });
  }

  /// C (m x cols) := Q C, or Q^H C.
  void apply(bool adjoint, T* C, index ldc, index cols, int threads) {
    const QrGraph g = apply_graph(p_, std::min(p_, q_), (cols + b_ - 1) / b_, tree_, adjoint);
    run(g, C, ldc, cols, threads, [](const QrTask&, const auto& task) { task(); });
  }

 private:
  template <class Around>
  void run(const QrGraph& g, T* C, index ldc, index c_cols, int threads, const Around& around) {
    const Op op = g.job == QrJob::apply ? Op::none : Op::conjugate;
    run_tasks(g.after, threads, [&](std::size_t at) {
      const QrTask& x = g.tasks[at];
      around(x, [&] { task(op, x, C, ldc, c_cols); });
    });
  }

  void task(Op op, const QrTask& x, T* C, index ldc, index c_cols) {
    const index m = rows(x.row), n = std::min(b_, n_ - x.k * b_), cols = std::min(b_, c_cols - x.col * b_);
    const auto a = [&](index i) { return A_ + i * b_ + x.k * b_ * lda_; };
    const auto c = [&](index i) { return C + i * b_ + x.col * b_ * ldc; };
    const auto t = [&](std::vector<T>& of) { return of.data() + (x.row + x.k * p_) * ib_ * b_; };
    switch (x.kind) {
      case QrTaskKind::geqrt: return geqrt(m, n, ib_, a(x.row), lda_, t(of_tile), ib_);
      case QrTaskKind::larfb:
        return larfb(op, m, cols, std::min(m, n), ib_, a(x.row), lda_, t(of_tile), ib_, c(x.row), ldc);
      case QrTaskKind::tsqrt: return tsqrt(m, n, ib_, a(x.by), lda_, a(x.row), lda_, t(of_pair), ib_);
      case QrTaskKind::ssrfb:
        return ssrfb(op, m, cols, n, ib_, a(x.row), lda_, t(of_pair), ib_, c(x.by), ldc, c(x.row), ldc);
      case QrTaskKind::ttqrt: return ttqrt(std::min(m, n), n, ib_, a(x.by), lda_, a(x.row), lda_, t(of_pair), ib_);
      case QrTaskKind::ttmqr:
        return ttmqr(op, std::min(m, n), cols, n, ib_, a(x.row), lda_, t(of_pair), ib_, c(x.by), ldc, c(x.row), ldc);
    }
  }

  index rows(index i) const { return std::min(b_, m_ - i * b_); }

  index m_, n_, lda_, b_, ib_, p_, q_;
  QrTree tree_;
  T* A_;

 public:
  /// T of the tiles, and of pairs of them: ib x b for each tile, column by column.
  std::vector<T> of_tile, of_pair;
};

}  // namespace blaslift
