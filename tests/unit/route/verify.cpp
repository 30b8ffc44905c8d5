// Verification's parts: private copies that notice what is written around them, and the bounds of what is right.
#include "impl/route/verify.hpp"
#include "impl/route/verifier.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "compat/call.hpp"
#include "impl/judge/judge.hpp"
#include "impl/observe/call_record.hpp"
#include "impl/product/execute.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/lapack.hpp"
#include "tests/unit/support/reference.hpp"

namespace blaslift::verify_tests {
namespace {

using reference::complex_type;
using reference::Matrix;
using reference::scalar;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

struct Kind {
  const char* name;
  index rows, cols, ld;
  Part part;
};
constexpr Kind kinds[] = {{"dense", 5, 4, 5, Part::whole},     {"with gaps", 5, 4, 9, Part::whole},
                          {"column", 7, 1, 7, Part::whole},    {"increment", 1, 6, 3, Part::whole},
                          {"upper", 6, 6, 8, Part::upper},     {"lower", 6, 6, 6, Part::lower},
                          {"wide gap", 3, 3, 900, Part::whole}};

bool belongs(const Kind& k, index i, index j) {
  return k.part == Part::whole || (k.part == Part::upper ? i <= j : i >= j);
}

TEST(PrivateCopy, HoldsTheOperandAndNoticesEveryByteAroundIt) {
  for (const Kind& k : kinds) {
    std::vector<double> memory(static_cast<std::size_t>(k.ld * k.cols) + 16);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<double>(i);
    const Stored stored{memory.data() + 3, k.rows, k.cols, k.ld, sizeof(double), k.part};
    PrivateCopy copy;
    ASSERT_TRUE(copy.make(stored, stored.at)) << k.name;
    EXPECT_TRUE(copy.intact()) << k.name;
    EXPECT_TRUE(copy.same(stored.at, 0)) << k.name;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copy.at()) % 4096, reinterpret_cast<std::uintptr_t>(stored.at) % 4096);
    auto* at = static_cast<double*>(copy.at());
    const index span = k.ld * (k.cols - 1) + k.rows;
    for (index e = -3; e < span + 3; ++e) {
      const index i = e % k.ld, j = e / k.ld;
      const bool inside = e >= 0 && e < span && i < k.rows && belongs(k, i, j);
      if (inside) {
        EXPECT_EQ(at[e], stored.at == nullptr ? 0 : static_cast<double>(e + 3)) << k.name << " " << e;
      } else if (k.ld - k.rows > 100 && e > 0 && e < span && i > k.rows + 100 && i < k.ld - 100) {
        continue;  // the middle of a gap that is larger than a page is left alone
      } else {
        EXPECT_TRUE(std::isnan(at[e])) << k.name << " " << e;
      }
      const double kept = at[e];
      auto* bytes = reinterpret_cast<unsigned char*>(at + e);
      for (int b = 0; b < 8; ++b) {
        bytes[b] ^= 1;
        EXPECT_EQ(copy.intact(), inside) << k.name << " element " << e << " byte " << b;
        EXPECT_EQ(copy.same(stored.at, 0), !inside) << k.name << " element " << e << " byte " << b;
        bytes[b] ^= 1;
      }
      (void)kept;
    }
    EXPECT_TRUE(copy.intact() && copy.same(stored.at, 0)) << k.name;
  }
}

TEST(PrivateCopy, WithoutContentsHoldsCanariesAndTellsNaNsFromNumbers) {
  const double values[] = {1, not_a_number, 3};
  const Stored stored{values, 3, 1, 3, sizeof(double)};
  PrivateCopy empty, full;
  ASSERT_TRUE(empty.make(stored, nullptr) && full.make(stored, values));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(static_cast<double*>(empty.at())[i]));
  EXPECT_FALSE(empty.same(values, sizeof(double)));
  static_cast<double*>(full.at())[1] = -std::nan("7");  // another NaN
  EXPECT_FALSE(full.same(values, 0));
  EXPECT_TRUE(full.same(values, sizeof(double)));
  static_cast<double*>(full.at())[1] = 2;
  EXPECT_FALSE(full.same(values, sizeof(double)));
}

TEST(PrivateCopy, SaysWhenThereIsNoMemory) {
  const Stored stored{nullptr, index{1} << 40, 1 << 10, index{1} << 40, 8};
  PrivateCopy copy;
  EXPECT_FALSE(copy.make(stored, nullptr));
  EXPECT_FALSE(copy);
}

TEST(RecordSum, IsTheSameInWhateverPartsItsBytesCome) {
  const std::string bytes = "a call, its settings, and operands of any length";
  RecordSum whole;
  whole.add(bytes.data(), bytes.size());
  for (std::size_t first = 0; first <= bytes.size(); ++first)
    for (std::size_t second = first; second <= bytes.size(); ++second) {
      RecordSum parts;
      parts.add(bytes.data(), first);
      parts.add(bytes.data() + first, second - first);
      parts.add(bytes.data() + second, bytes.size() - second);
      EXPECT_EQ(parts.value(), whole.value()) << first << " " << second;
    }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string other = bytes;
    other[at] ^= 1;
    RecordSum changed;
    changed.add(other.data(), other.size());
    EXPECT_NE(changed.value(), whole.value()) << at;
  }
  // What records hold that were written long ago.
  EXPECT_EQ(whole.line(), "sum 379bea8d31862d41\n");
  RecordSum shorter;
  shorter.add(bytes.data(), bytes.size() - 3);
  EXPECT_EQ(shorter.line(), "sum 9aa0af8d31862d41\n");
}

TEST(Verifier, TakesTheFirstOfEachRoutineAndSizeAndThenOneInSoMany) {
  Verifier verifier;
  const auto taken = [&verifier](Routine routine, double flops, int calls) {
    int count = 0;
    for (int i = 0; i < calls; ++i) count += verifier.due(routine, flops, 10);
    return count;
  };
  EXPECT_EQ(taken(Routine::dgemm, 1e6, 1), 1);
  EXPECT_EQ(taken(Routine::dgemm, 1e6, 9), 0);
  EXPECT_EQ(taken(Routine::dgemm, 1e6, 21), 3);
  EXPECT_EQ(taken(Routine::dgemm, 1e9, 1), 1);
  EXPECT_EQ(taken(Routine::sgemm, 1e6, 1), 1);
  EXPECT_EQ(taken(Routine::dgemm, 0, 1), 1);
  EXPECT_EQ(taken(Routine::dgemm, 1e300, 1), 1);
}

TEST(Verifier, PassesTurnsOnThatNothingCameOf) {
  Verifier verifier;
  constexpr std::uint32_t every = 10;
  const auto calls_until_due = [&verifier] {
    int calls = 1;
    while (!verifier.due(Routine::dgeqr, 1e6, every)) ++calls;
    return calls;
  };
  EXPECT_EQ(calls_until_due(), 1);
  for (const int calls : {1, 2, 4, 8, 10, 10}) {  // more and more rarely, but never more rarely than one in `every`
    verifier.pass_on(Routine::dgeqr, 1e6, every);
    EXPECT_EQ(calls_until_due(), calls);
  }
  verifier.settle(Routine::dgeqr, 1e6);
  EXPECT_EQ(calls_until_due(), 10);
  verifier.pass_on(Routine::dgeqr, 1e6, every);
  EXPECT_EQ(calls_until_due(), 1);
  EXPECT_TRUE(verifier.due(Routine::dgeqr, 1e9, every));
  EXPECT_TRUE(verifier.due(Routine::sgeqr, 1e6, every));
  // Meanwhile other threads' calls have come nearer to the next turn than the one passed on would be.
  verifier.pass_on(Routine::dgeqr, 1e6, every);
  EXPECT_EQ(calls_until_due(), 2);
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(verifier.due(Routine::dgeqr, 1e6, every));
  verifier.pass_on(Routine::dgeqr, 1e6, every);
  EXPECT_EQ(calls_until_due(), 1);
  verifier.pass_on(Routine::sgemm, 1, 1);
  EXPECT_TRUE(verifier.due(Routine::sgemm, 1, 1));
}

/// The function that a Site of the naive product calls, in Fortran's interface with 64-bit integers.
template <class T>
void naive_fortran(const char* transa, const char* transb, const index* m, const index* n, const index* k,
                   const T* alpha, const T* A, const index* lda, const T* B, const index* ldb, const T* beta, T* C,
                   const index* ldc, std::size_t, std::size_t) {
  reference::naive({precision_of<T>, static_cast<Op>(*transa), static_cast<Op>(*transb), *m, *n, *k, alpha, A, *lda, B,
                    *ldb, beta, C, *ldc});
}

template <class T>
Site& naive_site() {
  static Site site{};
  site.symbol = Symbol::dgemm_;  // whose interface is all that matters
  site.wide = true;
  site.function = reinterpret_cast<void*>(naive_fortran<T>);
  return site;
}

/// A product with its result by plain loops.
template <class T>
struct Problem {
  Matrix<T> A, B, C, result;
  GemmArgs<T> args;

  Problem(Op opa, Op opb, index m, index n, index k, T alpha, T beta)
      : A(opa == Op::none ? m : k, opa == Op::none ? k : m, 2),
        B(opb == Op::none ? k : n, opb == Op::none ? n : k, 1),
        C(m, n, 3),
        result(m, n, 3) {
    A.random(1), B.random(2), C.random(3);
    args = {opa, opb, m, n, k, alpha, A.data(), A.ld(), B.data(), B.ld(), beta, C.data(), C.ld()};
    compute();
  }
  void compute() {
    result = C;
    GemmArgs<T> other = args;
    other.C = result.data();
    reference::naive(as_gemm(other));
  }
  Judgement judged(const Matrix<T>& other, const Ending& ending = {Reason::forced}) const {
    return judge(naive_site<T>(), args, other.data(), result.data(), ending);
  }
  /// What one unit of an element is.
  double unit(index i, index j) const {
    const auto element = reference::element(args, i, j);
    return static_cast<double>(element.bound) / static_cast<double>(args.k + 3) / (complex_type<T> ? 2 : 1);
  }
};

template <class T>
class Products : public testing::Test {};
TYPED_TEST_SUITE(Products, Precisions);

TYPED_TEST(Products, AreJudgedByEachElementsOwnTerms) {
  using T = TypeParam;
  for (const Op opa : reference::ops)
    for (const Op opb : reference::ops) {
      Problem<T> p(opa, opb, 6, 5, 9, scalar<T>(0.75, -0.5), scalar<T>(-1.25, 0.25));
      const double limit = 12.0 * (complex_type<T> ? 2 : 1);
      EXPECT_EQ(p.judged(p.result).ratio, 0);
      EXPECT_NEAR(p.judged(p.result).limit, limit, 1e-3);
      for (const index i : {0, 5})
        for (const index j : {0, 4})
          for (const double units : {0.9 * limit, 1.1 * limit, 1e3}) {
            Matrix<T> wrong = p.result;
            wrong(i, j) += static_cast<Real<T>>(units * p.unit(i, j));
            const Judgement judgement = p.judged(wrong);
            EXPECT_NEAR(judgement.ratio / units, 1, 0.1) << i << " " << j;
            EXPECT_EQ(judgement.ratio > judgement.limit, units > limit);
          }
    }
}

TYPED_TEST(Products, WithoutAlphaOrTermsAreScaledC) {
  using T = TypeParam;
  Problem<T> p(Op::none, Op::none, 4, 3, 5, T(0), T(3));
  p.args.A = p.args.B = nullptr;  // not read
  EXPECT_EQ(p.judged(p.result).ratio, 0);
  Matrix<T> wrong = p.result;
  wrong(3, 2) *= static_cast<Real<T>>(1.001);
  EXPECT_GT(p.judged(wrong).ratio, p.judged(wrong).limit);
  p.args.beta = T(0);
  p.C.fill(scalar<T>(not_a_number, not_a_number));
  p.compute();
  EXPECT_EQ(p.judged(p.result).ratio, 0);
  wrong = p.result;
  wrong(0, 0) = static_cast<Real<T>>(1e-20);
  EXPECT_EQ(p.judged(wrong).ratio, HUGE_VAL) << "where nothing may be, nothing is";
}

TYPED_TEST(Products, HaveInfAndNaNWhereTheReferenceHasThem) {
  using T = TypeParam;
  for (const double special : {infinity, -infinity, not_a_number}) {
    Problem<T> p(Op::none, Op::transpose, 4, 4, 6, T(1), T(1));
    p.A(2, 3) = static_cast<Real<T>>(special);
    p.compute();
    EXPECT_EQ(p.judged(p.result).ratio, 0) << special;
    Matrix<T> wrong = p.result;
    wrong(2, 1) = T(1);
    EXPECT_EQ(p.judged(wrong).ratio, HUGE_VAL) << special;
    wrong = p.result;
    wrong(1, 1) = static_cast<Real<T>>(special);
    EXPECT_EQ(p.judged(wrong).ratio, HUGE_VAL) << special;
    if constexpr (!complex_type<T>) {
      wrong = p.result;
      wrong(2, 2) = static_cast<Real<T>>(std::isnan(special) ? infinity : not_a_number);
      EXPECT_EQ(p.judged(wrong).ratio, HUGE_VAL) << special;
    }
  }
}

TYPED_TEST(Products, MayOverflowAndUnderflowInTheirOwnOrder) {
  using T = TypeParam;
  using R = Real<T>;
  Problem<T> p(Op::none, Op::none, 2, 2, 4, T(1), T(0));
  p.A.fill(T(std::numeric_limits<R>::max() / 2));
  for (index q = 0; q < 4; ++q)
    for (index j = 0; j < 2; ++j) p.B(q, j) = T(q % 2 ? R(-1) : R(1));
  p.compute();
  Matrix<T> other = p.result;
  other(0, 0) = T(std::numeric_limits<R>::infinity());  // had it added the positive ones first
  EXPECT_LE(p.judged(other).ratio, p.judged(other).limit);
  p.A.fill(T(std::numeric_limits<R>::min()));
  p.B.fill(static_cast<T>(static_cast<R>(0.25)));
  p.compute();
  other = p.result;
  other(1, 1) = T(0);  // flushed
  EXPECT_LE(p.judged(other).ratio, p.judged(other).limit);
}

/// |re| + |im|
template <class T>
double magnitude(const T& x) {
  return std::fabs(static_cast<double>(std::real(x))) + std::fabs(static_cast<double>(std::imag(x)));
}

/// Of op(A) = A's rows, or of op(B) = B's columns, the longest by its 2-norm; and the largest element.
template <class T>
struct Extent {
  double longest = 0, largest = 0;
  Extent(const Matrix<T>& x, index rows, index cols, bool of_rows) {
    for (index line = 0; line < (of_rows ? rows : cols); ++line) {
      double squares = 0;
      for (index q = 0; q < (of_rows ? cols : rows); ++q) {
        const double size = magnitude(of_rows ? x(line, q) : x(q, line));
        squares += size * size;
        largest = std::max(largest, size);
      }
      longest = std::max(longest, std::sqrt(squares));
    }
  }
};

TYPED_TEST(Products, ByLevelsAreHeldToTheLesserOfTwoBounds) {
  using T = TypeParam;
  constexpr double eps = std::numeric_limits<Real<T>>::epsilon();
  const index n = 16;
  Problem<T> p(Op::none, Op::none, n, n, n, T(2), T(0));
  p.A(0, 0) = T(1), p.B(0, 0) = T(1);
  p.compute();
  const Extent<T> a(p.A, n, n, true), b(p.B, n, n, false);
  const double own = static_cast<double>(reference::element(p.args, 3, 3).bound),
               longest = 2 * (n + 3) * (complex_type<T> ? 2 : 1) * eps * (512.0 / n) * a.longest * b.longest;
  bool by_proof[2] = {};
  for (const int levels : {1, 2}) {
    const Ending ending{.reason = Reason::forced, .computed = true, .levels = levels, .tile = n};
    const double proven =
        reference::strassen_bound<T>(levels, static_cast<double>(n >> levels)) * 2 * a.largest * b.largest;
    by_proof[levels - 1] = proven < longest;
    for (const double part : {0.97, 1.03}) {
      Matrix<T> other = p.result;
      other(3, 3) += static_cast<Real<T>>(part * (std::min(proven, longest) + own));
      const Judgement judgement = p.judged(other, ending);
      EXPECT_EQ(judgement.ratio <= judgement.limit, part < 1)
          << levels << ": " << judgement.ratio << " of " << judgement.limit;
      EXPECT_GT(p.judged(other).ratio, p.judged(other).limit) << "a classical product";
    }
  }
  EXPECT_TRUE(by_proof[0] && !by_proof[1]) << "each bound is the lesser one once";
}

TYPED_TEST(Products, ByManyLevelsAreNotHeldToNothing) {
  using T = TypeParam;
  // What is proven of four levels exceeds every element of the result here, in single precision.
  const index m = 24, n = 20, k = 4096;
  for (const Op opa : {Op::none, Op::transpose})
    for (const Op opb : {Op::none, Op::conjugate}) {
      Problem<T> p(opa, opb, m, n, k, T(1), T(0));
      const Ending ending{.reason = Reason::forced, .computed = true, .levels = 4, .tile = k};
      EXPECT_EQ(p.judged(p.result, ending).ratio, 0);
      if constexpr (std::is_same_v<T, float>) {
        const double proven = reference::strassen_bound<T>(4, k / 16.0) *
                              Extent<T>(p.A, p.A.rows(), p.A.cols(), true).largest *
                              Extent<T>(p.B, p.B.rows(), p.B.cols(), true).largest;
        EXPECT_GT(proven, Extent<T>(p.result, m, n, true).largest);
      }
      Matrix<T> wrong = p.result;
      for (index j = 8; j < 12; ++j)
        for (index i = 4; i < 8; ++i) wrong(i, j) = T(0);
      EXPECT_GT(p.judged(wrong, ending).ratio, p.judged(wrong, ending).limit) << "a block is missing";
      // Four levels were seen to be some forty units off.
      Matrix<T> off = p.result;
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < m; ++i) off(i, j) += static_cast<Real<T>>(400 * p.unit(i, j));
      EXPECT_LT(p.judged(off, ending).ratio, p.judged(off, ending).limit) << "as levels are";
    }
}

TYPED_TEST(Products, ByLevelsAreJudgedAtTheRangesEnds) {
  using T = TypeParam;
  using R = Real<T>;
  const index n = 8;
  const Ending ending{.reason = Reason::forced, .computed = true, .levels = 1, .tile = n};
  // Squares of the one's elements overflow, of the other's vanish.
  const double large = 4 * std::sqrt(static_cast<double>(std::numeric_limits<R>::max()));
  for (const double size : {large, 1 / large}) {
    Problem<T> p(Op::none, Op::none, n, n, n, T(1), T(0));
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) p.A(i, j) *= static_cast<R>(size), p.B(i, j) /= static_cast<R>(size);
    p.compute();
    Matrix<T> other = p.result;
    other(2, 5) += static_cast<R>(20 * p.unit(2, 5));
    EXPECT_LE(p.judged(other, ending).ratio, p.judged(other, ending).limit) << size;
    other(2, 5) = T(0);
    EXPECT_GT(p.judged(other, ending).ratio, p.judged(other, ending).limit) << size;
  }
}

TYPED_TEST(Products, WithVectorsAreJudgedByEachElementsOwnTerms) {
  using T = TypeParam;
  constexpr index n = 7;
  for (const Uplo uplo : {Uplo::upper, Uplo::lower})
    for (const index inc : {1, 3, -2}) {
      Matrix<T> A(n, n, 2);
      A.random(4);
      std::vector<T> x(static_cast<std::size_t>(n)), y(static_cast<std::size_t>(n * std::abs(inc)), T(1));
      for (index i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = scalar<T>(0.5 + static_cast<double>(i), 1);
      const T alpha = scalar<T>(1.5, -0.5), beta = scalar<T>(2, 1);
      // Only the named triangle counts.
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < n; ++i)
          if (uplo == Uplo::upper ? i > j : i < j) A(i, j) = scalar<T>(not_a_number, not_a_number);
      const SymvArgs<T> args{uplo, n, alpha, A.data(), A.ld(), x.data(), 1, beta, y.data(), inc};
      const auto size = [](T v) { return std::fabs(std::real(v)) + std::fabs(std::imag(v)); };
      const index row = 4;
      double terms = size(beta) * size(T(1));
      for (index j = 0; j < n; ++j) {
        const bool there = uplo == Uplo::upper ? row <= j : row >= j;
        const T element = there ? A(row, j) : A(j, row);
        terms += static_cast<double>(size(alpha) * (j == row ? std::fabs(std::real(element)) : size(element)) *
                                     size(x[static_cast<std::size_t>(j)]));
      }
      std::vector<T> result(y.size(), T(5)), other = result;
      const Site none{};
      const Ending ending{Reason::forced};
      EXPECT_EQ(judge(none, args, other.data(), result.data(), ending).ratio, 0);
      const double limit = 10.0 * (complex_type<T> ? 2 : 1);
      EXPECT_NEAR(judge(none, args, other.data(), result.data(), ending).limit, limit, 1e-3);
      const index at = inc > 0 ? row * inc : (row - n + 1) * inc;
      constexpr double units = 1e4;
      other[static_cast<std::size_t>(at)] +=
          static_cast<Real<T>>(units * terms * static_cast<double>(std::numeric_limits<Real<T>>::epsilon()));
      EXPECT_NEAR(judge(none, args, other.data(), result.data(), ending).ratio / units, 1, 0.01)
          << static_cast<char>(uplo) << " " << inc;
    }
}

TYPED_TEST(Products, OfAGeneralMatrixWithVectorsAreJudgedByEachElementsOwnTerms) {
  using T = TypeParam;
  constexpr index m = 7, n = 5;
  for (const Op trans : {Op::none, Op::transpose, Op::conjugate})
    for (const index inc : {1, 3, -2}) {
      Matrix<T> A(m, n, 2);
      A.random(4);
      const T alpha = scalar<T>(1.5, -0.5), beta = scalar<T>(2, 1);
      GemvArgs<T> args{trans, m, n, alpha, A.data(), A.ld(), nullptr, 1, beta, nullptr, inc};
      std::vector<T> x(static_cast<std::size_t>(args.terms())),
          y(static_cast<std::size_t>(args.results() * std::abs(inc)), T(1));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = scalar<T>(0.5 + static_cast<double>(i), 1);
      args.x = x.data();
      args.y = y.data();
      const auto size = [](T v) { return std::fabs(std::real(v)) + std::fabs(std::imag(v)); };
      const index result = 4;
      double terms = size(beta) * size(T(1));
      for (index k = 0; k < args.terms(); ++k)
        terms += static_cast<double>(size(alpha) * size(trans == Op::none ? A(result, k) : A(k, result)) *
                                     size(x[static_cast<std::size_t>(k)]));
      std::vector<T> right(y.size(), T(5)), other = right;
      const Site none{};
      const Ending ending{Reason::forced};
      EXPECT_EQ(judge(none, args, other.data(), right.data(), ending).ratio, 0);
      const double limit = static_cast<double>(args.terms() + 3) * (complex_type<T> ? 2 : 1);
      EXPECT_NEAR(judge(none, args, other.data(), right.data(), ending).limit, limit, 1e-3);
      const index at = inc > 0 ? result * inc : (result - args.results() + 1) * inc;
      constexpr double units = 1e4;
      other[static_cast<std::size_t>(at)] +=
          static_cast<Real<T>>(units * terms * static_cast<double>(std::numeric_limits<Real<T>>::epsilon()));
      EXPECT_NEAR(judge(none, args, other.data(), right.data(), ending).ratio / units, 1, 0.01)
          << static_cast<char>(trans) << " " << inc;
    }
}

// ---- QR

/// One of LAPACK's routines, as the library underneath has it.
struct LapackSite : Site {
  explicit LapackSite(Symbol of) : Site{} {
    symbol = of;
    void* opened = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
    function = opened ? dlsym(opened, info(of).name) : nullptr;
  }
};

/// A QR by LAPACK itself.
struct Factors {
  Matrix<double> A0, A, tau;
  LapackSite ormqr{Symbol::dormqr_}, orgqr{Symbol::dorgqr_};
  const Site* beside[3] = {};

  Factors(index m, index n, const std::function<void(Matrix<double>&)>& change = {})
      : A0(m, n, 3), A(m, n, 3), tau(std::min(m, n), 1) {
    A0.random(1);
    if (change) change(A0);
    A = A0;
    beside[by_ormqr] = &ormqr, beside[by_orgqr] = &orgqr, beside[by_gemm] = &naive_site<double>();
    const auto* lapack = reference::Lapack<double>::get();
    lapack->geqrf(static_cast<int>(m), static_cast<int>(n), A.data(), static_cast<int>(A.ld()), tau.data());
  }
  static bool possible() { return reference::Lapack<double>::get() != nullptr; }
  static GeqrfArgs<double> args(Matrix<double>& A, Matrix<double>& tau) {
    return {A.rows(), A.cols(), A.data(), A.ld(), tau.data()};
  }
  double ratio(Matrix<double> other, Matrix<double> other_tau) {
    const Judgement judgement = judge(JudgingLibrary{ormqr, beside}, args(A0, tau), args(other, other_tau));
    EXPECT_EQ(judgement.limit, 30);
    return judgement.ratio;
  }
};

TEST(Factorisations, AreJudgedByWhatTheyGiveBack) {
  if (!Factors::possible()) GTEST_SKIP() << "no LAPACK";
  for (const auto& [m, n] : {std::pair<index, index>{40, 17}, {17, 40}, {20, 20}, {1, 1}}) {
    Factors f(m, n, [](Matrix<double>& A) {
      for (index i = 0; i < A.rows(); ++i) A(i, A.cols() - 1) *= 1e-200;  // each column by its own norm
    });
    EXPECT_LE(f.ratio(f.A, f.tau), 4) << m << " " << n;
    for (const double units : {20.0, 45.0}) {
      // An element of R, in units of its column's norm.
      const double unit = static_cast<double>(m) * std::numeric_limits<double>::epsilon();
      for (const index j : {index{0}, n - 1}) {
        double norm = 0;
        for (index i = 0; i < m; ++i) norm = std::hypot(norm, f.A0(i, j));
        Matrix<double> other = f.A;
        other(0, j) += units * unit * norm;
        EXPECT_NEAR(f.ratio(other, f.tau), units, 4) << m << " " << n << " " << j;
      }
    }
    if (m == 1) continue;
    Matrix<double> bent = f.tau;
    bent(0, 0) *= 1 + 1e-10;
    EXPECT_GT(f.ratio(f.A, bent), 1e3);
    Matrix<double> other = f.A;
    other(1, 0) = not_a_number;
    EXPECT_EQ(f.ratio(other, f.tau), HUGE_VAL);
  }
}

TEST(Factorisations, OfWhatIsNotFiniteAreJudgedUpToThere) {
  if (!Factors::possible()) GTEST_SKIP() << "no LAPACK";
  for (const double special : {infinity, not_a_number}) {
    Factors f(12, 9, [special](Matrix<double>& A) { A(5, 4) = special; });
    EXPECT_LE(f.ratio(f.A, f.tau), 4);
    Matrix<double> other = f.A;
    other(1, 3) += 1e-9;
    EXPECT_GT(f.ratio(other, f.tau), 1e3);
    for (index i = 0; i < 12; ++i) other(i, 4) = 1;
    EXPECT_EQ(f.ratio(other, f.tau), HUGE_VAL) << "where poison has to be";
    Factors first(12, 9, [special](Matrix<double>& A) { A(5, 0) = special; });
    EXPECT_EQ(first.ratio(first.A, first.tau), 0);
  }
  Factors huge(6, 4, [](Matrix<double>& A) { A(2, 2) = std::numeric_limits<double>::max() / 2; });
  EXPECT_EQ(huge.ratio(huge.A, huge.tau), 0) << "may overflow on the way";
}

TEST(Factorisations, ProductsWithQAreJudgedByTheirLines) {
  if (!Factors::possible()) GTEST_SKIP() << "no LAPACK";
  Factors f(15, 6);
  for (const bool left : {true, false}) {
    Matrix<double> C(left ? 15 : 4, left ? 4 : 15, 2), reference(C.rows(), C.cols(), 2);
    C.random(3);
    for (index i = 0; i < 15; ++i) (left ? C(i, 2) : C(2, i)) *= 1e-100;
    (left ? C(3, 1) : C(1, 3)) = not_a_number;
    reference = C;
    const auto args = [&](Matrix<double>& at) {
      return OrmqrArgs<double>{
          {left, false, C.rows(), C.cols(), 6}, f.A.data(), f.A.ld(), f.tau.data(), at.data(), at.ld()};
    };
    const Site& site = f.ormqr;
    ASSERT_TRUE(call_by(site, args(reference)));
    const auto ratio = [&](Matrix<double>& result) {
      return judge(args(C), static_cast<const double*>(result.data()), static_cast<const double*>(reference.data()))
          .ratio;
    };
    EXPECT_EQ(ratio(reference), 0);
    for (const index line : {0, 2}) {
      double norm = 0;
      for (index i = 0; i < 15; ++i) norm = std::hypot(norm, left ? C(i, line) : C(line, i));
      Matrix<double> other = reference;
      (left ? other(7, line) : other(line, 7)) += 40 * 15 * std::numeric_limits<double>::epsilon() * norm;
      EXPECT_NEAR(ratio(other), 40, 1) << left << " " << line;
    }
    Matrix<double> other = reference;
    for (index i = 0; i < 15; ++i) (left ? other(i, 1) : other(1, i)) = 0;
    EXPECT_EQ(ratio(other), HUGE_VAL) << "poison has gone";
    other = reference;
    (left ? other(0, 0) : other(0, 0)) = infinity;
    EXPECT_EQ(ratio(other), HUGE_VAL) << "poison has spread";
    // What is no reflector has no bound.
    const double tau = f.tau(2, 0);
    f.tau(2, 0) = 3;
    EXPECT_EQ(ratio(other), 0);
    f.tau(2, 0) = tau;
  }
}

}  // namespace
}  // namespace blaslift::verify_tests
