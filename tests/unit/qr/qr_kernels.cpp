// The CUDA backend's panels of QR, on the CPU: that LAPACK's format comes back whatever a panel holds, beside the
// definition in higher precision; which way is taken; that the bits do not depend on any order.
//
// Bounds as in qr_panel.cpp: (m + n) eps ||A|| and (m + n) eps sqrt(n), twice that for complex numbers.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>

#include "kernels/cuda/qr/wide_panel.hpp"
#include "kernels/host/qr_panel.hpp"
#include "tests/unit/qr/qr_reference.hpp"
#include "tests/unit/support/cuda_on_host.hpp"
#include "tests/unit/support/lapack.hpp"
// After cuda_on_host.hpp.
#include "kernels/cuda/qr/qr_panel_kernels.hpp"
#include "tests/precisions.hpp"

namespace blaslift::qr_kernels_tests {
namespace {

using namespace reference;
using qr_kernels::Complex, qr_kernels::Job, qr_kernels::Kernel, qr_kernels::Launch;

template <class T>
struct OnDevice {
  using type = T;
};
template <class R>
struct OnDevice<std::complex<R>> {
  using type = Complex<R>;
};

/// Kernels one after the other, their blocks in an order that follows from `seed`.
template <class T>
class Device {
 public:
  using D = typename OnDevice<T>::type;

  Device() {
    Job<D> job{};
    memory_.assign(qr_kernels::place_workspace(job, nullptr) + 256, 0xff);
    std::memset(workspace(), 0, qr_kernels::counter_bytes);
  }

  /// @return whether Householder's way was taken
  bool factor(const QrPanel& p, bool householder, unsigned seed) {
    const Job<D> job = qr_kernels::job_of<D>(p, workspace(), householder);
    *job.failed = -1;
    if constexpr (complex_type<T>)
      run<32>(job, seed);
    else
      switch (qr_kernels::width<D>(job.n)) {
        case 16: run<16>(job, seed); break;
        case 32: run<32>(job, seed); break;
        default: run<64>(job, seed);
      }
    for (int g = 0; g < qr_kernels::most_groups; ++g) EXPECT_EQ(job.counters[g], 0u);
    if (p.factored) {
      EXPECT_EQ(*job.failed, -1) << "which is nothing to it";
    }
    return job.householder || *job.failed != 0;
  }

 private:
  template <int N>
  static void run(const Job<D>& job, unsigned seed) {
    const qr_kernels::Launches<D, N> launches(job);
    for (int i = 0; i < launches.count; ++i) start<N>(launches.all[static_cast<std::size_t>(i)], job, seed);
  }
  template <int N, Kernel kernel = Kernel::gram_of_a>
  static void start(const Launch& launch, const Job<D>& job, unsigned seed) {
    using Shared = typename qr_kernels::SharedOf<kernel, D, N>::type;
    if constexpr (kernel == Kernel::householder) {
      // As many as a small device has.
      const int blocks = std::min(launch.blocks, 1 + static_cast<int>(seed % 5));
      qr_kernels::householder<N>(phases::Grid<Shared>(blocks, seed), job);
    } else {
      if (launch.kernel != kernel)
        return start<N, static_cast<Kernel>(static_cast<int>(kernel) + 1)>(launch, job, seed);
      std::vector<int> numbers(static_cast<std::size_t>(launch.blocks));
      std::iota(numbers.begin(), numbers.end(), 0);
      std::shuffle(numbers.begin(), numbers.end(), std::minstd_rand(seed + 1));
      for (const int number : numbers) {
        const auto shared = phases::fresh_shared<Shared>();
        qr_kernels::run<kernel, N>(phases::Block(number, launch.blocks, seed + static_cast<unsigned>(number)), job,
                                   *shared);
      }
    }
  }

  void* workspace() {
    return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(memory_.data()) + 255) / 256 * 256);
  }
  std::vector<unsigned char> memory_;
};

template <class T>
struct Factored {
  Matrix<T> A0, A, tau, V, t;
  index above;
  bool householder;

  Factored(const Matrix<T>& matrix, bool slow = false, unsigned seed = 0, index above_ = 0, index block = 0)
      : A0(matrix),
        A(matrix),
        tau(matrix.cols(), 1),
        V(above_ + matrix.rows(), matrix.cols(), 3),
        t(std::max(block, above_ + matrix.cols()), matrix.cols(), 2),
        above(above_) {
    householder = device().factor(panel(), slow, seed);
  }

  /// Made of these factors, which are only read, and nothing else.
  Factored again(unsigned seed) const {
    Factored x = *this;
    x.V = Matrix<T>(V.rows(), V.cols(), 3);
    x.t = Matrix<T>(t.rows(), t.cols(), 2);
    QrPanel p = x.panel();
    p.factored = true;
    device().factor(p, false, seed);
    EXPECT_TRUE(x.A == A && x.tau == tau);
    return x;
  }

  QrPanel panel() {
    return {.precision = precision_of<T>,
            .m = A.rows(),
            .n = A.cols(),
            .A = A.data(),
            .lda = A.ld(),
            .tau = tau.data(),
            .above = above,
            .block = t.rows(),
            .V = V.data(),
            .ldv = V.ld(),
            .T = t.data(),
            .ldt = t.ld()};
  }

  static Device<T>& device() {
    static auto& it = *new Device<T>;  // its workspace holds what the panel before has left
    return it;
  }

  bool same_bits_as(const Factored& x) const {
    return A == x.A && tau == x.tau && V == x.V && t == x.t && householder == x.householder;
  }

  void expect_right() const {
    const index m = A.rows(), n = A.cols();
    const double allowed = static_cast<double>(m + n) * eps<T>() * (complex_type<T> ? 2 : 1);
    Wide<T> r = Wide<T>::of(A0), q(m, n);
    const double norm = r.norm();
    apply_lapack_q(true, m, n, A.data(), A.ld(), tau.data(), r);
    EXPECT_LE((r - upper_part(m, n, A.data(), A.ld())).norm(), allowed * norm);
    // Column by column, too.
    for (index j = 0; j < n; ++j) {
      const Wide<T> difference = (r - upper_part(m, n, A.data(), A.ld())).columns(j, 1);
      EXPECT_LE(difference.norm(), allowed * Wide<T>::of(A0).columns(j, 1).norm()) << j;
      if (n > 20) j += n / 7;
    }
    for (index j = 0; j < n; ++j) q(j, j) = 1;
    Wide<T> by_t = q;
    apply_lapack_q(false, m, n, A.data(), A.ld(), tau.data(), q);
    EXPECT_LE(orthogonality(q), allowed * std::sqrt(static_cast<double>(n)));
    for (index j = 0; j < n; ++j) {
      for (index i = 0; i < above + m; ++i) {
        const T due = i < above + j ? T(0) : i == above + j ? T(1) : A(i - above, j);
        ASSERT_EQ(V(i, j), due) << i << " " << j;
      }
      for (index i = 0; i < t.rows(); ++i)
        if (i < above || i > above + j) {
          ASSERT_EQ(t(i, j), T(0)) << i << " " << j;
        }
      EXPECT_EQ(std::imag(A(j, j)), 0);
    }
    const Wide<T> v = Wide<T>::of(m, n, V.data() + above, V.ld()), f = Wide<T>::of(n, n, t.data() + above, t.ld());
    EXPECT_LE((by_t - v * (f * (v.adjoint() * by_t)) - q).norm(), allowed * std::sqrt(static_cast<double>(n)));
    EXPECT_TRUE(A.canaries_intact() && tau.canaries_intact() && V.canaries_intact() && t.canaries_intact());
  }
};

struct Size {
  index m, n;
};

template <class T>
class QrKernels : public testing::Test {
 protected:
  static index narrow(index n) { return std::min<index>(n, complex_type<T> ? 32 : 64); }
};
TYPED_TEST_SUITE(QrKernels, Precisions);

TYPED_TEST(QrKernels, LeaveWhatLapackPromises) {
  using T = TypeParam;
  int fast = 0, panels = 0;
  for (const Kind kind : kinds)
    for (const Size size :
         {Size{1, 1}, {2, 1}, {5, 5}, {9, 8}, {33, 16}, {257, 1}, {300, 17}, {300, 32}, {700, 9}, {130, 64}}) {
      const index n = this->narrow(size.n);
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " " << size.m << " x " << n);
      const Matrix<T> A = matrix_of<T>(kind, size.m, n);
      const Factored<T> f(A, false, static_cast<unsigned>(size.m));
      f.expect_right();
      if (testing::Test::HasFailure()) return;
      // Uniformly tiny or huge columns are no reason to be slow, nor are graded ones.
      const bool easy =
          kind == Kind::random || kind == Kind::tiny || kind == Kind::huge || kind == Kind::graded_columns;
      if (size.m == n || kind == Kind::zero || kind == Kind::zero_column || (kind == Kind::rank_one && n > 1)) {
        EXPECT_TRUE(f.householder);
      } else if (easy) {
        EXPECT_FALSE(f.householder);
      }
      ++panels;
      fast += !f.householder;
      // And column by column.
      Factored<T>(A, true, static_cast<unsigned>(size.m + 1)).expect_right();
      if (testing::Test::HasFailure()) return;
    }
  EXPECT_GT(fast, panels / 4);
}

TYPED_TEST(QrKernels, OfTallPanels) {
  using T = TypeParam;
  // More tiles than parts of a Gram matrix, more chunks than there are; a tile and one row, less one.
  for (const Size size : {Size{66000, 1}, {5000, 20}, {1025, 64}, {2047, 33}, {4097, 16}}) {
    const index n = this->narrow(size.n);
    SCOPED_TRACE(testing::Message() << size.m << " x " << n);
    const Matrix<T> A = matrix_of<T>(Kind::random, size.m, n);
    const Factored<T> f(A);
    EXPECT_FALSE(f.householder);
    f.expect_right();
  }
  const Factored<T> f(matrix_of<T>(Kind::repeated_columns, 34000, 5));
  EXPECT_TRUE(f.householder);
  f.expect_right();
}

TYPED_TEST(QrKernels, AreParts) {
  using T = TypeParam;
  for (const bool slow : {false, true})
    for (const index above : {1, 6})
      for (const index block : {11, 16}) {
        const Factored<T> f(matrix_of<T>(Kind::random, 300, 5), slow, 1, above, block);
        EXPECT_EQ(f.householder, slow);
        f.expect_right();
      }
}

TYPED_TEST(QrKernels, OfFactoredPanelsMakeVAndT) {
  using T = TypeParam;
  const auto expect = [](const Matrix<T>& A, index above) {
    const Factored<T> f(A, false, 0, above, above + A.cols() + above / 2), made = f.again(1);
    made.expect_right();
    EXPECT_TRUE(made.V == f.V);
    EXPECT_TRUE(f.again(2).same_bits_as(made));
  };
  for (const Kind kind : {Kind::random, Kind::rank_one, Kind::zero_column, Kind::zero})
    for (const Size size : {Size{1, 1}, {5, 5}, {64, 64}, {33, 16}, {300, 17}, {600, 32}}) {
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " " << size.m << " x " << size.n);
      if (kind == Kind::random || size.m < 40)
        for (const index above : {0, 6}) expect(matrix_of<T>(kind, size.m, this->narrow(size.n)), above);
      if (testing::Test::HasFailure()) return;
    }
  expect(matrix_of<T>(Kind::random, 34000, 1), 0);  // more tiles than parts of a Gram matrix
}

TYPED_TEST(QrKernels, OfFactoredPanelsTakeAnyTau) {
  using T = TypeParam;
  // Also what no QR leaves: reflectors that are none, ones that are not unitary, of elements beyond 1.
  const index m = 90, n = 20;
  Factored<T> f(matrix_of<T>(Kind::random, m, n));
  for (index j = 0; j < n; ++j) {
    f.tau(j, 0) = j % 4 == 1 ? T(0) : f.tau(j, 0) + T(static_cast<Real<T>>(j % 3));
    for (index i = j + 1; i < m; ++i) f.A(i, j) *= static_cast<Real<T>>(1 + j % 2);
  }
  const Factored<T> made = f.again(3);
  Matrix<T> expected(n, n), V(m, n);
  factor_panel({.precision = precision_of<T>,
                .m = m,
                .n = n,
                .A = f.A.data(),
                .lda = f.A.ld(),
                .tau = f.tau.data(),
                .above = 0,
                .block = n,
                .V = V.data(),
                .ldv = V.ld(),
                .T = expected.data(),
                .ldt = expected.ld(),
                .factored = true},
               1);
  const Wide<T> of_host = Wide<T>::of(expected);
  // Substitution, and products of m terms, by the same recurrence.
  EXPECT_LE((Wide<T>::of(made.t) - of_host).norm(), static_cast<double>(m + n) * eps<T>() * of_host.norm() * 4);
  for (index j = 1; j < n; j += 4)
    for (index i = 0; i <= j; ++i) EXPECT_EQ(made.t(i, j), T(0));
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i) ASSERT_EQ(made.V(i, j), V(i, j));
}

TYPED_TEST(QrKernels, HaveTheSameBitsInEveryOrder) {
  using T = TypeParam;
  for (const Kind kind : {Kind::random, Kind::repeated_columns})
    for (const Size size : {Size{3000, 20}, {600, 64}, {4500, 4}}) {
      const Matrix<T> A = matrix_of<T>(kind, size.m, this->narrow(size.n));
      const Factored<T> first(A);
      EXPECT_EQ(first.householder, kind != Kind::random);
      for (unsigned seed = 1; seed < 5; ++seed) ASSERT_TRUE(Factored<T>(A, false, seed).same_bits_as(first)) << seed;
    }
}

TYPED_TEST(QrKernels, ReflectorsAreTheHostsBackends) {
  using T = TypeParam;
  // Of well-conditioned matrices; signs included.
  for (const Size size : {Size{600, 24}, {2000, 64}, {40, 17}, {300, 1}}) {
    const index m = size.m, n = this->narrow(size.n);
    const Matrix<T> A = matrix_of<T>(Kind::random, m, n, 5);
    const Factored<T> f(A), slow(A, true);
    EXPECT_FALSE(f.householder);
    Matrix<T> expected = A, tau(n, 1), t(n, n);
    factor_panel(m, n, expected.data(), expected.ld(), tau.data(), t.data(), t.ld(), qr_panel_cut(n), 1);
    const double allowed = 100 * static_cast<double>(m + n) * eps<T>();
    for (const Factored<T>* x : {&f, &slow}) {
      EXPECT_LE((Wide<T>::of(x->A) - Wide<T>::of(expected)).norm(), allowed * Wide<T>::of(A).norm());
      EXPECT_LE((Wide<T>::of(x->tau) - Wide<T>::of(tau)).norm(), allowed);
    }
  }
}

/// Columns that are the more alike the smaller `distance` is.
template <class T>
Matrix<T> alike(index m, index n, double distance) {
  Matrix<T> A(m, n, 3);
  A.random(9);
  for (index j = 1; j < n; ++j)
    for (index i = 0; i < m; ++i) A(i, j) = A(i, 0) + static_cast<Real<T>>(distance) * A(i, j);
  return A;
}

TYPED_TEST(QrKernels, AreRightWhateverTheCondition) {
  using T = TypeParam;
  int fast = 0, slow = 0;
  double worst_fast = 1;
  for (const Size size : {Size{400, 7}, {260, 32}, {700, 64}})
    for (double distance = 1; distance > eps<T>() / 4; distance /= 8) {
      SCOPED_TRACE(testing::Message() << size.m << " x " << size.n << " distance " << distance);
      const Factored<T> f(alike<T>(size.m, this->narrow(size.n), distance));
      f.expect_right();
      if (testing::Test::HasFailure()) return;
      ++(f.householder ? slow : fast);
      if (!f.householder) worst_fast = std::min(worst_fast, distance);
    }
  EXPECT_GT(slow, 2);
  // A condition of one over the root of eps in double precision; with products in double precision nearly all that
  // single precision can tell.
  EXPECT_LE(worst_fast, (std::is_same_v<Real<T>, float> ? 2e-5 : 1e-6));
  EXPECT_GT(fast, 10);
}

TYPED_TEST(QrKernels, AreRightWhateverTheScale) {
  using T = TypeParam;
  using R = Real<T>;
  const index m = 300, n = 11;
  const R least = std::numeric_limits<R>::min(), most = std::numeric_limits<R>::max() / (4 * m);
  const auto expect = [&](Matrix<T>& A, const char* what) {
    SCOPED_TRACE(what);
    // Columns have nothing to do with each other's size: compared with the same ones of usual size.
    const Factored<T> f(A);
    for (index j = 0; j < n; ++j) {
      R largest = 0;
      for (index i = 0; i < m; ++i)
        largest = std::max({largest, std::abs(std::real(A(i, j))), std::abs(std::imag(A(i, j)))});
      const R by = largest == 0 ? 1 : std::scalbn(R{1}, -std::ilogb(largest) / 2);
      for (index i = 0; i < m; ++i) A(i, j) = A(i, j) * by * by;
      R r = 0;
      for (index i = 0; i <= j; ++i) r = std::max({r, std::abs(std::real(f.A(i, j))), std::abs(std::imag(f.A(i, j)))});
      // Of about the column's size.
      EXPECT_GE(r * by * by, R{0.5} * (largest != 0)) << j;
      EXPECT_LE(r * by * by, R{100}) << j;
    }
    const Factored<T> usual(A);
    const double allowed = 100 * static_cast<double>(m + n) * eps<T>();
    for (index j = 0; j < n; ++j) {
      EXPECT_LE(static_cast<double>(std::abs(f.tau(j, 0) - usual.tau(j, 0))), allowed) << j;
      for (index i = j + 1; i < m; ++i)
        ASSERT_LE(static_cast<double>(std::abs(f.A(i, j) - usual.A(i, j))), allowed) << i << " " << j;
    }
  };
  Matrix<T> A(m, n, 1);
  A.random(3);
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i)
      A(i, j) *= j % 3 == 0 ? most : j % 3 == 1 ? least / std::numeric_limits<R>::epsilon() : R{1};
  expect(A, "largest, smallest and usual columns");
  // Those elements that are looked at first say nothing of the others.
  A.random(4);
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i) {
      bool sampled = false;
      for (int k = 0; k < 8; ++k) sampled = sampled || i == (m - 1) * k / 7;
      A(i, j) *= sampled ? 0 : j % 2 ? most : std::sqrt(least) / 1024;
    }
  expect(A, "samples that deceive");
}

TYPED_TEST(QrKernels, WhatIsNotFiniteSpreadsAsOnTheHost) {
  using T = TypeParam;
  using R = Real<T>;
  for (const R bad : {std::numeric_limits<R>::quiet_NaN(), std::numeric_limits<R>::infinity()})
    for (const index row : {0, 3, 250, 599})
      for (const index col : {0, 4, 8}) {
        Matrix<T> A = matrix_of<T>(Kind::random, 600, 9);
        A(row, col) = T(bad);
        const Factored<T> f(A);
        EXPECT_TRUE(f.householder);
        Matrix<T> expected = A, tau(9, 1), t(9, 9);
        factor_panel(index{600}, index{9}, expected.data(), expected.ld(), tau.data(), t.data(), t.ld(),
                     qr_panel_cut(9), 1);
        for (index j = 0; j < 9; ++j)
          for (index i = 0; i < 600; ++i) {
            if (j < col) {
              ASSERT_TRUE(finite(f.A(i, j))) << i << " " << j;
            } else if (j > col && i > col) {
              ASSERT_TRUE(!finite(f.A(i, j)) && !finite(expected(i, j))) << i << " " << j;
            }
          }
        EXPECT_EQ(finite(f.tau(col, 0)), finite(tau(col, 0)));
        EXPECT_TRUE(f.A.canaries_intact() && f.tau.canaries_intact());
      }
}

TYPED_TEST(QrKernels, IdentitiesAreLapacks) {
  using T = TypeParam;
  for (const Kind kind : {Kind::zero, Kind::triangular}) {
    if (complex_type<T> && kind != Kind::zero) continue;  // whose diagonal is made real
    const Factored<T> f(matrix_of<T>(kind, 41, 9));
    EXPECT_TRUE(f.householder);
    for (index j = 0; j < 9; ++j) EXPECT_EQ(f.tau(j, 0), T(0));
    EXPECT_TRUE(f.A == f.A0);
  }
}

TYPED_TEST(QrKernels, HardlyAnythingBelowTheDiagonalIsNotNothing) {
  using T = TypeParam;
  for (const double size : {1e-1, 1e-3, 1e-5, 1e-9}) {
    Matrix<T> A = matrix_of<T>(Kind::random, 300, 20);
    for (index j = 0; j < 20; ++j)
      for (index i = 0; i < 300; ++i)
        if (i > j) A(i, j) *= static_cast<Real<T>>(size);
    for (index j = 0; j < 20; ++j) A(j, j) += T(30);
    const Factored<T> f(A);
    // As long as reflectors can tell.
    EXPECT_EQ(f.householder, size < eps<T>()) << size;
    f.expect_right();
  }
}

TYPED_TEST(QrKernels, WidePanelsGoByHalves) {
  using T = TypeParam;
  Device<T> device;
  for (const Kind kind : {Kind::random, Kind::rank_one, Kind::graded_columns})
    for (const Size size : {Size{200, 65}, {130, 128}, {128, 128}, {333, 101}}) {
      const index m = size.m, n = size.n, above = 2;
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " " << m << " x " << n);
      Factored<T> f(matrix_of<T>(kind, 2, 1), true, 0, above, n + 3);  // for its checks
      f.A0 = f.A = matrix_of<T>(kind, m, n);
      f.tau = Matrix<T>(n, 1);
      f.V = Matrix<T>(above + m, n, 3);
      f.t = Matrix<T>(n + 3, n, 2);
      const auto by_halves = [&](const QrPanel& panel) {
        std::vector<T> scratch(static_cast<std::size_t>(wide_panel_scratch(n)));
        const int status = factor_by_halves(
            panel, this->narrow(n), scratch.data(),
            [&](const QrPanel& p) {
              EXPECT_LE(p.n, this->narrow(n));
              device.factor(p, false, 3);
              return 0;
            },
            [](const Gemm& g) {
              naive(g);
              return 0;
            });
        EXPECT_EQ(status, 0);
      };
      by_halves(f.panel());
      f.expect_right();
      Factored<T> again = f;
      again.V = Matrix<T>(above + m, n, 3);
      again.t = Matrix<T>(n + 3, n, 2);
      QrPanel factored = again.panel();
      factored.factored = true;
      by_halves(factored);
      again.expect_right();
      EXPECT_TRUE(again.A == f.A && again.tau == f.tau && again.V == f.V);
      if (testing::Test::HasFailure()) return;
    }
  // Nothing goes on behind a failure.
  int calls = 0;
  QrPanel p{.precision = precision_of<T>, .m = 200, .n = 100};
  EXPECT_EQ(factor_by_halves(
                p, 64, nullptr, [&](const QrPanel&) { return 0; }, [&](const Gemm&) { return ++calls == 2 ? 7 : 0; }),
            7);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace blaslift::qr_kernels_tests
