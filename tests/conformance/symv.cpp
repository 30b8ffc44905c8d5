// Products of a symmetric or Hermitian matrix with a vector.
#include "kernels/host/symv.hpp"
#include "tests/conformance/harness.hpp"
#include "tests/unit/symv/symv_reference.hpp"

namespace blaslift::conformance::symv_tests {
namespace {

template <class T>
class SymvProducts : public testing::Test {
 protected:
  const T general_alpha = scalar<T>(1.25, -0.5), general_beta = scalar<T>(-0.75, 0.375);
  const std::vector<T> scalars{T(0), T(1), T(-1), general_beta};
  const std::vector<SymvBlocking> blockings = all_blockings(element_of<T>);

  /// On the device, with A, x and y so many elements from where addresses are multiples of 256, and a workspace full of
  /// NaN behind which nothing may be written.
  static Matrix<T> run(SymvProblem<T>& problem, const SymvBlocking& blocking, SymvWay way, index offset = 0) {
    const auto aligned = [](const T& from) {
      Scalar<T> to{};
      to.value = from;
      return to;
    };
    const Scalar<T> alpha = aligned(problem.alpha), beta = aligned(problem.beta);
    Symv p = problem.symv(blocking);
    p.alpha = &alpha.value;
    p.beta = &beta.value;
    p.way = way;
    constexpr index words_behind = 64;
    const index words = static_cast<index>(symv_workspace(p) / sizeof(canary)) + words_behind;
    const std::vector<std::uint32_t> full(static_cast<std::size_t>(words), canary);
    Call call(room(problem.A, offset) + room(problem.x, offset) + room(problem.y, offset) +
              Call::part_size<std::uint32_t>(words));
    const Placed<T> a = call.put(problem.A, offset), x = call.put(problem.x, offset), y = call.put(problem.y, offset);
    auto* workspace = call.part<std::uint32_t>(words);
    const Ticket filled = call.upload(workspace, words, full.data(), words, words, 1);
    p.A = a.at;
    p.x = x.at;
    p.y = y.at;
    p.workspace = workspace;
    const Ticket product = call.ask(p, {a.ready, x.ready, y.ready, filled});
    std::vector<std::uint32_t> behind(words_behind);
    call.download(behind.data(), words_behind, workspace + words - words_behind, words, words_behind, 1, {product});
    Matrix<T> result = problem.y;
    call.get(result, y.at, {product});
    EXPECT_EQ(std::count(behind.begin(), behind.end(), canary), words_behind) << problem.describe(blocking);
    return result;
  }

  /// Within the bound, and the same bits either way, by the host's own code, and again.
  static void expect_right(SymvProblem<T> problem, const SymvBlocking& blocking, index offset = 0) {
    const Matrix<T> result = run(problem, blocking, SymvWay::parts, offset);
    ASSERT_LE(problem.worst_excess(result), 1.0) << problem.describe(blocking);
    ASSERT_TRUE(result.canaries_intact()) << "gaps of y written: " << problem.describe(blocking);
    ASSERT_TRUE(run(problem, blocking, SymvWay::tickets, offset) == result) << problem.describe(blocking);
    ASSERT_TRUE(run(problem, blocking, SymvWay::parts, offset) == result) << problem.describe(blocking);
    blaslift::symv(problem.symv(blocking));
    ASSERT_TRUE(problem.y == result) << "not the host's bits: " << problem.describe(blocking);
  }

  /// Calls `check(uplo, hermitian)`.
  template <class Check>
  static void for_all_kinds(Check check) {
    for (const Uplo uplo : {Uplo::upper, Uplo::lower})
      for (const bool hermitian : {false, true}) {
        if (hermitian && !complex_type<T>) continue;
        check(uplo, hermitian);
        if (testing::Test::HasFatalFailure()) return;
      }
  }
};
using SymvTypes = testing::Types<float, double, std::complex<float>, std::complex<double>, DoubleDouble>;
TYPED_TEST_SUITE(SymvProducts, SymvTypes, TypeNames);

TYPED_TEST(SymvProducts, OfAllSmallSizes) {
  using T = TypeParam;
  this->for_all_kinds([&](Uplo uplo, bool hermitian) {
    for (index n = 0; n <= 70; ++n) {
      const auto seed = static_cast<unsigned>(n);
      const SymvBlocking& panels = this->blockings[1 + seed % (this->blockings.size() - 1)];
      SymvProblem<T> problem(uplo, hermitian, n, this->general_alpha, this->scalars[seed % 4], 1, 1, seed % 3, seed);
      problem.conjugated = complex_type<T> && n % 2 == 1;
      for (const SymvBlocking& b : {SymvBlocking{}, panels}) this->expect_right(problem, b, seed % 5 == 0);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TYPED_TEST(SymvProducts, AwkwardSizesByEveryBlocking) {
  using T = TypeParam;
  this->for_all_kinds([&](Uplo uplo, bool hermitian) {
    unsigned seed = 0;
    for (const index n : {127, 128, 129, 255, 257, 384, 513, 1000, 1025})
      for (const SymvBlocking& b : this->blockings) {
        if (n > 600 && (++seed + (uplo == Uplo::upper)) % 2) continue;  // every other one: they take long
        SymvProblem<T> problem(uplo, hermitian, n, this->general_alpha, this->general_beta, 1, 1, n % 2 ? n % 4 : 0,
                               static_cast<unsigned>(n));
        problem.conjugated = complex_type<T> && (&b - this->blockings.data() + n) % 2 != 0;
        this->expect_right(problem, b, n == 384);
        if (testing::Test::HasFatalFailure()) return;
      }
  });
  // As the rules would have it.
  const index n = 1100;
  this->expect_right(SymvProblem<T>(Uplo::lower, false, n, this->general_alpha, this->general_beta),
                     symv_blocking(element_of<T>, Uplo::lower, n));
}

TYPED_TEST(SymvProducts, OfAllIncrementsScalarsAndOffsets) {
  using T = TypeParam;
  this->for_all_kinds([&](Uplo uplo, bool hermitian) {
    unsigned seed = 0;
    for (const index incx : {1, 2, -1, -3})
      for (const index incy : {1, 2, -1, -3})
        for (const T& alpha : {T(0), T(1), T(-1), this->general_alpha})
          for (const T& beta : this->scalars) {
            const SymvBlocking& b = this->blockings[++seed % this->blockings.size()];
            SymvProblem<T> problem(uplo, hermitian, 45, alpha, beta, incx, incy, 3);
            problem.conjugated = complex_type<T> && seed / 2 % 2 == 1;
            this->expect_right(problem, b, seed % 3);
            if (testing::Test::HasFatalFailure()) return;
          }
  });
}

TYPED_TEST(SymvProducts, WithAlphaZeroReadNeitherANorX) {
  using T = TypeParam;
  for (const SymvBlocking& b : this->blockings)
    for (const T& beta : this->scalars) {
      SymvProblem<T> problem(Uplo::upper, false, 150, T(0), beta);
      problem.A.fill(scalar<T>(nan, inf));
      problem.x.fill(scalar<T>(inf, nan));
      this->expect_right(problem, b);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TYPED_TEST(SymvProducts, PoisonReachesWhatItReachesInTheClassicalProduct) {
  using T = TypeParam;
  constexpr index n = 140, row = 37, col = 101;
  this->for_all_kinds([&](Uplo uplo, bool hermitian) {
    for (const SymvBlocking& b : this->blockings) {
      const auto poisoned = [&](index i, index j, T value) {
        SymvProblem<T> problem(uplo, hermitian, n, this->general_alpha, this->general_beta);
        const bool there = problem.stored(i, j);
        problem.A(there ? i : j, there ? j : i) = value;
        const Matrix<T> result = this->run(problem, b, SymvWay::parts);
        for (index k = 0; k < n; ++k)
          ASSERT_EQ(finite(result(0, k)), k != i && k != j) << k << " of " << problem.describe(b);
      };
      poisoned(row, col, scalar<T>(nan, nan));
      poisoned(row, col, scalar<T>(inf, 0.5));
      poisoned(row, row, scalar<T>(nan, 0.5));
      // An infinite x(k) makes every element that is not NaN infinite.
      SymvProblem<T> problem(uplo, hermitian, n, this->general_alpha, this->general_beta);
      problem.x(0, col) = scalar<T>(inf, 0);
      const Matrix<T> result = this->run(problem, b, SymvWay::tickets);
      for (index k = 0; k < n; ++k) ASSERT_FALSE(finite(result(0, k))) << k << " of " << problem.describe(b);
      // y is scaled, not multiplied, by 1: infinity stays in its part of it.
      SymvProblem<T> once(uplo, hermitian, n, this->general_alpha, T(1));
      once.y(0, row) = scalar<T>(inf, 0.5);
      const Matrix<T> y = this->run(once, b, SymvWay::tickets);
      if constexpr (std::is_same_v<T, DoubleDouble>)
        ASSERT_FALSE(finite(y(0, row))) << once.describe(b);
      else
        ASSERT_TRUE(std::isinf(std::real(y(0, row))) && std::isfinite(std::imag(y(0, row)))) << once.describe(b);
    }
  });
}

TYPED_TEST(SymvProducts, OfEightThreadsAtOnceAreTheSame) {
  using T = TypeParam;
  const SymvBlocking blocking = this->blockings[3];
  const auto problem = [](int t) {
    return SymvProblem<T>(t % 2 ? Uplo::upper : Uplo::lower, false, 300 + 11 * t, T(0.5), T(-2), 1, 1, 0,
                          static_cast<unsigned>(t));
  };
  on_threads([&](int t) {
    SymvProblem<T> mine = problem(t), expected = problem(t);
    blaslift::symv(expected.symv(blocking));
    for (int time = 0; time < 10; ++time) {
      const Matrix<T> y = this->run(mine, blocking, time % 2 ? SymvWay::parts : SymvWay::tickets);
      if (!(y == expected.y)) throw std::runtime_error("other bits");
    }
  });
}

}  // namespace
}  // namespace blaslift::conformance::symv_tests
