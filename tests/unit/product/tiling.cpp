// Products by levels as schedules: that they compute the product in every order that depend() allows, with operands
// kept or overwritten as the tiling says, in the memory that they say they need.
#include "impl/product/tiling.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <map>

#include "impl/route/device.hpp"
#include "impl/route/family.hpp"
#include "tests/unit/support/interpreter.hpp"

namespace blaslift::tiling_tests {
namespace {

using strassen::Level;
using Levels = std::vector<const Level*>;
constexpr std::size_t element = 8;

struct Problem {
  index m, n, k;
  bool transposed_a = false, transposed_b = false, reads_c = false;
  Tiling tiling{};
  Residents residents{};
  std::size_t piece = 3;

  GemmSchedule plan() const {
    return plan_levels(m, n, k, transposed_a, transposed_b, reads_c, element, tiling, residents, piece * element);
  }
};

std::string text(const Problem& p) {
  std::string names;
  for (const Level* level : p.tiling.levels) names += std::string(" ") + level->name;
  auto flag = [](bool set, const char* name) { return set ? std::string(", ") + name : std::string(); };
  return std::to_string(p.m) + " x " + std::to_string(p.n) + " x " + std::to_string(p.k) + ", tile " +
         std::to_string(p.tiling.tile) + names + flag(p.transposed_a, "A transposed") +
         flag(p.transposed_b, "B transposed") + flag(p.reads_c, "reads C") + flag(p.tiling.overwrite, "overwrites") +
         (p.tiling.head > 0 ? ", head " + std::to_string(p.tiling.head) : "") +
         flag(p.residents.a.whole, "A resident") + flag(p.residents.b.whole, "B resident") +
         flag(p.residents.c.whole, "C resident");
}

Resident random_resident(index rows, index cols, Random& random) {
  return random.coin() ? Resident{true, random_blocks(rows, cols, random)} : Resident{};
}

Problem random_problem(Random& random, const Levels& levels, index leaf) {
  Problem p{};
  p.tiling.levels = levels;
  p.tiling.tile = leaf << levels.size();
  // One to three tiles each way, and what is left over; single ones often, as that is where inputs may be overwritten.
  auto size = [&] {
    return p.tiling.tile * (random.coin() ? 1 : random.up_to(3)) +
           (random.coin() ? 0 : random.below(static_cast<std::size_t>(p.tiling.tile)));
  };
  p.m = size(), p.n = size(), p.k = size();
  p.transposed_a = random.coin(), p.transposed_b = random.coin(), p.reads_c = random.coin();
  if (random.coin())
    p.residents = {random_resident(p.m, p.k, random), random_resident(p.k, p.n, random),
                   random_resident(p.m, p.n, random)};
  p.tiling.overwrite = may_overwrite(p.m, p.n, p.tiling.tile, p.residents) && random.coin();
  p.residents.c.in_place = p.residents.c.whole && random.coin();
  if (p.residents.c.in_place) p.residents.c.missing.clear();
  const index least = p.k / p.tiling.tile << levels.size();  // of k, for one element of a leaf each
  if (may_have_head(p.tiling, p.residents, p.reads_c, Part::whole) && p.k > least && random.coin())
    p.tiling.head = random.up_to(static_cast<std::size_t>(p.k - least));
  p.tiling.surveyed = random.coin();
  p.tiling.two_streams = random.coin();
  p.tiling.at_all_levels = random.coin();
  p.piece = static_cast<std::size_t>(random.up_to(3 * p.tiling.tile));
  return p;
}

/// Each level alone, on itself, and mixtures.
std::vector<Levels> chains() {
  std::vector<Levels> all;
  for (const Level* level : strassen::levels()) {
    all.push_back({level});
    all.push_back({level, level});
    if (level->last) all.push_back(strassen::chain(*level, 2));
  }
  Random random(3);
  for (int i = 0; i < 10; ++i) {
    Levels mixture;
    bool destroys = false;  // none that does stands above one with a basis of its own
    while (mixture.size() < 3) {
      const Level* level = strassen::levels()[random.below(strassen::levels().size())];
      if (destroys && level->basis.changes()) continue;
      destroys |= level->destroys_inputs;
      mixture.push_back(level);
    }
    all.push_back(mixture);
  }
  return all;
}

TEST(Tiling, EveryLevelComputesTheProductInEveryOrderThatDependAllows) {
  Random random(1);
  std::map<std::string, int> times;
  for (const Levels& levels : chains())
    for (int time = 0; time < 24; ++time) {
      const Problem p = random_problem(random, levels, levels.size() > 2 ? 1 : random.up_to(2));
      SCOPED_TRACE(text(p));
      const GemmSchedule s = p.plan();
      ASSERT_EQ(verdict(s), "");
      const auto after = depend(s);
      for (int draw = 0; draw < 3; ++draw) ASSERT_EQ(verdict(s, random_order(s, after, random)), "");
      times["overwrites"] += p.tiling.overwrite;
      times["two streams"] +=
          std::any_of(s.steps.begin(), s.steps.end(), [](const Step& step) { return step.stream != 0; });
      times["in place"] += p.residents.c.in_place;
      times["C read, in place, surveyed"] += p.residents.c.in_place && p.reads_c && p.tiling.surveyed;
      times["C read, brought back, surveyed"] += !p.residents.c.in_place && p.reads_c && p.tiling.surveyed;
      if (p.tiling.head == 0) {
        ASSERT_EQ(s.first_if_sound < s.steps.size(), p.tiling.surveyed && (p.reads_c || !p.residents.c.in_place));
      } else if (!p.residents.c.in_place) {
        ASSERT_EQ(s.first_if_sound < s.steps.size(), p.tiling.surveyed);
      }
      if (s.first_if_sound < s.steps.size())  // nothing of the program's is written before
        for (std::size_t i = 0; i < s.first_if_sound; ++i) {
          ASSERT_NE(s.steps[i].kind, StepKind::download);
          if (p.residents.c.in_place && p.reads_c) {
            ASSERT_TRUE(s.steps[i].kind <= StepKind::upload_b || s.steps[i].kind >= StepKind::begin);
          }
        }
      times["overwrites beside strips"] += p.tiling.overwrite && (p.m > p.tiling.tile || p.n > p.tiling.tile);
      times["chains of products"] += p.k >= 2 * p.tiling.tile;
      times["chains of products, C read"] += p.k >= 2 * p.tiling.tile && p.reads_c;
      const std::vector<bool> stays = staying(s);
      for (std::size_t i = 0; i < s.steps.size(); ++i)
        if (s.steps[i].kind <= StepKind::upload_b) ++times[stays[i] ? "uploads that stay" : "uploads that do not"];
      times["tiles"] += p.m >= 2 * p.tiling.tile && p.n >= 2 * p.tiling.tile;
      times["resident with parts missing"] += !p.residents.a.missing.empty() || !p.residents.b.missing.empty();
      times["strips of k"] += p.k % p.tiling.tile != 0;
      times["with a head"] += p.tiling.head > 0;
      times["with a head and rectangles"] +=
          p.tiling.head > 0 && (p.k - p.tiling.head) / (p.k / p.tiling.tile) < p.tiling.tile;
      times["with a head and strips"] += p.tiling.head > 0 && (p.m > p.tiling.tile || p.n > p.tiling.tile);
    }
  EXPECT_EQ(times.size(), 16u);
  for (const auto& [what, count] : times) EXPECT_GT(count, 8) << what;
}

TEST(Tiling, InWhateverRoomThereIsItIsTheProduct) {
  Random random(5);
  std::map<std::string, int> times;
  for (const Levels& levels : chains())
    for (int time = 0; time < 20; ++time) {
      Problem p = random_problem(random, levels, 1);
      p.tiling.overwrite = false;
      const index least = p.k / p.tiling.tile << levels.size();
      p.tiling.head = p.k > least ? random.up_to(static_cast<std::size_t>(p.k - least)) : 0;
      if (random.coin()) p.m = p.n = p.tiling.tile;
      if (random.coin()) p.residents = {};
      const auto plan = [&](std::size_t room) {
        return plan_levels_in(room, p.m, p.n, p.k, p.transposed_a, p.transposed_b, p.reads_c, element, p.tiling,
                              p.residents, p.piece * element);
      };
      const std::size_t most = 2 * plan(SIZE_MAX).bytes(element);
      std::size_t before = SIZE_MAX;
      for (int part = 8; part >= 0; --part) {
        const GemmSchedule s = plan(most / 8 * static_cast<std::size_t>(part));
        ASSERT_EQ(verdict(s), "") << text(p) << ", room " << part << "/8";
        times["smaller"] += s.bytes(element) < before && before != SIZE_MAX;
        before = s.bytes(element);
      }
    }
  EXPECT_GT(times["smaller"], 100);
}

TEST(Tiling, WithoutLevelsIsTheClassicalProductInTiles) {
  Random random(2);
  for (int time = 0; time < 30; ++time) {
    const Problem p = random_problem(random, {}, random.up_to(5));
    const GemmSchedule s = p.plan();
    ASSERT_EQ(verdict(s), "") << text(p);
  }
}

// ---- what a naive RUM would corrupt

/// With inputs overwritten where they may not be.
std::string naive(Problem p) {
  EXPECT_EQ(verdict(p.plan()), "");
  p.tiling.overwrite = true;
  return verdict(p.plan());
}

TEST(Tiling, ATileThatServesTwiceMustNotBeOverwritten) {
  for (const Level* level : {&strassen::rum(), &strassen::absorbed(), &strassen::fused()}) {
    const Tiling tiling{{level}, 4};
    EXPECT_FALSE(may_overwrite(4, 8, 4, {}));
    EXPECT_NE(naive({.m = 4, .n = 8, .k = 4, .tiling = tiling}), "") << level->name;  // A's tile for both of C's
    EXPECT_FALSE(may_overwrite(8, 4, 4, {}));
    EXPECT_NE(naive({.m = 8, .n = 4, .k = 4, .tiling = tiling}), "") << level->name;
    EXPECT_TRUE(may_overwrite(4, 4, 4, {}));
    EXPECT_EQ(naive({.m = 4, .n = 4, .k = 12, .tiling = tiling}), "") << level->name;  // each serves once
  }
}

TEST(Tiling, AStripReadsTheInteriorBeforeItIsOverwritten) {
  // As planned; and with the core first, which would destroy what the strips read.
  for (const Level* level : {&strassen::rum(), &strassen::absorbed(), &strassen::fused()}) {
    Problem p{.m = 5, .n = 6, .k = 4, .tiling = {{level}, 4, true}};
    ASSERT_TRUE(may_overwrite(p.m, p.n, 4, {}));
    GemmSchedule s = p.plan();
    ASSERT_EQ(verdict(s), "");
    std::stable_partition(s.steps.begin(), s.steps.end(),
                          [](const Step& step) { return step.kind < StepKind::multiply; });
    ASSERT_EQ(verdict(s), "");
    std::stable_partition(s.steps.begin(), s.steps.end(), [](const Step& step) {
      return step.kind < StepKind::multiply || step.kind == StepKind::leaf || step.kind == StepKind::pass;
    });
    EXPECT_NE(verdict(s), "") << level->name;
  }
}

TEST(Tiling, ARectangleAsOneTileWouldOverflow) {
  // The blocks of a level are of one size: the same steps on the quarters of 6 x 4 x 4 do not fit each other.
  Problem square{.m = 4, .n = 4, .k = 4, .tiling = {{&strassen::rum()}, 4, true}};
  square.tiling.surveyed = false;
  GemmSchedule s = square.plan();
  ASSERT_EQ(verdict(s), "");
  auto stretch = [](Region& r) {
    if (r.area == area_b) return;
    r.block.row = r.block.row / 2 * 3;
    r.block.rows = 3;
  };
  s.m = 6;
  s.cut.mb = 6;
  for (Step& step : s.steps)
    if (step.kind != StepKind::upload_b)
      step.block.rows = step.block.rows * 3 / 2, step.block.row = step.block.row * 3 / 2;
  for (Leaf& leaf : s.leaves) stretch(leaf.target), stretch(leaf.x), stretch(leaf.y);
  for (Pass& pass : s.passes) {
    for (auto& source : pass.sources) stretch(source.region);
    for (auto& target : pass.targets) stretch(target.region);
  }
  EXPECT_EQ(verdict(s), "regions of several sizes");
}

TEST(Tiling, LevelsThatDestroyWhatMustStayAreNotCounted) {
  const Levels once(1, &strassen::low_level()), twice(2, &strassen::low_level());
  const auto depth = [&](bool overwrite, const Levels& levels) {
    return Problem{.m = 8, .n = 8, .k = 8, .tiling = {levels, 8, overwrite}}.plan().depth;
  };
  EXPECT_EQ(depth(false, once), 0) << "a classical product";
  EXPECT_EQ(depth(false, twice), 0);
  EXPECT_EQ(depth(true, once), 1);
  EXPECT_EQ(depth(true, twice), 2) << "some operands below are nobody else's";
  for (const bool overwrite : {false, true}) EXPECT_EQ(depth(overwrite, Levels(2, &strassen::fused())), 2);
}

TEST(Tiling, OtsukasMethodKeepsOperandsByAnotherListAndSoGoesByAllLevels) {
  for (const Level* level : {&strassen::otsuka(), &strassen::otsuka_pairs()})
    for (const int levels : {1, 2, 3})
      for (const bool overwrite : {false, true}) {
        const Problem p{.m = 8, .n = 8, .k = 8, .tiling = {strassen::chain(*level, levels), 8, overwrite}};
        const GemmSchedule s = p.plan();
        EXPECT_EQ(verdict(s), "") << text(p);
        EXPECT_EQ(s.depth, levels) << text(p);
        EXPECT_EQ(s.leaves.size(), static_cast<std::size_t>(std::pow(7, levels))) << text(p);
      }
}

TEST(Tiling, StreamsAtAllLevelsAreThoseThatTheListSays) {
  const auto streams = [](const Level& level, int levels, bool all) {
    Problem p{.m = 8, .n = 8, .k = 8, .tiling = {strassen::chain(level, levels), 8, true}};
    p.tiling.two_streams = true;
    p.tiling.at_all_levels = all;
    std::string text;
    for (const Step& step : p.plan().steps)
      if (step.kind == StepKind::leaf) text += step.stream == 0 ? '1' : '2';
    return text;
  };
  // RUM's products are in the streams 2 1 2 2 1 2 1.
  const std::string inside = "2122121";
  std::string outermost, all;
  for (const char stream : inside) outermost += std::string(7, stream), all += inside;
  EXPECT_EQ(streams(strassen::rum(), 2, false), outermost);
  EXPECT_EQ(streams(strassen::rum(), 2, true), all);
  // Three pairs and one alone; the high level above says nothing, and two of its products are kept by Lai's list.
  const std::string pairs = "1212121", lai = "1111111", method = pairs + lai + lai + pairs + pairs + pairs + pairs;
  EXPECT_EQ(streams(strassen::otsuka_pairs(), 1, false), pairs);
  EXPECT_EQ(streams(strassen::otsuka_pairs(), 2, false), method);
  EXPECT_EQ(streams(strassen::otsuka_pairs(), 2, true), method);
}

// ---- memory

/// Beside A, B and C, in quarter blocks of the tile.
double scratch(const Problem& p) {
  double sum = 0;
  for (const Extent& area : p.plan().scratch) sum += static_cast<double>(area.rows * area.cols);
  return sum / (static_cast<double>(p.tiling.tile * p.tiling.tile) / 4);
}

TEST(Tiling, TakesNoMemoryBesideTheOperandsWhereTheseMayBeOverwritten) {
  for (const Level* level : {&strassen::rum(), &strassen::absorbed(), &strassen::fused()})
    for (std::size_t depth = 1; depth <= 4; ++depth) {
      const Levels levels(depth, level);
      const index tile = index{16};
      Problem p{.m = tile, .n = tile, .k = tile, .tiling = {levels, tile, true}};
      EXPECT_EQ(scratch(p), 0) << level->name;  // 12 in all
      p.k = 3 * tile, p.m = tile + 5;
      EXPECT_EQ(scratch(p), 4) << level->name;  // the second tile of C
      p.reads_c = true, p.k = tile;
      EXPECT_EQ(scratch(p), 4) << level->name;
      p = {.m = tile, .n = tile, .k = tile, .tiling = {levels, tile}};
      EXPECT_EQ(scratch(p), 4) << level->name;  // 16 in all: a support matrix for all levels
      p = {.m = 2 * tile, .n = tile, .k = tile, .tiling = {levels, tile}};
      EXPECT_EQ(scratch(p), 4) << level->name;
      p.k = 2 * tile;
      EXPECT_EQ(scratch(p), 8) << level->name;
    }
  // As the thesis compares: 12, towards 14.67 and 21.33 (the limit of 12 + 2 and 12 + 7 quarters on ever smaller ones).
  const auto beside = [](const Level& level, std::size_t depth) {
    return scratch({.m = 64, .n = 64, .k = 64, .tiling = {Levels(depth, &level), 64, true}});
  };
  EXPECT_DOUBLE_EQ(beside(strassen::lai(), 1), 2);
  EXPECT_DOUBLE_EQ(beside(strassen::lai(), 4), 2 * (1 + 1 / 4. + 1 / 16. + 1 / 64.));
  EXPECT_NEAR(beside(strassen::lai(), 6), 2.67, 0.01);
  EXPECT_NEAR(beside(strassen::high_level(), 6), 9.33, 0.01);
}

/// By so many levels of a list, A, B and C included.
double quarter_blocks(const Level& level, int levels, bool overwrite = true) {
  return 12 + scratch({.m = 64, .n = 64, .k = 64, .tiling = {strassen::chain(level, levels), 64, overwrite}});
}

TEST(Tiling, MemoryOfEveryListIsThatOfThePage) {
  // docs/developer/levels.md has this table.
  using namespace strassen;
  const struct {
    std::vector<const Level*> lists;
    double on_private_copies[4];  ///< by levels
    double kept;                  ///< four levels, A and B to be kept
  } rows[] = {
      {{&classical(), &rum(), &absorbed(), &fused()}, {12, 12, 12, 12}, 16},
      {{&low_level(), &parallel(), &pairs()}, {12, 12, 12, 12}, 12},
      {{&alternative()}, {12, 12, 12.1875, 12.234375}, 20.234375},
      {{&lai()}, {14, 14.5, 14.625, 14.65625}, 14.65625},
      {{&original()}, {15, 15.75, 15.9375, 15.984375}, 15.984375},
      {{&otsuka(), &otsuka_pairs()}, {12, 19.5, 20.875, 21.21875}, 21.21875},
      {{&high_level()}, {19, 20.75, 21.1875, 21.296875}, 21.296875},
      {{&winograd15()}, {27, 30.75, 31.6875, 31.921875}, 31.921875},
      {{&winograd()}, {30, 34.5, 35.625, 35.90625}, 35.90625},
  };
  std::size_t lists = 0;
  for (const auto& row : rows)
    for (const Level* level : row.lists) {
      ++lists;
      for (int levels = 1; levels <= 4; ++levels)
        EXPECT_EQ(quarter_blocks(*level, levels), row.on_private_copies[levels - 1]) << level->name << levels;
      EXPECT_EQ(quarter_blocks(*level, 4, false), row.kept) << level->name;
    }
  EXPECT_EQ(lists, strassen::levels().size());
}

TEST(Tiling, MemoryIsTheThesis) {
  // Tables 3.9 to 3.11.  The one for 2,048 says most: in MiB, a quarter block being 8, beside 8.125 for whatever else
  // there was.
  const auto printed = [](double mebibytes) { return (mebibytes - 8.125) / 8; };
  constexpr double last_digit = 0.005 / 8 * 1.01;
  constexpr double of_rum = 104.13, of_otsuka[] = {104.13, 160.13, 174.13, 177.63},
                   of_lai[] = {120.13, 124.13, 125.13, 125.38};
  for (int levels = 1; levels <= 4; ++levels) {
    SCOPED_TRACE(levels);
    EXPECT_NEAR(quarter_blocks(strassen::rum(), levels), printed(of_rum), last_digit);
    EXPECT_NEAR(quarter_blocks(strassen::lai(), levels), printed(of_lai[levels - 1]), last_digit);
    // The two products that LowLevel must not compute take Lai's two temporaries, in the last level.
    const double to_keep = levels > 1 ? 2 / std::pow(4, levels - 1) : 0;
    for (const Level* level : {&strassen::otsuka(), &strassen::otsuka_pairs()})
      EXPECT_NEAR(quarter_blocks(*level, levels) - to_keep, printed(of_otsuka[levels - 1]), last_digit);
  }
}

TEST(Tiling, PrivateCopiesGoByAllLevelsThatAreEstimatedToPayAsFarAsAandBandCFit) {
  // Host to host on an H100 of 80 GB: of FP64, a support matrix would fit up to 46,100.
  constexpr double most = 0.8 * 85e9;
  const Profile profile = built_in_profile("sm_90");
  const auto estimator = make_estimator(profile, Precision::d);
  ASSERT_TRUE(estimator);
  Facts facts{DeviceState::ready, &profile, 1e11, 1, 0, false, false};
  facts.estimator = &*estimator;
  const Policy policy{
      .on = true, .measuring = false, .forced = false, .fixed = false, .products = Products::levels, .levels = -1};
  for (const index n : {40000, 46000, 46200, 48001, 50000, 52000, 53100}) {
    SCOPED_TRACE(n);
    const Decision d =
        decide(counted({.routine = Routine::dgemm, .element = Element::d, .m = n, .n = n, .k = n, .beta_zero = true}),
               facts, policy);
    EXPECT_GE(d.levels, 3);
    Tiling tiling{strassen::chain(strassen::fused(), d.levels), d.tile};
    tiling.head = d.head;
    const GemmSchedule s = plan_levels_in(static_cast<std::size_t>(most), n, n, n, false, false, false, element, tiling,
                                          {}, std::size_t{1} << 26);
    EXPECT_LE(static_cast<double>(s.bytes(element)), most);
    EXPECT_EQ(s.depth, d.levels);
    EXPECT_EQ(s.scratch.empty(), n > 46100);
  }
}

TEST(Tiling, PaddingIsPredictedToSaveLittleBesideStrips) {
  // docs/developer/levels.md has these bounds.  Padded is to the next square without strips, of the best level.
  const Profile profile = built_in_profile("sm_90");
  double least = 1, most = 1, least_copied = 2, most_copied = 0;
  for (const Precision precision : {Precision::d, Precision::s}) {
    const auto estimator = make_estimator(profile, precision);
    ASSERT_TRUE(estimator);
    for (const index n : {7001, 8191, 8193, 10001, 12287, 16383, 16385, 20001, 24575, 32767, 32769, 40001}) {
      const double strips = estimator->estimate({n, n, n}).seconds;
      double padded = HUGE_VAL;
      for (int level = 1; level <= 4; ++level) {
        const index unit = index{16} << level, edge = (n + unit - 1) / unit * unit;
        padded = std::min(padded, estimator->seconds({edge, edge, edge}, level, edge));
      }
      least = std::min(least, padded / strips);
      most = std::max(most, padded / strips);
      // A and B into larger squares, C out of one: each is read and written.
      const double copies =
          6.0 * static_cast<double>(n * n) * static_cast<double>(element_size(precision)) / profile.pass_rate;
      least_copied = std::min(least_copied, (padded + copies) / strips);
      most_copied = std::max(most_copied, (padded + copies) / strips);
    }
  }
  EXPECT_GT(least, 0.965);
  EXPECT_LT(most, 1.02);
  EXPECT_GT(least_copied, 0.99);
  EXPECT_LT(most_copied, 1.035);
}

TEST(Tiling, AlternativeBasesTakeCopiesOfInputsThatAreToBeKeptAndNoSupportMatrix) {
  constexpr index n = 64;
  const Tiling kept{.levels = strassen::chain(strassen::alternative(), 4), .tile = n};
  Tiling overwritten = kept;
  overwritten.overwrite = true;
  const auto scratch = [](const Tiling& tiling) {
    std::map<index, int> squares;
    for (const auto& area : plan_levels(n, n, n, false, true, false, 8, tiling, {}, 1 << 20).scratch) {
      EXPECT_EQ(area.rows, area.cols);
      ++squares[area.rows];
    }
    return squares;
  };
  // Three temporaries of the third level, and of the fourth.
  EXPECT_EQ(scratch(overwritten), (std::map<index, int>{{n / 8, 3}, {n / 16, 3}}));
  EXPECT_EQ(scratch(kept), (std::map<index, int>{{n, 2}, {n / 8, 3}, {n / 16, 3}}));
}

TEST(Tiling, SaysHowMuchMemoryItNeeds) {
  const Problem p{.m = 20, .n = 17, .k = 18, .tiling = {{&strassen::fused()}, 16}};
  const GemmSchedule s = p.plan();
  ASSERT_EQ(s.scratch.size(), 1u);
  // The fourth: numbers for each row and column of A and B, for those across k in both halves of it.
  EXPECT_EQ(s.bytes(element),
            s.cut.bytes(element) + leased_bytes(16, 16, element) + leased_bytes(2 * 20 + 2 * 18 + 2 * 17, 1, element));
}

// ---- transfers

TEST(Tiling, UploadsWhatIsMissingOnceAndWhenItIsFirstNeeded) {
  Random random(4);
  for (const Levels& levels : chains())
    for (int time = 0; time < 4; ++time) {
      const Problem p = random_problem(random, levels, 1);
      SCOPED_TRACE(text(p));
      const GemmSchedule s = p.plan();
      const Resident* residents[] = {&p.residents.a, &p.residents.b, &p.residents.c};
      const index rows[] = {p.m, p.k, p.m}, cols[] = {p.k, p.n, p.n};
      for (const Area x : {area_a, area_b, area_c}) {
        std::vector<int> due(static_cast<std::size_t>(rows[x] * cols[x]), !residents[x]->whole);
        auto each = [&](const Block& b, auto visit) {
          for (index j = b.col; j < b.col + b.cols; ++j)
            for (index i = b.row; i < b.row + b.rows; ++i) visit(due.at(static_cast<std::size_t>(i + j * rows[x])));
        };
        for (const Block& b : residents[x]->missing) each(b, [](int& d) { d = 1; });
        if (x == area_c && !p.reads_c) std::fill(due.begin(), due.end(), 0);
        for (const Step& step : s.steps)
          if (static_cast<int>(step.kind) == x) each(step.block, [](int& d) { --d; });
        ASSERT_TRUE(std::all_of(due.begin(), due.end(), [](int d) { return d == 0; })) << "ABC"[x];
      }
      if (p.residents.c.in_place && s.first_if_sound < s.steps.size()) continue;  // all of A and B is surveyed first
      const auto after = depend(s);
      for (std::size_t i = 0; i < s.steps.size(); ++i) {  // nothing that only later steps need
        if (s.steps[i].kind > StepKind::upload_c) continue;
        std::size_t next = i;
        while (s.steps[next].kind <= StepKind::upload_c || s.steps[next].kind == StepKind::survey) ++next;
        const auto& needs = after[next];
        ASSERT_TRUE(std::find(needs.begin(), needs.end(), static_cast<std::int32_t>(i)) != needs.end()) << i;
      }
    }
}

TEST(Tiling, BeginsWithALeafAndBringsBackWhatIsDone) {
  // The first product waits for a leaf of A and a leaf of B; of the fused level's four quarters the first three leave
  // before the last is there.  Also where C is read, which is needed as late as that: it is added by sixteenths.
  for (const bool reads_c : {false, true})
    for (const bool surveyed : {false, true}) {
      SCOPED_TRACE(testing::Message() << (reads_c ? "reads C" : "") << (surveyed ? ", surveyed" : ""));
      Problem p{.m = 16,
                .n = 16,
                .k = 16,
                .reads_c = reads_c,
                .tiling = {{&strassen::fused(), &strassen::fused()}, 16},
                .piece = 1000};
      p.tiling.surveyed = surveyed;
      const GemmSchedule s = p.plan();
      std::vector<Step> transfers_and_leaves;
      for (const Step& step : s.steps)
        if (step.kind <= StepKind::upload_c || step.kind == StepKind::leaf) transfers_and_leaves.push_back(step);
      ASSERT_GT(transfers_and_leaves.size(), 4u);
      EXPECT_EQ(transfers_and_leaves[0].kind, StepKind::upload_a);
      EXPECT_EQ(transfers_and_leaves[0].block, (Block{0, 0, 4, 4}));
      EXPECT_EQ(transfers_and_leaves[1].kind, StepKind::upload_b);
      EXPECT_EQ(transfers_and_leaves[1].block, (Block{0, 0, 4, 4}));
      EXPECT_EQ(transfers_and_leaves[2].kind, StepKind::leaf);
      index home = 0, there = 0;
      std::size_t leaves_left = 0;
      for (const Step& step : s.steps) leaves_left += step.kind == StepKind::leaf;
      for (const Step& step : s.steps) {
        leaves_left -= step.kind == StepKind::leaf;
        if (step.kind == StepKind::download) home += step.block.rows * step.block.cols;
        if (step.kind == StepKind::upload_c) there += step.block.rows * step.block.cols;
        EXPECT_LE(home, reads_c ? there : 16 * 16);
        if (leaves_left == 6) {  // of the last quarter's seven
          EXPECT_GE(home, 16 * 16 * 3 / 4);
          EXPECT_LE(there, 16 * 16 * 3 / 4);
        }
        if (leaves_left == 1) {
          EXPECT_LE(there, 16 * 16 * 15 / 16);
        }
      }
      EXPECT_EQ(home, 16 * 16);
      EXPECT_EQ(there, reads_c ? 16 * 16 : 0);
    }
}

// ---- mutations

TEST(Tiling, EveryStepIsNeededAndEverythingInItMatters) {
  Random random(5);
  std::map<std::string, int> caught, harmless;
  for (const bool overwrite : {false, true})
    for (const bool reads_c : {false, true})
      for (const Level* level : {&strassen::rum(), &strassen::absorbed(), &strassen::fused()}) {
        const Problem p{.m = 5,
                        .n = 4,
                        .k = 9,
                        .transposed_a = true,
                        .reads_c = reads_c,
                        .tiling = {{level}, 4, overwrite},
                        .piece = 4};
        const GemmSchedule s = p.plan();
        ASSERT_EQ(verdict(s), "");
        auto judge = [&](const std::string& kind, const GemmSchedule& mutant) {
          ++(verdict(mutant).empty() ? harmless : caught)[kind];
        };
        for (std::size_t i = 0; i < s.steps.size(); ++i) {
          GemmSchedule mutant = s;
          mutant.steps.erase(mutant.steps.begin() + static_cast<std::ptrdiff_t>(i));
          judge("step dropped", mutant);
        }
        for (std::size_t i = 0; i < s.leaves.size(); ++i) {
          auto changed = [&](const std::string& kind, auto change) {
            GemmSchedule mutant = s;
            change(mutant.leaves[i]);
            judge(kind, mutant);
          };
          changed("leaf's sign", [](Leaf& x) { x.negative = !x.negative; });
          changed("leaf's operands exchanged", [](Leaf& x) { std::swap(x.x, x.y); });
          changed("leaf's e dropped or invented", [](Leaf& x) {
            if (!x.adds) x.e = {area_c, {0, 0, 0, 0}};
            x.adds = !x.adds;
          });
          if (s.leaves[i].adds && reads_c) changed("leaf's beta", [](Leaf& x) { x.scaled = !x.scaled; });
          changed("leaf's operand elsewhere", [](Leaf& x) { x.x.block.row ^= 2; });
          changed("leaf's target elsewhere", [](Leaf& x) { x.target.block.col ^= 2; });
        }
        for (std::size_t i = 0; i < s.passes.size(); ++i)
          for (std::size_t t = 0; t < s.passes[i].targets.size(); ++t)
            for (std::size_t k = 0; k < s.passes[i].sources.size(); ++k) {
              GemmSchedule mutant = s;
              signed char& sign = mutant.passes[i].targets[t].sign[k];
              sign = static_cast<signed char>(sign == 0 ? 1 : sign == 1 ? -1 : 0);
              judge("pass's sign", mutant);
            }
      }
  for (const auto& [kind, count] : harmless) EXPECT_EQ(count, 0) << kind;
  EXPECT_EQ(caught.size(), 8u);
  for (const auto& [kind, count] : caught) EXPECT_GT(count, 10) << kind;
}

TEST(Tiling, AListThatDependLeavesOutIsNoticed) {
  Random random(6);
  int noticed = 0, dropped = 0;
  const GemmSchedule s = Problem{.m = 5, .n = 4, .k = 8, .reads_c = true, .tiling = {{&strassen::fused()}, 4}}.plan();
  const auto after = depend(s);
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i].empty()) continue;
    auto mutant = after;
    mutant[i].clear();
    ++dropped;
    for (int draw = 0; draw < 60; ++draw)
      if (!verdict(s, random_order(s, mutant, random)).empty()) {
        ++noticed;
        break;
      }
  }
  EXPECT_GT(dropped, 30);
  EXPECT_GT(noticed, dropped * 9 / 10) << "of " << dropped;
}

TEST(Tiling, PlansAndDependsInLittleTime) {
  // Four levels: some five thousand steps.
  const auto start = std::chrono::steady_clock::now();
  const GemmSchedule s =
      Problem{.m = 32768, .n = 32768, .k = 32768, .tiling = {Levels(4, &strassen::fused()), 32768}, .piece = 1 << 19}
          .plan();
  const auto planned = std::chrono::steady_clock::now();
  const auto after = depend(s);
  const auto done = std::chrono::steady_clock::now();
  EXPECT_EQ(s.leaves.size(), 2401u);
  const std::chrono::duration<double> plan = planned - start, lists = done - planned;
  RecordProperty("plan_ms", static_cast<int>(1e3 * plan.count()));
  RecordProperty("depend_ms", static_cast<int>(1e3 * lists.count()));
  std::printf("%zu steps, plan %.1f ms, depend %.1f ms\n", s.steps.size(), 1e3 * plan.count(), 1e3 * lists.count());
  EXPECT_LT(plan.count() + lists.count(), 5);  // sanitizers are slow
}

}  // namespace
}  // namespace blaslift::tiling_tests
