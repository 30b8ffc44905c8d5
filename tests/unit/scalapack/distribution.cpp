// Block-cyclic distributions: every element has one owner, and copies bring and return just what they are to.
#include "impl/scalapack/distribution.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace blaslift::scalapack::distribution_tests {
namespace {

TEST(Distribution, EveryElementHasOneOwnerAndPlacesThereAreDense) {
  for (int processes = 1; processes <= 4; ++processes)
    for (index block : {1, 3, 7})
      for (int source = 0; source < processes; ++source)
        for (index size : {0, 1, 6, 7, 20, 43}) {
          std::vector<index> next(static_cast<std::size_t>(processes), 0);
          const Dealt dealt{size, block, source, processes, 0};
          for (index i = 0; i < size; ++i) {
            index& expected = next[static_cast<std::size_t>(dealt.owner(i))];
            EXPECT_EQ(dealt.local(i), expected++);
          }
          for (int mine = 0; mine < processes; ++mine)
            EXPECT_EQ((Dealt{size, block, source, processes, mine}.count()), next[static_cast<std::size_t>(mine)]);
          EXPECT_EQ(dealt.owner(0), source);
        }
}

TEST(Distribution, PartsComeToOneMatrixAndGoBackToTheirPlaces) {
  std::mt19937 random(5);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  for (int round = 0; round < 300; ++round) {
    const int P = pick(1, 3), Q = pick(1, 4), rows = pick(1, 30), columns = pick(1, 30);
    Submatrix sub{};
    sub.m = pick(0, rows);
    sub.n = pick(0, columns);
    sub.i = pick(0, rows - static_cast<int>(sub.m));
    sub.j = pick(0, columns - static_cast<int>(sub.n));
    sub.part = static_cast<Part>(pick(0, 2));
    const index mb = pick(1, 9), nb = pick(1, 9), ld = sub.m + pick(0, 3);
    const int row_source = pick(0, P - 1), column_source = pick(0, Q - 1);
    const auto value = [](index i, index j) { return 1000.0 * static_cast<double>(i) + static_cast<double>(j) + 1; };
    const auto taken = [&](index i, index j) {
      return sub.part == Part::whole || (sub.part == Part::lower ? i >= j : i <= j);
    };
    std::vector<double> whole(static_cast<std::size_t>(ld * sub.n + 1), -1);
    for (const bool back : {false, true}) {
      if (back)
        for (double& x : whole) x = -x;
      for (int p = 0; p < P; ++p)
        for (int q = 0; q < Q; ++q) {
          sub.of = {0, {rows, mb, row_source, P, p}, {columns, nb, column_source, Q, q}, 0};
          const index have = sub.of.rows.count(), wide = sub.of.columns.count();
          sub.of.lld = have + 2;
          std::vector<double> local(static_cast<std::size_t>(sub.of.lld * wide + 1), -7);
          const auto at = [&](index i, index j) {
            return static_cast<std::size_t>(sub.of.rows.local(i) + sub.of.columns.local(j) * sub.of.lld);
          };
          for (index j = 0; j < columns; ++j)
            for (index i = 0; i < rows; ++i)
              if (sub.of.rows.owner(i) == p && sub.of.columns.owner(j) == q) local[at(i, j)] = value(i, j);
          std::vector<double> expected = local;
          if (!back) {
            gather(sub, local.data(), whole.data(), ld, sizeof(double));
          } else {
            scatter(sub, local.data(), whole.data(), ld, sizeof(double));
            for (index j = 0; j < sub.n; ++j)
              for (index i = 0; i < sub.m; ++i)
                if (taken(i, j) && sub.of.rows.owner(sub.i + i) == p && sub.of.columns.owner(sub.j + j) == q)
                  expected[at(sub.i + i, sub.j + j)] = -value(sub.i + i, sub.j + j);
          }
          EXPECT_EQ(local, expected);
        }
      if (back) continue;
      for (index j = 0; j < sub.n; ++j)
        for (index i = 0; i < ld; ++i)
          EXPECT_EQ(whole[static_cast<std::size_t>(i + j * ld)],
                    i < sub.m && taken(i, j) ? value(sub.i + i, sub.j + j) : -1);
    }
  }
}

TEST(Distribution, DescriptorsThatScalapackWouldRefuseAreNone) {
  const Grid grid{5, 2, 3, 1, 2};
  const std::vector<std::int32_t> good{1, 5, 20, 30, 4, 4, 1, 2, 12};
  Descriptor of{};
  ASSERT_TRUE(Descriptor::parse(good.data(), grid, of));
  EXPECT_EQ(of.rows.count(), 12);  // blocks 0, 2 and 4 of five
  for (const auto& [word, value] : std::vector<std::pair<int, int>>{
           {0, 2}, {1, 4}, {2, -1}, {3, -1}, {4, 0}, {5, 0}, {6, 2}, {6, -1}, {7, 3}, {7, -1}, {8, 11}}) {
    std::vector<std::int32_t> bad = good;
    bad[static_cast<std::size_t>(word)] = value;
    EXPECT_FALSE(Descriptor::parse(bad.data(), grid, of)) << word << " is " << value;
  }
}

}  // namespace
}  // namespace blaslift::scalapack::distribution_tests
