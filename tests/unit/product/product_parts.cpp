// The parts of calls that are dealt out over places: together they are the call.
#include "impl/product/product_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <complex>
#include <random>
#include <vector>

#include "impl/route/dealing.hpp"

namespace blaslift::product_parts_tests {
namespace {

using Complex = std::complex<double>;

TEST(Shares, AreOfAboutTheSameSizeAndNoneIsEmpty) {
  for (index n = 0; n < 40; ++n)
    for (int places = 1; places <= 16; ++places) {
      index next = 0;
      for (const Share& share : shares_of(n, places)) {
        EXPECT_EQ(share.first, next);
        EXPECT_GT(share.count, 0);
        EXPECT_LE(share.count, (n + places - 1) / places);
        next += share.count;
      }
      EXPECT_EQ(next, n);
      EXPECT_LE(shares_of(n, places).size(), static_cast<std::size_t>(places));
    }
}

TEST(Shares, LargeOnesHaveEvenEdges) {
  for (const index n : {1000, 4097, 16384, 30001})
    for (int places = 2; places <= 7; ++places) {
      const std::vector<Share> shares = shares_of(n, places);
      for (std::size_t i = 0; i + 1 < shares.size() && n / places >= 256; ++i) EXPECT_EQ(shares[i].count % 64, 0);
      EXPECT_EQ(shares.back().first + shares.back().count, n);
    }
}

TEST(Shares, RowsOfBlocksSendLittleOfBoth) {
  EXPECT_EQ(rows_of_blocks(1000, 1000, 4), 2);
  EXPECT_EQ(rows_of_blocks(1000, 1000, 2), 1);
  EXPECT_EQ(rows_of_blocks(1000, 1000, 7), 1);
  EXPECT_EQ(rows_of_blocks(100000, 100, 4), 4);
  EXPECT_EQ(rows_of_blocks(100, 100000, 4), 1);
  EXPECT_EQ(rows_of_blocks(4000, 1000, 8), 4);
}

Complex element(Op op, const Complex* at, index ld, index row, index col) {
  const Complex x = op == Op::none ? at[row + col * ld] : at[col + row * ld];
  return op == Op::conjugate ? std::conj(x) : x;
}

/// By loops: adds to each element that is written, and counts how often it is.
void multiply(const GemmArgs<Complex>& x, const Complex* origin, std::vector<int>& written) {
  for (index j = 0; j < x.n; ++j)
    for (index i = 0; i < x.m; ++i) {
      if ((x.part == Part::lower && i < j) || (x.part == Part::upper && i > j)) continue;
      Complex sum = 0;
      for (index p = 0; p < x.k; ++p) sum += element(x.transa, x.A, x.lda, i, p) * element(x.transb, x.B, x.ldb, p, j);
      Complex& c = x.C[i + j * x.ldc];
      c = x.alpha * sum + x.beta * c;
      ++written[static_cast<std::size_t>(&c - origin)];
    }
}

TEST(Parts, OfProductsAreTheProduct) {
  std::mt19937 random(20261129);
  const auto number = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  const auto small = [&] { return Complex(number(-4, 4), number(-4, 4)); };
  const Op ops[] = {Op::none, Op::transpose, Op::conjugate};
  int dealt = 0;
  for (int round = 0; round < 600; ++round) {
    const Part part = std::array{Part::whole, Part::upper, Part::lower}[static_cast<std::size_t>(round % 3)];
    const bool own_b = part == Part::whole || round % 2 == 0;
    GemmArgs<Complex> x{};
    x.part = part;
    x.update = own_b && part != Part::whole ? Update::product : Update::rank_k;
    x.m = number(1, 20);
    x.n = part == Part::whole ? number(1, 20) : x.m;
    x.k = number(0, 6);
    x.transa = ops[number(0, 2)];
    x.transb = own_b ? ops[number(0, 2)] : x.transa == Op::none ? ops[number(1, 2)] : Op::none;
    x.alpha = small();
    x.beta = small();
    x.lda = std::max<index>(1, x.rows_a()) + number(0, 3);
    x.ldb = own_b ? std::max<index>(1, x.rows_b()) + number(0, 3) : x.lda;
    x.ldc = x.m + number(0, 3);
    std::vector<Complex> A(static_cast<std::size_t>(x.lda * (x.cols_a() + 1))),
        B(static_cast<std::size_t>(x.ldb * (x.cols_b() + 1))), C(static_cast<std::size_t>(x.ldc * x.n));
    for (auto* values : {&A, &B, &C})
      for (Complex& value : *values) value = small();
    std::vector<Complex> expected = C, got = C;
    x.A = A.data();
    x.B = own_b ? B.data() : A.data();
    std::vector<int> once(C.size()), written(C.size());
    x.C = expected.data();
    multiply(x, expected.data(), once);
    x.C = got.data();
    const int places = number(1, 9);
    const std::vector<GemmArgs<Complex>> parts = parts_of(x, places);
    dealt += parts.size() > 1;
    for (const GemmArgs<Complex>& one : parts) {
      EXPECT_TRUE(one.valid());
      multiply(one, got.data(), written);
    }
    EXPECT_EQ(written, once) << "round " << round;
    EXPECT_EQ(got, expected) << "round " << round;  // small integers: to the bit
  }
  EXPECT_GT(dealt, 400);
}

TEST(Parts, OfTwoProductsThereAreNone) {
  GemmArgs<double> x{};
  x.m = x.n = x.k = 10;
  x.part = Part::lower;
  x.update = Update::rank_2k;
  EXPECT_TRUE(parts_of(x, 3).empty());
}

TEST(Dealing, EachPlaceTakesTheNextPart) {
  EXPECT_DOUBLE_EQ(dealt_seconds(std::vector<double>{4, 4, 4}, 3), 4);
  EXPECT_DOUBLE_EQ(dealt_seconds(std::vector<double>{4, 2, 2}, 2), 4);
  EXPECT_DOUBLE_EQ(dealt_seconds(std::vector<double>{4, 4, 4}, 2), 8);
  EXPECT_DOUBLE_EQ(dealt_seconds(std::vector<double>{1}, 5), 1);
}

TEST(Dealing, WhatSeveralReadMovesOverOneBusAndAllOfItThroughTheHost) {
  Problem call{}, part{};
  call.bytes_in = 30;
  call.bytes_out = 10;
  part.bytes_in = 20;  // of 40 that both read, 30 are sent
  part.bytes_out = 5;
  const std::vector<Problem> parts{part, part};
  Profile profile = built_in_profile("host");
  profile.in_rate = 1e3;
  std::vector<double> spared;
  bool exchanged = true;
  const auto seconds = [&](double share, int places = 2) {
    spared.clear();
    return seconds_of_parts(call, parts, places, profile, exchanged, share, [&](const Problem& x, double bytes) {
      spared.push_back(bytes);
      return x.bytes_in - bytes + 1;
    });
  };
  profile.host_rate = 0;  // as two buses: nobody waits for that
  EXPECT_EQ(seconds(0), (std::vector<double>{16, 16}));
  EXPECT_EQ(spared, (std::vector<double>{5, 5}));
  EXPECT_EQ(seconds(0.5), (std::vector<double>{8.5, 8.5}));
  EXPECT_EQ(spared, (std::vector<double>{12.5, 12.5}));
  profile.host_rate = 2;
  EXPECT_EQ(seconds(0), (std::vector<double>{20, 20}));
  EXPECT_EQ(seconds(0.5), (std::vector<double>{12.5, 12.5}));
  profile.host_rate = 0;
  profile.in_rate = 1;
  EXPECT_EQ(seconds(0), (std::vector<double>{20, 20}));
  profile.in_rate = 1e3;
  EXPECT_EQ(seconds(0, 1), (std::vector<double>{21, 21}));  // one after the other
  exchanged = false;
  EXPECT_EQ(seconds(0), (std::vector<double>{21, 21}));
}

TEST(Dealing, TakesAsManyPlacesAsAreWorthIt) {
  const auto choice = [](double overhead) {
    return choose_places(1, 8, [overhead](int places) {
      return std::vector<double>(static_cast<std::size_t>(places), overhead + 1.0 / places);
    });
  };
  EXPECT_EQ(choice(0).places, 8);
  EXPECT_DOUBLE_EQ(choice(0).seconds, 0.125);
  EXPECT_EQ(choice(0.3).places, 6);  // 0.467 s, beside 0.425 with all
  EXPECT_EQ(choice(0.8).places, 1);  // 0.925 with all
  EXPECT_EQ(choose_places(1, 8, [](int) { return std::vector<double>{0.1}; }).places, 1);
  EXPECT_EQ(choose_places(1, 1, [](int) { return std::vector<double>(2, 0.1); }).places, 1);
}

}  // namespace
}  // namespace blaslift::product_parts_tests
