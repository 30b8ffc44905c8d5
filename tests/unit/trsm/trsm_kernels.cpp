// Triangular systems by blocks, with the device's kernels on the CPU: that they are right, and that substitution is
// where it has to be and nowhere else.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "tests/unit/support/cuda_on_host.hpp"
#include "tests/unit/support/reference.hpp"

// After cuda_on_host.hpp.
#include "kernels/cuda/trsm/solve_by_blocks.hpp"
#include "kernels/cuda/trsm/trsm_kernels.hpp"

namespace blaslift::trsm_kernels_tests {
namespace {

using namespace reference;

template <class T>
struct OnDevice {
  using type = T;
};
template <class R>
struct OnDevice<std::complex<R>> {
  using type = arithmetic::Complex<R>;
};

template <class Kernel>
void launch(index x, index y, index z, const Kernel& kernel) {
  for (index c = 0; c < z; ++c)
    for (index b = 0; b < y; ++b)
      for (index a = 0; a < x; ++a) {
        cuda_on_host::Block& block = cuda_on_host::block;
        block.number = static_cast<unsigned>(a);
        block.more = {static_cast<unsigned>(x), static_cast<unsigned>(b), static_cast<unsigned>(c)};
        std::fill(std::begin(block.dynamic), std::end(block.dynamic), static_cast<unsigned char>(0xff));
        block.run(trsm_kernels::threads, 1, kernel);
      }
}

/// What a product's scalars point to is not aligned to anything on the device's side.
void multiply(const Gemm& g) { naive(g); }

template <class T>
class System {
  using D = typename OnDevice<T>::type;
  using R = Real<T>;
  static constexpr int narrow = trsm_kernels::strip<D>, tile = sizeof(D) == 16 ? 32 : 64;

 public:
  System(Side side, Uplo uplo, Op op, index order, index others, index block)
      : A(order, order, 2), B(side == Side::left ? order : others, side == Side::left ? others : order, 3), X(B) {
    A.random(1);
    B.random(2);
    p_ = {.precision = precision_of<T>,
          .side = side,
          .uplo = uplo,
          .trans = op,
          .unit = false,
          .m = B.rows(),
          .n = B.cols(),
          .alpha = &alpha_,
          .A = A.data(),
          .lda = A.ld(),
          .B = X.data(),
          .ldb = X.ld(),
          .way = TrsmWay::blocks,
          .block = block};
    make([&](index i, index j) { return i == j ? A(i, j) + T(std::real(A(i, j)) < 0 ? -1 : 1) : A(i, j) * R(0.05); });
  }

  template <class Element>
  void make(const Element& element) {
    for (index j = 0; j < A.cols(); ++j)
      for (index i = 0; i < A.rows(); ++i)
        A(i, j) = in_triangle(i, j) ? element(i, j) : scalar<T>(HUGE_VAL - HUGE_VAL, HUGE_VAL);
  }

  /// Which strips of columns, of all blocks, have been solved by substitution.
  template <int C>
  std::vector<bool> solve() {
    using namespace trsm_kernels;
    X = B;
    const TrsmLayout layout(p_);
    std::vector<std::uint64_t> memory(trsm_workspace(p_) / sizeof(std::uint64_t) + 1, ~std::uint64_t{0});
    p_.workspace = memory.data();
    const auto at = [&]<class E>(E*, std::size_t offset) {
      return reinterpret_cast<E*>(reinterpret_cast<char*>(memory.data()) + offset);
    };
    D* const none = nullptr;
    const Blocks<D> job{.A = reinterpret_cast<const D*>(A.data()),
                        .lda = A.ld(),
                        .order = p_.order(),
                        .block = layout.block,
                        .blocks = layout.blocks,
                        .upper = p_.uplo == Uplo::upper,
                        .unit = false,
                        .inverses = at(none, layout.inverses),
                        .triangles = at(none, layout.triangles),
                        .inverse_sizes = at(static_cast<std::uint16_t*>(nullptr), layout.inverse_sizes),
                        .triangle_sizes = at(static_cast<std::uint16_t*>(nullptr), layout.triangle_sizes),
                        .sums = at(static_cast<R*>(nullptr), layout.sums),
                        .refused = at(static_cast<unsigned*>(nullptr), layout.refused),
                        .addresses = at(static_cast<D**>(nullptr), layout.addresses),
                        .pairs = layout.pairs()};
    const R most_growth = static_cast<R>(2 * p_.order());
    launch(2, layout.blocks, 1, [&] { take_blocks<D>(job, tile); });
    launch(layout.blocks * (layout.block / tile), 1, 1, [&] { invert_tiles<D, tile>(job); });
    join(job);
    const index chunks = layout.block / warp;
    launch(chunks, layout.blocks, 2, [&] { sum_blocks<D>(job, job.triangles, nullptr, most_size<D>, job.sums); });
    launch(chunks, layout.blocks, 2, [&] { sum_blocks<D>(job, job.inverses, job.sums, most_growth, nullptr); });
    launch(3, layout.blocks, 1, [&] { take_sizes<D>(job); });
    std::vector<bool> substituted;
    const int status = solve_by_blocks(
        p_, [](const Gemm& g) { return multiply(g), 0; },
        [&](index i) {
          const bool right = p_.side == Side::right, transposed = (p_.trans != Op::none) != right;
          const index first = i * layout.block, r = layout.rows(i, p_.order());
          const Finish<D> finish{.triangle = job.triangles + first * layout.block,
                                 .inverse_sizes = job.inverse_sizes + first * layout.block,
                                 .triangle_sizes = job.triangle_sizes + first * layout.block,
                                 .block = layout.block,
                                 .r = static_cast<int>(r),
                                 .lower = (p_.uplo == Uplo::lower) != transposed,
                                 .transposed = transposed,
                                 .conjugated = p_.trans == Op::conjugate,
                                 .right = right,
                                 .refused = job.refused + i,
                                 .counts = transposed ? refused_transposed : refused_as_it_is,
                                 .most_growth = static_cast<float>(most_growth),
                                 .substituted = at(static_cast<unsigned*>(nullptr), layout.substituted),
                                 .W = at(none, layout.panel),
                                 .ldw = right ? p_.m : r,
                                 .X = reinterpret_cast<D*>(X.data()) + (right ? first * X.ld() : first),
                                 .ldx = X.ld(),
                                 .others = p_.others()};
          launch((p_.others() + C - 1) / C, 1, 1, [&] { check_block<D, C>(finish); });
          for (index s = 0; s * narrow < p_.others(); ++s) substituted.push_back(finish.substituted[s] != 0);
          launch(2, 1, 1, [&] { substitute_in_block<D>(finish); });
          return 0;
        });
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(X.canaries_intact());
    return substituted;
  }

  /// The largest residual in units of eps |op(A)| |X|.
  double residual() const {
    double worst = 0;
    for (index c = 0; c < p_.others(); ++c)
      for (index i = 0; i < p_.order(); ++i) {
        std::complex<long double> sum = at(B, i, c);
        long double size = 0;
        for (index k = 0; k < p_.order(); ++k) {
          const T a = p_.side == Side::left ? op_a(i, k) : op_a(k, i);
          if (a == T(0)) continue;
          const T x = at(X, k, c);
          sum -= std::complex<long double>(a) * std::complex<long double>(x);
          size += std::abs(a) * std::abs(x);
        }
        const auto units = static_cast<double>(std::abs(sum) / size / std::numeric_limits<R>::epsilon());
        if (!(units <= worst)) worst = std::isnan(units) ? HUGE_VAL : units;
      }
    return worst;
  }

  bool forward() const { return (p_.uplo == Uplo::lower) == ((p_.trans == Op::none) == (p_.side == Side::left)); }
  template <class M>
  auto& at(M& x, index i, index c) const {
    return p_.side == Side::left ? x(i, c) : x(c, i);
  }

  static constexpr int wide = 2 * narrow;
  static constexpr int usual = narrow;
  Matrix<T> A, B, X;

 private:
  bool in_triangle(index i, index j) const { return p_.uplo == Uplo::lower ? i >= j : i <= j; }
  T op_a(index i, index j) const {
    if (p_.trans != Op::none) std::swap(i, j);
    if (!in_triangle(i, j)) return T(0);
    if constexpr (complex_type<T>)
      if (p_.trans == Op::conjugate) return std::conj(A(i, j));
    return A(i, j);
  }

  void join(const trsm_kernels::Blocks<D>& job) const {
    index before = 0;
    for (index s = tile; s < job.block; s *= 2) {
      const index count = job.blocks * (job.block / (2 * s));
      const auto all = [&](T factor, int left, int right, int result) {
        const T zero(0);
        for (index q = before; q < before + count; ++q)
          multiply({p_.precision, Op::none, Op::none, s, s, s, &factor, job.addresses[left * job.pairs + q], job.block,
                    job.addresses[right * job.pairs + q], job.block, &zero, job.addresses[result * job.pairs + q],
                    job.block});
      };
      all(T(1), 0, 1, 2);
      all(T(-1), 3, 2, 4);
      before += count;
    }
  }

  const T alpha_{1};
  Trsm p_{};
};

/// Small whole numbers, whose products are exact.
TEST(TrsmSizes, AreMultipliedAsTheyAreStored) {
  constexpr index block = 64;
  constexpr int r = 50, rows = 64, C = 16, pitch = trsm_kernels::sizes_pitch(block);
  for (const bool lower : {false, true})
    for (const bool transposed : {false, true}) {
      std::vector<std::uint16_t> sizes(block * block), of(static_cast<std::size_t>(C * pitch));
      const auto place = [&](index i, index k) {
        return static_cast<std::size_t>(transposed ? k + i * block : i + k * block);
      };
      std::minstd_rand chance(3);
      const auto small = [&] { return static_cast<float>(chance() / 64 % 16); };
      const auto value = [](std::uint16_t x) {
        const std::uint32_t bits = std::uint32_t{x} << 16;
        float number;
        std::memcpy(&number, &bits, sizeof number);
        return number;
      };
      for (index i = 0; i < r; ++i)
        for (index k = lower ? 0 : i; k < (lower ? i + 1 : r); ++k) sizes[place(i, k)] = trsm_kernels::cut(small());
      for (index c = 0; c < C; ++c)
        for (index k = 0; k < r; ++k) of[static_cast<std::size_t>(c * pitch + k)] = trsm_kernels::cut(small());
      trsm_kernels::Finish<double> job{};
      job.block = block;
      job.r = r;
      job.lower = lower;
      job.transposed = transposed;
      std::vector<float> found(rows * C, -1);
      launch(1, 1, 1, [&] {
        trsm_kernels::multiply_sizes<C>(job, sizes.data(), of.data(), [&](int row, int column, float x) {
          found[static_cast<std::size_t>(row * C + column)] = x;
        });
      });
      for (index i = 0; i < rows; ++i)
        for (index c = 0; c < C; ++c) {
          float sum = 0;
          for (index k = 0; k < r && i < r; ++k)
            sum += value(sizes[place(i, k)]) * value(of[static_cast<std::size_t>(c * pitch + k)]);
          ASSERT_EQ(found[static_cast<std::size_t>(i * C + c)], sum) << i << " " << c << " " << lower << transposed;
        }
    }
}

template <class T>
class TrsmKernels : public testing::Test {
 protected:
  /// Each of the first and the last ones once; check(system).
  template <class Check>
  static void for_some_kinds(const Check& check) {
    int turn = 0;
    for (const Side side : {Side::left, Side::right})
      for (const Uplo uplo : {Uplo::upper, Uplo::lower}) {
        const Op op = ops[turn++ % (complex_type<T> ? 3 : 2)];
        System<T> system(side, uplo, op, 150, 37, turn % 2 ? 64 : 128);
        const char name[] = {static_cast<char>(side), static_cast<char>(uplo), static_cast<char>(op), 0};
        SCOPED_TRACE(name);
        check(system);
        if (testing::Test::HasFailure()) return;
      }
  }
  static std::ptrdiff_t count(const std::vector<bool>& all) { return std::count(all.begin(), all.end(), true); }
};
using KernelTypes = testing::Types<float, double, std::complex<double>>;
TYPED_TEST_SUITE(TrsmKernels, KernelTypes);

TYPED_TEST(TrsmKernels, UseInversesOfWhatIsWellConditioned) {
  this->for_some_kinds([](auto& system) {
    using System = std::remove_reference_t<decltype(system)>;
    EXPECT_EQ(TestFixture::count(system.template solve<System::usual>()), 0);
    EXPECT_LE(system.residual(), 20);
    const auto X = system.X;
    EXPECT_EQ(TestFixture::count(system.template solve<System::wide>()), 0);
    EXPECT_TRUE(X == system.X);
  });
}

TYPED_TEST(TrsmKernels, SubstituteWhatIsIllConditioned) {
  using T = TypeParam;
  this->for_some_kinds([](auto& system) {
    using System = std::remove_reference_t<decltype(system)>;
    system.make([&](index i, index j) { return i == j ? system.A(i, j) : system.A(i, j) * Real<T>(20); });
    const auto substituted = system.template solve<System::usual>();
    EXPECT_GT(TestFixture::count(substituted), 0);
    EXPECT_LE(system.residual(), 20);
  });
}

/// Of some columns alone: where small elements stand beside large ones, and nothing else in their rows.
TYPED_TEST(TrsmKernels, SubstituteTheColumnsThatNeedIt) {
  using T = TypeParam;
  this->for_some_kinds([](auto& system) {
    using System = std::remove_reference_t<decltype(system)>;
    const index order = system.A.rows(), others = system.B.rows() + system.B.cols() - order, few = 5;
    system.make([](index i, index j) { return T(Real<T>(i == j ? 1 : i - j == 1 || j - i == 1 ? -1 : 0)); });
    Matrix<T> X = system.B;
    for (index c = 0; c < others; ++c)
      for (index step = 0; step < order; ++step) {
        const index i = system.forward() ? step : order - 1 - step;
        T& x = system.at(X, i, c);
        x = c < few ? x * static_cast<Real<T>>(std::exp2(-static_cast<double>(step) / 4))
                    : T(std::real(x) < 0 ? -1 : 1);  // all of one size
        system.at(system.B, i, c) = step > 0 ? x - system.at(X, system.forward() ? i - 1 : i + 1, c) : x;
      }
    const auto substituted = system.template solve<System::usual>();
    const std::size_t strips = static_cast<std::size_t>((others + System::usual - 1) / System::usual);
    EXPECT_GT(TestFixture::count(substituted), 0);
    for (std::size_t i = 0; i < substituted.size(); ++i)
      if (i % strips > 0) {
        EXPECT_FALSE(substituted[i]) << i;
      }
    EXPECT_LE(system.residual(), static_cast<double>(order));
  });
}

}  // namespace
}  // namespace blaslift::trsm_kernels_tests
