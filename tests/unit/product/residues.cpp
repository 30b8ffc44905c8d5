// Products by residues: the numbers they are made of, the definition beside an independent one, the guard's bound, and
// plans.
#include "kernels/residues.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>

#include "impl/product/product_family.hpp"
#include "impl/product/product_plan.hpp"
#include "impl/route/profile.hpp"
#include "kernels/host/residues.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/by_residues.hpp"

namespace blaslift::residues_tests {
namespace {

using namespace reference;
using namespace residues;

TEST(Residues, ModuliHaveNoFactorInCommonAndEightBits) {
  for (int i = 0; i < count_of<double>; ++i) {
    EXPECT_LE(modulus(i), 256);
    for (int j = 0; j < i; ++j) EXPECT_EQ(std::gcd(modulus(i), modulus(j)), 1) << modulus(i) << ", " << modulus(j);
  }
  // Sums of products of two residues in 32 bits, behind what is left of the sum before.
  EXPECT_LT(double(most_in_a_sum) * 128 * 128 + 1.5 * 256, 2147483648.0);
}

template <int count>
void expect_weights_put_together(std::mt19937_64& bits) {
  const Weights<count> weights;
  const int128 product = static_cast<int128>(weights.product);
  for (int test = 0; test < 1000; ++test) {
    int128 x = (static_cast<int128>(static_cast<std::int64_t>(bits())) << 64 | static_cast<int128>(bits())) % product;
    x /= int128{1} << (bits() % 50);
    if (x > product / 2) x -= product;
    if (x < -product / 2) x += product;
    uint128 sum = 0;
    for (int l = 0; l < count; ++l) {
      const auto residue = static_cast<uint128>(((x % modulus(l)) + modulus(l)) % modulus(l));
      sum = (sum + residue * weights.weight[l] % weights.product) % weights.product;
    }
    int128 found = static_cast<int128>(sum);
    if (found > product / 2) found -= product;
    ASSERT_TRUE(found == x);
  }
}
TEST(Residues, WeightsPutIntegersTogether) {
  std::mt19937_64 bits(1);
  expect_weights_put_together<count_of<float>>(bits);
  expect_weights_put_together<count_of<double>>(bits);
}

TEST(Residues, IntegersRoundToTheNearestRealTiesToEven) {
  std::mt19937_64 bits(2);
  const auto expect_rounded = [](int128 x) {
    ASSERT_EQ(rounded(double{}, x), static_cast<double>(x));  // the compiler's
    ASSERT_EQ(rounded(double{}, -x), -static_cast<double>(x));
    const auto low = static_cast<std::int64_t>(x);
    ASSERT_EQ(rounded(float{}, low), static_cast<float>(low));
  };
  expect_rounded(0);
  for (int test = 0; test < 20000; ++test) {
    const int128 x = (static_cast<int128>(bits() >> 2) << 64 | static_cast<int128>(bits())) >> (bits() % 126);
    const int128 one = int128{1} << (bits() % 120);
    for (const int128 y : {x, one, one - 1, one + 1, x / one * one, x / one * one + one / 2}) expect_rounded(y);
  }
}

/// What a row of a matrix is like.
using Maker = std::function<double(std::mt19937_64&)>;
double uniform(std::mt19937_64& bits) { return std::uniform_real_distribution<>(-1, 1)(bits); }
double normal(std::mt19937_64& bits) { return std::normal_distribution<>()(bits); }
double spread(std::mt19937_64& bits, double by) { return uniform(bits) * std::exp(by * normal(bits)); }
constexpr double tiny_single = 1e-41, tiny_double = 3e-318;
const std::pair<const char*, Maker> makers[] = {
    {"uniform", uniform},
    {"normal", normal},
    {"spread", [](auto& bits) { return spread(bits, 1); }},
    {"far spread", [](auto& bits) { return spread(bits, 6); }},
    {"integers", [](auto& bits) { return std::rint(uniform(bits) * 1000); }},
    {"zeros and ones", [](auto& bits) { return double(bits() % 3 == 0); }},
    {"all the same", [](auto&) { return 0.7; }},
    {"one huge", [](auto& bits) { return bits() % 16 == 0 ? 1e12 * uniform(bits) : uniform(bits); }},
    {"subnormal", [](auto& bits) { return (bits() % 2 ? tiny_single : tiny_double) * uniform(bits); }},
    {"small", [](auto& bits) { return 1e-30 * uniform(bits); }},
    {"large", [](auto& bits) { return 1e30 * uniform(bits); }},
    {"zeros", [](auto&) { return 0.0; }},
};

template <class T>
T element(const Maker& maker, std::mt19937_64& bits) {
  const double re = maker(bits);
  return scalar<T>(re, complex_type<T> ? maker(bits) : 0);
}

/// A product whose operands are made so.
template <class R>
struct Product {
  Matrix<R> A, B, C;
  R alpha = 1, beta = 0;
  Gemm gemm;

  Product(index m, index n, index k, Op transa, Op transb, const Maker& of_a, const Maker& of_b, std::mt19937_64& bits)
      : A(transa == Op::none ? m : k, transa == Op::none ? k : m, 2),
        B(transb == Op::none ? k : n, transb == Op::none ? n : k, 1),
        C(m, n, 3),
        gemm{.precision = precision_of<R>,
             .transa = transa,
             .transb = transb,
             .m = m,
             .n = n,
             .k = k,
             .alpha = &alpha,
             .A = A.data(),
             .lda = A.ld(),
             .B = B.data(),
             .ldb = B.ld(),
             .beta = &beta,
             .C = C.data(),
             .ldc = C.ld()} {
    const auto fill = [&bits](Matrix<R>& x, const Maker& maker) {
      for (index j = 0; j < x.cols(); ++j)
        for (index i = 0; i < x.rows(); ++i) x(i, j) = element<R>(maker, bits);
    };
    fill(A, of_a);
    fill(B, of_b);
    C.random(7);
  }
  bool multiply() { return multiply_by_residues({gemm}); }
  R a(index i, index h) const { return gemm.transa == Op::none ? A(i, h) : A(h, i); }
  R b(index h, index j) const { return gemm.transb == Op::none ? B(h, j) : B(j, h); }
};

template <class R>
class ByResidues : public testing::Test {};
TYPED_TEST_SUITE(ByResidues, Precisions);

TYPED_TEST(ByResidues, AreWhatTheDefinitionSays) {
  using R = TypeParam;
  std::mt19937_64 bits(3);
  int accepted = 0;
  for (const auto& [name_a, of_a] : makers)
    for (const auto& [name_b, of_b] : makers)
      for (const auto& [m, n, k] : {std::array<index, 3>{3, 2, 1}, std::array<index, 3>{5, 4, 70}})
        for (const R beta : {R(0), R(1), scalar<R>(-0.3, 0.9)}) {
          const auto op = [&bits] { return ops[bits() % 3]; };
          Product<R> p(m, n, k, op(), op(), of_a, of_b, bits);
          p.alpha = beta == R(1) ? R(1) : scalar<R>(-1.7, 0.2);
          p.beta = beta;
          const Matrix<R> before = p.C;
          if (!p.multiply()) {
            ASSERT_TRUE(p.C == before) << name_a << ", " << name_b;
            continue;
          }
          ++accepted;
          const Matrix<R> result = p.C;
          p.C = before;
          p.gemm.C = p.C.data();
          by_residues<R>(p.gemm);
          ASSERT_TRUE(result == p.C) << name_a << ", " << name_b << ", k = " << k;
        }
  EXPECT_GT(accepted, 300);
}

/// Every element within the promised bound of the exact product, in a hundred thousand of them and more.
TYPED_TEST(ByResidues, AreAsAccurateAsTheGuardPromises) {
  using R = TypeParam;
  __extension__ typedef __float128 Exact;
  std::mt19937_64 bits(4);
  using Number = Real<R>;
  constexpr double unit = std::numeric_limits<Number>::epsilon() / 2;
  int accepted = 0, declined = 0, elements = 0;
  double worst = 0;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int rounds = 12;  // every access is watched: slow
#else
  constexpr int rounds = 180;
#endif
  for (int round = 0; round < rounds; ++round)
    for (const auto& [name_a, of_a] : makers)
      for (const auto& [name_b, of_b] : makers) {
        const auto size = [&bits](std::uint64_t most) { return static_cast<index>(1 + bits() % most); };
        const index m = size(5), n = size(5), k = size(80);
        Product<R> p(m, n, k, Op::none, Op::transpose, of_a, of_b, bits);
        // Rows of one scale beside rows of another, and the large that meets the small.
        if (round % 3 == 1)
          for (index h = 0; h < k; ++h) {
            const auto by = static_cast<Number>(std::ldexp(1.0, static_cast<int>(h % 7) - 3));
            for (index i = 0; i < m; ++i) p.A(i, h) *= by;
            for (index j = 0; j < n; ++j) p.B(j, h) /= by;
          }
        // Terms that cancel.
        if (round % 3 == 2)
          for (index h = 0; h + 1 < k; h += 2)
            for (index i = 0; i < m; ++i) p.A(i, h + 1) = -p.A(i, h);
        if (!p.multiply()) {
          ++declined;
          continue;
        }
        ++accepted;
        for (index j = 0; j < n; ++j)
          for (index i = 0; i < m; ++i) {
            // Errors of parts, beside |re| + |im| of each factor.
            Exact sum[2] = {}, magnitudes = 0;
            for (index h = 0; h < k; ++h) {
              const Exact a[] = {std::real(p.a(i, h)), std::imag(p.a(i, h))},
                          b[] = {std::real(p.b(h, j)), std::imag(p.b(h, j))};
              sum[0] += a[0] * b[0] - a[1] * b[1];
              sum[1] += a[0] * b[1] + a[1] * b[0];
              const auto abs = [](Exact x) { return x < 0 ? -x : x; };
              magnitudes += (abs(a[0]) + abs(a[1])) * (abs(b[0]) + abs(b[1]));
            }
            const Number found[] = {std::real(p.C(i, j)), std::imag(p.C(i, j))};
            for (int part = 0; part < (complex_type<R> ? 2 : 1); ++part) {
              // Results beyond the precision's range overflow, or lose digits.
              const Exact off = static_cast<Exact>(found[part]) - sum[part],
                          value = sum[part] < 0 ? -sum[part] : sum[part];
              if (value > static_cast<Exact>(std::numeric_limits<Number>::max()) * (1 - unit)) continue;
              const double error = static_cast<double>(off < 0 ? -off : off), scale = static_cast<double>(magnitudes),
                           rounding = unit * static_cast<double>(value) + std::numeric_limits<Number>::denorm_min();
              ASSERT_LE(error, limit_of<Number>(k) * scale * (1 + 1e-9) + rounding)
                  << name_a << ", " << name_b << ", k " << k;
              if (scale > std::numeric_limits<Number>::min() / unit) worst = std::max(worst, error / (unit * scale));
            }
            ++elements;
          }
      }
  EXPECT_GT(elements, 560 * rounds);
  EXPECT_GT(accepted, 50 * rounds);
  EXPECT_GT(declined, 5 * rounds);
  EXPECT_LT(worst, 40) << "in units of the rounding";
}

TYPED_TEST(ByResidues, OfIntegersAreExact) {
  using R = TypeParam;
  std::mt19937_64 bits(5);
  const Maker integers = [](auto& b) { return std::rint(40 * uniform(b)); };
  Product<R> p(9, 7, 100, Op::transpose, Op::none, integers, integers, bits);
  ASSERT_TRUE(p.multiply());
  for (index j = 0; j < 7; ++j)
    for (index i = 0; i < 9; ++i) {
      R sum{};  // which is exact, too
      for (index h = 0; h < 100; ++h) sum += p.a(i, h) * p.b(h, j);
      EXPECT_EQ(p.C(i, j), sum);
    }
}

TYPED_TEST(ByResidues, ThatAreNotFiniteAreDeclined) {
  using R = TypeParam;
  std::mt19937_64 bits(6);
  for (const double poison : {HUGE_VAL, -HUGE_VAL, std::nan("")})
    for (const bool in_a : {true, false}) {
      Product<R> p(5, 6, 20, Op::none, Op::none, uniform, uniform, bits);
      (in_a ? p.A(3, 11) : p.B(11, 2)) = R(static_cast<Real<R>>(poison));
      const Matrix<R> before = p.C;
      EXPECT_FALSE(p.multiply());
      EXPECT_TRUE(p.C == before);
      // Beside zeros, too: classically they are NaN.
      Matrix<R>& other = in_a ? p.B : p.A;
      for (index j = 0; j < other.cols(); ++j)
        for (index i = 0; i < other.rows(); ++i) other(i, j) = R(0);
      EXPECT_FALSE(p.multiply());
      EXPECT_TRUE(p.C == before);
    }
}

TYPED_TEST(ByResidues, OfZerosAreZeros) {
  using R = TypeParam;
  std::mt19937_64 bits(8);
  const Maker zeros = [](auto&) { return 0.0; };
  for (const bool in_a : {true, false}) {
    Product<R> p(5, 6, 20, Op::none, Op::none, in_a ? zeros : Maker(uniform), in_a ? Maker(uniform) : zeros, bits);
    ASSERT_TRUE(p.multiply());
    for (index j = 0; j < 6; ++j)
      for (index i = 0; i < 5; ++i) EXPECT_EQ(p.C(i, j), R(0));
  }
}

TYPED_TEST(ByResidues, HaveTheSameBitsHoweverTheyAreCutUp) {
  using R = TypeParam;
  std::mt19937_64 bits(7);
  Product<R> p(24, 18, 50, Op::none, Op::none, uniform, uniform, bits);
  p.beta = scalar<R>(0.25, 0);
  const Matrix<R> before = p.C;
  ASSERT_TRUE(p.multiply());
  const Matrix<R> whole = p.C;
  for (const index parts : {2, 3}) {
    p.C = before;
    for (index i = 0; i < 24; i += 24 / parts)
      for (index j = 0; j < 18; j += 18 / parts) {
        GemmByResidues part{p.gemm};
        part.m = 24 / parts;
        part.n = 18 / parts;
        part.A = &p.A(i, 0);
        part.B = &p.B(0, j);
        part.C = &p.C(i, j);
        ASSERT_TRUE(multiply_by_residues(part));
      }
    EXPECT_TRUE(p.C == whole) << parts << " parts";
  }
}

TEST(Residues, TilesFitTheMemoryThatTheyAreGiven) {
  for (const Precision p : {Precision::s, Precision::d, Precision::c, Precision::z})
    for (const index m : {1, 16, 17, 300, 9000, 100000})
      for (const index n : {1, 500, 20000})
        for (const std::size_t memory : {Tile::bytes(p, 16, 16), Tile::bytes(p, 100, 33), Tile::bytes(p, 8192, 8192)}) {
          const Tile tile(p, m, n, memory);
          EXPECT_LE(Tile::bytes(p, tile.rows, tile.cols), memory) << m << " x " << n;
          EXPECT_GE(tile.rows, std::min<index>(m, 16));
          EXPECT_GE(tile.cols, std::min<index>(n, 16));
          EXPECT_LE(tile.rows, std::min(m, Tile::most_edge));
        }
}

/// Each row and column is split once, before or when it is first multiplied.
TEST(ResiduesPlan, SplitsEachOperandOnce) {
  for (const bool reads_c : {false, true})
    for (const unsigned resident : {0u, 1u, 2u, 3u, 7u})
      for (const auto& [m, n] : {std::pair<index, index>{300, 200}, {17, 900}, {1, 1}}) {
        Residents residents;
        residents.a.whole = resident & 1;
        residents.b.whole = resident & 2;
        residents.c.whole = residents.c.in_place = resident & 4;
        const Cut cut{.mb = m,
                      .nb = n,
                      .kb = 64,
                      .whole_a = residents.a.whole,
                      .whole_b = residents.b.whole,
                      .whole_c = residents.c.whole};
        const GemmSchedule s = plan_by_residues(m, n, 64, reads_c, Precision::s, cut, residents, 4096, 64);
        ASSERT_EQ(check(s), "") << to_string(s);
        EXPECT_NE(to_string(s).find("by residues"), std::string::npos);
        std::vector<int> rows(static_cast<std::size_t>(m)), cols(static_cast<std::size_t>(n));
        for (const Step& step : s.steps) {
          if (step.kind != StepKind::multiply) continue;
          const Block& c = step.block;
          for (index i = c.row; i < c.row + c.rows; ++i) {
            rows[static_cast<std::size_t>(i)] += step.makes_a;
            ASSERT_EQ(rows[static_cast<std::size_t>(i)], 1) << to_string(s);
          }
          for (index j = c.col; j < c.col + c.cols; ++j) {
            cols[static_cast<std::size_t>(j)] += step.makes_b;
            ASSERT_EQ(cols[static_cast<std::size_t>(j)], 1) << to_string(s);
          }
        }
        // Beside the buffers there is room for what is split, and for sums.
        EXPECT_GE(s.bytes(sizeof(float)), s.cut.bytes(sizeof(float)) + Layout(Precision::s, m, 64).bytes +
                                              Layout(Precision::s, n, 64).bytes + Tile::bytes(Precision::s, m, n));
      }
}

/// On a device like an H100, with the rate that its INT8 products have.
Decision decide_on_device(Routine routine, Element element, index n, Policy policy, bool resident = true, index k = 0) {
  static const Profile profile = [] {
    Profile p = built_in_profile("sm_90");
    p.int8_rate = 1.4e15;
    return p;
  }();
  const Problem problem = counted({.routine = routine,
                                   .element = element,
                                   .m = n,
                                   .n = n,
                                   .k = k > 0 ? k : n,
                                   .beta_zero = true,
                                   .alpha_finite = true});
  Facts facts{.device = DeviceState::ready, .profile = &profile, .cpu_rate = 1e11, .slowdown = 1, .missed_seconds = 0};
  if (resident) facts.device_memory = facts.result_stays = true, facts.spared = problem.bytes_in;
  return decide(problem, facts, policy);
}

TEST(ResiduesDecision, AreChosenWhereTheyAreFaster) {
  Policy policy{.on = true, .measuring = false, .forced = false, .fixed = false, .levels = -1};
  EXPECT_TRUE(decide_on_device(Routine::sgemm, Precision::s, 8192, policy).residues);
  EXPECT_TRUE(decide_on_device(Routine::dgemm, Precision::d, 16384, policy).residues);
  EXPECT_TRUE(decide_on_device(Routine::sgemm, Precision::s, 16384, policy, false).residues);
  EXPECT_FALSE(decide_on_device(Routine::sgemm, Precision::s, 512, policy).residues);
  EXPECT_FALSE(decide_on_device(Routine::sgemm, Precision::s, 512, policy, true, 1000000).residues)
      << "C has fewer tiles than the device multiprocessors";
  EXPECT_TRUE(decide_on_device(Routine::sgemm, Precision::s, 8192, policy, true, 200000).residues);
  EXPECT_TRUE(decide_on_device(Routine::cgemm, Precision::c, 8192, policy).residues);
  EXPECT_TRUE(decide_on_device(Routine::zgemm, Precision::z, 8192, policy).residues);
  EXPECT_FALSE(decide_on_device(Routine::ssyrk, Precision::s, 512, policy).residues);
  const auto triangle = [&](Routine routine, Element element, Update update, bool beta_zero) {
    const Problem problem = counted({.routine = routine,
                                     .element = element,
                                     .m = 16384,
                                     .n = 16384,
                                     .k = 16384,
                                     .beta_zero = beta_zero,
                                     .part = Part::lower,
                                     .update = update,
                                     .alpha_finite = true});
    return has_residues(problem);
  };
  EXPECT_TRUE(triangle(Routine::ssyrk, Precision::s, Update::rank_k, false));
  EXPECT_TRUE(triangle(Routine::zgemmt, Precision::z, Update::product, false));
  EXPECT_TRUE(triangle(Routine::cherk, Precision::c, Update::rank_k, true));
  EXPECT_FALSE(triangle(Routine::cherk, Precision::c, Update::rank_k, false))
      << "C's diagonal is real, whatever it holds";
  EXPECT_FALSE(triangle(Routine::dsyr2k, Precision::d, Update::rank_2k, true));
  const Decision chosen = decide_on_device(Routine::sgemm, Precision::s, 8192, policy);
  EXPECT_LT(chosen.device_seconds, 0.012);
  policy.levels = 2;  // the caller's own choice
  EXPECT_FALSE(decide_on_device(Routine::sgemm, Precision::s, 8192, policy).residues);
  for (const Products products : {Products::classical, Products::levels}) {
    policy = {.on = true, .measuring = false, .forced = false, .fixed = false, .products = products, .levels = -1};
    EXPECT_FALSE(decide_on_device(Routine::sgemm, Precision::s, 8192, policy).residues);
  }
  policy.products = Products::residues;
  EXPECT_TRUE(decide_on_device(Routine::sgemm, Precision::s, 512, policy).residues);
}

}  // namespace
}  // namespace blaslift::residues_tests
