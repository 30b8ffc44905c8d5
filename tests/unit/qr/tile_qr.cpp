// Graphs and tile kernels together: QR of whole matrices of tiles, left as the tree has it, by any number of threads.
//
// Bounds as in qr_tiles.cpp.
#include <gtest/gtest.h>

#include "bench/tile_qr.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/qr/qr_reference.hpp"

namespace blaslift::tile_qr_tests {
namespace {

using namespace reference;

template <class T>
class TileQrs : public testing::Test {};
TYPED_TEST_SUITE(TileQrs, Precisions);

struct Size {
  index m, n;
};
/// With ragged ends; of {20, 30} the last diagonal tile is wide, and what is left of it a trapezoid.
constexpr Size sizes[] = {{8, 8}, {40, 16}, {43, 19}, {24, 24}, {61, 30}, {16, 37}, {20, 30}, {33, 8}, {50, 3}};
constexpr QrTree trees[] = {QrTree::flat(),     QrTree::binary(),  QrTree::domains(2),
                            QrTree::domains(3), QrTree::cyclic(3), QrTree::greedy()};

TYPED_TEST(TileQrs, AreQrsAndTheSameBitsWithAnyNumberOfThreads) {
  using T = TypeParam;
  for (const QrTree tree : trees)
    for (const Size size : sizes)
      for (const index ib : {3, 8}) {
        SCOPED_TRACE(testing::Message() << size.m << " x " << size.n << " ib=" << ib << " " << to_string(tree));
        const Matrix<T> A = matrix_of<T>(Kind::random, size.m, size.n);
        Matrix<T> factors = A;
        TileQr<T> f(size.m, size.n, factors.data(), factors.ld(), 8, ib, tree);
        f.factor(1);
        const double allowed =
            static_cast<double>(size.m + std::min(size.m, size.n)) * eps<T>() * (complex_type<T> ? 2 : 1);
        // Q^H A = R; Q^H Q = I by way of Q (Q^H I).
        Matrix<T> r = A, identity(size.m, size.m, 1);
        for (index j = 0; j < size.m; ++j)
          for (index i = 0; i < size.m; ++i) identity(i, j) = T(i == j ? 1 : 0);
        Matrix<T> q = identity;
        f.apply(true, r.data(), r.ld(), size.n, 2);
        f.apply(false, q.data(), q.ld(), size.m, 2);
        EXPECT_LE((Wide<T>::of(r) - upper_part(size.m, size.n, factors.data(), factors.ld())).norm(),
                  2 * allowed * Wide<T>::of(A).norm());
        EXPECT_LE(orthogonality(Wide<T>::of(q)), 2 * allowed * std::sqrt(static_cast<double>(size.m)));
        EXPECT_LE((Wide<T>::of(q) * upper_part(size.m, size.n, factors.data(), factors.ld()) - Wide<T>::of(A)).norm(),
                  2 * allowed * Wide<T>::of(A).norm());
        EXPECT_TRUE(factors.canaries_intact() && r.canaries_intact() && q.canaries_intact());
        for (const int threads : {2, 3, 8}) {
          Matrix<T> again = A;
          TileQr<T> other(size.m, size.n, again.data(), again.ld(), 8, ib, tree);
          other.factor(threads);
          ASSERT_TRUE(again == factors && other.of_tile == f.of_tile && other.of_pair == f.of_pair);
        }
        if (testing::Test::HasFailure()) return;
      }
}

}  // namespace
}  // namespace blaslift::tile_qr_tests
