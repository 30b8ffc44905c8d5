// Algorithms that are preferred to the backend's own choice.
#include "tests/conformance/harness.hpp"

namespace blaslift::conformance::algorithms_tests {
namespace {

/// Gives the backend its own choice back.
struct Preferring {
  explicit Preferring(const Preference& x) { backend->prefer(&x, 1); }
  ~Preferring() { backend->prefer(nullptr, 0); }
  Preferring(const Preferring&) = delete;
  Preferring& operator=(const Preferring&) = delete;
};

template <class T>
class Algorithms : public Products<T> {
 public:
  static constexpr std::uint32_t alignment = 16;

  static std::vector<Candidate> candidates(const SquareProduct& product, int most = 16) {
    std::vector<Candidate> some(static_cast<std::size_t>(most));
    some.resize(static_cast<std::size_t>(backend->candidates(product, alignment, some.data(), most)));
    return some;
  }

  /// With columns as far apart as the alignment asks, or somewhat farther.
  Problem<T> problem(const SquareProduct& x, index m, index n, index k, bool aligned = true) const {
    Problem<T> p(x.transa, x.transb, m, n, k, this->some_alpha, x.adds_e ? this->some_beta : this->zero);
    if (!x.adds_e) p.C.fill(scalar<T>(nan, nan));  // not read
    if (x.adds_e) p.add_e();
    if (!aligned) return p;
    const auto lie_aligned = [](Matrix<T>& matrix) {
      constexpr index unit = 64;
      Matrix<T> other(matrix.rows(), matrix.cols(), (matrix.rows() + unit - 1) / unit * unit - matrix.rows());
      for (index j = 0; j < matrix.cols(); ++j)
        for (index i = 0; i < matrix.rows(); ++i) other(i, j) = matrix(i, j);
      matrix = other;
    };
    lie_aligned(p.A);
    lie_aligned(p.B);
    lie_aligned(p.C);
    if (p.E) lie_aligned(*p.E);
    return p;
  }
};
TYPED_TEST_SUITE(Algorithms, Precisions, TypeNames);

TYPED_TEST(Algorithms, AllCandidatesAreRightAndRepeatBitForBit) {
  using T = TypeParam;
  if (!*backend->facts().algorithms) {
    EXPECT_EQ(this->candidates({precision_of<T>, Op::none, Op::none, false, 256}).size(), 0u);
    GTEST_SKIP() << "this backend has one way to compute a product";
  }
  constexpr index n = 128;
  for (const auto& [ta, tb] : {std::pair{Op::none, Op::none}, std::pair{Op::transpose, Op::none},
                               std::pair{Op::none, Op::conjugate}, std::pair{Op::transpose, Op::transpose}})
    for (const bool adds_e : {false, true}) {
      const SquareProduct square{precision_of<T>, ta, tb, adds_e, n};
      Problem<T> right = this->problem(square, n, n, n), near = this->problem(square, n - 5, n + 7, n - 9),
                 crooked = this->problem(square, n, n, n, false);
      const auto of_right = product(right.expected_args()), of_near = product(near.expected_args()),
                 of_crooked = product(crooked.expected_args());
      const std::vector<Candidate> candidates = this->candidates(square);
      EXPECT_GT(candidates.size(), 0u) << describe(right.args());
      for (const Candidate& candidate : candidates) {
        SCOPED_TRACE(testing::Message() << candidate.name << " " << describe(right.args()) << (adds_e ? " + E" : ""));
        EXPECT_GT(strnlen(candidate.name, sizeof candidate.name), 0u);
        EXPECT_LT(strnlen(candidate.name, sizeof candidate.name), sizeof candidate.name);
        EXPECT_EQ(candidate.algorithm.alignment, this->alignment);
        const Preferring preferring({square, false, candidate.algorithm});
        const Matrix<T> first = right.run();
        EXPECT_LE(worst_excess(of_right, first), 1.0);
        EXPECT_TRUE(first.canaries_intact());
        for (int time = 0; time < 3; ++time) ASSERT_TRUE(right.run() == first) << "other bits";
        EXPECT_LE(worst_excess(of_near, near.run()), 1.0) << "another shape";
        EXPECT_LE(worst_excess(of_crooked, crooked.run()), 1.0) << "not aligned";
        if (testing::Test::HasFailure()) return;
      }
    }
}

TYPED_TEST(Algorithms, AsFewAsAreAskedFor) {
  const SquareProduct square{precision_of<TypeParam>, Op::none, Op::none, false, 256};
  if (this->candidates(square).empty()) GTEST_SKIP() << "this backend has one way to compute a product";
  const std::vector<Candidate> first = this->candidates(square, 1);
  ASSERT_EQ(first.size(), 1u);
  // Which one is not said: what cuBLAS proposes first depends on what it was asked before.
  Problem<TypeParam> p = this->problem(square, 256, 256, 256);
  const Preferring preferring({square, false, first[0].algorithm});
  const Matrix<TypeParam> result = p.run();
  EXPECT_LE(worst_excess(product(p.expected_args()), result), 1.0);
  ASSERT_TRUE(p.run() == result) << "other bits";
}

TYPED_TEST(Algorithms, WhatIsNoneIsPassedOver) {
  // Words of no algorithm, one that wants more than any workspace, and one of another precision.
  using T = TypeParam;
  constexpr Precision other = precision_of<T> == Precision::s ? Precision::d : Precision::s;
  for (const bool adds_e : {false, true}) {
    const SquareProduct square{precision_of<T>, Op::none, Op::none, adds_e, 128};
    Problem<T> p = this->problem(square, 128, 128, 128);
    std::vector<Algorithm> some{{{}, 0, 1}, {{}, std::uint64_t{1} << 60, 1}};
    for (const Candidate& x : this->candidates({other, Op::none, Op::none, adds_e, 128}, 2))
      some.push_back(x.algorithm);
    for (const Algorithm& algorithm : some) {
      const Preferring preferring({square, false, algorithm});
      p.expect_right();
    }
    p.expect_right();
  }
}

}  // namespace
}  // namespace blaslift::conformance::algorithms_tests
