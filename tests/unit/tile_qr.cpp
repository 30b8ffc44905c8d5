// Graphs and tile kernels together: QR of whole matrices of tiles, left as the tree has it, by any number of threads.
//
// Bounds as in qr_tiles.cpp.
#include <gtest/gtest.h>

#include "kernels/host/qr_tiles.hpp"
#include "kernels/host/run_tasks.hpp"
#include "tests/unit/qr_reference.hpp"

namespace blaslift {
namespace {

using namespace reference;

/// Tiles of b x b, fewer rows and columns at the ends; a tile may hold fewer rows than columns.
template <class T>
struct TileQr {
  index b, ib, p, q;
  QrTree tree;
  Matrix<T> A;
  std::vector<T> of_tile, of_pair;

  TileQr(const Matrix<T>& matrix, index tile, index inner, QrTree shape)
      : b(tile),
        ib(inner),
        p((matrix.rows() + tile - 1) / tile),
        q((matrix.cols() + tile - 1) / tile),
        tree(shape),
        A(matrix),
        of_tile(static_cast<std::size_t>(p * q * ib * b)),
        of_pair(of_tile.size()) {}

  index rows(index i) const { return std::min(b, A.rows() - i * b); }
  index cols(index j) const { return std::min(b, A.cols() - j * b); }
  T* t(std::vector<T>& of, const QrTask& task) { return of.data() + (task.row + task.k * p) * ib * b; }
  T* tile(index i, index j) { return &A(i * b, j * b); }

  void run(const QrGraph& g, Matrix<T>& C, int threads) {
    const Op op = g.job == QrJob::apply ? Op::none : Op::conjugate;
    run_tasks(g.after, threads, [&](std::size_t at) {
      const QrTask& x = g.tasks[at];
      const index m = rows(x.row), n = cols(x.k), ld = A.ld(), ldc = C.ld();
      const auto c_cols = [&] { return std::min(b, C.cols() - x.col * b); };
      const auto c = [&](index i) { return &C(i * b, x.col * b); };
      switch (x.kind) {
        case QrTaskKind::geqrt: return geqrt(m, n, ib, tile(x.row, x.k), ld, t(of_tile, x), ib);
        case QrTaskKind::larfb:
          return larfb(op, m, c_cols(), std::min(m, n), ib, tile(x.row, x.k), ld, t(of_tile, x), ib, c(x.row), ldc);
        case QrTaskKind::tsqrt: return tsqrt(m, n, ib, tile(x.by, x.k), ld, tile(x.row, x.k), ld, t(of_pair, x), ib);
        case QrTaskKind::ssrfb:
          return ssrfb(op, m, c_cols(), n, ib, tile(x.row, x.k), ld, t(of_pair, x), ib, c(x.by), ldc, c(x.row), ldc);
        case QrTaskKind::ttqrt:
          return ttqrt(std::min(m, n), n, ib, tile(x.by, x.k), ld, tile(x.row, x.k), ld, t(of_pair, x), ib);
        case QrTaskKind::ttmqr:
          return ttmqr(op, std::min(m, n), c_cols(), n, ib, tile(x.row, x.k), ld, t(of_pair, x), ib, c(x.by), ldc,
                       c(x.row), ldc);
      }
    });
  }
  void factor(int threads) { run(factor_graph(p, q, tree), A, threads); }
  void apply(bool adjoint, Matrix<T>& C, int threads) {
    run(apply_graph(p, std::min(p, q), (C.cols() + b - 1) / b, tree, adjoint), C, threads);
  }
};

template <class T>
class TileQrs : public testing::Test {};
using Precisions = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(TileQrs, Precisions);

struct Size {
  index m, n;
};
/// With ragged ends; of {20, 30} the last diagonal tile is wide, and what is left of it a trapezoid.
constexpr Size sizes[] = {{8, 8}, {40, 16}, {43, 19}, {24, 24}, {61, 30}, {16, 37}, {20, 30}, {33, 8}, {50, 3}};
constexpr QrTree trees[] = {QrTree::flat(), QrTree::binary(), QrTree::domains(2), QrTree::domains(3)};

TYPED_TEST(TileQrs, AreQrsAndTheSameBitsWithAnyNumberOfThreads) {
  using T = TypeParam;
  for (const QrTree tree : trees)
    for (const Size size : sizes)
      for (const index ib : {3, 8}) {
        SCOPED_TRACE(testing::Message() << size.m << " x " << size.n << " ib=" << ib << " domains of " << tree.domain);
        const Matrix<T> A = matrix_of<T>(Kind::random, size.m, size.n);
        TileQr<T> f(A, 8, ib, tree);
        f.factor(1);
        const double allowed =
            static_cast<double>(size.m + std::min(size.m, size.n)) * eps<T>() * (complex_type<T> ? 2 : 1);
        // Q^H A = R; Q^H Q = I by way of Q (Q^H I).
        Matrix<T> r = A, identity(size.m, size.m, 1);
        for (index j = 0; j < size.m; ++j)
          for (index i = 0; i < size.m; ++i) identity(i, j) = T(i == j ? 1 : 0);
        Matrix<T> q = identity;
        f.apply(true, r, 2);
        f.apply(false, q, 2);
        EXPECT_LE((Wide<T>::of(r) - upper_part(size.m, size.n, f.A.data(), f.A.ld())).norm(),
                  2 * allowed * Wide<T>::of(A).norm());
        EXPECT_LE(orthogonality(Wide<T>::of(q)), 2 * allowed * std::sqrt(static_cast<double>(size.m)));
        EXPECT_LE((Wide<T>::of(q) * upper_part(size.m, size.n, f.A.data(), f.A.ld()) - Wide<T>::of(A)).norm(),
                  2 * allowed * Wide<T>::of(A).norm());
        EXPECT_TRUE(f.A.canaries_intact() && r.canaries_intact() && q.canaries_intact());
        for (const int threads : {2, 3, 8}) {
          TileQr<T> other(A, 8, ib, tree);
          other.factor(threads);
          ASSERT_TRUE(other.A == f.A && other.of_tile == f.of_tile && other.of_pair == f.of_pair);
        }
        if (testing::Test::HasFailure()) return;
      }
}

}  // namespace
}  // namespace blaslift
