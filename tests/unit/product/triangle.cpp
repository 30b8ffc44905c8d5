// Schedules of one triangle (syrk, herk; gemmt; syr2k, her2k): that plans, with and without levels, compute it in every
// order that depend() allows, move A and B once and of C the triangle alone, and that check() lets nothing else pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "impl/product/product_family.hpp"
#include "impl/product/tiling.hpp"
#include "impl/route/decision.hpp"
#include "tests/unit/support/interpreter.hpp"
#include "tests/unit/support/random.hpp"

namespace blaslift::triangle_tests {
namespace {

constexpr index primes[] = {1, 2, 3, 7, 13, 23, 31};
constexpr std::size_t plenty = std::size_t{1} << 40;

Part random_part(Random& random) { return random.coin() ? Part::upper : Part::lower; }

constexpr Update updates[] = {Update::rank_k, Update::product, Update::rank_2k};

Residents random_residents(index n, index k, Random& random) {
  Residents r;
  if (random.coin()) r.a = {true, random_blocks(n, k, random)};
  if (random.coin()) r.b = {true, random_blocks(k, n, random)};
  if (random.coin()) r.c = {true, random_blocks(n, n, random)};
  r.c.in_place = r.c.whole && random.coin();
  if (r.c.in_place) r.c.missing.clear();
  return r;
}

std::string text(const GemmSchedule& s) { return to_string(s); }

/// Elements that steps of a kind move.
double moved(const GemmSchedule& s, StepKind kind) {
  double sum = 0;
  for (const Step& step : s.steps)
    if (step.kind == kind) sum += elements_in(kind <= StepKind::upload_b ? Part::whole : s.cut.part, step.block);
  return sum;
}

TEST(Triangle, RandomOnesInRandomMemoriesAreComputedInEveryOrderThatDependAllows) {
  Random random(21);
  std::map<std::string, int> times;
  for (int time = 0; time < 6000; ++time) {
    const Update update = updates[time % 3];
    const index n = primes[random.below(std::size(primes))], k = primes[random.below(std::size(primes))];
    constexpr std::size_t element = 8;
    const std::size_t memory = 767 + element * static_cast<std::size_t>(random.up_to(2500)),
                      piece = element * static_cast<std::size_t>(random.up_to(200));
    const index panel = random.coin() ? 3 : 16;
    const bool reads_c = random.coin();
    const Part part = random_part(random);
    const Residents residents = time / 3 % 2 == 0 ? Residents{} : random_residents(n, k, random);
    Cut cut{};
    ASSERT_TRUE(cut_to_fit(n, n, k, element, memory, residents, cut, part, update));
    ASSERT_LE(cut.bytes(element), memory);
    ASSERT_EQ(cut.part, part);
    ASSERT_EQ(cut.update, update);
    if (time / 6 % 3 == 0) cut.operands = 2, cut.results = 2;
    const GemmSchedule s = plan_gemm(n, n, k, reads_c, element, cut, residents, piece, panel, k / 2);
    ASSERT_EQ(check(s), "") << text(s);
    ASSERT_EQ(verdict(s), "") << text(s);
    const auto after = depend(s);
    for (int draw = 0; draw < 2; ++draw) ASSERT_EQ(verdict(s, random_order(s, after, random)), "") << text(s);
    const bool one_block = cut.mb == n;
    const double triangle = static_cast<double>(n * (n + 1) / 2);
    ASSERT_EQ(moved(s, StepKind::download), residents.c.in_place ? 0 : triangle);
    if (!residents.c.whole) {
      ASSERT_EQ(moved(s, StepKind::upload_c), reads_c ? triangle : 0);
    }
    if (one_block && !residents.a.whole) {
      ASSERT_EQ(moved(s, StepKind::upload_a), static_cast<double>(n * k));
    }
    if (one_block && (!cut.own_b() || !residents.b.whole)) {
      ASSERT_EQ(moved(s, StepKind::upload_b), cut.own_b() ? static_cast<double>(n * k) : 0) << text(s);
    }
    for (const Step& step : s.steps) {
      if (step.kind == StepKind::download) {
        ASSERT_LE(static_cast<std::size_t>(step.block.rows * step.block.cols) * element, piece);
      }
    }
    const std::string of = " of " + std::to_string(static_cast<int>(update));
    times["one block" + of] += one_block && cut.kb == k;
    times["several blocks" + of] += !one_block;
    times["several blocks, A there" + of] += !one_block && residents.a.whole;
    times["in place" + of] += residents.c.in_place;
    times["B streams" + of] += moved(s, StepKind::upload_b) > 0;
    times["panels" + of] += one_block && n > panel && !residents.a.whole;
  }
  EXPECT_EQ(times.size(), 18u);
  for (const auto& [what, count] : times) EXPECT_GT(count, 10) << what;
}

/// In one block, with a buffer for C.  Each row and column is split once, before or when it is first multiplied.
TEST(Triangle, ByResiduesIsComputedInEveryOrderThatDependAllows) {
  Random random(22);
  for (int time = 0; time < 1000; ++time) {
    const index n = primes[random.below(std::size(primes))], k = primes[random.below(std::size(primes))];
    const auto precision = static_cast<Precision>(time % 4);
    const std::size_t element = element_size(precision);
    Residents residents = random_residents(n, k, random);
    residents.c = {};
    const Update update = time / 4 % 2 ? Update::product : Update::rank_k;
    const Cut cut{.mb = n,
                  .nb = n,
                  .kb = k,
                  .whole_a = residents.a.whole,
                  .whole_b = update == Update::rank_k || residents.b.whole,
                  .part = random_part(random),
                  .update = update};
    const GemmSchedule s = plan_by_residues(n, n, k, random.coin(), precision, cut, residents,
                                            element * static_cast<std::size_t>(random.up_to(200)), 5);
    ASSERT_EQ(check(s), "") << text(s);
    const auto after = depend(s);
    for (int draw = 0; draw < 2; ++draw) ASSERT_EQ(verdict(s, random_order(s, after, random)), "") << text(s);
    std::vector<int> rows(static_cast<std::size_t>(n)), cols(static_cast<std::size_t>(n));
    int products = 0;
    for (const Step& step : s.steps) {
      if (step.kind != StepKind::multiply) continue;
      ++products;
      for (index i = step.block.row; i < step.block.row + step.block.rows; ++i)
        ASSERT_EQ(rows[static_cast<std::size_t>(i)] += step.makes_a, 1) << text(s);
      for (index j = step.block.col; j < step.block.col + step.block.cols; ++j)
        ASSERT_EQ(cols[static_cast<std::size_t>(j)] += step.makes_b, 1) << text(s);
    }
    ASSERT_EQ(products, 2 * ((n + 4) / 5) - 1) << text(s);
    ASSERT_EQ(moved(s, StepKind::download), static_cast<double>(n * (n + 1) / 2));
  }
}

TEST(Triangle, IsCutIntoChunksOfKFirst) {
  Cut cut{};
  // Room for C and half of A.
  ASSERT_TRUE(cut_to_fit(2000, 2000, 4000, 8, (2000 * 2000 + 2000 * 2100) * 8, {}, cut, Part::lower));
  EXPECT_EQ(cut.mb, 2000);
  EXPECT_EQ(cut.nb, 2000);
  EXPECT_LE(cut.kb, 2000);
  EXPECT_TRUE(cut.whole_b);
  const GemmSchedule s = plan_gemm(2000, 2000, 4000, true, 8, cut, {}, 1 << 20);
  EXPECT_EQ(check(s), "");
  EXPECT_EQ(moved(s, StepKind::upload_a), 2000.0 * 4000);
  // None for half of C.
  ASSERT_TRUE(cut_to_fit(2000, 2000, 4000, 8, 1000 * 2000 * 8, {}, cut, Part::upper));
  EXPECT_LT(cut.mb, 2000);
  EXPECT_EQ(cut.mb, cut.nb);
  EXPECT_FALSE(cut.whole_b);
  EXPECT_EQ(check(plan_gemm(2000, 2000, 4000, true, 8, cut, {}, 1 << 20)), "");
  const index huge = index{1} << 40;
  ASSERT_TRUE(cut_to_fit(huge, huge, huge, 16, std::size_t{1} << 36, {}, cut, Part::upper));
  EXPECT_LE(cut.bytes(16), std::size_t{1} << 36);
  EXPECT_FALSE(cut_to_fit(1, 1, 1, 4, 0, {}, cut, Part::upper));
}

TEST(Triangle, SaysWhatItIs) {
  Cut cut{};
  ASSERT_TRUE(cut_to_fit(7, 7, 5, 8, plenty, {}, cut, Part::lower));
  const std::string said = to_string(plan_gemm(7, 7, 5, false, 8, cut, {}, 1 << 20, 4));
  EXPECT_TRUE(said.starts_with("lower triangle n=7 k=5 ")) << said;
  EXPECT_EQ(said.find("upload B"), said.npos) << said;
}

TEST(Triangle, OfTwoMatricesIsCutIntoChunksOfKFirst) {
  for (const Update update : {Update::product, Update::rank_2k}) {
    Cut cut{};
    // Room for C and a quarter of A and B.
    ASSERT_TRUE(cut_to_fit(2000, 2000, 4000, 8, (2000 * 2000 + 2 * 2000 * 1100) * 8, {}, cut, Part::lower, update));
    EXPECT_EQ(cut.mb, 2000);
    EXPECT_LE(cut.kb, 1000);
    EXPECT_FALSE(cut.whole_b);
    const GemmSchedule s = plan_gemm(2000, 2000, 4000, true, 8, cut, {}, 1 << 20);
    EXPECT_EQ(check(s), "");
    EXPECT_EQ(moved(s, StepKind::upload_a), 2000.0 * 4000);
    EXPECT_EQ(moved(s, StepKind::upload_b), 2000.0 * 4000);
    const std::string said = text(s);
    EXPECT_TRUE(said.starts_with(update == Update::product ? "lower triangle of A B n=2000 k=4000"
                                                           : "lower triangle of A B + B A n=2000 k=4000"))
        << said;
    EXPECT_EQ(said.find("exchanged") != said.npos, update == Update::rank_2k);
  }
}

TEST(Triangle, CheckPassesNothingThatIsWrong) {
  Random random(5);
  std::map<std::string, int> caught;
  for (const Update update : updates)
    for (const Part part : {Part::upper, Part::lower})
      for (const bool reads_c : {false, true})
        for (const index block : {7, 3})
          for (const bool resident : {false, true}) {
            Cut cut{.mb = block, .nb = block, .kb = 2, .whole_a = resident, .part = part, .update = update};
            cut.whole_b = !cut.own_b() && (resident || block == 7);
            Residents residents;
            if (resident) residents.a = {true, {{0, 0, 3, 4}}};
            const GemmSchedule s = plan_gemm(7, 7, 5, reads_c, 8, cut, residents, 8 * 5, 3);
            ASSERT_EQ(check(s), "") << text(s);
            for (std::size_t at = 0; at < s.steps.size(); ++at) {
              const auto judge = [&](const std::string& kind, auto change) {
                GemmSchedule mutant = s;
                change(mutant.steps, mutant.steps[at]);
                if (!check(mutant).empty())
                  ++caught[kind];
                else
                  ASSERT_EQ(verdict(mutant), "") << kind << ", step " << at << '\n' << text(s);
              };
              using Steps = std::vector<Step>;
              judge("drop", [at](Steps& all, Step&) { all.erase(all.begin() + static_cast<std::ptrdiff_t>(at)); });
              judge("swap", [at](Steps& all, Step& x) {
                if (at + 1 < all.size()) std::swap(x, all[at + 1]);
              });
              judge("other triangle", [](Steps&, Step& x) { std::swap(x.block.row, x.block.col); });
              for (const index by : {-1, 1}) {
                judge("row", [by](Steps&, Step& x) { x.block.row += by; });
                judge("column", [by](Steps&, Step& x) { x.block.col += by; });
                judge("rows", [by](Steps&, Step& x) { x.block.rows += by; });
                judge("columns", [by](Steps&, Step& x) { x.block.cols += by; });
                judge("k0", [by](Steps&, Step& x) { x.k0 += x.kind == StepKind::multiply ? by : 0; });
                judge("kb", [by](Steps&, Step& x) { x.kb += x.kind == StepKind::multiply ? by : 0; });
              }
              judge("exchanged", [](Steps&, Step& x) { x.exchanged = x.exchanged != (x.kind == StepKind::multiply); });
              judge("first", [](Steps&, Step& x) { x.first = x.first != (x.kind == StepKind::multiply); });
            }
          }
  EXPECT_EQ(caught.size(), 11u);
  for (const auto& [kind, times] : caught) EXPECT_GT(times, 30) << kind;
}

TEST(Triangle, ByLevelsIsComputedInEveryOrderThatDependAllows) {
  Random random(9);
  std::map<std::string, int> times;
  for (const strassen::Level* level : {&strassen::fused(), &strassen::rum(), &strassen::parallel()})
    for (int time = 0; time < 120; ++time) {
      const Update update = time % 2 ? Update::product : Update::rank_k;
      const std::vector<const strassen::Level*> levels(1 + random.below(2), level);
      Tiling tiling{levels, random.up_to(2) << levels.size()};
      const index t = tiling.tile, n = 2 * t + random.below(2 * static_cast<std::size_t>(t) + 1),
                  k = t * random.up_to(3) + random.below(static_cast<std::size_t>(t));
      const Part part = random_part(random);
      const bool reads_c = random.coin(), transposed = random.coin(),
                 transposed_b = update == Update::product ? random.coin() : !transposed;
      tiling.surveyed = random.coin();
      tiling.two_streams = random.coin();
      const Residents residents = random.coin() ? Residents{} : random_residents(n, k, random);
      const GemmSchedule s =
          plan_levels(n, n, k, transposed, transposed_b, reads_c, 8, tiling, residents, 8 * 5, part, update);
      ASSERT_EQ(verdict(s), "") << text(s);
      const auto after = depend(s);
      for (int draw = 0; draw < 2; ++draw) ASSERT_EQ(verdict(s, random_order(s, after, random)), "") << text(s);
      ASSERT_FALSE(s.leaves.empty());
      if (!residents.a.whole) {
        ASSERT_EQ(moved(s, StepKind::upload_a), static_cast<double>(n * k));
      }
      if (update == Update::rank_k || !residents.b.whole) {
        ASSERT_EQ(moved(s, StepKind::upload_b), update == Update::rank_k ? 0 : static_cast<double>(n * k));
      }
      times["strips"] += n % t != 0;
      times["chains"] += k >= 2 * t;
      times["rest of k"] += k % t != 0;
      times["in place"] += residents.c.in_place;
      times["surveyed"] += tiling.surveyed && reads_c;
    }
  EXPECT_EQ(times.size(), 5u);
  for (const auto& [what, count] : times) EXPECT_GT(count, 15) << what;
}

Problem triangle(index n, index k, Routine routine = Routine::dsyrk, Update update = Update::rank_k) {
  return counted(
      {.routine = routine, .element = Element::d, .m = n, .n = n, .k = k, .part = Part::lower, .update = update});
}

TEST(Triangle, IsHalfOfAProductToTheDecision) {
  const Problem p = triangle(100, 30);
  EXPECT_EQ(p.flops, 100.0 * 101 * 30);
  EXPECT_EQ(p.bytes_out, 8 * 5050.0);
  EXPECT_EQ(p.bytes_in, 8 * (5050.0 + 3000.0));
  EXPECT_EQ(to_string(p), "dsyrk n=100 k=30");
  const Problem two = triangle(100, 30, Routine::dgemmt, Update::product);
  EXPECT_EQ(two.flops, p.flops);
  EXPECT_EQ(two.bytes_in, 8 * (5050.0 + 2 * 3000.0));
  EXPECT_EQ(two.volume, p.volume);
  const Problem twice = triangle(100, 30, Routine::dsyr2k, Update::rank_2k);
  EXPECT_EQ(twice.flops, 2 * p.flops);
  EXPECT_EQ(twice.bytes_in, two.bytes_in);
  EXPECT_EQ(twice.volume, 2 * p.volume);
  // The gate's bound, to either side.
  const Profile profile = built_in_profile("sm_90");
  const Facts facts{.device = DeviceState::ready,
                    .profile = &profile,
                    .cpu_rate = 1e9,
                    .slowdown = 1,
                    .missed_seconds = 0,
                    .forked = false,
                    .exiting = false};
  const Policy policy{.on = true, .measuring = false, .forced = false, .fixed = false};
  const auto k = static_cast<index>(2 * small_product / (512.0 * 512));
  EXPECT_EQ(decide(triangle(512, k - 1), facts, policy).reason, Reason::small);
  EXPECT_EQ(decide(triangle(512, k), facts, policy).reason, Reason::faster);
  EXPECT_EQ(triangle_volume(512, static_cast<double>(k)), triangle(512, k).volume);
}

TEST(Triangle, ByLevelsAsAskedForInTilesBesideTheDiagonal) {
  const Profile profile = built_in_profile("sm_90");
  const Facts facts{.device = DeviceState::ready,
                    .profile = &profile,
                    .cpu_rate = 1e9,
                    .slowdown = 1,
                    .missed_seconds = 0,
                    .forked = false,
                    .exiting = false};
  Policy policy{.on = true, .measuring = false, .forced = true, .fixed = false, .levels = 2};
  const Decision d = decide(triangle(1000, 700), facts, policy);
  EXPECT_EQ(d.levels, 2);
  EXPECT_EQ(d.tile, 500);
  EXPECT_EQ(d.head, 0);
  EXPECT_EQ(decide(triangle(1, 700), facts, policy).levels, 0);
  EXPECT_EQ(decide(triangle(1000, 700, Routine::dgemmt, Update::product), facts, policy).levels, 2);
  EXPECT_EQ(decide(triangle(1000, 700, Routine::dsyr2k, Update::rank_2k), facts, policy).levels, 0);
}

}  // namespace
}  // namespace blaslift::triangle_tests
