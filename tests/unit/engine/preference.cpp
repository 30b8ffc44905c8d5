// Which product follows which preference.
#include "kernels/preference.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace blaslift::preference_tests {
namespace {

Preference preference(index n, bool adds_e = false, std::uint32_t alignment = 16, bool own = false) {
  return {{Precision::s, Op::none, Op::transpose, adds_e, n}, own, {{}, 0, alignment}};
}

/// C := op(A) op(B), or plus E; only whether E is null counts.
Gemm product(index m, index n, index k, bool adds_e = false) {
  static constexpr char e = 0;
  return {.precision = Precision::s,
          .transa = Op::none,
          .transb = Op::transpose,
          .m = m,
          .n = n,
          .k = k,
          .E = adds_e ? &e : nullptr};
}

/// The size it was found for; 0: none.
index found(const std::vector<Preference>& some, const Gemm& p, std::uint32_t alignment = 256) {
  const Preference* x = nearest(some.data(), static_cast<int>(some.size()), p, alignment);
  return x ? x->product.n : 0;
}

TEST(Nearest, IsTheOneWhoseSizesAreTheMostAlike) {
  const std::vector<Preference> some{preference(1000), preference(1060), preference(2000)};
  EXPECT_EQ(found(some, product(1000, 1000, 1000)), 1000);
  EXPECT_EQ(found(some, product(1028, 1028, 1028)), 1000);  // 1.028 against 1.031
  EXPECT_EQ(found(some, product(1031, 1031, 1031)), 1060);
  EXPECT_EQ(found(some, product(1060, 1000, 1000)), 1000) << "1.06 from both: the first";
  EXPECT_EQ(found(some, product(1060, 1060, 1010)), 1060) << "the dimension that differs most counts";
  EXPECT_EQ(found({}, product(1000, 1000, 1000)), 0);
}

TEST(Nearest, IsNotFartherThanATenthInAnyDimension) {
  const std::vector<Preference> some{preference(1000)};
  EXPECT_EQ(found(some, product(1100, 910, 1000)), 1000);
  for (const Gemm& p : {product(1101, 1000, 1000), product(1000, 909, 1000), product(1000, 1000, 2000),
                        product(1, 1000, 1000), product(1000, 1000, 0)})
    EXPECT_EQ(found(some, p), 0) << p.m << " " << p.n << " " << p.k;
}

TEST(Nearest, IsOfTheSameKind) {
  const std::vector<Preference> some{preference(1000), preference(1050, true)};
  EXPECT_EQ(found(some, product(1050, 1050, 1050)), 1000);
  EXPECT_EQ(found(some, product(1000, 1000, 1000, true)), 1050);
  Gemm other = product(1000, 1000, 1000);
  other.precision = Precision::c;
  EXPECT_EQ(found(some, other), 0);
  other = product(1000, 1000, 1000);
  other.transa = Op::transpose;
  EXPECT_EQ(found(some, other), 0);
  other = product(1000, 1000, 1000);
  other.transb = Op::none;
  EXPECT_EQ(found(some, other), 0);
}

TEST(Nearest, ConjugatesOnlyWhatIsComplex) {
  std::vector<Preference> some{preference(1000)};
  Gemm p = product(1000, 1000, 1000);
  p.transb = Op::conjugate;
  EXPECT_EQ(found(some, p), 1000);
  some[0].product.precision = p.precision = Precision::z;
  EXPECT_EQ(found(some, p), 0);
}

TEST(Nearest, CanDoWithTheAlignmentThereIs) {
  const std::vector<Preference> some{preference(1000, false, 64), preference(1050, false, 16)};
  EXPECT_EQ(found(some, product(1000, 1000, 1000), 64), 1000);
  EXPECT_EQ(found(some, product(1000, 1000, 1000), 32), 1050);
  EXPECT_EQ(found(some, product(1000, 1000, 1000), 8), 0);
}

TEST(Nearest, IsTheLibrarysOwnChoiceWhereThatWasTheFastest) {
  // Not the algorithm of a size farther away.
  const std::vector<Preference> some{preference(1000), preference(1050, false, 0, true)};
  const Gemm p = product(1050, 1050, 1050);
  const Preference* x = nearest(some.data(), 2, p, 4);
  ASSERT_NE(x, nullptr);
  EXPECT_TRUE(x->own);
}

TEST(Alignment, IsOfEveryAddressAndColumn) {
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };
  Gemm p = product(10, 10, 10);
  p.A = at(0x1000);
  p.B = at(0x2000);
  p.C = at(0x3000);
  p.lda = p.ldb = p.ldc = 1024;
  p.lde = 3;  // there is no E
  EXPECT_EQ(alignment_of(p), 256u);
  p.B = at(0x2040);
  EXPECT_EQ(alignment_of(p), 64u);
  p.ldc = 1028;
  EXPECT_EQ(alignment_of(p), 16u);
  p.E = at(0x4000);
  EXPECT_EQ(alignment_of(p), 4u) << "E's columns are 12 bytes apart";
  p.precision = Precision::z;
  EXPECT_EQ(alignment_of(p), 16u);
  p.C = at(0x3008);
  EXPECT_EQ(alignment_of(p), 8u);
}

}  // namespace
}  // namespace blaslift::preference_tests
