// Trees and graphs of tile QR: that what is planned passes check(), that an interpreter of the test's own computes the
// same whatever order `after` allows, and that check() lets no mutated task or edge pass.
#include "kernels/qr_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "tests/unit/support/random.hpp"

namespace blaslift::qr_tree_tests {
namespace {

constexpr QrTree trees[] = {QrTree::flat(),     QrTree::binary(),  QrTree::domains(2), QrTree::domains(3),
                            QrTree::domains(4), QrTree::cyclic(1), QrTree::cyclic(3),  QrTree::greedy()};

TEST(QrTree, AnnihilatesAllButOne) {
  for (const QrTree tree : trees)
    for (index p = 1; p <= 20; ++p)
      for (index k = 0; k < p; ++k)
        EXPECT_EQ(check(eliminations(tree, p, k), p, k), "") << to_string(tree) << ", " << p << " " << k;
}

TEST(QrTree, IsPrinted) {
  EXPECT_EQ(to_string(eliminations(QrTree::flat(), 4, 0)), "1<0 2<0 3<0");
  EXPECT_EQ(to_string(eliminations(QrTree::flat(), 4, 2)), "3<2");
  EXPECT_EQ(to_string(eliminations(QrTree::binary(), 5, 0)), "1<<0 3<<2 2<<0 4<<0");
  EXPECT_EQ(to_string(eliminations(QrTree::domains(3), 7, 1)), "2<1 4<3 5<3 3<<1 6<<1");
  EXPECT_EQ(to_string(eliminations(QrTree::domains(3), 1, 0)), "");
  EXPECT_EQ(to_string(eliminations(QrTree::cyclic(3), 8, 1)), "4<1 7<1 5<2 6<3 2<<1 3<<1");
  EXPECT_EQ(to_string(eliminations(QrTree::cyclic(1), 4, 0)), to_string(eliminations(QrTree::flat(), 4, 0)));
  EXPECT_EQ(to_string(eliminations(QrTree::cyclic(9), 5, 0)), to_string(eliminations(QrTree::binary(), 5, 0)));
  EXPECT_EQ(to_string(eliminations(QrTree::greedy(), 7, 0)), "4<<1 5<<2 6<<3 2<<0 3<<1 1<<0");
  // 4 to 6 come to column 1 after the first round, 2 and 3 after the second.
  EXPECT_EQ(to_string(eliminations(QrTree::greedy(), 7, 1)), "6<<5 4<<2 5<<3 3<<2 2<<1");
  EXPECT_EQ(to_string(QrTree::flat()) + ", " + to_string(QrTree::domains(2)) + ", " + to_string(QrTree::cyclic(3)),
            "domains of all, domains of 2, 3 cyclic domains");
}

TEST(QrTree, HasAsManyRoundsAsItMust) {
  // A row is busy for one round with each elimination that it is part of.
  auto rounds = [](QrTree tree, index p) {
    std::map<index, int> free_at;
    int last = 0;
    for (const Elimination& e : eliminations(tree, p, 0))
      last = std::max(last, free_at[e.row] = free_at[e.by] = std::max(free_at[e.row], free_at[e.by]) + 1);
    return last;
  };
  EXPECT_EQ(rounds(QrTree::flat(), 16), 15);
  EXPECT_EQ(rounds(QrTree::binary(), 16), 4);
  EXPECT_EQ(rounds(QrTree::binary(), 17), 5);
  EXPECT_EQ(rounds(QrTree::domains(4), 16), 3 + 2);
}

/// By row and column, in which round the row is annihilated there, from 1; a row is busy for a round with each
/// elimination, updates included, that it is part of, and comes to a column when it has left the one before.
std::vector<std::vector<int>> rounds_of(QrTree tree, index p, index q) {
  std::vector<std::vector<int>> found(static_cast<std::size_t>(p), std::vector<int>(static_cast<std::size_t>(q)));
  std::vector<int> free_at(static_cast<std::size_t>(p));
  for (index k = 0; k < std::min(p, q); ++k)
    for (const Elimination& e : eliminations(tree, p, k)) {
      const auto row = static_cast<std::size_t>(e.row), by = static_cast<std::size_t>(e.by);
      found[row][static_cast<std::size_t>(k)] = free_at[row] = free_at[by] = std::max(free_at[row], free_at[by]) + 1;
    }
  return found;
}

int all_rounds(QrTree tree, index p, index q) {
  int last = 0;
  for (const std::vector<int>& row : rounds_of(tree, p, q))
    last = std::max(last, *std::max_element(row.begin(), row.end()));
  return last;
}

TEST(QrTree, GreedyIsTheOneOfTheLiterature) {
  // Bouwmeester et al. (2011), table 1 (c): 15 x 6 tiles.
  const std::vector<std::vector<int>> printed = {
      {0, 0, 0, 0, 0, 0},  {4, 0, 0, 0, 0, 0},   {3, 6, 0, 0, 0, 0},   {3, 5, 8, 0, 0, 0},   {2, 5, 7, 10, 0, 0},
      {2, 4, 7, 9, 12, 0}, {2, 4, 6, 9, 11, 14}, {2, 4, 6, 8, 10, 13}, {1, 3, 5, 8, 10, 12}, {1, 3, 5, 7, 9, 11},
      {1, 3, 5, 7, 9, 11}, {1, 3, 4, 6, 8, 10},  {1, 2, 4, 6, 8, 10},  {1, 2, 4, 5, 7, 9},   {1, 2, 3, 5, 6, 8}};
  EXPECT_EQ(rounds_of(QrTree::greedy(), 15, 6), printed);
}

TEST(QrTree, HasTheRoundsOfTheLiterature) {
  for (index p = 2; p <= 24; ++p) {
    int halvings = 0;
    for (index rows = p; rows > 1; rows = (rows + 1) / 2) ++halvings;
    EXPECT_EQ(all_rounds(QrTree::greedy(), p, 1), halvings) << p;
    for (index q = 1; q < p; ++q) {
      SCOPED_TRACE(testing::Message() << p << " x " << q);
      EXPECT_EQ(all_rounds(QrTree::flat(), p, q), p + q - 2);  // Sameh and Kuck, 1978
      // Nothing is quicker than Greedy (Cosnard and Robert, 1986): not what is here, nor Fibonacci's scheme (Modi and
      // Clarke, 1984), of x + 2 q - 2 rounds with the least x for which x (x + 1) / 2 is p - 1 or more.
      const int greedy = all_rounds(QrTree::greedy(), p, q);
      for (const QrTree tree : trees) EXPECT_LE(greedy, all_rounds(tree, p, q)) << to_string(tree);
      index x = 0;
      while (x * (x + 1) / 2 < p - 1) ++x;
      EXPECT_LE(greedy, x + 2 * q - 2);
    }
  }
}

TEST(QrTree, CheckCatchesEveryMutation) {
  for (const QrTree tree : trees) {
    const index p = 9, k = 1;
    const std::vector<Elimination> good = eliminations(tree, p, k);
    for (std::size_t i = 0; i < good.size(); ++i) {
      auto caught = [&](const std::vector<Elimination>& bad) { EXPECT_NE(check(bad, p, k), "") << to_string(bad); };
      std::vector<Elimination> bad = good;
      bad.erase(bad.begin() + static_cast<std::ptrdiff_t>(i));
      caught(bad);
      bad = good;
      bad.push_back(good[i]);
      caught(bad);
      for (index row = 0; row <= p; ++row) {
        if (row == good[i].row) continue;
        bad = good;
        bad[i].row = row;
        caught(bad);
      }
    }
  }
  // By one that is gone; a triangle that is called a square; by one below.
  EXPECT_NE(check({{1, 0, false}, {2, 1, false}}, 3, 0), "");
  EXPECT_NE(check({{2, 1, false}, {1, 0, false}}, 3, 0), "");
  EXPECT_NE(check({{1, 2, false}, {2, 0, true}}, 3, 0), "");
  EXPECT_EQ(check({{2, 1, false}, {1, 0, true}}, 3, 0), "");
}

/// All graphs of a small size.
template <class Do>
void for_all_graphs(index most, Do act) {
  for (const QrTree tree : trees)
    for (index p = 1; p <= most; ++p)
      for (index q = 1; q <= most; ++q) {
        act(factor_graph(p, q, tree));
        for (const index steps : std::set<index>{1, std::min(p, q)})
          for (const bool adjoint : {false, true}) act(apply_graph(p, steps, q, tree, adjoint));
      }
}

TEST(QrGraph, DoesItsJob) {
  for_all_graphs(8, [](const QrGraph& g) { ASSERT_EQ(check(g), "") << to_string(g); });
}

TEST(QrGraph, IsPrinted) {
  EXPECT_EQ(to_string(factor_graph(3, 2, QrTree::flat())),
            "factor 3 x 2 tiles, domains of all\n"
            "0: geqrt k=0 row=0\n"
            "1: larfb k=0 row=0 col=1 after 0j\n"
            "2: tsqrt k=0 row=1 by=0 after 0i\n"
            "3: ssrfb k=0 row=1 by=0 col=1 after 2j 1i\n"
            "4: tsqrt k=0 row=2 by=0 after 2i\n"
            "5: ssrfb k=0 row=2 by=0 col=1 after 4j 3i\n"
            "6: geqrt k=1 row=1 after 3k\n"
            "7: tsqrt k=1 row=2 by=1 after 5k 6i\n");
  EXPECT_EQ(to_string(apply_graph(3, 1, 1, QrTree::domains(2), false)),
            "apply Q 3 x 1 tiles, domains of 2\n"
            "0: ttmqr k=0 row=2 by=0 col=0\n"
            "1: larfb k=0 row=2 col=0 after 0i\n"
            "2: ssrfb k=0 row=1 by=0 col=0 after 0i\n"
            "3: larfb k=0 row=0 col=0 after 2i\n");
}

TEST(QrGraph, HasTheCriticalPathsOfTheLiterature) {
  // Bouwmeester et al. (2011), in units of b^3 / 3 flops: table 1's weights, and theorems 1 and 2.
  constexpr int weights[] = {4, 6, 6, 12, 2, 6};  // geqrt, larfb, tsqrt, ssrfb, ttqrt, ttmqr
  const auto longest = [&](index p, index q, QrTree tree) {
    const QrGraph g = factor_graph(p, q, tree);
    std::vector<int> ends(g.tasks.size());
    for (std::size_t i = 0; i < ends.size(); ++i) {
      for (const QrEdge& e : g.after[i]) ends[i] = std::max(ends[i], ends[static_cast<std::size_t>(e.task)]);
      ends[i] += weights[static_cast<int>(g.tasks[i].kind)];
    }
    return *std::max_element(ends.begin(), ends.end());
  };
  for (index p = 2; p <= 12; ++p) {
    EXPECT_EQ(longest(p, 1, QrTree::flat()), 6 * p - 2);
    EXPECT_EQ(longest(p, p, QrTree::flat()), 30 * p - 34);
    for (index q = 2; q < p; ++q) EXPECT_EQ(longest(p, q, QrTree::flat()), 12 * p + 18 * q - 32) << p << " x " << q;
  }
  for (const auto& [p, log] : {std::pair<index, int>{2, 1}, {4, 2}, {8, 3}, {16, 4}}) {
    EXPECT_EQ(longest(p, 1, QrTree::binary()), 4 + 2 * log);
    EXPECT_EQ(longest(p, 1, QrTree::greedy()), 4 + 2 * log);
    for (index q = 2; q < p; ++q) {
      const int formula = (10 + 6 * log) * static_cast<int>(q) - 4 * log - 6, binary = longest(p, q, QrTree::binary());
      if (2 * q <= p) {
        EXPECT_EQ(binary, formula) << p << " x " << q;
      }
      EXPECT_LE(binary, formula) << p << " x " << q;  // the last columns have fewer than log2(p) merges
      EXPECT_LE(longest(p, q, QrTree::greedy()), longest(p, q, QrTree::binary())) << p << " x " << q;
    }
  }
}

TEST(QrGraph, HasThePapersNumberOfTasks) {
  // Flat: sum over k of (p - k) triangles and eliminations, each applied to the q - k - 1 tiles on its right.
  const QrGraph g = factor_graph(6, 4, QrTree::flat());
  std::map<QrTaskKind, int> count;
  for (const QrTask& t : g.tasks) ++count[t.kind];
  EXPECT_EQ(count[QrTaskKind::geqrt], 4);
  EXPECT_EQ(count[QrTaskKind::larfb], 3 + 2 + 1);
  EXPECT_EQ(count[QrTaskKind::tsqrt], 5 + 4 + 3 + 2);
  EXPECT_EQ(count[QrTaskKind::ssrfb], 5 * 3 + 4 * 2 + 3 * 1);
  EXPECT_EQ(count[QrTaskKind::ttqrt] + count[QrTaskKind::ttmqr], 0);
}

// ---- an interpreter: every part of a tile holds a number that tells its whole history

class History {
 public:
  explicit History(const QrGraph& g) : in_place_(g.job == QrJob::factor) {}

  void run(const QrTask& t) {
    std::vector<std::uint64_t*> parts;
    auto tile = [&](char what, index row, index col) { parts.push_back(&held_[{what, row, col}]); };
    const bool makes = t.kind == QrTaskKind::geqrt || t.kind == QrTaskKind::tsqrt || t.kind == QrTaskKind::ttqrt;
    const bool pair = t.kind != QrTaskKind::geqrt && t.kind != QrTaskKind::larfb;
    const bool square = t.kind == QrTaskKind::geqrt || t.kind == QrTaskKind::tsqrt;
    if (makes) {
      tile('u', t.row, t.k);
      if (square) tile('l', t.row, t.k);
      if (pair) tile('u', t.by, t.k);
      tile(pair ? 'P' : 'T', t.row, t.k);
    } else {
      for (const index row : {t.row, t.by}) {
        if (row < 0) continue;
        tile('u', row, t.col);
        tile('l', row, t.col);
      }
    }
    std::uint64_t seen = static_cast<std::uint64_t>(t.kind) + 17;
    auto mix = [&seen](std::uint64_t x) { seen = (seen ^ x) * 0x9e3779b97f4a7c15u + (seen >> 29); };
    for (const index x : {t.k, t.row, t.by, t.col}) mix(static_cast<std::uint64_t>(x));
    if (!makes && in_place_) {
      if (t.kind != QrTaskKind::ttmqr) mix(held_[{'l', t.row, t.k}]);
      if (pair) mix(held_[{'u', t.row, t.k}]);
      mix(held_[{pair ? 'P' : 'T', t.row, t.k}]);
    }
    for (const std::uint64_t* part : parts) mix(*part);
    std::uint64_t number = 0;
    for (std::uint64_t* part : parts) *part = seen + number++;
  }

  friend bool operator==(const History&, const History&) = default;

 private:
  bool in_place_;
  std::map<std::tuple<char, index, index>, std::uint64_t> held_;
};

History in_order(const QrGraph& g) {
  History h(g);
  for (const QrTask& t : g.tasks) h.run(t);
  return h;
}

History in_some_order(const QrGraph& g, Random& random) {
  History h(g);
  std::vector<bool> done(g.tasks.size());
  for (std::size_t ran = 0; ran < g.tasks.size(); ++ran) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < g.tasks.size(); ++i)
      if (!done[i] && std::all_of(g.after[i].begin(), g.after[i].end(),
                                  [&](const QrEdge& e) { return done[static_cast<std::size_t>(e.task)]; }))
        ready.push_back(i);
    // Late ones first, mostly: the farther from the list's order the better.
    const std::size_t next = random.coin() ? ready.back() : ready[random.below(ready.size())];
    h.run(g.tasks[next]);
    done[next] = true;
  }
  return h;
}

TEST(QrGraph, ComputesTheSameInEveryOrder) {
  Random random(3);
  for_all_graphs(5, [&](const QrGraph& g) {
    const History expected = in_order(g);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(in_some_order(g, random) == expected) << to_string(g);
  });
}

// ---- mutations

TEST(QrGraph, CheckCatchesEveryMutatedTask) {
  for_all_graphs(4, [](const QrGraph& good) {
    auto caught = [&](QrGraph bad, bool derive) {
      if (bad.tasks == good.tasks) return;
      if (derive) bad.after = depend(bad);
      ASSERT_NE(check(bad), "") << to_string(bad);
    };
    for (std::size_t i = 0; i < good.tasks.size(); ++i)
      for (const bool derive : {false, true}) {
        QrGraph bad = good;
        for (int kind = 0; kind < 6; ++kind) {
          bad.tasks[i].kind = static_cast<QrTaskKind>(kind);
          caught(bad, false);  // depend() takes what is well formed
        }
        for (index QrTask::*field : {&QrTask::k, &QrTask::row, &QrTask::by, &QrTask::col})
          for (const index by : {-1, 1}) {
            bad = good;
            bad.tasks[i].*field += by;
            caught(bad, derive);
          }
        bad = good;
        bad.tasks.erase(bad.tasks.begin() + static_cast<std::ptrdiff_t>(i));
        bad.after.erase(bad.after.begin() + static_cast<std::ptrdiff_t>(i));
        caught(bad, derive);
        bad = good;
        bad.tasks.push_back(good.tasks[i]);
        bad.after.push_back({});
        caught(bad, derive);
      }
  });
}

TEST(QrGraph, CheckCatchesTasksInAnotherOrderUnlessItIsAsGood) {
  int caught = 0, as_good = 0;
  for_all_graphs(4, [&](const QrGraph& good) {
    const History expected = in_order(good);
    for (std::size_t i = 0; i + 1 < good.tasks.size(); ++i) {
      QrGraph bad = good;
      std::swap(bad.tasks[i], bad.tasks[i + 1]);
      bad.after = depend(bad);
      const bool passes = check(bad).empty();
      ASSERT_EQ(passes, in_order(bad) == expected) << to_string(bad);
      ++(passes ? as_good : caught);
    }
  });
  EXPECT_GT(caught, 100);
  EXPECT_GT(as_good, 50);
}

/// Whether task `to` waits for `from`, directly or not.
bool waits(const QrGraph& g, std::size_t to, std::size_t from) {
  return to == from || std::any_of(g.after[to].begin(), g.after[to].end(),
                                   [&](const QrEdge& e) { return waits(g, static_cast<std::size_t>(e.task), from); });
}

TEST(QrGraph, CheckCatchesEveryMissingEdgeThatMatters) {
  int caught = 0;
  for_all_graphs(4, [&](const QrGraph& good) {
    for (std::size_t i = 0; i < good.tasks.size(); ++i)
      for (std::size_t e = 0; e < good.after[i].size(); ++e) {
        QrGraph bad = good;
        bad.after[i].erase(bad.after[i].begin() + static_cast<std::ptrdiff_t>(e));
        const bool still = waits(bad, i, static_cast<std::size_t>(good.after[i][e].task));
        ASSERT_EQ(check(bad).empty(), still) << to_string(bad);
        caught += !still;
        bad = good;
        bad.after[i][e].why = bad.after[i][e].why == QrWait::step ? QrWait::down : QrWait::step;
        ASSERT_NE(check(bad), "");
        bad.after[i][e] = {static_cast<std::int32_t>(i), good.after[i][e].why};
        ASSERT_NE(check(bad), "");
      }
  });
  EXPECT_GT(caught, 100);
}

}  // namespace
}  // namespace blaslift::qr_tree_tests
