// GEMV: how it is cut up, as data, and the CUDA kernels themselves on the CPU, bit for bit beside the host's.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/host/gemv.hpp"
#include "tests/unit/gemv/gemv_reference.hpp"
#include "tests/unit/support/cuda_on_host.hpp"
// After what it runs on.
#include "kernels/cuda/gemv/gemv_kernels.hpp"
#include "tests/precisions.hpp"

namespace blaslift::gemv_tests {
namespace {

using namespace gemv_order;
using reference::GemvProblem, reference::Matrix, reference::scalar;

Gemv shape(Precision precision, bool transposed, index m, index n) {
  Gemv p{};
  p.precision = precision;
  p.transposed = transposed;
  p.m = m;
  p.n = n;
  return p;
}

template <class Check>
void for_all_shapes(Check check) {
  for (const Precision precision : {Precision::s, Precision::d, Precision::c, Precision::z})
    for (const bool transposed : {false, true})
      for (const index m : {1, 31, 33, 255, 300, 4096, 100000, 2147483647})
        for (const index n : {1, 7, 32, 33, 300, 4096, 100000, 2147483647}) {
          SCOPED_TRACE(testing::Message() << letter(precision) << (transposed ? "T" : "N") << " m=" << m << " n=" << n);
          check(shape(precision, transposed, m, n));
          if (testing::Test::HasFailure()) return;
        }
}

TEST(GemvOrder, ChunksHoldEveryTermOnce) {
  for_all_shapes([](const Gemv& p) {
    const Order order(p);
    EXPECT_EQ(order.results, p.results());
    EXPECT_EQ(order.terms, p.terms());
    // None is empty, and the last one ends where the terms do.
    EXPECT_GE(order.chunks, 1);
    EXPECT_LT((order.chunks - 1) * order.chunk, order.terms);
    EXPECT_GE(order.chunks * order.chunk, order.terms);
    EXPECT_EQ(order.chunk % order.step(), 0);
    EXPECT_LT((order.blocks - 1) * order.results_of_block(), order.results);
    EXPECT_GE(order.blocks * order.results_of_block(), order.results);
  });
}

TEST(GemvOrder, IsWithinWhatADeviceTakes) {
  for_all_shapes([](const Gemv& p) {
    const Order order(p);
    EXPECT_LE(order.chunks, most_chunks);
    // Of what a device's memory holds.
    if (static_cast<double>(p.m) * static_cast<double>(p.n) < 1e12) {
      EXPECT_LE(order.blocks * order.chunks, 2147483647);
    }
    // What is written and read again is little beside the matrix.
    if (order.chunks > 1) {
      EXPECT_LE(order.parts(), order.ld() * ((order.terms - 1) / order.step() + 1));
    }
    EXPECT_EQ(gemv_workspace(p), static_cast<std::size_t>(order.parts()) * element_size(p.precision));
    if (order.chunks == 1) {
      EXPECT_EQ(gemv_workspace(p), 0u);
    }
  });
  EXPECT_EQ(gemv_workspace(shape(Precision::d, false, 0, 5)), 0u);
  EXPECT_EQ(gemv_workspace(shape(Precision::d, true, 5, 0)), 0u);
}

TEST(GemvOrder, KeepsALargeDeviceBusy) {
  // Of matrices that are worth a device: about as many blocks as are enough, none with more than a few MiB.
  for (const Precision precision : {Precision::s, Precision::d, Precision::c, Precision::z})
    for (const bool transposed : {false, true})
      for (const auto& [m, n] : {std::pair<index, index>{4096, 4096},
                                 {8192, 8192},
                                 {20000, 500},
                                 {100000, 300},
                                 {300, 100000},
                                 {1, 1 << 22},
                                 {1 << 22, 1},
                                 {30000, 30000}}) {
        const Order order(shape(precision, transposed, m, n));
        const double bytes =
            static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(element_size(precision));
        SCOPED_TRACE(testing::Message() << letter(precision) << transposed << " " << m << "x" << n);
        EXPECT_GE(order.blocks * order.chunks, enough_blocks / 2);
        EXPECT_LE(bytes / static_cast<double>(order.blocks * order.chunks), 4 << 20);
      }
}

// ---- the kernels

template <class T>
struct DeviceType {
  using type = T;
};
template <class R>
struct DeviceType<std::complex<R>> {
  using type = Complex<R>;
};

/// As kernels/cuda/gemv/gemv_of.hpp starts them.
template <class T>
class Kernels {
 public:
  using D = typename DeviceType<T>::type;

  explicit Kernels(const Gemv& p) : p_(p), order_(p), parts_(static_cast<std::size_t>(order_.parts()), poison) {
    const auto first = [](auto* at, index n, index inc) { return inc < 0 ? at + (1 - n) * inc : at; };
    job_ = {.order = order_,
            .A = static_cast<const D*>(p.A),
            .lda = p.lda,
            .x = first(static_cast<const D*>(p.x), p.terms(), p.incx),
            .incx = p.incx,
            .y = first(static_cast<D*>(p.y), p.results(), p.incy),
            .incy = p.incy,
            .alpha = *static_cast<const D*>(p.alpha),
            .beta = *static_cast<const D*>(p.beta),
            .conjugated = p.conjugated,
            .parts = parts_.data()};
  }

  /// @param wide  loads of 16 bytes
  void run(bool wide) {
    const bool multiplies = !equals(job_.alpha, 0);
    if (!multiplies && equals(job_.beta, 1)) return;
    if (multiplies) wide ? sums<true>() : sums<false>();
    if (!multiplies || order_.chunks > 1)
      start((order_.results + rows_of_parts - 1) / rows_of_parts, [&] { add_parts<D>(job_); });
  }

 private:
  static constexpr D poison = [] {
    if constexpr (std::is_floating_point_v<T>)
      return std::numeric_limits<T>::quiet_NaN();
    else
      return D{std::numeric_limits<decltype(D::re)>::quiet_NaN(), 0};
  }();

  template <bool wide>
  void sums() {
    start(order_.blocks * order_.chunks, [&] {
      if (order_.transposed)
        order_.together == threads ? sum_rows<D, threads, wide>(job_) : sum_rows<D, 32, wide>(job_);
      else
        order_.together == warps ? sum_columns<D, warps, wide>(job_) : sum_columns<D, 1, wide>(job_);
    });
  }

  template <class Kernel>
  static void start(index blocks, const Kernel& kernel) {
    std::vector<unsigned> numbers(static_cast<std::size_t>(blocks));
    for (unsigned b = 0; b < numbers.size(); ++b) numbers[b] = b;
    std::shuffle(numbers.begin(), numbers.end(), std::minstd_rand(numbers.size()));
    for (const unsigned b : numbers) {
      cuda_on_host::block.number = b;
      cuda_on_host::block.run(threads, 1, kernel);
    }
  }

  const Gemv& p_;
  const Order order_;
  std::vector<D> parts_;
  Job<D> job_{order_};
};

template <class T>
class GemvKernels : public testing::Test {
 protected:
  /// With wide loads where A and lda allow them, and without.
  static void expect_host_bits(GemvProblem<T> problem) {
    const Matrix<T> before = problem.y;
    gemv(problem.gemv());
    const Matrix<T> expected = std::exchange(problem.y, before);
    ASSERT_LE(problem.worst_excess(expected), 1.0) << problem.describe();
    ASSERT_TRUE(expected.canaries_intact()) << problem.describe();
    const bool aligned = reinterpret_cast<std::uintptr_t>(problem.A.data()) % 16 == 0 &&
                         static_cast<std::size_t>(problem.A.ld()) * sizeof(T) % 16 == 0;
    for (const bool wide : {false, true}) {
      if (wide && !aligned) continue;
      problem.y = before;
      const Gemv product = problem.gemv();
      Kernels<T>(product).run(wide);
      ASSERT_TRUE(problem.y == expected) << problem.describe() << " wide " << wide;
      seen[wide] = true;
    }
  }
  static inline bool seen[2];
};
struct TypeNames {
  template <class T>
  static std::string GetName(int) {
    return std::string(1, letter(element_of<T>));
  }
};
TYPED_TEST_SUITE(GemvKernels, Precisions, TypeNames);

TYPED_TEST(GemvKernels, GiveTheHostsBits) {
  using T = TypeParam;
  unsigned seed = 0;
  std::fill(std::begin(this->seen), std::end(this->seen), false);
  for (const bool transposed : {false, true})
    for (const auto& [m, n] : {std::pair<index, index>{1, 1},
                               {1, 700},
                               {700, 1},
                               {33, 65},
                               {130, 31},
                               {130, 130},
                               {257, 40},
                               {64, 300},
                               {4500, 5},
                               {2049, 9}}) {
      const index increments[] = {1, -2, 3, -1};
      const T betas[] = {T(0), T(1), scalar<T>(-0.75, 0.5)};
      ++seed;
      const index unit = 16 / static_cast<index>(sizeof(T));
      // Every other one with columns that begin where 16 bytes do.
      const index gap = seed % 2 ? (unit - m % unit) % unit : 1 + (seed / 2) % 2;
      const bool conjugated = reference::complex_type<T> && seed / 2 % 2;
      this->expect_host_bits(GemvProblem<T>(transposed, conjugated, m, n, scalar<T>(1.25, -0.5), betas[seed % 3],
                                            increments[seed % 4], increments[seed / 4 % 4], gap, seed));
      if (testing::Test::HasFatalFailure()) return;
    }
  EXPECT_TRUE(this->seen[0] && this->seen[1]);
}

TYPED_TEST(GemvKernels, WithAlphaZeroReadNeitherANorX) {
  using T = TypeParam;
  for (const bool transposed : {false, true})
    for (const T& beta : {T(0), T(1), scalar<T>(-0.75, 0.5)}) {
      this->expect_host_bits(GemvProblem<T>(transposed, false, 50, 40, T(0), beta, 2, -1, 3));
      if (testing::Test::HasFatalFailure()) return;
    }
}

TYPED_TEST(GemvKernels, ReadNothingOutsideTheMatrix) {
  using T = TypeParam;
  // One NaN more would show in some result; the gaps and what lies around are canaries, which are NaN.
  for (const bool transposed : {false, true})
    for (const index m : {63, 65, 1030})
      for (const index n : {33, 66}) {
        this->expect_host_bits(GemvProblem<T>(transposed, false, m, n, T(1), T(0), 1, 1, 5));
        if (testing::Test::HasFatalFailure()) return;
      }
}

}  // namespace
}  // namespace blaslift::gemv_tests
