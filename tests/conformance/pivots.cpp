// QR with pivoting of columns.
#include "tests/conformance/harness.hpp"
#include "tests/unit/qr/pivoted.hpp"

namespace blaslift::conformance::pivots_tests {
namespace {

using reference::Kind, reference::kinds;

template <class T>
struct Pivoted {
  Matrix<T> A;
  std::vector<T> fixed;
  index offset = 0;  ///< of A on the device

  Pivoted(Kind kind, index m, index n, unsigned seed = 1, index gap = 3)
      : A(m, n, gap), fixed(static_cast<std::size_t>(n)) {
    const Matrix<T> hard = reference::matrix_of<T>(kind, m, n, seed);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i) A(i, j) = hard(i, j);
  }

  struct Result {
    Matrix<T> factors;
    std::vector<T> order, tau;
    T failed;
  };
  Result run() const {
    const index m = A.rows(), n = A.cols(), k = std::min(m, n);
    Call call(room(A, offset) + 4096 + 2 * Call::part_size<T>(n) + Call::part_size<T>(k + 1) + Call::part_size<T>(2));
    const Placed<T> a = call.put(A, offset);
    const std::vector<T> elements(static_cast<std::size_t>(k) + 1, scalar<T>(77, 78)), unsaid(2, T(5)),
        none(static_cast<std::size_t>(n), scalar<T>(77, 78));
    std::vector<Ticket> ready{a.ready};
    const auto filled = [&](const std::vector<T>& with) {
      const auto count = static_cast<index>(with.size());
      T* const at = call.part<T>(count);
      ready.push_back(call.upload(at, count, with.data(), count, count, 1));
      return at;
    };
    T *const given = filled(fixed), *const order = filled(none), *const tau = filled(elements),
             *const failed = filled(unsaid);
    const Ticket found = call.ask(Geqp3{.precision = precision_of<T>,
                                        .m = m,
                                        .n = n,
                                        .A = a.at,
                                        .lda = A.ld(),
                                        .fixed = given,
                                        .order = order,
                                        .tau = tau,
                                        .failed = failed},
                                  ready);
    Result result{A, none, elements, T(0)};
    std::vector<T> said(2);
    call.download(result.order.data(), n, order, n, n, 1, {found});
    call.download(result.tau.data(), k + 1, tau, k + 1, k + 1, 1, {found});
    call.download(said.data(), 2, failed, 2, 2, 1, {found});
    call.get(result.factors, a.at, {found});
    result.failed = said[0];
    EXPECT_EQ(said[1], T(5)) << describe();
    EXPECT_EQ(result.tau.back(), elements.back()) << "more than there are reflectors: " << describe();
    EXPECT_TRUE(result.factors.canaries_intact()) << "rows between rows and lda written: " << describe();
    return result;
  }
  void expect_right() const {
    const Result first = run();
    ASSERT_EQ(first.failed, T(0)) << describe();
    ASSERT_EQ(reference::wrong_in_pivoted(A, first.factors, fixed, first.order, first.tau), "") << describe();
    const Result again = run();
    ASSERT_EQ(again.order, first.order) << describe();
    ASSERT_EQ(again.tau, first.tau) << "other bits: " << describe();
    ASSERT_TRUE(again.factors == first.factors) << "other bits: " << describe();
  }
  std::string describe() const {
    return std::string(1, letter(precision_of<T>)) + "geqp3 " + std::to_string(A.rows()) + " x " +
           std::to_string(A.cols()) + " lda " + std::to_string(A.ld());
  }
};

template <class T>
class Pivots : public testing::Test {
 protected:
  void SetUp() override {
    if (!backend->facts().computes.can(Operation::Kind::geqp3, precision_of<T>))
      GTEST_SKIP() << "no QR with pivoting on this backend";
  }
};
TYPED_TEST_SUITE(Pivots, Precisions, TypeNames);

/// Around panels, and a column's blocks.
TYPED_TEST(Pivots, OfAllShapes) {
  unsigned seed = 0;
  for (const auto& [m, n] : {std::pair<index, index>{1, 1},
                             {1, 7},
                             {7, 1},
                             {2, 2},
                             {31, 31},
                             {32, 33},
                             {33, 32},
                             {40, 64},
                             {65, 65},
                             {100, 97},
                             {256, 40},
                             {257, 66},
                             {60, 300},
                             {700, 130},
                             {3, 4200},  // more blocks of columns, rows and sums than run at once
                             {2100, 40},
                             {70000, 3}}) {
    ++seed;
    Pivoted<TypeParam> x(Kind::random, m, n, seed, seed % 4);
    x.offset = seed % 3;
    x.expect_right();
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(Pivots, OfMatricesThatAreHard) {
  for (const Kind kind : kinds)
    for (const auto& [m, n] : {std::pair<index, index>{90, 70}, {50, 80}, {300, 40}}) {
      Pivoted<TypeParam>(kind, m, n, 5).expect_right();
      if (testing::Test::HasFailure()) FAIL() << "kind " << static_cast<int>(kind);
    }
}

/// Norms that fall so fast that they are computed anew within panels.
TYPED_TEST(Pivots, OfRowsThatFallFast) {
  for (const int half : {1, 2, 5}) {
    Pivoted<TypeParam> x(Kind::random, 120, 100);
    for (index i = 0; i < x.A.rows(); ++i)
      for (index j = 0; j < x.A.cols(); ++j) x.A(i, j) *= std::ldexp(Real<TypeParam>(1), -static_cast<int>(i) / half);
    x.expect_right();
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(Pivots, WithFixedColumns) {
  using T = TypeParam;
  for (const int every : {1, 2, 3, 30}) {
    Pivoted<T> x(Kind::random, 80, 75);
    for (std::size_t j = 0; j < x.fixed.size(); ++j)
      x.fixed[j] = T(static_cast<Real<T>>(static_cast<int>(j + 1) % every == 0));
    x.expect_right();
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(Pivots, OfNumbersThatAreNotFiniteFail) {
  using T = TypeParam;
  for (const double poison : {nan, inf, -inf})
    for (const auto& [row, col] : {std::pair<index, index>{0, 0}, {50, 30}, {61, 59}, {3, 64}}) {
      Pivoted<T> x(Kind::random, 62, 65);
      x.A(row, col) = scalar<T>(poison, 0);
      ASSERT_EQ(x.run().failed, T(1)) << poison << " at " << row << " " << col << " of " << x.describe();
    }
}

}  // namespace
}  // namespace blaslift::conformance::pivots_tests
