// Schedules: that plans compute the product in every order that depend() allows, and that check() lets nothing else
// pass.  What "computes the product" means is said by an interpreter of the tests' own.
#include "impl/product/product_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>

#include "tests/unit/support/interpreter.hpp"
#include "tests/unit/support/random.hpp"

namespace blaslift::product_plan_tests {
namespace {

bool same(const Step& x, const Step& y) {
  return x.kind == y.kind && x.block == y.block && x.k0 == y.k0 && x.kb == y.kb && x.first == y.first &&
         x.apart == y.apart && x.a == y.a && x.b == y.b && x.c == y.c && x.number == y.number;
}

Resident random_resident(index rows, index cols, Random& random) {
  if (random.coin()) return {};
  return {true, random_blocks(rows, cols, random)};
}

Residents random_residents(index m, index n, index k, Random& random) {
  Residents r{random_resident(m, k, random), random_resident(k, n, random), random_resident(m, n, random)};
  r.c.in_place = r.c.whole && random.coin();
  if (r.c.in_place) r.c.missing.clear();
  return r;
}

Cut with(Cut cut, const Residents& residents) {
  cut.whole_a = residents.a.whole;
  cut.whole_b = residents.b.whole;
  cut.whole_c = residents.c.whole;
  return cut;
}

/// Buffers by hand: for small sizes cut_to_fit seldom finds room for a second set.
Cut buffers(Cut cut, int operands, int results) {
  cut.operands = operands;
  cut.results = results;
  return cut;
}

// ---- plans

/// Why more of a resident operand is uploaded than is missing of it, or anything twice; empty if it is not.
std::string superfluous(const GemmSchedule& s) {
  auto judge = [&s](StepKind kind, const Resident& resident, index rows, index cols, bool needed) -> std::string {
    if (!resident.whole) return {};
    std::vector<int> due(static_cast<std::size_t>(rows * cols));
    auto each = [&due, rows](const Block& b, int by) {
      for (index j = b.col; j < b.col + b.cols; ++j)
        for (index i = b.row; i < b.row + b.rows; ++i) due.at(static_cast<std::size_t>(i + j * rows)) += by;
    };
    if (needed)
      for (const Block& b : resident.missing) each(b, 1);
    for (const Step& step : s.steps)
      if (step.kind == kind) each(step.block, -1);
    for (const int left : due) {
      if (left < 0) return "uploads what is there";
      if (left > 0) return "never uploads what is missing";
    }
    return {};
  };
  std::string why = judge(StepKind::upload_a, s.residents.a, s.m, s.k, true);
  if (why.empty()) why = judge(StepKind::upload_b, s.residents.b, s.k, s.n, true);
  if (why.empty()) why = judge(StepKind::upload_c, s.residents.c, s.m, s.n, s.reads_c);
  return why;
}

TEST(Plan, RandomProductsInRandomMemoriesComputeTheProduct) {
  Random random(6);
  std::map<std::string, int> times;
  for (int time = 0; time < 1500; ++time) {
    const index most = time % 4 == 0 ? 150 : 30;
    const index m = random.up_to(most), n = random.up_to(most), k = random.up_to(most);
    const std::size_t element = std::size_t{4} << random.below(3);
    // From the least that 1 x 1 x 1 needs (three parts of 256 bytes) to more than everything.
    const std::size_t memory =
        767 + element * static_cast<std::size_t>(most > 30 ? 500 + random.up_to(60000) : random.up_to(3000));
    const std::size_t piece =
        element * static_cast<std::size_t>(most > 30 ? 20 + random.up_to(5000) : random.up_to(300)) +
        random.below(element);
    const index panel = random.coin() ? 4 : 16;
    const bool reads_c = random.coin();
    const index head = random.coin() ? random.below(static_cast<std::size_t>(k)) : 0;
    const Residents residents = time % 2 == 0 ? Residents{} : random_residents(m, n, k, random);
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << ", " << element << " bytes, memory " << memory
                                    << ", pieces " << piece << ", panels " << panel << ", head " << head << ", reads_c "
                                    << reads_c << ", resident " << residents.a.whole << residents.b.whole
                                    << residents.c.whole);
    Cut cut{};
    ASSERT_TRUE(cut_to_fit(m, n, k, element, memory, residents, cut));
    ASSERT_TRUE(cut.mb >= 1 && cut.nb >= 1 && cut.kb >= 1 && cut.mb <= m && cut.nb <= n && cut.kb <= k);
    ASSERT_TRUE(cut.operands >= 1 && cut.operands <= 2 && cut.results >= 1 && cut.results <= 2);
    ASSERT_TRUE(cut.whole_a == residents.a.whole && cut.whole_b == residents.b.whole &&
                cut.whole_c == residents.c.whole);
    ASSERT_LE(cut.bytes(element), memory);
    const bool whole = cut.mb == m && cut.nb == n && cut.kb == k;
    if (!whole) {  // halving one size at a time, no step down gives away more than half
      ASSERT_GE(2 * cut.bytes(element), memory);
    }
    times["fits"] += whole;
    times["k cut"] += cut.kb < k;
    times["rows cut"] += cut.mb < m;
    times["columns cut"] += cut.nb < n;

    const Cut by_hand = buffers(cut, 1 + random.coin(), 1 + random.coin());
    for (const Cut& c : {cut, by_hand}) {
      const GemmSchedule s = plan_gemm(m, n, k, reads_c, element, c, residents, piece, panel, head);
      ASSERT_EQ(check(s), "");
      ASSERT_EQ(superfluous(s), "") << to_string(s);
      int multiplies = 0;
      index rows = 0;  // of the last part multiplied
      bool parts_of_columns = false, second_operand = false, second_result = false;
      for (const Step& step : s.steps) {
        multiplies += step.kind == StepKind::multiply;
        second_operand |= step.kind == StepKind::multiply && (step.a == 1 || step.b == 1);
        second_result |= step.kind == StepKind::multiply && step.c == 1;
        if (step.kind == StepKind::multiply) rows = step.block.rows;
        if (step.kind != StepKind::download) continue;
        ASSERT_LE(static_cast<std::size_t>(step.block.rows * step.block.cols) * element, piece);
        parts_of_columns |= step.block.rows < rows;
      }
      auto parts = [](index size, index part) { return (size + part - 1) / part; };
      const bool panels = multiplies > parts(m, c.mb) * parts(n, c.nb) * parts(k, c.kb);
      times["parts of columns"] += parts_of_columns;
      times["two operand buffers"] += second_operand;
      times["two result buffers"] += second_result;
      times["several panels"] += panels;
      times["several panels and two buffers of each"] += panels && second_operand && second_result;
      times["resident and cut"] += !whole && (c.whole_a || c.whole_b || c.whole_c);
      times["resident with parts missing, in panels"] +=
          panels && s.residents.a.missing.size() + s.residents.b.missing.size() > 1;
      times["nothing but resident"] += c.whole_a && c.whole_b && c.whole_c;
      times["in place"] += s.residents.c.in_place;
      times["head apart"] += !s.passes.empty();
      times["head in C"] += whole && s.passes.empty() && multiplies > 1 && s.steps[0].kb < k;
      if (most == 30) {
        ASSERT_EQ(verdict(s), "") << to_string(s);
      }

      Cut again{};
      ASSERT_TRUE(cut_to_fit(m, n, k, element, memory, residents, again));
      ASSERT_TRUE(again.operands == cut.operands && again.results == cut.results);
      const GemmSchedule t =
          plan_gemm(m, n, k, reads_c, element, buffers(again, c.operands, c.results), residents, piece, panel, head);
      ASSERT_TRUE(std::equal(s.steps.begin(), s.steps.end(), t.steps.begin(), t.steps.end(), same))
          << "not the same plan twice";
    }
  }
  EXPECT_EQ(times.size(), 15u);
  for (const auto& [what, count] : times) EXPECT_GT(count, 20) << what;  // every kind of cut occurred
}

TEST(Plan, ManyLargePanelsAreSmallerAtBothEndsAndComputeTheProduct) {
  // Panels large enough to be graded, of one dimension at a time: the interpreter is slow.
  Random random(12);
  int graded = 0;
  for (int time = 0; time < 60; ++time) {
    index size[] = {random.up_to(6), random.up_to(6), random.up_to(6)};
    const index panel = 64 + random.up_to(200);
    size[random.below(2)] = 6 * panel + random.up_to(700);
    const auto [m, n, k] = size;
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << ", panels " << panel);
    const Residents residents = random.coin() ? Residents{} : random_residents(m, n, k, random);
    const GemmSchedule s = plan_gemm(m, n, k, random.coin(), 8, with({m, n, k}, residents), residents, 8 * 500, panel);
    ASSERT_EQ(check(s), "");
    ASSERT_EQ(superfluous(s), "");
    ASSERT_EQ(verdict(s), "");
    std::vector<index> sizes;  // of the products along the long dimension
    for (const Step& step : s.steps)
      if (step.kind == StepKind::multiply) sizes.push_back(m > n ? step.block.rows : step.block.cols);
    const index largest = *std::max_element(sizes.begin(), sizes.end());
    graded += sizes.size() > 4 && sizes.front() < largest && sizes.back() < largest;
    ASSERT_LE(largest, std::max<index>(panel, std::max(m, n) / 8) + 64 + (sizes.size() == 1 ? largest : 0));
  }
  EXPECT_GT(graded, 20);
}

TEST(Plan, WhatFitsIsNotCut) {
  Cut cut{};
  // Each of these operands is a multiple of 256 bytes, so their sum is what a lease takes.
  ASSERT_TRUE(cut_to_fit(96, 192, 320, 8, (96 * 320 + 320 * 192 + 96 * 192) * 8, {}, cut));
  EXPECT_EQ(cut.mb, 96);
  EXPECT_EQ(cut.nb, 192);
  EXPECT_EQ(cut.kb, 320);
  EXPECT_EQ(cut.operands, 1);
  EXPECT_EQ(cut.results, 1);
  ASSERT_TRUE(cut_to_fit(96, 192, 320, 8, (96 * 320 + 320 * 192 + 96 * 192) * 8 - 1, {}, cut));
  EXPECT_TRUE(cut.mb < 96 || cut.nb < 192 || cut.kb < 320);
}

TEST(Plan, NeedsRoomForOneElementOfEach) {
  Cut cut{};
  EXPECT_TRUE(cut_to_fit(50, 60, 70, 16, 3 * 256, {}, cut));  // leased in parts of 256 bytes
  EXPECT_FALSE(cut_to_fit(50, 60, 70, 16, 3 * 256 - 1, {}, cut));
  EXPECT_FALSE(cut_to_fit(1, 1, 1, 4, 0, {}, cut));
}

TEST(Plan, SizesBeyond64BitsOfBytesAreCut) {
  Cut cut{};
  const index huge = index{1} << 40;
  ASSERT_TRUE(cut_to_fit(huge, huge, huge, 16, std::size_t{1} << 36, {}, cut));
  EXPECT_LE(cut.bytes(16), std::size_t{1} << 36);
}

TEST(Plan, ALongKStreamsInChunksThroughTwoOperandBuffers) {
  Cut cut{};
  constexpr std::size_t plenty = std::size_t{1} << 40;
  ASSERT_TRUE(cut_to_fit(64, 96, 100000, 8, plenty, {}, cut));
  EXPECT_EQ(cut.mb, 64);
  EXPECT_EQ(cut.nb, 96);
  EXPECT_LE(cut.kb, 5000);
  EXPECT_GE(cut.kb, 1000);  // not so small that the device idles
  EXPECT_EQ(cut.operands, 2);
  EXPECT_EQ(cut.results, 1);  // one block of C
  const GemmSchedule s = plan_gemm(64, 96, 100000, true, 8, cut, {}, 1 << 20);
  EXPECT_EQ(check(s), "");
  // Both of each are used, in turn.
  std::map<int, int> a, b;
  for (const Step& step : s.steps)
    if (step.kind == StepKind::multiply) ++a[step.a], ++b[step.b];
  EXPECT_EQ(a.size(), 2u);
  EXPECT_EQ(b.size(), 2u);
  EXPECT_LE(std::abs(a[0] - a[1]), 1);

  ASSERT_TRUE(cut_to_fit(64, 96, 4096, 8, plenty, {}, cut));  // not long
  EXPECT_EQ(cut.kb, 4096);
  EXPECT_EQ(cut.operands, 1);
  ASSERT_TRUE(cut_to_fit(60000, 96, 100000, 8, plenty, {}, cut));  // not long beside m
  EXPECT_EQ(cut.kb, 100000);
}

TEST(Plan, LargeBlocksFollowEachOtherThroughTwoBuffersOfEach) {
  Cut cut{};
  constexpr std::size_t memory = std::size_t{1} << 30;
  ASSERT_TRUE(cut_to_fit(20000, 20000, 20000, 8, memory, {}, cut));
  EXPECT_EQ(cut.operands, 2);
  EXPECT_EQ(cut.results, 2);
  EXPECT_LE(cut.bytes(8), memory);
  EXPECT_EQ(check(plan_gemm(20000, 20000, 20000, true, 8, cut, {}, 1 << 24)), "");
}

TEST(Plan, UploadsStayWhereNoBufferIsUsedAgain) {
  const auto uploads_that_stay = [](const GemmSchedule& s, StepKind kind) {
    const std::vector<bool> stays = staying(s);
    int uploads = 0, staying = 0;
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
      if (s.steps[i].kind == kind) ++uploads, staying += stays[i];
      if (s.steps[i].kind > StepKind::upload_b) {
        EXPECT_FALSE(stays[i]);
      }
    }
    EXPECT_GT(uploads, 1);
    EXPECT_TRUE(staying == 0 || staying == uploads);
    return staying > 0;
  };
  const Cut all{.mb = 100, .nb = 90, .kb = 80};
  const GemmSchedule once = plan_gemm(100, 90, 80, true, 8, all, {}, 1 << 12, 20);
  EXPECT_TRUE(uploads_that_stay(once, StepKind::upload_a));
  EXPECT_TRUE(uploads_that_stay(once, StepKind::upload_b));
  const GemmSchedule in_turns = plan_gemm(100, 90, 80, true, 8, {.mb = 50, .nb = 90, .kb = 80}, {}, 1 << 12, 20);
  EXPECT_FALSE(uploads_that_stay(in_turns, StepKind::upload_a));
  EXPECT_FALSE(uploads_that_stay(in_turns, StepKind::upload_b));
  // B in memory of its own, where all of it is missing.
  const GemmSchedule own_b = plan_gemm(100, 90, 80, true, 8, {.mb = 50, .nb = 90, .kb = 80, .whole_b = true},
                                       {.b = {.whole = true, .missing = {{0, 0, 80, 90}}}}, 1 << 12, 20);
  EXPECT_FALSE(uploads_that_stay(own_b, StepKind::upload_a));
  EXPECT_TRUE(uploads_that_stay(own_b, StepKind::upload_b));
}

// ---- check()

/// None that cycles through as many blocks of an operand as it has buffers: such plans bring again what is still there.
std::vector<GemmSchedule> small_plans() {
  constexpr struct {
    index m, n, k;
    Cut cut;
    std::size_t piece;
    index panel, head = 0;
  } cases[] = {
      {3, 4, 4, {2, 2, 2, 1, 1}, 2, 4},     // C and k cut, no panels
      {2, 4, 3, {2, 2, 1, 2, 2}, 2, 1},     // C and k cut, panels, two buffers of each
      {4, 4, 3, {4, 4, 3, 1, 1}, 5, 2},     // one unit in panels, whole columns, the last piece smaller
      {4, 3, 5, {4, 3, 2, 2, 1}, 9, 2},     // one block, k streams through two buffers in panels
      {3, 3, 2, {2, 2, 2, 1, 2}, 1, 2},     // element by element
      {5, 2, 2, {5, 2, 2, 2, 2}, 2, 3},     // pieces of parts of columns, buffers that nothing uses
      {5, 4, 2, {3, 4, 2, 2, 2}, 6, 2},     // B stays on the device
      {1, 6, 1, {1, 2, 1, 2, 1}, 1, 1},     // A stays on the device
      {4, 3, 5, {4, 3, 5, 1, 1}, 4, 2, 2},  // a head, in C or apart
  };
  std::vector<GemmSchedule> plans;
  for (const auto& c : cases)
    for (const bool reads_c : {false, true})
      plans.push_back(plan_gemm(c.m, c.n, c.k, reads_c, 8, c.cut, {}, c.piece * 8, c.panel, c.head));
  return plans;
}

/// The same with resident operands: each alone, two, and all three, with random parts of them missing.
std::vector<GemmSchedule> resident_plans() {
  std::vector<GemmSchedule> plans;
  Random random(10);
  unsigned whole = 0;
  for (const GemmSchedule& s : small_plans()) {
    whole = whole % 7 + 1;
    const Residents residents{whole & 1 ? Resident{true, random_blocks(s.m, s.k, random)} : Resident{},
                              whole & 2 ? Resident{true, random_blocks(s.k, s.n, random)} : Resident{},
                              whole & 4 ? Resident{true, random_blocks(s.m, s.n, random)} : Resident{}};
    plans.push_back(plan_gemm(s.m, s.n, s.k, s.reads_c, 8, with(s.cut, residents), residents, 8 * 3, 2, s.k / 2));
  }
  return plans;
}

std::vector<GemmSchedule> all_small_plans() {
  std::vector<GemmSchedule> plans = small_plans();
  for (GemmSchedule& s : resident_plans()) plans.push_back(std::move(s));
  return plans;
}

/// One change of one schedule.  Passing check() although the interpreter calls it wrong fails the test; `caught` and
/// `harmless` count the others.
struct Mutations {
  std::map<std::string, int> caught, harmless, missed;

  void judge(const std::string& kind, const GemmSchedule& mutant, const std::function<std::string()>& what) {
    if (!check(mutant).empty()) {
      ++caught[kind];
      return;
    }
    const std::string wrong = verdict(mutant);
    ++(wrong.empty() ? harmless : missed)[kind];
    if (!wrong.empty() && missed[kind] == 1)  // more of the same would drown the rest
      ADD_FAILURE() << "check() passes what is wrong (" << wrong << "): " << kind << " " << what() << to_string(mutant);
  }

  ~Mutations() {
    for (const auto& [kind, times] : missed) EXPECT_EQ(times, 0) << kind << ": wrong, but passed by check()";
  }
};

std::string line(const GemmSchedule& s, std::size_t step) {
  GemmSchedule one = s;
  one.steps = {s.steps[step]};
  const std::string text = to_string(one);
  return "step " + std::to_string(step) + text.substr(text.find('\n') + 1);
}

/// The buffer numbers that a step uses.
std::vector<std::int8_t Step::*> numbers_of(const Step& step) {
  switch (step.kind) {
    case StepKind::upload_a: return {&Step::a};
    case StepKind::upload_b: return {&Step::b};
    case StepKind::multiply: return {&Step::a, &Step::b, &Step::c};
    case StepKind::pass: return {};
    default: return {&Step::c};
  }
}

TEST(Check, EveryStepIsNeededAndEveryNumberInItMatters) {
  Mutations mutations;
  for (const GemmSchedule& s : all_small_plans()) {
    ASSERT_EQ(check(s), "");
    ASSERT_EQ(verdict(s), "");
    for (std::size_t at = 0; at < s.steps.size(); ++at) {
      auto changed = [&](const std::string& kind, auto change) {
        GemmSchedule mutant = s;
        change(mutant.steps[at]);
        mutations.judge(kind, mutant, [&] { return line(s, at); });
      };
      GemmSchedule without = s;
      without.steps.erase(without.steps.begin() + static_cast<std::ptrdiff_t>(at));
      mutations.judge("drop", without, [&] { return line(s, at); });
      if (s.steps[at].kind == StepKind::pass) continue;
      for (const index by : {-1, 1}) {
        changed("block one row off", [by](Step& x) { x.block.row += by; });
        changed("block one column off", [by](Step& x) { x.block.col += by; });
        changed("a row more or less", [by](Step& x) { x.block.rows += by; });
        changed("a column more or less", [by](Step& x) { x.block.cols += by; });
        if (s.steps[at].kind == StepKind::multiply) {
          changed("k0", [by](Step& x) { x.k0 += by; });
          changed("kb", [by](Step& x) { x.kb += by; });
        }
      }
      if (s.steps[at].kind == StepKind::multiply) changed("first", [](Step& x) { x.first = !x.first; });
      if (s.steps[at].kind == StepKind::multiply && !s.scratch.empty())
        changed("apart", [](Step& x) { x.apart = !x.apart; });
      for (const auto number : numbers_of(s.steps[at]))
        changed("buffer", [number](Step& x) { x.*number = static_cast<std::int8_t>(1 - x.*number); });
    }
  }
  EXPECT_EQ(mutations.caught.size(), 10u);
  for (const auto& [kind, times] : mutations.caught) EXPECT_GT(times, kind == "apart" ? 10 : 100) << kind;
  // Harmless is only a panel that begins early or ends late, beside what the unit brings anyway: plans hold no
  // superfluous step, and every other number decides something.
  for (const auto& [kind, times] : mutations.harmless)
    EXPECT_TRUE(kind == "a row more or less" || kind == "a column more or less") << times << " harmless: " << kind;
}

TEST(Check, WhatIsAddedToTheHeadMatters) {
  Mutations mutations;
  for (const GemmSchedule& s : all_small_plans())
    for (std::size_t at = 0; at < s.passes.size(); ++at) {
      auto changed = [&](const std::string& kind, auto change) {
        GemmSchedule mutant = s;
        change(mutant.passes[at]);
        mutations.judge(kind, mutant, [at] { return "pass " + std::to_string(at); });
      };
      changed("subtracted", [](Pass& x) { x.targets[0].sign[1] = -1; });
      changed("replaced", [](Pass& x) { x.targets[0].sign[0] = 0; });
      changed("scaled", [](Pass& x) { x.sources[0].scaled = true; });
      changed("head scaled", [](Pass& x) { x.sources[1].scaled = true; });
      changed("C added twice", [](Pass& x) { x.sources[1].region.area = area_c; });
      changed("to the head", [](Pass& x) { x.targets[0].region.area = first_scratch; });
      for (const index by : {-1, 1}) {
        changed("another row", [by](Pass& x) { x.sources[1].region.block.row += by; });
        changed("another column", [by](Pass& x) { x.sources[1].region.block.col += by; });
        changed("a row more or less", [by](Pass& x) {
          x.targets[0].region.block.rows += by;
          for (Pass::Source& source : x.sources) source.region.block.rows += by;
        });
      }
    }
  EXPECT_EQ(mutations.caught.size(), 9u);
  EXPECT_TRUE(mutations.harmless.empty());
}

TEST(Check, BuffersThatDoNotExistAreCaught) {
  for (const GemmSchedule& s : all_small_plans())
    for (std::size_t at = 0; at < s.steps.size(); ++at)
      for (const auto number : numbers_of(s.steps[at]))
        for (const int value : {-1, number == &Step::c ? s.cut.results : s.cut.operands, 100}) {
          GemmSchedule mutant = s;
          mutant.steps[at].*number = static_cast<std::int8_t>(value);
          ASSERT_NE(check(mutant), "") << line(s, at) << " in buffer " << value;
        }
}

TEST(Check, WhatIsMissingOfAResidentOperandMustBeUploaded) {
  Mutations mutations;
  for (const GemmSchedule& s : resident_plans()) {
    auto changed = [&](const std::string& kind, Resident Residents::*operand, auto change) {
      GemmSchedule mutant = s;
      change(mutant.residents.*operand);
      mutations.judge(kind, mutant, [] { return std::string(); });
    };
    const struct {
      Resident Residents::*operand;
      index rows, cols;
    } operands[] = {{&Residents::a, s.m, s.k}, {&Residents::b, s.k, s.n}, {&Residents::c, s.m, s.n}};
    for (const auto& [operand, rows, cols] : operands) {
      const Resident& resident = s.residents.*operand;
      if (!resident.whole) continue;
      for (index j = 0; j < cols; ++j)
        for (index i = 0; i < rows; ++i)
          changed("one more", operand, [i, j](Resident& r) { r.missing.push_back({i, j, 1, 1}); });
      changed("everything", operand, [rows, cols](Resident& r) { r.missing = {{0, 0, rows, cols}}; });
      changed("not resident", operand, [](Resident& r) { r = {}; });
      changed("nothing", operand, [](Resident& r) { r.missing.clear(); });
    }
  }
  // Harmless: what is missing in more places than one, what C brings along though nobody reads it, uploads too many.
  for (const char* kind : {"one more", "everything", "not resident"}) EXPECT_GT(mutations.caught[kind], 10) << kind;
  EXPECT_EQ(mutations.caught.count("nothing"), 0u);
}

TEST(Check, ADifferentOrderPassesOnlyIfItComputesTheProduct) {
  // Each step moved to each other place (swaps of neighbours among them).  Harmless are those that leave the order of
  // dependent steps: two uploads of different operands, an upload ahead of another panel's product.
  Mutations mutations;
  for (const GemmSchedule& s : all_small_plans())
    for (std::size_t from = 0; from < s.steps.size(); ++from)
      for (std::size_t to = 0; to < s.steps.size(); ++to) {
        if (from == to) continue;
        GemmSchedule mutant = s;
        mutant.steps.erase(mutant.steps.begin() + static_cast<std::ptrdiff_t>(from));
        mutant.steps.insert(mutant.steps.begin() + static_cast<std::ptrdiff_t>(to), s.steps[from]);
        const bool neighbours = from + 1 == to || to + 1 == from;
        mutations.judge(neighbours ? "swap" : "move", mutant,
                        [&] { return line(s, from) + " to " + std::to_string(to); });
      }
  for (const char* kind : {"swap", "move"}) {
    EXPECT_GT(mutations.caught[kind], 50);
    EXPECT_GT(mutations.harmless[kind], 10);
  }
}

TEST(Check, ARepeatedStepPassesOnlyIfItChangesNothing) {
  // Each step once more at each place.  Harmless: an upload of what is there already or not needed any more.
  Mutations mutations;
  for (const GemmSchedule& s : all_small_plans())
    for (std::size_t from = 0; from < s.steps.size(); ++from)
      for (std::size_t to = 0; to <= s.steps.size(); ++to) {
        GemmSchedule mutant = s;
        mutant.steps.insert(mutant.steps.begin() + static_cast<std::ptrdiff_t>(to), s.steps[from]);
        mutations.judge("repeat", mutant, [&] { return line(s, from) + " at " + std::to_string(to); });
      }
  EXPECT_GT(mutations.caught["repeat"], 1000);
  EXPECT_GT(mutations.harmless["repeat"], 10);
}

// ---- depend()

GemmSchedule random_plan(Random& random, index most) {
  const index m = random.up_to(most), n = random.up_to(most), k = random.up_to(most);
  const Cut cut{(m + 2) / random.up_to(3), (n + 2) / random.up_to(3), (k + 2) / random.up_to(3), 1 + random.coin(),
                1 + random.coin()};
  const Residents residents = random.coin() ? Residents{} : random_residents(m, n, k, random);
  return plan_gemm(
      m, n, k, random.coin(), 8,
      with({std::min(cut.mb, m), std::min(cut.nb, n), std::min(cut.kb, k), cut.operands, cut.results}, residents),
      residents, 8 * static_cast<std::size_t>(random.up_to(3 * most)), random.up_to(4),
      random.below(static_cast<std::size_t>(k)));
}

TEST(Depend, EveryOrderThatItAllowsComputesTheProduct) {
  Random random(7);
  int different = 0;
  for (int time = 0; time < 300; ++time) {
    const GemmSchedule s = random_plan(random, time % 10 == 0 ? 20 : 9);
    ASSERT_EQ(check(s), "");
    const Lists after = depend(s);
    ASSERT_EQ(after.size(), s.steps.size());
    for (std::size_t i = 0; i < after.size(); ++i)
      for (const std::int32_t earlier : after[i]) ASSERT_TRUE(earlier >= 0 && static_cast<std::size_t>(earlier) < i);
    for (int draw = 0; draw < 6; ++draw) {
      const StepOrder order = random_order(s, after, random);
      ASSERT_EQ(order.size(), s.steps.size());
      different += !std::is_sorted(order.begin(), order.end());
      std::string text;
      for (const std::size_t i : order) text += " " + std::to_string(i);
      ASSERT_EQ(verdict(s, order), "") << to_string(s) << "in the order" << text;
    }
  }
  EXPECT_GT(different, 1500);  // there is freedom, and it was used
}

TEST(Depend, HoldsForWhateverCheckPasses) {
  // Also where steps come in another order than a plan's, or twice.
  Random random(8);
  int passed = 0;
  for (const GemmSchedule& s : all_small_plans())
    for (int time = 0; time < 150; ++time) {
      GemmSchedule mutant = s;
      const std::size_t from = random.below(s.steps.size());
      if (random.coin()) mutant.steps.erase(mutant.steps.begin() + static_cast<std::ptrdiff_t>(from));
      mutant.steps.insert(mutant.steps.begin() + random.below(mutant.steps.size() + 1), s.steps[from]);
      if (!check(mutant).empty()) continue;
      ++passed;
      ASSERT_EQ(verdict(mutant, random_order(mutant, depend(mutant), random)), "") << to_string(mutant);
    }
  EXPECT_GT(passed, 300);
}

/// Whether a step waits for an earlier one, be it through others.
bool waits(const Lists& after, std::size_t step, std::size_t earlier) {
  std::vector<bool> reached(after.size());
  reached[step] = true;
  for (std::size_t i = step; i > earlier; --i)
    if (reached[i])
      for (const std::int32_t x : after[i]) reached[static_cast<std::size_t>(x)] = true;
  return reached[earlier];
}

TEST(Depend, ProductsWaitForWhatIsMissingOfTheirResidentOperands) {
  Random random(11);
  int waited = 0, free = 0;
  for (int time = 0; time < 200; ++time) {
    const GemmSchedule s = random_plan(random, 12);
    const Lists after = depend(s);
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
      const Step& product = s.steps[i];
      if (product.kind != StepKind::multiply) continue;
      const Block& x = product.block;
      for (std::size_t u = 0; u < i; ++u) {
        const Step& upload = s.steps[u];
        const bool is_a = upload.kind == StepKind::upload_a && s.cut.whole_a,
                   is_b = upload.kind == StepKind::upload_b && s.cut.whole_b;
        if (!is_a && !is_b) continue;
        const Block read =
            is_a ? Block{x.row, product.k0, x.rows, product.kb} : Block{product.k0, x.col, product.kb, x.cols};
        const Block& sent = upload.block;
        if (sent.row < read.row + read.rows && read.row < sent.row + sent.rows && sent.col < read.col + read.cols &&
            read.col < sent.col + sent.cols) {
          ++waited;
          ASSERT_TRUE(waits(after, i, u)) << line(s, i) << "does not wait for " << line(s, u);
        } else {
          free += !waits(after, i, u);
        }
      }
    }
  }
  EXPECT_GT(waited, 1000);
  EXPECT_GT(free, 100) << "and for nothing else, where that is possible";
}

TEST(Depend, WithTwoBuffersTheNextUnitArrivesDuringThisOne) {
  for (const int number : {1, 2}) {
    const GemmSchedule s = plan_gemm(8, 8, 8, true, 8, {4, 4, 4, number, number}, {}, 32, 2);
    const Lists after = depend(s);
    auto unit = [&s](const Step& x) {
      return Block{x.block.row / s.cut.mb, x.block.col / s.cut.nb, x.k0 / s.cut.kb, 0};
    };
    int units = 0, blocks = 0;
    std::size_t last = s.steps.size();  // product so far
    std::vector<std::size_t> uploads, downloads;
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
      const Step& step = s.steps[i];
      if (step.kind == StepKind::upload_a || step.kind == StepKind::upload_b) uploads.push_back(i);
      if (step.kind == StepKind::download) downloads.push_back(i);
      if (step.kind != StepKind::multiply) continue;
      if (last < i && !(unit(step) == unit(s.steps[last]))) {
        ++units;
        // Those since the last product are the new unit's.
        for (const std::size_t upload : uploads)
          if (upload > last) {
            EXPECT_EQ(waits(after, upload, last), number == 1) << line(s, upload);
          }
        if (!downloads.empty() && downloads.back() > last) {
          ++blocks;
          EXPECT_EQ(waits(after, i, downloads.back()), number == 1) << line(s, i);
        }
      }
      last = i;
    }
    EXPECT_EQ(units, 7);
    EXPECT_EQ(blocks, 3);
  }
}

TEST(Depend, AListThatIsMissingIsNoticed) {
  // That the test above could fail: without one step's list some random order goes wrong, nearly always.
  Random random(9);
  int trials = 0, noticed = 0;
  while (trials < 200) {
    const GemmSchedule s = random_plan(random, 8);
    Lists after = depend(s);
    auto& list = after[random.below(after.size())];
    if (list.empty()) continue;
    list.clear();
    ++trials;
    for (int draw = 0; draw < 20; ++draw)
      if (!verdict(s, random_order(s, after, random)).empty()) {
        ++noticed;
        break;
      }
  }
  EXPECT_GT(noticed, trials * 8 / 10);
}

TEST(Schedule, IsPrintable) {
  EXPECT_EQ(to_string(plan_gemm(3, 2, 4, true, 8, {3, 2, 2, 2, 1}, {}, 8 * 3, 2)),
            "gemm m=3 n=2 k=4 in blocks of 3 x 2, k by 2, 2+1 buffers, reads C\n"
            "  upload A [0:2, 0:2] to a0\n"
            "  upload B [0:2, 0:2] to b0\n"
            "  upload C [0:2, 0:2] to c0\n"
            "  multiply [0:2, 0:2] k 0:2 first a0 b0 c0\n"
            "  upload A [2:3, 0:2] to a0\n"
            "  upload C [2:3, 0:2] to c0\n"
            "  multiply [2:3, 0:2] k 0:2 first a0 b0 c0\n"
            "  upload A [0:2, 2:4] to a1\n"
            "  upload B [2:4, 0:2] to b1\n"
            "  multiply [0:2, 0:2] k 2:4 a1 b1 c0\n"
            "  download [0:2, 0:1] from c0\n"
            "  download [0:2, 1:2] from c0\n"
            "  upload A [2:3, 2:4] to a1\n"
            "  multiply [2:3, 0:2] k 2:4 a1 b1 c0\n"
            "  download [2:3, 0:2] from c0\n");
  EXPECT_EQ(to_string(plan_gemm(3, 2, 4, true, 8, {.mb = 3, .nb = 2, .kb = 4, .whole_a = true, .whole_c = true},
                                {.a = {true, {{1, 2, 2, 1}}}, .c = {true, {}}}, 1000)),
            "gemm m=3 n=2 k=4 in blocks of 3 x 2, k by 4, 1+1 buffers, reads C, resident A C\n"
            "  upload A [1:3, 2:3] to a0\n"
            "  upload B [0:4, 0:2] to b0\n"
            "  multiply [0:3, 0:2] k 0:4 first a0 b0 c0\n"
            "  download [0:3, 0:2] from c0\n");
}

TEST(Plan, ResidentOperandsNeedNoRoom) {
  Cut cut{};
  Residents residents{.a = {true, {}}, .b = {true, {}}, .c = {true, {}}};
  ASSERT_TRUE(cut_to_fit(50, 60, 70, 16, 0, residents, cut));
  EXPECT_EQ(cut.bytes(16), 0u);
  EXPECT_TRUE(cut.mb == 50 && cut.nb == 60 && cut.kb == 70);
  residents.c = {};
  EXPECT_FALSE(cut_to_fit(50, 60, 70, 16, 255, residents, cut));
  ASSERT_TRUE(cut_to_fit(50, 60, 70, 16, 50 * 60 * 16 + 255, residents, cut));
  EXPECT_TRUE(cut.mb == 50 && cut.nb == 60 && cut.kb == 70);
  ASSERT_TRUE(cut_to_fit(50, 60, 70, 16, 50 * 30 * 16, residents, cut));
  EXPECT_TRUE(cut.mb < 50 || cut.nb < 60);
  // A long k that is there need not be streamed.
  ASSERT_TRUE(cut_to_fit(64, 96, 100000, 8, std::size_t{1} << 40, {.a = {true, {}}, .b = {true, {}}}, cut));
  EXPECT_EQ(cut.kb, 100000);
}

}  // namespace
}  // namespace blaslift::product_plan_tests
