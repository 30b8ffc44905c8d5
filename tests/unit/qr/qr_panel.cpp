// Panels of QR in LAPACK's format: that any consumer of R, V and tau gets the matrix back, the CPU's own LAPACK among
// them; that the bits do not depend on the number of threads; when the reconstruction is believed, and what happens
// when it is not.
//
// Bounds as in qr_tiles.cpp: (m + n) eps ||A|| and (m + n) eps sqrt(n), twice that for complex numbers.  LAPACK's own
// testers allow 30 m eps.
#include "kernels/host/qr_panel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "kernels/host/qr_tiles.hpp"
#include "kernels/host/run_tasks.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/qr/qr_reference.hpp"
#include "tests/unit/support/lapack.hpp"

namespace blaslift::qr_panel_tests {
namespace {

using namespace reference;

TEST(RunTasks, RunsEachOnceAfterWhatItWaitsFor) {
  const QrGraph graph = factor_graph(7, 5, QrTree::domains(2));
  for (const int threads : {0, 1, 2, 5, 64}) {
    std::vector<std::atomic<int>> ran(graph.tasks.size());
    std::atomic<bool> good{true};
    run_tasks(graph.after, threads, [&](std::size_t i) {
      for (const QrEdge& e : graph.after[i])
        if (ran[static_cast<std::size_t>(e.task)] != 1) good = false;
      ++ran[i];
    });
    EXPECT_TRUE(good);
    for (const std::atomic<int>& times : ran) EXPECT_EQ(times, 1);
  }
  run_tasks({}, 4, [](std::size_t) { ADD_FAILURE(); });
}

TEST(QrPanelCut, IsMadeOfTilesThatHoldATriangle) {
  for (const index n : {index{1}, index{5}, index{64}, most_panel_columns})
    for (const index m : {n, n + 1, index{255}, index{256}, index{257}, index{5000}}) {
      if (m < n) continue;
      const QrPanelCut cut = qr_panel_cut(n);
      EXPECT_GE(cut.tile, n);
      EXPECT_TRUE(cut.ib >= 1 && cut.ib <= most_ib);
      index rows = 0;
      for (index i = 0; i < cut.tiles(m); ++i) rows += cut.rows(m, i);
      EXPECT_EQ(rows, m);
    }
}

template <class T>
class QrPanel : public testing::Test {
 protected:
  static double allowed(index m, index n) { return static_cast<double>(m + n) * eps<T>() * (complex_type<T> ? 2 : 1); }
};
TYPED_TEST_SUITE(QrPanel, Precisions);

template <class T>
struct Factored {
  Matrix<T> A0, A, tau, t;
  QrPanelWay way;

  Factored(const Matrix<T>& matrix, const QrPanelCut& cut, int threads = 1)
      : A0(matrix), A(matrix), tau(matrix.cols(), 1), t(matrix.cols(), matrix.cols(), 2) {
    way = factor_panel(A.rows(), A.cols(), A.data(), A.ld(), tau.data(), t.data(), t.ld(), cut, threads);
  }
  Wide<T> Q() const { return lapack_q(A.rows(), A.cols(), A.data(), A.ld(), tau.data()); }
  Wide<T> R() const { return upper_part(A.rows(), A.cols(), A.data(), A.ld()); }

  /// What must hold whatever the way.
  void expect_sound(double allowed) const {
    const Wide<T> q = Q(), a = Wide<T>::of(A0);
    EXPECT_LE((q * R() - a).norm(), allowed * a.norm());
    EXPECT_LE(orthogonality(q), allowed * std::sqrt(static_cast<double>(A.rows())));
    EXPECT_TRUE(A.canaries_intact() && tau.canaries_intact() && t.canaries_intact());
    // T is that of these reflectors.
    Wide<T> by_t = Wide<T>::identity(A.rows());
    using Scalar = typename Wide<T>::Scalar;
    auto number = [](T x) { return Scalar(std::real(x), std::imag(x)); };
    apply_reflectors<T>(
        false, A.cols(), [&](index i, index p) { return i < p    ? Scalar(0)
                                                        : i == p ? Scalar(1)
                                                                 : number(A(i, p)); },
        [&](index i, index p) { return number(t(i, p)); }, by_t);
    EXPECT_LE((by_t - q).norm(), allowed * std::sqrt(static_cast<double>(A.cols())));
    T canary;
    fill_with_canaries(&canary, sizeof canary);
    for (index j = 0; j < A.cols(); ++j) {
      EXPECT_EQ(std::imag(A(j, j)), 0);
      EXPECT_TRUE(same_bits(t(j, j), tau(j, 0)));
      for (index i = j + 1; i < A.cols(); ++i) EXPECT_TRUE(same_bits(t(i, j), canary));
    }
  }
};

/// Small tiles, so that few rows make many of them.
constexpr QrPanelCut cuts[] = {{.tile = 10, .ib = 3, .tree = QrTree::flat()},
                               {.tile = 10, .ib = 4, .tree = QrTree::binary()},
                               {.tile = 13, .ib = 9, .tree = QrTree::domains(2)}};
struct Size {
  index m, n;
};
constexpr Size sizes[] = {{11, 9}, {13, 9}, {14, 9}, {41, 9}, {70, 9}, {70, 1}, {63, 4}, {90, 10}};

TYPED_TEST(QrPanel, LeavesWhatLapackPromises) {
  using T = TypeParam;
  int reconstructed = 0, panels = 0;
  for (const Kind kind : kinds)
    for (const QrPanelCut& cut : cuts)
      for (const Size size : sizes) {
        SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " " << size.m << " x " << size.n
                                        << " in tiles of " << cut.tile << ", domains of " << cut.tree.domain);
        const Factored<T> f(matrix_of<T>(kind, size.m, size.n), cut);
        f.expect_sound(this->allowed(size.m, size.n));
        if (testing::Test::HasFailure()) return;
        // A complex triangle's diagonal is made real, which is a reflector's work, too.
        if (kind == Kind::triangular && complex_type<T>) continue;
        const bool identities = kind >= Kind::zero_column;
        if (identities || cut.tiles(size.m) == 1) {
          EXPECT_EQ(f.way, QrPanelWay::householder);
        } else if (kind == Kind::random || kind == Kind::tiny || kind == Kind::huge) {
          EXPECT_EQ(f.way, QrPanelWay::reconstructed);
        }
        ++panels;
        reconstructed += f.way == QrPanelWay::reconstructed;
      }
  EXPECT_GT(reconstructed, panels / 2);
}

TYPED_TEST(QrPanel, UsualCutsOfTallPanels) {
  using T = TypeParam;
  for (const Size size : {Size{300, 32}, {1000, 64}, {700, 128}, {5000, 8}}) {
    SCOPED_TRACE(testing::Message() << size.m << " x " << size.n);
    const Factored<T> f(matrix_of<T>(Kind::random, size.m, size.n), qr_panel_cut(size.n), 2);
    EXPECT_EQ(f.way, QrPanelWay::reconstructed);
    // Without Q as a square matrix: Q^H A = R.
    const Wide<T> a = Wide<T>::of(f.A0);
    Wide<T> r = a, q(size.m, size.n);
    for (index j = 0; j < size.n; ++j) q(j, j) = 1;
    using Scalar = typename Wide<T>::Scalar;
    auto number = [](T x) { return Scalar(std::real(x), std::imag(x)); };
    auto v = [&](index i, index p) { return i < p ? Scalar(0) : i == p ? Scalar(1) : number(f.A(i, p)); };
    auto t = [&](index i, index p) { return number(f.t(i, p)); };
    apply_reflectors<T>(true, size.n, v, t, r);
    apply_reflectors<T>(false, size.n, v, t, q);
    EXPECT_LE((r - f.R()).norm(), this->allowed(size.m, size.n) * a.norm());
    EXPECT_LE(orthogonality(q), this->allowed(size.m, size.n) * std::sqrt(static_cast<double>(size.n)));
  }
}

TYPED_TEST(QrPanel, HasTheSameBitsWithAnyNumberOfThreads) {
  using T = TypeParam;
  for (const QrPanelCut& cut : cuts)
    for (const Size size : sizes) {
      const Matrix<T> A = matrix_of<T>(Kind::random, size.m, size.n);
      const Factored<T> alone(A, cut, 1);
      for (const int threads : {2, 3, 8})
        for (int again = 0; again < 3; ++again) {
          const Factored<T> f(A, cut, threads);
          ASSERT_TRUE(f.A == alone.A && f.tau == alone.tau && f.t == alone.t && f.way == alone.way);
        }
    }
}

TYPED_TEST(QrPanel, WhatIsNotFiniteGoesTheHouseholderWay) {
  using T = TypeParam;
  using R = Real<T>;
  const QrPanelCut& cut = cuts[0];
  for (const R bad : {std::numeric_limits<R>::quiet_NaN(), std::numeric_limits<R>::infinity()})
    for (const index row : {0, 25, 40})
      for (const index col : {0, 4, 8}) {
        Matrix<T> A = matrix_of<T>(Kind::random, 41, 9);
        A(row, col) = T(bad);
        const Factored<T> f(A, cut, 2);
        EXPECT_EQ(f.way, QrPanelWay::householder);
        Matrix<T> t(9, 9, 2);
        geqrt(index{41}, index{9}, index{9}, A.data(), A.ld(), t.data(), t.ld());
        EXPECT_TRUE(f.A == A && f.t == t);
        for (index j = 0; j < col; ++j)
          for (index i = 0; i <= j; ++i) EXPECT_TRUE(finite(f.A(i, j)));
      }
}

TYPED_TEST(QrPanel, IdentitiesAreLapacks) {
  using T = TypeParam;
  for (const Kind kind : {Kind::zero, Kind::triangular}) {
    const Factored<T> f(matrix_of<T>(kind, 41, 9), cuts[1]);
    for (index j = 0; j < 9; ++j)
      if (!complex_type<T> || kind == Kind::zero) {
        EXPECT_EQ(f.tau(j, 0), T(0));
      }
    if (!complex_type<T> || kind == Kind::zero) {
      EXPECT_TRUE(f.A == f.A0);
    }
  }
}

/// What the reflectors of a reconstruction have for Q D, less that; and how far they are from unitary.
template <class T>
struct Reconstruction {
  bool believed;
  double distance, from_unitary;

  explicit Reconstruction(const Matrix<T>& Q) {
    const index m = Q.rows(), n = Q.cols();
    Matrix<T> V = Q, tau(n, 1), t(n, n);
    std::vector<int> sign;
    believed = reconstruct(m, n, V.data(), V.ld(), tau.data(), t.data(), t.ld(), sign, cuts[0], 1);
    const Wide<T> all = lapack_q(m, n, V.data(), V.ld(), tau.data());
    Wide<T> due = Wide<T>::of(Q);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) due(i, j) *= sign[static_cast<std::size_t>(j)];
    distance = (all.columns(0, n) - due).norm();
    from_unitary = orthogonality(all);
  }
};

TYPED_TEST(QrPanel, ReconstructionIsBelievedOnlyWhereItIsRight) {
  using T = TypeParam;
  const index m = 41, n = 9;
  // An orthonormal Q, rounded.
  const Factored<T> f(matrix_of<T>(Kind::random, m, n), cuts[0]);
  const Wide<T> exact = f.Q();
  Matrix<T> Q(m, n, 1), noise(m, n);
  noise.random(77);
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i)
      Q(i, j) = scalar<T>(static_cast<double>(exact(i, j).real()), static_cast<double>(exact(i, j).imag()));
  EXPECT_TRUE(Reconstruction<T>(Q).believed);
  // Noise of any size, on all of it, one column, one element; a column too long; columns that are not orthogonal.
  int believed = 0, refused = 0;
  auto judge = [&](const Matrix<T>& changed, double size) {
    const Reconstruction<T> r(changed);
    if (r.believed) {
      EXPECT_LE(r.from_unitary, 8 * this->allowed(m, n)) << size;
      EXPECT_LE(r.distance, 8 * this->allowed(m, n)) << size;
    }
    if (size > 1000 * static_cast<double>(n) * eps<T>()) {
      EXPECT_FALSE(r.believed) << size;
    }
    ++(r.believed ? believed : refused);
  };
  for (double size = eps<T>() / 16; size < 1; size *= 2) {
    Matrix<T> all = Q, column = Q, one = Q, element = Q, oblique = Q;
    for (index i = 0; i < m; ++i) {
      for (index j = 0; j < n; ++j) all(i, j) += static_cast<Real<T>>(size) * noise(i, j);
      column(i, 5) += static_cast<Real<T>>(size) * noise(i, 5);
      one(i, 3) *= static_cast<Real<T>>(1 + size);
      oblique(i, 7) += static_cast<Real<T>>(size) * Q(i, 2);
    }
    element(30, 4) += static_cast<Real<T>>(size) * (std::real(element(30, 4)) >= 0 ? T(1) : T(-1));
    for (const Matrix<T>& changed : {all, column, one, element, oblique}) judge(changed, size);
  }
  EXPECT_GT(believed, 3);
  EXPECT_GT(refused, 30);
  Q(20, 3) = T(std::numeric_limits<Real<T>>::quiet_NaN());
  EXPECT_FALSE(Reconstruction<T>(Q).believed);
  EXPECT_FALSE(Reconstruction<T>(Matrix<T>(m, n).fill(T(0))).believed);
}

TYPED_TEST(QrPanel, TheCpusLapackConsumesTheFactors) {
  using T = TypeParam;
  const Lapack<T>* lapack = Lapack<T>::get();
  if (!lapack) GTEST_SKIP() << "no liblapack.so.3";
  for (const Kind kind : kinds)
    for (const Size size : {Size{41, 9}, {90, 10}, {11, 9}}) {
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " " << size.m << " x " << size.n);
      const int m = static_cast<int>(size.m), n = static_cast<int>(size.n);
      const Factored<T> f(matrix_of<T>(kind, size.m, size.n), cuts[1]);
      const int lda = static_cast<int>(f.A.ld());
      const double allowed = this->allowed(size.m, size.n);
      // Q by orgqr.
      Matrix<T> Q = f.A;
      ASSERT_EQ(lapack->orgqr(m, n, n, Q.data(), lda, f.tau.data()), 0);
      const Wide<T> q = Wide<T>::of(Q), a = Wide<T>::of(f.A0);
      const Wide<T> r = upper_part(size.n, size.n, f.A.data(), f.A.ld());
      EXPECT_LE((q * r - a).norm(), allowed * a.norm());
      EXPECT_LE(orthogonality(q), allowed * std::sqrt(static_cast<double>(n)));
      // Q^H A by ormqr.
      Matrix<T> C = f.A0;
      ASSERT_EQ(lapack->ormqr('L', Op::conjugate, m, n, n, f.A.data(), lda, f.tau.data(), C.data(), lda), 0);
      EXPECT_LE((Wide<T>::of(C) - f.R()).norm(), allowed * a.norm());
    }
}

TYPED_TEST(QrPanel, ReflectorsAreThoseOfTheCpusLapack) {
  using T = TypeParam;
  const Lapack<T>* lapack = Lapack<T>::get();
  if (!lapack) GTEST_SKIP() << "no liblapack.so.3";
  // Of well-conditioned matrices; signs included.
  for (const QrPanelCut& cut : cuts)
    for (const Size size : sizes) {
      const int m = static_cast<int>(size.m), n = static_cast<int>(size.n);
      Matrix<T> A = matrix_of<T>(Kind::random, size.m, size.n), tau(n, 1);
      const Factored<T> f(A, cut);
      ASSERT_EQ(lapack->geqrf(m, n, A.data(), static_cast<int>(A.ld()), tau.data()), 0);
      EXPECT_LE((Wide<T>::of(f.A) - Wide<T>::of(A)).norm(),
                100 * this->allowed(size.m, size.n) * Wide<T>::of(f.A0).norm());
      EXPECT_LE((Wide<T>::of(f.tau) - Wide<T>::of(tau)).norm(), 100 * this->allowed(size.m, size.n));
    }
}

}  // namespace
}  // namespace blaslift::qr_panel_tests
