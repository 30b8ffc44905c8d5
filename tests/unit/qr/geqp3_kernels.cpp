// The CUDA backend's QR with pivoting, on the CPU: right whatever a matrix holds, with the same bits in any order of
// blocks and threads, and within its own memory.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "kernels/host/geqp3.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/qr/pivoted.hpp"
#include "tests/unit/support/cuda_on_host.hpp"
#include "tests/unit/support/random.hpp"
// After cuda_on_host.hpp.
#include "kernels/cuda/qr/geqp3_kernels.hpp"

namespace blaslift::geqp3_kernels_tests {
namespace {

using namespace reference;
using namespace geqp3_kernels;

template <class T>
struct OnDevice {
  using type = T;
};
template <class R>
struct OnDevice<std::complex<R>> {
  using type = Complex<R>;
};

template <class T>
struct Pivoted {
  Matrix<T> A0, A;
  std::vector<T> fixed, order, tau, failed{T(0)};

  explicit Pivoted(Matrix<T> matrix)
      : A0(std::move(matrix)),
        A(A0),
        fixed(static_cast<std::size_t>(A.cols())),
        order(fixed),
        tau(static_cast<std::size_t>(std::min(A.rows(), A.cols()))) {}
  Geqp3 operation() {
    return {.precision = precision_of<T>,
            .m = A.rows(),
            .n = A.cols(),
            .A = A.data(),
            .lda = A.ld(),
            .fixed = fixed.data(),
            .order = order.data(),
            .tau = tau.data(),
            .failed = failed.data()};
  }

  /// Kernels one after the other, their blocks in an order that follows from `seed`; what they work in holds anything.
  void run(unsigned seed) {
    using D = typename OnDevice<T>::type;
    A = A0;
    failed[0] = T(0);
    const Geqp3 p = operation();
    Factorisation<D> factorisation(p);
    Parts counted(nullptr);
    factorisation.lay_out(counted);
    constexpr unsigned char canary = 0xa7;
    std::vector<unsigned char> memory(counted.bytes() + 512, 0xff);
    auto* const at =
        reinterpret_cast<unsigned char*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 255) / 256 * 256);
    at[counted.bytes()] = canary;
    Parts parts(at);
    factorisation.lay_out(parts);
    std::minstd_rand chance(seed + 1);
    const auto launch = [&](unsigned blocks, auto kernel, const auto&... arguments) {
      std::vector<unsigned> all(blocks);
      std::iota(all.begin(), all.end(), 0u);
      std::shuffle(all.begin(), all.end(), chance);
      for (const unsigned b : all) {
        cuda_on_host::block.number = b;
        cuda_on_host::block.more = {blocks, 0, 0};
        cuda_on_host::block.run(threads, 1, [&] { kernel(arguments...); });
      }
      return 0;
    };
    ASSERT_EQ(factorisation.start(launch, multiply), 0);
    ASSERT_EQ(at[counted.bytes()], canary);
    ASSERT_TRUE(A.canaries_intact());
  }

  static int multiply(const Gemm& p) {
    const auto scalar = [](const void* at) { return *static_cast<const T*>(at); };
    const auto read = [](const void* at, index ld, Op op, index i, index j) -> T {
      const T x = static_cast<const T*>(at)[op == Op::none ? i + j * ld : j + i * ld];
      if constexpr (std::is_same_v<T, Real<T>>)
        return x;
      else
        return op == Op::conjugate ? std::conj(x) : x;
    };
    for (index j = 0; j < p.n; ++j)
      for (index i = 0; i < p.m; ++i) {
        T sum(0);
        for (index l = 0; l < p.k; ++l) sum += read(p.A, p.lda, p.transa, i, l) * read(p.B, p.ldb, p.transb, l, j);
        T& c = static_cast<T*>(p.C)[i + j * p.ldc];
        c = scalar(p.alpha) * sum + (scalar(p.beta) == T(0) ? T(0) : scalar(p.beta) * c);
      }
    return 0;
  }

  void expect_right() const {
    ASSERT_EQ(failed[0], T(0));
    ASSERT_EQ(wrong_in_pivoted(A0, A, fixed, order, tau), "") << A.rows() << " x " << A.cols();
  }
};

template <class T>
class Geqp3Kernels : public testing::Test {};
TYPED_TEST_SUITE(Geqp3Kernels, Precisions);

TYPED_TEST(Geqp3Kernels, FactorMatricesThatAreHard) {
  using T = TypeParam;
  const auto factor = [](Kind kind, index m, index n) {
    Pivoted<T> x(matrix_of<T>(kind, m, n));
    x.run(static_cast<unsigned>(m));
    if (!testing::Test::HasFatalFailure()) x.expect_right();
    if (testing::Test::HasFatalFailure()) ADD_FAILURE() << "kind " << static_cast<int>(kind);
  };
  for (const Kind kind : kinds)
    for (const auto& [m, n] : {std::pair<index, index>{12, 9}, {6, 11}, {1, 5}, {5, 1}}) factor(kind, m, n);
  for (const Kind kind : {Kind::kahan, Kind::zero_column}) factor(kind, 36, 34);  // more than a panel
}

TYPED_TEST(Geqp3Kernels, TakeManyBlocksOfRowsWithTheSameBits) {
  using T = TypeParam;
  Pivoted<T> x(matrix_of<T>(Kind::random, 520, 34));
  x.run(1);
  if (testing::Test::HasFatalFailure()) return;
  x.expect_right();
  const Matrix<T> first = x.A;
  x.run(2);
  EXPECT_TRUE(x.A == first);
}

TYPED_TEST(Geqp3Kernels, BringFixedColumnsToTheFront) {
  using T = TypeParam;
  Random r(1);
  for (unsigned round = 0; round < 6; ++round) {
    Pivoted<T> x(matrix_of<T>(Kind::random, 1 + r.below(40), 2 + r.below(40), round));
    for (T& one : x.fixed) one = T(static_cast<Real<T>>(round == 0 ? 1 : r.below(3) == 0));
    x.run(round);
    if (testing::Test::HasFatalFailure()) return;
    x.expect_right();
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// Columns whose sizes fall so fast that norms have to be computed anew within panels.
TYPED_TEST(Geqp3Kernels, ComputeNormsAnewAndChooseAsTheHostDoes) {
  using T = TypeParam;
  Matrix<T> A = matrix_of<T>(Kind::random, 50, 42);
  for (index i = 0; i < A.rows(); ++i)
    for (index j = 0; j < A.cols(); ++j) A(i, j) *= std::ldexp(Real<T>(1), -static_cast<int>(i));
  Pivoted<T> x(A), y(A);
  x.run(3);
  if (testing::Test::HasFatalFailure()) return;
  x.expect_right();
  factor_with_pivots(y.operation());
  y.expect_right();
  // From where roundings are as large as what is left, either order will do.
  EXPECT_TRUE(std::equal(x.order.begin(), x.order.begin() + 15, y.order.begin()));
}

TYPED_TEST(Geqp3Kernels, SayWhatIsNotFinite) {
  using T = TypeParam;
  for (const double odd : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const auto& [row, col] : {std::pair<index, index>{0, 0}, {7, 2}, {3, 5}}) {
      Pivoted<T> x(matrix_of<T>(Kind::random, 8, 6));
      x.A0(row, col) = T(static_cast<Real<T>>(odd));
      x.run(1);
      EXPECT_EQ(x.failed[0], T(1)) << odd << " at " << row << ", " << col;
    }
}

}  // namespace
}  // namespace blaslift::geqp3_kernels_tests
