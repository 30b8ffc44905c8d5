// Inverses on a backend's lane: every cut, in whatever order the lane runs things; what is not to be read is NaN and
// keeps its bits, and nothing of the caller's changes if anything fails.
#include <gtest/gtest.h>

#include "impl/solve/inverse_plan.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::inverse_tests {
namespace {

using namespace reference;

template <class T>
struct Inversion {
  InverseShape shape;
  InverseCut cut;
  Matrix<T> original;  ///< what is inverted, all of it
  Matrix<T> A0, A;
  std::vector<T> pivots;

  Inversion(Random& r, unsigned seed)
      : shape{.of = static_cast<InverseOf>(r.below(4)),
              .uplo = r.coin() ? Uplo::upper : Uplo::lower,
              .unit = r.coin(),
              .n = r.up_to(24)},
        original(shape.n, shape.n),
        A0(shape.n, shape.n, r.up_to(4) - 1),
        A(A0) {
    shape.unit = shape.unit && shape.of == InverseOf::triangle;
    if (shape.of == InverseOf::lu) shape.uplo = Uplo::lower;
    cut = {r.up_to(shape.n)};
    set_a(seed);
    A = A0;
  }

  static T conjugate(const T& x) {
    if constexpr (complex_type<T>)
      return std::conj(x);
    else
      return x;
  }
  bool in_triangle(index i, index j) const { return shape.uplo == Uplo::upper ? i <= j : i >= j; }
  /// Of A: read, and replaced.
  bool stored(index i, index j) const {
    return shape.of == InverseOf::lu || (in_triangle(i, j) && !(shape.unit && i == j));
  }

  /// Factors or a triangle that an inverse is made of, well-conditioned, and what they are of.
  void set_a(unsigned seed) {
    const index n = shape.n;
    Random rows(seed);
    Matrix<T> f(n, n);
    f.random(seed);
    const auto share = static_cast<Real<T>>(1) / static_cast<Real<T>>(n);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) f(i, j) = i == j ? scalar<T>(2 + rows.below(1000) / 1e3, 0) : f(i, j) * share;
    pivots.assign(shape.of == InverseOf::lu ? static_cast<std::size_t>(n) : 0, T(0));
    for (std::size_t i = 0; i < pivots.size(); ++i)
      pivots[i] = T(static_cast<Real<T>>(static_cast<index>(i) + rows.up_to(n - static_cast<index>(i))));
    const auto lower = [&](index i, index j) {
      return i < j                       ? T(0)
             : shape.of == InverseOf::lu ? i == j ? T(1) : f(i, j)
             : shape.uplo == Uplo::upper ? conjugate(f(j, i))
                                         : f(i, j);
    };
    const auto upper = [&](index i, index j) {
      return i > j ? T(0) : shape.of == InverseOf::lu ? f(i, j) : conjugate(lower(j, i));
    };
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        original(i, j) = T(0);
        if (shape.of == InverseOf::triangle)
          original(i, j) = shape.unit && i == j ? T(1) : in_triangle(i, j) ? f(i, j) : T(0);
        else if (shape.of == InverseOf::none)  // the product that is made of it
          for (index k = 0; k < n; ++k) original(i, j) += upper(i, k) * lower(k, j);
        else
          for (index k = 0; k < n; ++k) original(i, j) += lower(i, k) * upper(k, j);
        if (stored(i, j))
          A0(i, j) = f(i, j);
        else
          fill_with_canaries(&A0(i, j), sizeof(T));
      }
    for (std::size_t k = pivots.size(); k-- > 0;)
      for (index j = 0; j < n; ++j)
        std::swap(original(static_cast<index>(k), j), original(static_cast<index>(std::real(pivots[k])) - 1, j));
  }

  Plan plan(bool in_place = false) const {
    Plan plan = plan_inverse(shape, precision_of<T>, cut, in_place);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  PlanOutcome run(const Plan& plan, Lane& lane, const Placed& a = {}) {
    std::vector<CallOperand<T>> operands{{A.data(), A.ld(), a}};
    if (shape.of == InverseOf::lu) operands.push_back({pivots.data(), shape.n});
    return run_leased<T>(plan, operands, {}, lane);
  }
  std::string text() const {
    constexpr const char* names[] = {"LU", "Cholesky", "triangle", "product"};
    return std::string(names[static_cast<int>(shape.of)]) + " " + static_cast<char>(shape.uplo) +
           (shape.unit ? " of ones" : "") + " n " + std::to_string(shape.n) + ", panels of " +
           std::to_string(cut.width);
  }

  using Number = std::complex<long double>;
  static Number wide(const T& x) { return {std::real(x), std::imag(x)}; }
  Number inverse(index i, index j) const {
    if (stored(i, j)) return wide(A(i, j));
    if (shape.of != InverseOf::triangle) return std::conj(wide(A(j, i)));
    return i == j ? 1 : 0;
  }
  /// |X A - I| and |A X - I| are a few n eps of |A| |X|: A is well-conditioned, so both are small whatever the method.
  void expect_inverted() const {
    const index n = shape.n;
    long double of_a = 0, of_x = 0;
    for (index j = 0; j < n; ++j) {
      long double a = 0, x = 0;
      for (index i = 0; i < n; ++i) a += std::abs(wide(original(i, j))), x += std::abs(inverse(i, j));
      of_a = std::max(of_a, a), of_x = std::max(of_x, x);
    }
    const long double allowed = 10 * static_cast<long double>(n + 3) *
                                static_cast<long double>(std::numeric_limits<Real<T>>::epsilon()) * of_a * of_x;
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        if (shape.of == InverseOf::none) {
          ASSERT_LE(std::abs(inverse(i, j) - wide(original(i, j))), allowed / of_x)
              << text() << " at " << i << ", " << j;
          if (!stored(i, j)) {
            ASSERT_TRUE(same_bits(A(i, j), A0(i, j))) << text() << " at " << i << ", " << j;
          }
          continue;
        }
        Number left = i == j ? -1 : 0, right = left;
        for (index k = 0; k < n; ++k) {
          left += inverse(i, k) * wide(original(k, j));
          right += wide(original(i, k)) * inverse(k, j);
        }
        ASSERT_LE(std::abs(left), allowed) << text() << " at " << i << ", " << j;
        ASSERT_LE(std::abs(right), allowed) << text() << " at " << i << ", " << j;
        if (!stored(i, j)) {
          ASSERT_TRUE(same_bits(A(i, j), A0(i, j))) << text() << " at " << i << ", " << j;
        }
      }
    ASSERT_TRUE(A.canaries_intact()) << text();
  }
};

template <class T>
class Inverses : public testing::Test {};
TYPED_TEST_SUITE(Inverses, Precisions);

TYPED_TEST(Inverses, InEveryOrderThatALaneMayChooseHaveTheSameBits) {
  using T = TypeParam;
  Random r(1);
  int kinds[4][2] = {};
  for (unsigned round = 0; round < 320; ++round) {
    Inversion<T> x(r, round);
    const Plan plan = x.plan();
    kinds[static_cast<int>(x.shape.of)][x.shape.uplo == Uplo::upper] += x.shape.n > 2 * x.cut.width;
    Matrix<T> first = x.A0;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.A = x.A0;
      Shuffled lane(seed);
      const PlanOutcome outcome = x.run(plan, lane);
      ASSERT_EQ(outcome.status, Status::done);
      ASSERT_TRUE(lane.well_prepared) << x.text();
      x.expect_inverted();
      if (testing::Test::HasFatalFailure()) return;
      if (seed == 0) first = x.A;
      ASSERT_TRUE(x.A == first) << "other bits: " << x.text();
      const double n = static_cast<double>(x.shape.n),
                   a = (x.shape.of == InverseOf::lu ? n * n : n * (n + 1) / 2) * sizeof(T);
      EXPECT_EQ(outcome.bytes_in, a) << x.text();
      EXPECT_EQ(outcome.bytes_out, a) << x.text();
    }
  }
  EXPECT_GT(kinds[0][0], 10);
  for (const int of : {1, 2, 3})
    for (const int count : kinds[of]) EXPECT_GT(count, 5);
}

TYPED_TEST(Inverses, InMemoryOfTheirOwnKeepWhatIsBesideThem) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 80; ++round) {
    Inversion<T> x(r, round);
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(true), lane, {.device = x.A.data(), .ld = x.A.ld(), .in_place = true});
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_out, 0);
    x.expect_inverted();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(Inverses, AFaultAtEveryOperationLeavesEverythingAsItWas) {
  using T = TypeParam;
  Random r(4);
  int struck = 0;
  for (unsigned round = 0; round < 8; ++round) {
    Inversion<T> x(r, 90 + round);
    const Plan plan = x.plan();
    struck += with_each_operation_failing([&] { x.A = x.A0; }, [&](Lane& lane) { return x.run(plan, lane); },
                                          [&] { x.expect_inverted(); }, [&] { ASSERT_TRUE(x.A == x.A0) << x.text(); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 100);
}

TEST(InverseCut, FitsAnyMemoryOrSaysSo) {
  int narrow = 0, none = 0;
  for (const InverseOf of : {InverseOf::lu, InverseOf::cholesky, InverseOf::triangle, InverseOf::none})
    for (const bool in_place : {false, true})
      for (const index n : {1, 7, 100, 511, 2049})
        for (std::size_t memory = 1 << 10; memory < std::size_t{1} << 31; memory *= 2) {
          const InverseShape shape{.of = of, .uplo = Uplo::lower, .unit = false, .n = n};
          const InverseCut cut = inverse_cut(shape, Precision::d, memory, in_place);
          if (cut.width == 0) {
            ++none;
            continue;
          }
          narrow += cut.width < std::min<index>(n, 1024);
          if (cut.panels(n) > 40) continue;  // the list of steps would take long
          EXPECT_LE(plan_inverse(shape, Precision::d, cut, in_place).bytes(sizeof(double)), memory) << n;
        }
  EXPECT_GT(narrow, 3);
  EXPECT_GT(none, 20);
}

}  // namespace
}  // namespace blaslift::inverse_tests
