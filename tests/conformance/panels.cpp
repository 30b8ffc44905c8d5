// Panels of QR.
#include "impl/qr/qr_execute.hpp"
#include "tests/conformance/harness.hpp"
#include "tests/unit/qr/qr_reference.hpp"

namespace blaslift::conformance::panels_tests {
namespace {

template <class T>
class Panels : public testing::Test {
 protected:
  void SetUp() override {
    if (!backend->facts().computes.can(Operation::Kind::qr_panel, precision_of<T>))
      GTEST_SKIP() << "no panels on this backend";
  }

  struct Factored {
    Matrix<T> A0, A, tau, V, t;
    friend bool operator==(const Factored&, const Factored&) = default;
  };

  /// As columns from `above` on of a block.
  /// @param done_already  the factors of A, to be factored no more
  static Factored run(const Matrix<T>& A, index above, index block, const Factored* done_already = nullptr) {
    const index m = A.rows(), n = A.cols();
    Factored f{A, A, Matrix<T>(n, 1), Matrix<T>(above + m, n, 3), Matrix<T>(block, n, 2)};
    if (done_already) f.A = done_already->A, f.tau = done_already->tau;
    Call call(room(f.A) + room(f.tau) + room(f.V) + room(f.t));
    const Placed<T> a = call.put(f.A), tau = call.put(f.tau), v = call.put(f.V), t = call.put(f.t);
    const Ticket done = call.ask(QrPanel{.precision = precision_of<T>,
                                         .m = m,
                                         .n = n,
                                         .A = a.at,
                                         .lda = f.A.ld(),
                                         .tau = tau.at,
                                         .above = above,
                                         .block = block,
                                         .V = v.at,
                                         .ldv = f.V.ld(),
                                         .T = t.at,
                                         .ldt = f.t.ld(),
                                         .factored = done_already != nullptr},
                                 {a.ready, tau.ready, v.ready, t.ready});
    for (const auto& [to, from] : {std::pair{&f.A, a.at}, {&f.tau, tau.at}, {&f.V, v.at}, {&f.t, t.at}})
      call.download(to->data(), to->ld(), from, to->ld(), to->ld(), to->cols(), {done});
    call.drain();
    return f;
  }

  static void expect_right(const Factored& f, index above) {
    const index m = f.A.rows(), n = f.A.cols();
    // As many roundings as Householder's way has (qr_tiles.cpp).
    const double allowed = static_cast<double>(m + n) * eps<T>() * (complex_type<T> ? 2 : 1);
    Wide<T> r = Wide<T>::of(f.A0), q(m, n);
    const double norm = r.norm();
    apply_lapack_q(true, m, n, f.A.data(), f.A.ld(), f.tau.data(), r);
    EXPECT_LE((r - upper_part(m, n, f.A.data(), f.A.ld())).norm(), allowed * norm);
    for (index j = 0; j < n; ++j) q(j, j) = 1;
    Wide<T> by_t = q;
    apply_lapack_q(false, m, n, f.A.data(), f.A.ld(), f.tau.data(), q);
    EXPECT_LE(orthogonality(q), allowed * std::sqrt(static_cast<double>(n)));
    // V and T as products take them, zeros and ones included.
    for (index j = 0; j < n; ++j) {
      for (index i = 0; i < above + m; ++i) {
        const T due = i < above + j ? T(0) : i == above + j ? T(1) : f.A(i - above, j);
        EXPECT_EQ(f.V(i, j), due) << i << " " << j;
      }
      for (index i = 0; i < f.t.rows(); ++i)
        if (i < above || i > above + j) {
          EXPECT_EQ(f.t(i, j), T(0));
        }
      EXPECT_EQ(std::imag(f.A(j, j)), 0);
    }
    const Wide<T> V = Wide<T>::of(m, n, f.V.data() + above, f.V.ld()),
                  t = Wide<T>::of(n, n, f.t.data() + above, f.t.ld());
    EXPECT_LE((by_t - V * (t * (V.adjoint() * by_t)) - q).norm(), allowed * std::sqrt(static_cast<double>(n)));
    EXPECT_TRUE(f.A.canaries_intact() && f.tau.canaries_intact() && f.V.canaries_intact() && f.t.canaries_intact());
  }
};
TYPED_TEST_SUITE(Panels, Precisions, TypeNames);

TYPED_TEST(Panels, OfAllKindsAndSizesAreLapacks) {
  using T = TypeParam;
  for (const Kind kind : kinds)
    for (const auto& [m, n] :
         {std::pair<index, index>{1, 1}, {2, 1}, {5, 5}, {257, 1}, {300, 32}, {600, 7}, {130, 128}}) {
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " " << m << " x " << n);
      this->expect_right(this->run(matrix_of<T>(kind, m, n), 0, n), 0);
      if (testing::Test::HasFailure()) return;
    }
}

TYPED_TEST(Panels, OfTallMatricesAreLapacks) {
  using T = TypeParam;
  // More rows than any kernel takes at a time, and numbers of them that are multiples of nothing.
  for (const auto& [m, n] : {std::pair<index, index>{70001, 1}, {4095, 5}, {2001, 17}, {1025, 40}})
    for (const Kind kind : {Kind::random, Kind::repeated_columns, Kind::vandermonde}) {
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " " << m << " x " << n);
      if (kind != Kind::random && m * n * n > 200000) continue;  // the reference takes long
      this->expect_right(this->run(matrix_of<T>(kind, m, n), 0, n), 0);
      if (testing::Test::HasFailure()) return;
    }
}

/// Whole factorisations by a plan: what a backend's panels, products and transfers are for.
TYPED_TEST(Panels, MakePlansComeTrue) {
  using T = TypeParam;
  const struct {
    index m, n, block, panel, part = n;
  } shapes[] = {{200, 200, 64, 16}, {300, 130, 128, 64}, {100, 160, 64, 32},
                {700, 40, 40, 20},  {1, 5, 1, 1},        {90, 85, 16, 8, 32}};
  for (const auto& s : shapes)
    for (const Kind kind : {Kind::random, Kind::rank_one}) {
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " " << s.m << " x " << s.n << " by "
                                      << s.block << ", " << s.panel);
      const index k = std::min(s.m, s.n);
      const Matrix<T> A0 = matrix_of<T>(kind, s.m, s.n);
      const QrPlan plan = plan_qr(s.m, s.n, s.block, s.panel, s.part);
      const Lease lease(plan.bytes(sizeof(T)));
      const auto run = [&](Matrix<T>& A, Matrix<T>& tau) {
        Status status = Status::lost;
        Lane* const lane = backend->acquire(underlying, much, status);
        if (!lane) throw std::runtime_error("no lane");
        const GeqrfArgs<T> args{s.m, s.n, A.data(), A.ld(), tau.data()};
        const Outcome outcome = execute(
            plan, args, {.lease = lease.memory()}, piece_bytes(), *lane, +[] { return true; });
        backend->release(lane);
        return outcome.status;
      };
      Matrix<T> A = A0, tau(k, 1), again = A0, tau_again(k, 1);
      ASSERT_EQ(run(A, tau), Status::done);
      const double allowed = static_cast<double>(s.m + k) * eps<T>() * (complex_type<T> ? 2 : 1);
      Wide<T> r = Wide<T>::of(A0), q(s.m, k);
      const double norm = r.norm();
      apply_lapack_q(true, s.m, k, A.data(), A.ld(), tau.data(), r);
      EXPECT_LE((r - upper_part(s.m, s.n, A.data(), A.ld())).norm(), allowed * norm);
      for (index j = 0; j < k; ++j) q(j, j) = 1;
      apply_lapack_q(false, s.m, k, A.data(), A.ld(), tau.data(), q);
      EXPECT_LE(orthogonality(q), allowed * std::sqrt(static_cast<double>(k)));
      EXPECT_TRUE(A.canaries_intact() && tau.canaries_intact());
      // The same bits again.
      ASSERT_EQ(run(again, tau_again), Status::done);
      EXPECT_TRUE(A == again && tau == tau_again);
      if (testing::Test::HasFailure()) return;
    }
}

TYPED_TEST(Panels, ThatAreFactoredGetTheirVAndT) {
  using T = TypeParam;
  for (const Kind kind : {Kind::random, Kind::rank_one, Kind::zero_column})
    for (const auto& [m, n] : {std::pair<index, index>{1, 1}, {5, 5}, {600, 7}, {300, 24}})
      for (const index above : {0, 6}) {
        SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " " << m << " x " << n);
        const auto factored = this->run(matrix_of<T>(kind, m, n), above, above + n);
        const auto again = this->run(factored.A0, above, above + n, &factored);
        EXPECT_TRUE(again.A == factored.A && again.tau == factored.tau) << "which are only read";
        this->expect_right(again, above);
        if (testing::Test::HasFailure()) return;
      }
}

TYPED_TEST(Panels, AreParts) {
  using T = TypeParam;
  for (const index above : {1, 6})
    for (const index block : {11, 16})
      this->expect_right(this->run(matrix_of<T>(Kind::random, 300, 5), above, block), above);
}

TYPED_TEST(Panels, RepeatBitForBit) {
  using T = TypeParam;
  const Matrix<T> A = matrix_of<T>(Kind::random, 1500, 24);
  const auto first = this->run(A, 0, 24);
  for (int again = 0; again < 5; ++again) ASSERT_TRUE(this->run(A, 0, 24) == first);
}

TYPED_TEST(Panels, PoisonStaysInItsColumnAndThoseBehind) {
  using T = TypeParam;
  for (const double bad : {nan, inf}) {
    Matrix<T> A = matrix_of<T>(Kind::random, 600, 9);
    A(400, 4) = T(static_cast<Real<T>>(bad));
    const auto f = this->run(A, 0, 9);
    for (index j = 0; j < 9; ++j)
      for (index i = 0; i < 600; ++i)
        if (j < 4) {
          ASSERT_TRUE(finite(f.A(i, j)));
        } else if (j > 4 && i > 4) {
          ASSERT_FALSE(finite(f.A(i, j)));
        }
  }
}

}  // namespace
}  // namespace blaslift::conformance::panels_tests
