// Schedules: that plans compute the product, and that check() lets nothing else pass.  What "computes the product"
// means is said here once more, by an interpreter of our own that runs a schedule on numbers.
#include "impl/schedule.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

namespace blaslift {
namespace {

/// Runs a schedule as impl/execute.cpp would, every access bounds-checked, with integers modulo 2^64 for elements:
/// exact, so that only a schedule that computes the product gives the product (but for a chance of 2^-60).
class Interpreter {
 public:
  Interpreter(const GemmSchedule& s, index ring_elements, bool transposed)
      : s_(s),
        transposed_(transposed),
        mb_(std::min(s.cut.mb, s.m)),
        nb_(std::min(s.cut.nb, s.n)),
        kb_(std::min(s.cut.kb, s.k)),
        A_(room(s.m * s.k)),
        B_(room(s.k * s.n)),
        C_(room(s.m * s.n)),
        a_(room(mb_ * kb_)),
        b_(room(kb_ * nb_)),
        c_(room(mb_ * nb_)),
        rings_{room(ring_elements), room(ring_elements)},
        committed_(C_.size()) {
    for (Numbers* numbers : {&A_, &B_, &C_, &a_, &b_, &c_, &rings_[0], &rings_[1]})  // the device's: garbage
      for (auto& x : *numbers) x = bits_();
    beta_ = s.reads_c ? bits_() : 0;
    expected_ = C_;
    for (index j = 0; j < s.n; ++j)
      for (index i = 0; i < s.m; ++i) {
        std::uint64_t& x = expected_[static_cast<std::size_t>(i + j * s.m)];
        x *= beta_;
        for (index p = 0; p < s.k; ++p) x += host_a(i, p) * host_b(p, j);
      }
  }

  /// Why the schedule does not compute the product; empty if it does.  An element counts as right only if it is final
  /// when it is committed, and committed once: whatever fails later relies on that.
  std::string run() {
    try {
      for (const Step& step : s_.steps) execute(step);
    } catch (const std::string& fault) {
      return fault;
    } catch (const std::out_of_range&) {
      return "out of bounds";
    }
    for (const bool done : committed_)
      if (!done) return "not committed";
    return {};
  }

 private:
  using Numbers = std::vector<std::uint64_t>;
  static Numbers room(index elements) { return Numbers(static_cast<std::size_t>(elements)); }
  static std::uint64_t& at(Numbers& x, index i) { return x.at(static_cast<std::size_t>(i)); }
  std::uint64_t& host_a(index i, index p) { return at(A_, i + p * s_.m); }
  std::uint64_t& host_b(index p, index j) { return at(B_, p + j * s_.k); }

  static void within(const Block& b, index rows, index cols) {
    if (b.row < 0 || b.col < 0 || b.rows < 0 || b.cols < 0 || b.row + b.rows > rows || b.col + b.cols > cols)
      throw std::string("block out of the matrix");
  }

  void execute(const Step& step) {
    const Block& x = step.block;
    // Element (i, j) of a block as it lies on the device, packed: by columns, or by rows where the stored matrix is
    // transposed.
    auto packed = [](index i, index j, index rows, index cols, bool by_rows) {
      return by_rows ? j + i * cols : i + j * rows;
    };
    switch (step.kind) {
      case StepKind::upload_a:
        within(x, s_.m, s_.k);
        for (index j = 0; j < x.cols; ++j)
          for (index i = 0; i < x.rows; ++i)
            at(a_, packed(i, j, x.rows, x.cols, transposed_)) = host_a(x.row + i, x.col + j);
        break;
      case StepKind::upload_b:
        within(x, s_.k, s_.n);
        for (index j = 0; j < x.cols; ++j)
          for (index i = 0; i < x.rows; ++i)
            at(b_, packed(i, j, x.rows, x.cols, transposed_)) = host_b(x.row + i, x.col + j);
        break;
      case StepKind::upload_c:
        within(x, s_.m, s_.n);
        for (index j = 0; j < x.cols; ++j)
          for (index i = 0; i < x.rows; ++i) at(c_, i + j * x.rows) = at(C_, x.row + i + (x.col + j) * s_.m);
        break;
      case StepKind::multiply:
        if (x.rows < 0 || x.cols < 0 || step.kb < 0) throw std::string("negative size");
        for (index j = 0; j < x.cols; ++j)
          for (index i = 0; i < x.rows; ++i) {
            std::uint64_t& c = at(c_, i + j * x.rows);
            c *= step.first ? beta_ : 1;
            for (index p = 0; p < step.kb; ++p)
              c += at(a_, packed(i, p, x.rows, step.kb, transposed_)) *
                   at(b_, packed(p, j, step.kb, x.cols, transposed_));
          }
        held_ = x;
        break;
      case StepKind::fetch: {
        if (step.slot < 0 || step.slot > 1) throw std::string("no such slot");
        if (x.rows < 0 || x.cols < 0) throw std::string("negative size");
        for (index j = 0; j < x.cols; ++j)
          for (index i = 0; i < x.rows; ++i)
            at(rings_[step.slot], i + j * x.rows) =
                at(c_, (x.row - held_.row + i) + (x.col - held_.col + j) * held_.rows);
        break;
      }
      case StepKind::commit:
        if (step.slot < 0 || step.slot > 1) throw std::string("no such slot");
        within(x, s_.m, s_.n);
        for (index j = 0; j < x.cols; ++j)
          for (index i = 0; i < x.rows; ++i) {
            const index element = x.row + i + (x.col + j) * s_.m;
            at(C_, element) = at(rings_[step.slot], i + j * x.rows);
            if (at(C_, element) != at(expected_, element)) throw std::string("wrong value committed");
            if (committed_[static_cast<std::size_t>(element)]) throw std::string("committed twice");
            committed_[static_cast<std::size_t>(element)] = true;
          }
        break;
    }
  }

  const GemmSchedule& s_;
  bool transposed_;
  index mb_, nb_, kb_;
  Numbers A_, B_, C_, a_, b_, c_, rings_[2], expected_;
  std::vector<bool> committed_;
  std::uint64_t beta_ = 0;
  Block held_{};
  std::mt19937_64 bits_{1};
};

std::string verdict(const GemmSchedule& s, index ring_elements) {
  const std::string plain = Interpreter(s, ring_elements, false).run();
  return plain.empty() ? Interpreter(s, ring_elements, true).run() : plain;
}

bool same(const Step& x, const Step& y) {
  return x.kind == y.kind && x.block == y.block && x.k0 == y.k0 && x.kb == y.kb && x.first == y.first &&
         x.slot == y.slot;
}

// ---- plans

TEST(Plan, RandomProductsInRandomMemoriesComputeTheProduct) {
  std::mt19937 bits(6);
  auto up_to = [&bits](index most) { return 1 + static_cast<index>(bits() % static_cast<std::uint32_t>(most)); };
  int cut_k = 0, cut_c = 0, pieces_of_columns = 0, fits = 0;
  for (int time = 0; time < 600; ++time) {
    const index most = time % 4 == 0 ? 150 : 30;
    const index m = up_to(most), n = up_to(most), k = up_to(most);
    const std::size_t element = std::size_t{4} << bits() % 3;
    // From the least that 1 x 1 x 1 needs (three parts of 256 bytes) to more than everything.
    const std::size_t memory = 767 + element * static_cast<std::size_t>(most > 30 ? 500 + up_to(60000) : up_to(3000));
    const std::size_t ring =
        element * static_cast<std::size_t>(most > 30 ? 20 + up_to(5000) : up_to(300)) + bits() % element;
    const bool reads_c = bits() % 2;
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << ", " << element << " bytes, memory " << memory
                                    << ", ring " << ring << ", reads_c " << reads_c);
    Cut cut{};
    ASSERT_TRUE(cut_to_fit(m, n, k, element, memory, cut));
    ASSERT_TRUE(cut.mb >= 1 && cut.nb >= 1 && cut.kb >= 1 && cut.mb <= m && cut.nb <= n && cut.kb <= k);
    ASSERT_LE(cut.bytes(element), memory);
    const bool whole = cut.mb == m && cut.nb == n && cut.kb == k;
    fits += whole;
    if (!whole) {  // halving one size at a time, no step down gives away more than half
      ASSERT_GE(2 * cut.bytes(element), memory);
    }

    const GemmSchedule s = plan_gemm(m, n, k, reads_c, element, cut, ring);
    ASSERT_EQ(check(s), "");
    const auto ring_elements = static_cast<index>(ring / element);
    for (const Step& step : s.steps) {
      if (step.kind != StepKind::fetch) continue;
      ASSERT_LE(static_cast<std::size_t>(step.block.rows * step.block.cols) * element, ring);
      pieces_of_columns += step.block.rows < std::min(cut.mb, m);
    }
    if (most == 30) {
      ASSERT_EQ(verdict(s, ring_elements), "") << to_string(s);
    }
    cut_k += cut.kb < k;
    cut_c += cut.mb < m || cut.nb < n;

    Cut again{};
    ASSERT_TRUE(cut_to_fit(m, n, k, element, memory, again));
    const GemmSchedule t = plan_gemm(m, n, k, reads_c, element, again, ring);
    ASSERT_TRUE(std::equal(s.steps.begin(), s.steps.end(), t.steps.begin(), t.steps.end(), same))
        << "not the same plan twice";
  }
  for (const int times : {cut_k, cut_c, pieces_of_columns, fits}) EXPECT_GT(times, 20);  // every kind of cut occurred
}

TEST(Plan, WhatFitsIsNotCut) {
  Cut cut{};
  // Each of these operands is a multiple of 256 bytes, so their sum is what a lease takes.
  ASSERT_TRUE(cut_to_fit(96, 192, 320, 8, (96 * 320 + 320 * 192 + 96 * 192) * 8, cut));
  EXPECT_EQ(cut.mb, 96);
  EXPECT_EQ(cut.nb, 192);
  EXPECT_EQ(cut.kb, 320);
  ASSERT_TRUE(cut_to_fit(96, 192, 320, 8, (96 * 320 + 320 * 192 + 96 * 192) * 8 - 1, cut));
  EXPECT_TRUE(cut.mb < 96 || cut.nb < 192 || cut.kb < 320);
}

TEST(Plan, NeedsRoomForOneElementOfEach) {
  Cut cut{};
  EXPECT_TRUE(cut_to_fit(50, 60, 70, 16, 3 * 256, cut));  // leased in parts of 256 bytes
  EXPECT_FALSE(cut_to_fit(50, 60, 70, 16, 3 * 256 - 1, cut));
  EXPECT_FALSE(cut_to_fit(1, 1, 1, 4, 0, cut));
}

TEST(Plan, SizesBeyond64BitsOfBytesAreCut) {
  Cut cut{};
  const index huge = index{1} << 40;
  ASSERT_TRUE(cut_to_fit(huge, huge, huge, 16, std::size_t{1} << 36, cut));
  EXPECT_LE(cut.bytes(16), std::size_t{1} << 36);
}

// ---- check()

struct Planned {
  GemmSchedule schedule;
  index ring_elements;
};

std::vector<Planned> small_plans() {
  constexpr struct {
    index m, n, k;
    Cut cut;
    index ring;
  } cases[] = {
      {5, 4, 6, {2, 3, 2}, 2},  // C and k cut, pieces of columns
      {5, 4, 6, {5, 4, 6}, 7},  // one block, pieces of whole columns, the last one smaller
      {3, 3, 2, {2, 2, 2}, 1},  // element by element
      {5, 2, 2, {5, 2, 2}, 2},  // pieces of parts of columns
      {4, 1, 5, {4, 1, 2}, 9},  // one block in one piece, k cut
      {1, 6, 1, {1, 2, 1}, 1},  // A stays on the device
  };
  std::vector<Planned> plans;
  for (const auto& c : cases)
    for (const bool reads_c : {false, true})
      plans.push_back({plan_gemm(c.m, c.n, c.k, reads_c, 8, c.cut, static_cast<std::size_t>(c.ring) * 8), c.ring});
  return plans;
}

/// One change of one schedule.  Passing check() although the interpreter calls it wrong fails the test; `caught` and
/// `harmless` count the others.
struct Mutations {
  std::map<std::string, int> caught, harmless, missed;

  void judge(const std::string& kind, const GemmSchedule& mutant, index ring_elements,
             const std::function<std::string()>& what) {
    if (!check(mutant).empty()) {
      ++caught[kind];
      return;
    }
    const std::string wrong = verdict(mutant, ring_elements);
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

TEST(Check, EveryStepIsNeededAndEveryNumberInItMatters) {
  // Nothing here is harmless: plans hold no superfluous step, and every field that is used decides something.
  Mutations mutations;
  for (const auto& [s, ring] : small_plans()) {
    ASSERT_EQ(check(s), "");
    ASSERT_EQ(verdict(s, ring), "");
    for (std::size_t at = 0; at < s.steps.size(); ++at) {
      auto changed = [&, &schedule = s, elements = ring](const std::string& kind, auto change) {
        GemmSchedule mutant = schedule;
        change(mutant.steps[at]);
        mutations.judge(kind, mutant, elements, [&] { return line(schedule, at); });
      };
      // A piece's fetch and commit off alike: a neighbour's elements would be committed twice, its own not at all.
      for (std::size_t commit = at; s.steps[at].kind == StepKind::fetch && commit < s.steps.size(); ++commit)
        if (s.steps[commit].kind == StepKind::commit && s.steps[commit].block == s.steps[at].block)
          for (const auto& [rows, cols] : {std::pair<index, index>{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
            GemmSchedule off = s;
            for (const std::size_t i : {at, commit}) off.steps[i].block.row += rows, off.steps[i].block.col += cols;
            mutations.judge("piece off", off, ring, [&, &schedule = s] { return line(schedule, at); });
          }
      GemmSchedule without = s;
      without.steps.erase(without.steps.begin() + static_cast<std::ptrdiff_t>(at));
      mutations.judge("drop", without, ring, [&, &schedule = s] { return line(schedule, at); });
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
      if (s.steps[at].kind == StepKind::fetch || s.steps[at].kind == StepKind::commit)
        changed("slot", [](Step& x) { x.slot = 1 - x.slot; });
    }
  }
  EXPECT_EQ(mutations.caught.size(), 10u);
  for (const auto& [kind, times] : mutations.harmless) ADD_FAILURE() << times << " harmless: " << kind;
}

TEST(Check, SlotsThatDoNotExistAreCaught) {
  for (const auto& [s, ring] : small_plans())
    for (std::size_t at = 0; at < s.steps.size(); ++at)
      for (const int slot : {-1, 2, 1000}) {
        if (s.steps[at].kind != StepKind::fetch && s.steps[at].kind != StepKind::commit) continue;
        GemmSchedule mutant = s;
        mutant.steps[at].slot = slot;
        ASSERT_NE(check(mutant), "") << line(s, at) << " in slot " << slot;
      }
}

TEST(Check, ADifferentOrderPassesOnlyIfItComputesTheProduct) {
  // Each step moved to each other place (swaps of neighbours among them).  Harmless are those that leave the order of
  // dependent steps: two uploads of different operands, a fetch ahead of another piece's commit.
  Mutations mutations;
  for (const auto& [s, ring] : small_plans())
    for (std::size_t from = 0; from < s.steps.size(); ++from)
      for (std::size_t to = 0; to < s.steps.size(); ++to) {
        if (from == to) continue;
        GemmSchedule mutant = s;
        mutant.steps.erase(mutant.steps.begin() + static_cast<std::ptrdiff_t>(from));
        mutant.steps.insert(mutant.steps.begin() + static_cast<std::ptrdiff_t>(to), s.steps[from]);
        const bool neighbours = from + 1 == to || to + 1 == from;
        mutations.judge(neighbours ? "swap" : "move", mutant, ring,
                        [&, &schedule = s] { return line(schedule, from) + " to " + std::to_string(to); });
      }
  for (const char* kind : {"swap", "move"}) {
    EXPECT_GT(mutations.caught[kind], 50);
    EXPECT_GT(mutations.harmless[kind], 10);
  }
}

TEST(Check, ARepeatedStepPassesOnlyIfItChangesNothing) {
  // Each step once more at each place.  Harmless: an upload of what is there already or not needed any more.
  Mutations mutations;
  for (const auto& [s, ring] : small_plans())
    for (std::size_t from = 0; from < s.steps.size(); ++from)
      for (std::size_t to = 0; to <= s.steps.size(); ++to) {
        GemmSchedule mutant = s;
        mutant.steps.insert(mutant.steps.begin() + static_cast<std::ptrdiff_t>(to), s.steps[from]);
        mutations.judge("repeat", mutant, ring,
                        [&, &schedule = s] { return line(schedule, from) + " at " + std::to_string(to); });
      }
  EXPECT_GT(mutations.caught["repeat"], 1000);
  EXPECT_GT(mutations.harmless["repeat"], 10);
}

TEST(Schedule, IsPrintable) {
  EXPECT_EQ(to_string(plan_gemm(3, 2, 4, true, 8, {3, 2, 2}, 8 * 3)),
            "gemm m=3 n=2 k=4 in blocks of 3 x 2, k by 2, reads C\n"
            "  upload C [0:3, 0:2]\n"
            "  upload A [0:3, 0:2]\n"
            "  upload B [0:2, 0:2]\n"
            "  multiply [0:3, 0:2] k 0:2 first\n"
            "  upload A [0:3, 2:4]\n"
            "  upload B [2:4, 0:2]\n"
            "  multiply [0:3, 0:2] k 2:4\n"
            "  fetch    [0:3, 0:1] slot 0\n"
            "  fetch    [0:3, 1:2] slot 1\n"
            "  commit   [0:3, 0:1] slot 0\n"
            "  commit   [0:3, 1:2] slot 1\n");
}

}  // namespace
}  // namespace blaslift
