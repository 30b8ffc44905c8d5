// Products of a general matrix with a vector.
#include "kernels/host/gemv.hpp"
#include "tests/conformance/harness.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/gemv/gemv_reference.hpp"

namespace blaslift::conformance::gemv_tests {
namespace {

template <class T>
class GemvProducts : public testing::Test {
 protected:
  const T general_alpha = scalar<T>(1.25, -0.5), general_beta = scalar<T>(-0.75, 0.375);
  const std::vector<T> scalars{T(0), T(1), T(-1), general_beta};

  /// On the device, with A, x and y so many elements from where addresses are multiples of 256, and a workspace full of
  /// NaN behind which nothing may be written.
  static Matrix<T> run(GemvProblem<T>& problem, index offset = 0) {
    const auto aligned = [](const T& from) {
      Scalar<T> to{};
      to.value = from;
      return to;
    };
    const Scalar<T> alpha = aligned(problem.alpha), beta = aligned(problem.beta);
    Gemv p = problem.gemv();
    p.alpha = &alpha.value;
    p.beta = &beta.value;
    constexpr index words_behind = 64;
    const index words = static_cast<index>(gemv_workspace(p) / sizeof(canary)) + words_behind;
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
    EXPECT_EQ(std::count(behind.begin(), behind.end(), canary), words_behind) << problem.describe();
    return result;
  }

  /// The same bits by the host's own code, and again, from wherever A begins; and within the bound.
  static void expect_right(GemvProblem<T> problem, index offset = 0) {
    const Matrix<T> result = run(problem, offset);
    ASSERT_LE(problem.worst_excess(result), 1.0) << problem.describe();
    ASSERT_TRUE(result.canaries_intact()) << "gaps of y written: " << problem.describe();
    ASSERT_TRUE(run(problem, offset) == result) << "other bits: " << problem.describe();
    ASSERT_TRUE(run(problem, offset + 1) == result) << "other bits elsewhere: " << problem.describe();
    const Matrix<T> before = problem.y;
    blaslift::gemv(problem.gemv());
    ASSERT_TRUE(std::exchange(problem.y, before) == result) << "not the host's bits: " << problem.describe();
  }

  /// Calls `check(transposed, conjugated)`.
  template <class Check>
  static void for_all_kinds(Check check) {
    for (const bool transposed : {false, true})
      for (const bool conjugated : {false, true}) {
        if (conjugated && !complex_type<T>) continue;
        check(transposed, conjugated);
        if (testing::Test::HasFatalFailure()) return;
      }
  }
};
TYPED_TEST_SUITE(GemvProducts, Precisions, TypeNames);

TYPED_TEST(GemvProducts, OfAllSmallSizes) {
  using T = TypeParam;
  this->for_all_kinds([&](bool transposed, bool conjugated) {
    for (index m = 0; m <= 40; m += m < 10 ? 1 : 5)
      for (index n = 0; n <= 40; n += n < 10 ? 1 : 5) {
        const auto seed = static_cast<unsigned>(m + 41 * n);
        GemvProblem<T> problem(transposed, conjugated, m, n, this->general_alpha, this->scalars[seed % 4], 1, 1,
                               seed % 3, seed);
        if (m > 0 && n > 0) {
          this->expect_right(problem, seed % 5 == 0);
        } else {
          const Matrix<T> y = this->run(problem);
          ASSERT_TRUE(y == problem.y) << "not as it was: " << problem.describe();
        }
        if (testing::Test::HasFatalFailure()) return;
      }
  });
}

TYPED_TEST(GemvProducts, AwkwardSizesAndAlignments) {
  using T = TypeParam;
  this->for_all_kinds([&](bool transposed, bool conjugated) {
    unsigned seed = 0;
    for (const index m : {63, 64, 65, 129, 255, 512, 1023, 1025})
      for (const index n : {31, 33, 64, 65, 127, 257}) {
        ++seed;
        this->expect_right(GemvProblem<T>(transposed, conjugated, m, n, this->general_alpha, this->general_beta, 1, 1,
                                          static_cast<index>(seed % 5), seed),
                           static_cast<index>(seed / 5 % 4));
        if (testing::Test::HasFatalFailure()) return;
      }
  });
}

TYPED_TEST(GemvProducts, TallAndWide) {
  using T = TypeParam;
  this->for_all_kinds([&](bool transposed, bool conjugated) {
    for (const auto& [m, n] : {std::pair<index, index>{100000, 1},
                               {1, 100000},
                               {70001, 3},
                               {3, 70001},
                               {20000, 33},
                               {33, 20000},
                               {9001, 77},
                               {77, 9001},
                               {1500, 700}}) {
      if (conjugated && (m > 50000 || n > 50000)) continue;  // they take long
      for (const index gap : {index{0}, 1 + m % 2}) {
        this->expect_right(GemvProblem<T>(transposed, conjugated, m, n, this->general_alpha, T(0), 1, 1, gap));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

TYPED_TEST(GemvProducts, OfAllIncrementsScalarsAndOffsets) {
  using T = TypeParam;
  this->for_all_kinds([&](bool transposed, bool conjugated) {
    unsigned seed = 0;
    for (const index incx : {1, 2, -1, -3})
      for (const index incy : {1, 2, -1, -3})
        for (const T& alpha : {T(0), T(1), T(-1), this->general_alpha})
          for (const T& beta : this->scalars) {
            ++seed;
            this->expect_right(GemvProblem<T>(transposed, conjugated, seed % 2 ? 45 : 140, seed % 3 ? 37 : 100, alpha,
                                              beta, incx, incy, 3),
                               seed % 3);
            if (testing::Test::HasFatalFailure()) return;
          }
  });
}

TYPED_TEST(GemvProducts, PoisonReachesWhatItReachesInTheClassicalProduct) {
  using T = TypeParam;
  this->for_all_kinds([&](bool transposed, bool conjugated) {
    for (const auto& [m, n] : {std::pair<index, index>{140, 130}, {2500, 40}, {40, 2500}}) {
      const auto problem = [&, m = m, n = n](T beta) {
        return GemvProblem<T>(transposed, conjugated, m, n, this->general_alpha, beta);
      };
      const index results = transposed ? n : m, terms = transposed ? m : n, i = results / 3, k = terms - 2;
      for (const T& poison : {scalar<T>(nan, nan), scalar<T>(inf, 0.5)}) {
        GemvProblem<T> poisoned = problem(this->general_beta);
        poisoned.op(i, k) = poison;
        const Matrix<T> result = this->run(poisoned);
        for (index r = 0; r < results; ++r)
          ASSERT_EQ(finite(result(0, r)), r != i) << r << " of " << poisoned.describe();
      }
      // An infinite x(k) makes every element that is not NaN infinite.
      GemvProblem<T> by_x = problem(this->general_beta);
      by_x.x(0, k) = scalar<T>(inf, 0);
      const Matrix<T> all = this->run(by_x);
      for (index r = 0; r < results; ++r) ASSERT_FALSE(finite(all(0, r))) << r << " of " << by_x.describe();
      // y is scaled, not multiplied, by 1: infinity stays in its part of it.
      GemvProblem<T> once = problem(T(1));
      once.y(0, i) = scalar<T>(inf, 0.5);
      const Matrix<T> y = this->run(once);
      ASSERT_TRUE(std::isinf(std::real(y(0, i))) && std::isfinite(std::imag(y(0, i)))) << once.describe();
    }
  });
}

TYPED_TEST(GemvProducts, OfEightThreadsAtOnceAreTheSame) {
  using T = TypeParam;
  const auto problem = [](int t) {
    return GemvProblem<T>(t % 2 != 0, false, 300 + 11 * t, 500 - 13 * t, T(0.5), T(-2), 1, 1, 0,
                          static_cast<unsigned>(t));
  };
  on_threads([&](int t) {
    GemvProblem<T> mine = problem(t), expected = problem(t);
    blaslift::gemv(expected.gemv());
    for (int time = 0; time < 10; ++time)
      if (!(this->run(mine) == expected.y)) throw std::runtime_error("other bits");
  });
}

}  // namespace
}  // namespace blaslift::conformance::gemv_tests
