// The kernels of systolic products on the CPU: every one has the bits of a sum in the order of k, and touches nothing
// else.
#include <gtest/gtest.h>

#include "tests/unit/support/cuda_on_host.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/systolic.hpp"
// After what it runs on.
#include "kernels/cuda/systolic/systolic_kernels.hpp"

namespace blaslift::systolic_kernels_tests {
namespace {

using namespace systolic;
using reference::Matrix;

/// All blocks, one after the other.
template <class T>
void run(Variant variant, const Job<T>& job, const std::function<void()>& kernel) {
  const bool by_warp = variant == Variant::shuffled;
  const Schedule& s = job.schedule;
  const int rows = by_warp ? warp : edge, cols = by_warp ? warp_columns * warps_together : edge;
  cuda_on_host::Block& block = cuda_on_host::block;
  for (unsigned z = 0; z < static_cast<unsigned>(job.deal.arrays); ++z)
    for (unsigned y = 0; y < static_cast<unsigned>(s.block_cols(cols)); ++y)
      for (unsigned x = 0; x < static_cast<unsigned>(s.block_rows(rows)); ++x) {
        block.number = x;
        block.more = {static_cast<unsigned>(s.block_rows(rows)), y, z};
        block.run(by_warp ? warp : edge, by_warp ? warps_together : edge, kernel);
      }
}

/// @tparam t  compiled in, or 0
template <class T, int t>
void run(Variant variant, const Job<T>& job) {
  run(variant, job, [&] {
    switch (variant) {
      case Variant::g1: return walk_in_global_memory<T, 1>(job);
      case Variant::gt: return walk_in_global_memory<T, t>(job);
      case Variant::s1: return walk_in_shared_memory<T, 1>(job);
      case Variant::st: return walk_in_shared_memory<T, t>(job);
      case Variant::l1: return loop_over_k<T, false>(job);
      case Variant::lr: return loop_over_k<T, true>(job);
      case Variant::ls: return loop_over_tiles<T>(job);
      case Variant::shuffled: return pass_on_by_shuffles<T>(job);
    }
  });
}
template <class T>
void run(Variant variant, Job<T> job, bool compiled) {
  if (!has_steps(variant)) job.schedule.t = 1;
  if (!compiled) return run<T, 0>(variant, job);
  switch (job.schedule.t) {
    case 1: return run<T, 1>(variant, job);
    case 2: return run<T, 2>(variant, job);
    case 4: return run<T, 4>(variant, job);
    case 16: return run<T, 16>(variant, job);
    case 32: return run<T, 32>(variant, job);
    default: return run<T, 0>(variant, job);
  }
}

template <class T>
class SystolicKernels : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(SystolicKernels, Reals);

TYPED_TEST(SystolicKernels, HaveTheBitsOfASumInTheOrderOfK) {
  using T = TypeParam;
  Random chance(3);
  int ragged = 0, several = 0;
  for (const index count : {1, 3, 10})
    for (const int t : {1, 2, 3, 4, 7, 16, 32}) {
      const auto size = [&] { return static_cast<int>(chance.coin() ? 16 : chance.up_to(20)); };
      const int m = size(), n = size(), k = static_cast<int>(chance.up_to(count > 3 ? 15 : 40)),
                g[] = {k, 2 * k - 1, k + 3};
      Products<T> x(m, n, k, count, static_cast<unsigned>(count) * 40 + static_cast<unsigned>(t), chance.coin());
      const Matrix<T> C = x.C, due = x.expected(x.operands());
      ASSERT_FALSE(due == C);
      ragged += m % edge != 0 && n % edge != 0;
      for (const Variant variant : all_variants) {
        const Deal deal{count, chance.up_to(count)};
        several += deal.arrays > 1 && deal.row() > 1;
        x.C = C;
        const Job<T> job{{m, n, k, 0, g[chance.below(3)], t, chance.coin()}, deal, x.operands()};
        run(variant, job, chance.coin());
        ASSERT_TRUE(x.C == due) << name_of(variant) << ", " << x.text() << ", t = " << t << ", g = " << job.schedule.g
                                << ", arrays = " << deal.arrays;
      }
    }
  EXPECT_GT(ragged, 2);
  EXPECT_GT(several, 10);
}

TYPED_TEST(SystolicKernels, CountAlphaAndBeta) {
  using T = TypeParam;
  for (const double beta : {0.0, 1.0, -0.75})
    for (const Variant variant : all_variants) {
      if (!scales(variant)) continue;
      Products<T> x(19, 17, 20, 3, 7);
      if (beta == 0)
        for (index j = 0; j < x.C.cols(); ++j)
          for (index i = 0; i < x.C.rows(); ++i) x.C(i, j) = std::numeric_limits<T>::quiet_NaN();
      Operands<T> operands = x.operands();
      operands.from_c = false, operands.alpha = T(-1.5), operands.beta = static_cast<T>(beta);
      const Matrix<T> due = x.expected(operands);
      run(variant, Job<T>{{19, 17, 20, 0, 20, 4, true}, {3, 2}, operands}, true);
      ASSERT_TRUE(x.C == due) << name_of(variant) << ", beta = " << beta;
    }
}

/// In the middle of long products the kernels take several steps without asking: with these sizes nearly all terms.
TYPED_TEST(SystolicKernels, TakeWholeChunksInTheMiddle) {
  using T = TypeParam;
  Products<T> x(33, 18, 90, 1, 9);
  const Matrix<T> C = x.C, due = x.expected(x.operands());
  for (const Variant variant : all_variants) {
    x.C = C;
    run(variant, Job<T>{{33, 18, 90, 0, 90, 16, variant == Variant::st}, {1, 1}, x.operands()}, true);
    EXPECT_TRUE(x.C == due) << name_of(variant);
  }
}

}  // namespace
}  // namespace blaslift::systolic_kernels_tests
