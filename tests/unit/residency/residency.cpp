// Residency: that a copy which is used holds what the program's memory holds, whatever has happened to either; and that
// operands are kept, and given up, as it says.  Each test runs with a tracker that is told of every write, and with the
// kernel's where there is one.
#include "impl/residency/residency.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <ostream>

#include "impl/residency/tracker.hpp"
#include "tests/unit/support/heap.hpp"
#include "tests/unit/support/mapped.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/scripted.hpp"

namespace blaslift::residency_tests {
namespace {

constexpr std::size_t plenty = std::size_t{64} << 20;

enum class Kernel { scripted, real };
void PrintTo(Kernel kernel, std::ostream* out) { *out << (kernel == Kernel::real ? "real" : "scripted"); }

/// How an operand fared in a call.
struct Used {
  bool held;
  double spared;
  std::vector<Block> missing;
  bool unchanged;

  double missing_bytes(std::size_t element) const {
    double sum = 0;
    for (const Block& b : missing) sum += static_cast<double>(b.rows * b.cols) * static_cast<double>(element);
    return sum;
  }
};

/// The program's memory, a device, and what a call does with both.
class World {
 public:
  World(Kernel kernel, ResidencyMode mode, std::size_t limit = plenty)
      : heap(limit), residency(std::make_unique<Residency>(mode)), kernel_(kernel) {
    arena.open(heap, {[](void* self) { return static_cast<World*>(self)->residency->evict_one(); }, this});
    std::string why;
    Tracker* tracker = &script;
    if (kernel == Kernel::real && !(tracker = open_tracker(why))) skipped = why;
    residency->open(arena, heap, tracker ? std::make_shared<Pages>(*tracker) : nullptr, why);
  }
  ~World() {
    while (residency->evict_one()) {
    }
    EXPECT_EQ(arena.taken(), 0u) << "a copy is still in use, or lost";
    EXPECT_EQ(heap.allocations, 0);
    EXPECT_TRUE(script.covered.empty()) << "protected for ever";
    EXPECT_FALSE(script.released_too_often);
  }

  // ---- what the program does

  void wrote(const void* at, std::size_t bytes) {
    const auto begin = reinterpret_cast<Address>(at);
    script.write(pages_of({begin, begin + bytes}));
  }
  void store(void* at, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) static_cast<char*>(at)[i] = static_cast<char>(random.below(256));
    wrote(at, bytes);
  }
  void fill(const Stored& x) {
    for (index j = 0; j < x.cols; ++j) store(host(x, 0, j), static_cast<std::size_t>(x.rows) * x.element);
  }
  void discard(const Mapped& memory, std::size_t page) {
    (void)madvise(memory.at(page), page_bytes, MADV_DONTNEED);
    script.empty(memory.range(page, page + 1));
  }

  // ---- what a call does, step by step

  struct Operand {
    Stored stored;
    bool writes, reads, factors = false;
    Residency::Prospect known{};
  };

  void look(Operand& x, Residency::Glance& glance) { x.known = residency->look(x.stored, x.writes, x.reads, glance); }
  void keep(Operand& x, Residency::Glance& glance) {
    if (!x.known.hold) x.known.hold = residency->keep(x.stored, {x.writes, x.reads, x.factors}, glance);
  }
  Used fared(const Operand& x) {
    return {static_cast<bool>(x.known.hold), x.known.spared, x.known.hold.missing, x.known.unchanged};
  }
  /// Uploads what is missing: then the copy must be what the program has.
  void send(const Operand& x) {
    if (!x.known.hold || !x.reads) return;
    for (const Block& b : x.known.hold.missing)
      for (index j = b.col; j < b.col + b.cols; ++j)
        std::memcpy(device(x, b.row, j), host(x.stored, b.row, j), static_cast<std::size_t>(b.rows) * x.stored.element);
    ASSERT_TRUE(same(x)) << "the copy is stale";
  }
  /// A transfer that fails in the middle of what it writes to.
  void tear(const Operand& x) {
    if (!x.known.hold) return;
    for (const Block& b : x.known.hold.missing)
      for (index j = b.col; j < b.col + b.cols; ++j)
        std::memset(device(x, b.row, j), 0x5a, static_cast<std::size_t>(b.rows) * x.stored.element);
  }
  /// The product, to the copy and to the program's memory; or, torn, to some of the latter only.
  void write(const Operand& x, bool torn) {
    const Stored& c = x.stored;
    for (index j = 0; j < c.cols; ++j) {
      store(host(c, 0, j), static_cast<std::size_t>(c.rows) * c.element);
      if (x.known.hold)
        torn ? std::memset(device(x, 0, j), 0x5a, static_cast<std::size_t>(c.rows) * c.element)
             : std::memcpy(device(x, 0, j), host(c, 0, j), static_cast<std::size_t>(c.rows) * c.element);
    }
  }
  bool same(const Operand& x) const {
    for (index j = 0; j < x.stored.cols; ++j)
      if (std::memcmp(device(x, 0, j), host(x.stored, 0, j),
                      static_cast<std::size_t>(x.stored.rows) * x.stored.element) != 0)
        return false;
    return true;
  }

  /// A whole call, in the order of impl/product/gemm.cpp.
  std::vector<Used> call(std::vector<Operand> operands, bool good = true) {
    Residency::Glance glance;
    for (Operand& x : operands) look(x, glance);
    for (Operand& x : operands) keep(x, glance);
    std::vector<Used> used;
    for (const Operand& x : operands) used.push_back(fared(x));
    for (const Operand& x : operands)
      if (x.writes) residency->before_writing(x.stored);
    for (const Operand& x : operands) good ? send(x) : tear(x);
    for (const Operand& x : operands)
      if (x.writes) write(x, !good);
    for (Operand& x : operands) residency->close(x.known.hold, good);
    for (const Operand& x : operands)
      if (x.writes && good) residency->note_result(x.stored);
    return used;
  }
  Used operand(const Stored& x, bool good = true) { return call({{x, false, true}}, good).front(); }
  Used result(const Stored& c, bool reads, bool good = true) { return call({{c, true, reads}}, good).front(); }

  Heap heap;
  Arena arena;
  Scripted script;
  std::unique_ptr<Residency> residency;
  Random random{1};
  std::string skipped;

 private:
  static char* host(const Stored& x, index row, index col) {
    return const_cast<char*>(static_cast<const char*>(x.at)) + static_cast<std::size_t>(row + col * x.ld) * x.element;
  }
  static char* device(const Operand& x, index row, index col) {
    return static_cast<char*>(x.known.hold.device) +
           static_cast<std::size_t>(row + col * x.known.hold.ld) * x.stored.element;
  }
  const Kernel kernel_;
};

class Resides : public testing::TestWithParam<Kernel> {
 protected:
  World& world(ResidencyMode mode = ResidencyMode::automatic, std::size_t limit = plenty) {
    return worlds_.emplace_back(GetParam(), mode, limit);
  }
  void SetUp() override {
    std::string why;
    if (GetParam() == Kernel::real && !open_tracker(why)) GTEST_SKIP() << "no write tracking here: " << why;
  }

 private:
  std::deque<World> worlds_;
};
INSTANTIATE_TEST_SUITE_P(With, Resides, testing::Values(Kernel::scripted, Kernel::real),
                         [](const auto& x) { return x.param == Kernel::real ? "Kernel" : "Script"; });

/// 512 x 60 doubles: a page a column.
Stored columns_of_pages(const Mapped& memory, std::size_t first = 0, index cols = 60) {
  return {memory.at(first), 512, cols, 512, 8};
}

TEST_P(Resides, TheFirstUseIsKeptAndTheSecondMovesNothing) {
  World& w = world();
  const Mapped memory(64);
  const Stored x = columns_of_pages(memory);
  Used use = w.operand(x);
  EXPECT_TRUE(use.held);
  EXPECT_EQ(use.spared, 0);
  EXPECT_EQ(use.missing_bytes(8), x.bytes());
  for (int time = 0; time < 5; ++time) {
    use = w.operand(x);
    EXPECT_TRUE(use.held);
    EXPECT_EQ(use.spared, x.bytes());
    EXPECT_TRUE(use.missing.empty());
  }
  EXPECT_EQ(w.arena.taken(), static_cast<std::size_t>(x.bytes()));
}

/// Which elements of x have a byte on these pages of memory.
std::vector<bool> elements_on(const Stored& x, const std::vector<Range>& pages) {
  std::vector<bool> on;
  for (index j = 0; j < x.cols; ++j)
    for (index i = 0; i < x.rows; ++i) {
      const Address at = reinterpret_cast<Address>(x.at) + static_cast<std::size_t>(i + j * x.ld) * x.element;
      on.push_back(std::any_of(pages.begin(), pages.end(),
                               [&](const Range& p) { return at < p.end && p.begin < at + x.element; }));
    }
  return on;
}

/// Which elements are missing; each at most once, and none that is not there.
std::vector<bool> elements_in(const Stored& x, const std::vector<Block>& missing) {
  std::vector<bool> in(static_cast<std::size_t>(x.rows * x.cols));
  for (const Block& b : missing) {
    EXPECT_TRUE(b.row >= 0 && b.col >= 0 && b.rows > 0 && b.cols > 0 && b.row + b.rows <= x.rows &&
                b.col + b.cols <= x.cols);
    for (index j = b.col; j < b.col + b.cols; ++j)
      for (index i = b.row; i < b.row + b.rows; ++i) {
        const auto at = static_cast<std::size_t>(i + j * x.rows);
        EXPECT_FALSE(in.at(at)) << "missing twice";
        in.at(at) = true;
      }
  }
  return in;
}

double bytes_of(const std::vector<bool>& elements, std::size_t element) {
  return static_cast<double>(std::count(elements.begin(), elements.end(), true)) * static_cast<double>(element);
}

/// Matrices that lie on their pages in every way.
std::vector<Stored> ways_to_lie(const Mapped& memory) {
  return {
      {memory.at(0), 512, 30, 512, 8},            // a column a page
      {memory.at(2), 500, 40, 512, 8},            // the same with gaps
      {memory.at(1) + 24, 300, 50, 317, 8},       // columns begin and end anywhere
      {memory.at(0) + 8, 130, 60, 133, 16},       // elements that straddle pages
      {memory.at(3) + 4, 1000, 20, 1000, 4},      // nothing on the first pages
      {memory.at(0) + 4096 - 8, 7, 4000, 7, 16},  // short columns, first element on two pages
      {memory.at(5) + 16, 20000, 1, 20000, 8},    // one column
      {memory.at(5) + 16, 1, 20000, 1, 8},        // one row
      {memory.at(0), 100, 12, 3000, 8},           // pages that hold nothing of it
  };
}

TEST_P(Resides, OneWrittenPageIsMissingAndNothingElse) {
  const Mapped memory(128);
  for (const Stored& x : ways_to_lie(memory)) {
    SCOPED_TRACE(testing::Message() << x.rows << " x " << x.cols << ", ld " << x.ld << ", " << x.element << " bytes");
    World& w = world(ResidencyMode::always);
    w.operand(x);
    const Range pages = pages_of(x.range());
    for (Address at = pages.begin; at < pages.end; at += page_bytes) {
      // Any byte of it, one of the gaps' included.
      w.store(reinterpret_cast<char*>(at) + w.random.below(page_bytes), 1);
      const auto expected = elements_on(x, {{at, at + page_bytes}});
      const Used use = w.operand(x);
      ASSERT_TRUE(use.held);
      ASSERT_EQ(elements_in(x, use.missing), expected) << "page " << (at - pages.begin) / page_bytes;
      ASSERT_EQ(use.spared, x.bytes() - bytes_of(expected, x.element));
      if (HasFailure()) return;
    }
    EXPECT_EQ(w.operand(x).spared, x.bytes());
    // Beside it.
    w.store(reinterpret_cast<char*>(pages.end), 1);
    EXPECT_EQ(w.operand(x).spared, x.bytes());
  }
}

TEST_P(Resides, AnyWrittenPagesAreMissing) {
  const Mapped memory(400);
  std::vector<Stored> all = ways_to_lie(memory);
  all.push_back({memory.at(1) + 8, 510, 390, 511, 8});  // more runs than are told apart
  for (const Stored& x : all) {
    World& w = world(ResidencyMode::always);
    w.operand(x);
    const Range pages = pages_of(x.range());
    for (int time = 0; time < 20; ++time) {
      std::vector<Range> written;
      const std::size_t rarity = 2 + w.random.below(20);
      for (Address at = pages.begin; at < pages.end; at += page_bytes)
        if (w.random.below(rarity) == 0) {
          w.store(reinterpret_cast<char*>(at) + w.random.below(page_bytes), 1);
          if (written.empty() || written.back().end != at) written.push_back({at, at});
          written.back().end = at + page_bytes;
        }
      const auto expected = elements_on(x, written);
      const Used use = w.operand(x);
      ASSERT_TRUE(use.held);
      const auto missing = elements_in(x, use.missing);
      if (written.size() <= 64) {
        ASSERT_EQ(missing, expected);
      } else {
        ASSERT_LE(use.missing.size(), 3u * 64);
        for (std::size_t i = 0; i < missing.size(); ++i) ASSERT_TRUE(missing[i] || !expected[i]);
      }
      ASSERT_EQ(use.spared, x.bytes() - bytes_of(missing, x.element));
      ASSERT_EQ(w.operand(x).spared, x.bytes());
      if (HasFailure()) return;
    }
  }
}

TEST_P(Resides, PartsOfACopyAreServedByIt) {
  World& w = world();
  const Mapped memory(64);
  const Stored whole = columns_of_pages(memory);
  w.operand(whole);
  const std::size_t taken = w.arena.taken();
  for (const Block& b : {Block{0, 0, 512, 1}, Block{0, 59, 512, 1}, Block{5, 3, 100, 40}, Block{511, 0, 1, 60}}) {
    const Stored part{memory.at(static_cast<std::size_t>(b.col)) + b.row * 8, b.rows, b.cols, 512, 8};
    const Used use = w.operand(part);
    EXPECT_TRUE(use.held);
    EXPECT_EQ(use.spared, part.bytes());
  }
  EXPECT_EQ(w.arena.taken(), taken) << "copied once more";
  // Not so: another leading dimension, another element, a matrix that reaches beyond.
  const Stored others[] = {{memory.at(0), 512, 10, 1024, 8},
                           {memory.at(0), 512, 10, 512, 4},
                           {memory.at(50), 512, 11, 512, 8},
                           {memory.at(0) + 8, 512, 3, 512, 8},
                           {memory.at(0) + 4, 100, 3, 512, 8}};
  for (const Stored& other : others) EXPECT_EQ(w.operand(other).spared, 0);
}

TEST_P(Resides, ATrianglesCopyServesThatTriangleOnly) {
  World& w = world();
  const Mapped memory(600);
  const Stored upper{memory.at(0), 512, 512, 512, 8, Part::upper};
  const auto part = [&](index row, index col, index size, Part what) {
    return Stored{memory.at(static_cast<std::size_t>(col)) + row * 8, size, size, 512, 8, what};
  };
  const auto look = [&](const Stored& x) {
    World::Operand operand{x, false, true};
    Residency::Glance glance;
    w.look(operand, glance);
    const Part holds = operand.known.hold.part;
    const bool held = static_cast<bool>(operand.known.hold);
    w.residency->close(operand.known.hold, true);
    return std::pair{held, holds};
  };
  w.operand(upper);
  EXPECT_EQ(look(upper), (std::pair{true, Part::upper}));
  EXPECT_EQ(look(part(100, 100, 400, Part::upper)), (std::pair{true, Part::upper}));
  EXPECT_FALSE(look(part(100, 101, 400, Part::upper)).first) << "its triangle reaches below the diagonal";
  EXPECT_FALSE(look(part(0, 0, 512, Part::lower)).first);
  EXPECT_FALSE(look(part(0, 0, 512, Part::whole)).first);
  EXPECT_FALSE(look(part(0, 200, 200, Part::whole)).first);
  World& v = world();
  const Mapped other(600);
  v.operand({other.at(0), 512, 512, 512, 8});
  World::Operand lower{{other.at(100), 300, 300, 512, 8, Part::lower}, false, true};
  Residency::Glance glance;
  v.look(lower, glance);
  EXPECT_TRUE(lower.known.hold);
  EXPECT_EQ(lower.known.hold.part, Part::whole) << "then all that is missing has to be sent";
  v.residency->close(lower.known.hold, true);

  // On a size that is no multiple of the 256 bytes that columns begin with.
  World& u = world();
  const Mapped odd(600);
  World::Operand alone{{odd.at(0), 301, 301, 512, 8, Part::lower}, false, true};
  u.operand(alone.stored);
  Residency::Glance first;
  u.look(alone, first);
  EXPECT_TRUE(alone.known.hold);
  EXPECT_EQ(alone.known.hold.ld, 320);
  u.residency->close(alone.known.hold, true);
}

TEST(Recurring, IsWhatHasBeenSeenWithTheSameContents) {
  const Mapped memory(128);
  const Stored x{memory.at(0), 512, 60, 512, 8}, y{memory.at(64), 512, 60, 512, 8};
  Recurring recurring;
  EXPECT_FALSE(recurring.again(x));
  EXPECT_TRUE(recurring.again(x));
  EXPECT_FALSE(recurring.again(y));
  EXPECT_TRUE(recurring.again(x));
  std::memset(memory.at(0), 0x33, 60 * page_bytes);
  EXPECT_FALSE(recurring.again(x));
  EXPECT_TRUE(recurring.again(x));
  // Sixteen others later it is forgotten.
  for (index rows = 400; rows < 416; ++rows) EXPECT_FALSE(recurring.again({memory.at(0), rows, 60, 512, 8}));
  EXPECT_FALSE(recurring.again(x));
}

TEST(Recurring, OfATriangleTheOtherOneMayChange) {
  const Mapped memory(64);
  const Stored upper{memory.at(0), 60, 60, 512, 8, Part::upper}, lower{memory.at(0), 60, 60, 512, 8, Part::lower};
  Recurring recurring;
  recurring.again(upper);
  recurring.again(lower);
  for (std::size_t col = 0; col < 60; ++col)
    std::memset(memory.at(col) + (col + 1) * 8, 0x33, (60 - col) * 8);  // below the diagonal
  EXPECT_TRUE(recurring.again(upper));
  EXPECT_FALSE(recurring.again(lower));
}

TEST_P(Resides, APageThatIsSentInPartStaysDirtyForTheRest) {
  World& w = world();
  const Mapped memory(64);
  const Stored whole = columns_of_pages(memory);
  const Stored upper{memory.at(8), 200, 20, 512, 8}, columns{memory.at(8), 512, 20, 512, 8};
  w.operand(whole);
  w.store(memory.at(10) + 100, 8);
  w.store(memory.at(10) + 8 * 400, 8);
  Used use = w.operand(upper);
  EXPECT_EQ(elements_in(upper, use.missing), elements_on(upper, {memory.range(10, 11)}));
  use = w.operand(upper);
  EXPECT_EQ(use.spared, upper.bytes() - 200 * 8) << "still dirty";
  use = w.operand(whole);
  EXPECT_EQ(elements_in(whole, use.missing), elements_on(whole, {memory.range(10, 11)}));
  EXPECT_EQ(w.operand(whole).spared, whole.bytes());
  // A part that has all of the page makes it good for everybody.
  w.store(memory.at(12) + 8 * 400, 8);
  EXPECT_EQ(w.operand(columns).missing_bytes(8), page_bytes);
  EXPECT_EQ(w.operand(whole).spared, whole.bytes());
  // And a part that holds nothing of it learns nothing, and hides nothing.
  w.store(memory.at(14) + 8 * 400, 8);
  EXPECT_EQ(w.operand(upper).missing_bytes(8), 200 * 8);
  EXPECT_EQ(w.operand(whole).missing_bytes(8), page_bytes);
}

TEST_P(Resides, HolesAreSentEveryTime) {
  World& w = world();
  const Mapped memory(64);
  const Stored x = columns_of_pages(memory);
  w.operand(x);
  w.discard(memory, 7);
  Used use = w.operand(x);
  EXPECT_TRUE(use.held);
  EXPECT_EQ(use.missing_bytes(8), page_bytes) << "zeros now";
  w.store(memory.at(7), page_bytes);
  EXPECT_EQ(w.operand(x).missing_bytes(8), page_bytes);
  EXPECT_EQ(w.operand(x).missing_bytes(8), 0);
}

TEST_P(Resides, AResultThatIsUsedStaysOnTheDevice) {
  World& w = world();
  const Mapped memory(64);
  const Stored c = columns_of_pages(memory);
  EXPECT_FALSE(w.result(c, false).held) << "nobody has used it yet";
  Used use = w.operand(c);  // now somebody has
  EXPECT_TRUE(use.held);
  for (int time = 0; time < 4; ++time) {
    EXPECT_TRUE(w.result(c, false).held);
    use = w.operand(c);
    EXPECT_TRUE(use.held);
    EXPECT_EQ(use.spared, c.bytes()) << "the result has come back to the device, the " << time << "th time";
  }
  // A sum into it needs it, and has it.
  use = w.result(c, true);
  EXPECT_TRUE(use.held);
  EXPECT_EQ(use.spared, c.bytes());
  w.store(memory.at(9), 1);
  use = w.result(c, true);
  EXPECT_EQ(use.missing_bytes(8), page_bytes);
  EXPECT_EQ(w.operand(c).spared, c.bytes());
}

TEST_P(Resides, FactorsStayAtOnceUntilNobodyUsesThem) {
  const Mapped memory(64);
  const Stored c = columns_of_pages(memory);
  for (const bool solves : {false, true}) {
    World& w = world();
    for (int time = 0; time < 6; ++time) {
      w.fill(c);
      EXPECT_EQ(w.call({{c, true, true, true}}).front().held, solves || time < 2) << solves << ' ' << time;
      if (solves) {
        EXPECT_EQ(w.operand(c).spared, c.bytes()) << time;
      }
    }
  }
  // Factors of factors are no use of them.
  World& w = world();
  const Mapped others(64);
  for (int time = 0; time < 2; ++time) w.call({{columns_of_pages(time ? others : memory), true, true, true}});
  w.call({{c, true, true, true}});
  const Mapped third(64);
  EXPECT_FALSE(w.call({{columns_of_pages(third), true, true, true}}).front().held);
}

TEST_P(Resides, ASumIntoTheSameMatrixIsKeptOnceThatIsSeen) {
  World& w = world();
  const Mapped memory(64);
  const Stored c = columns_of_pages(memory);
  EXPECT_FALSE(w.result(c, true).held);
  EXPECT_TRUE(w.result(c, true).held);
  for (int time = 0; time < 3; ++time) EXPECT_EQ(w.result(c, true).spared, c.bytes());
}

TEST_P(Resides, APartOfAResultIsNotTakenForRewritten) {
  World& w = world();
  const Mapped memory(64);
  const Stored c = columns_of_pages(memory), part{memory.at(10), 512, 20, 512, 8};
  w.operand(c);
  w.operand(part);
  EXPECT_TRUE(w.result(c, false).held);
  EXPECT_EQ(w.operand(part).spared, part.bytes()) << "it has changed since it was last seen, and so has the copy";
}

TEST_P(Resides, AResultIntoAPartLeavesTheRestAsItWas) {
  World& w = world(ResidencyMode::always);
  const Mapped memory(64);
  const Stored whole = columns_of_pages(memory), part{memory.at(8) + 8 * 100, 200, 20, 512, 8};
  w.operand(whole);
  w.store(memory.at(3), 1);             // outside of the part
  w.store(memory.at(10) + 8 * 400, 1);  // on a page of the part, but not in it
  EXPECT_TRUE(w.result(part, false).held);
  Used use = w.operand(whole);
  EXPECT_EQ(elements_in(whole, use.missing), elements_on(whole, {memory.range(3, 4), memory.range(8, 28)}))
      << "pages that the result shares with others are sent again";
  const Stored columns{memory.at(8), 512, 20, 512, 8};
  EXPECT_TRUE(w.result(columns, false).held);
  EXPECT_EQ(w.operand(whole).spared, whole.bytes()) << "whole pages are good";
}

TEST_P(Resides, ResultsThatAreNotHeldMakeOthersCopiesDirty) {
  World& w = world();
  const Mapped memory(64);
  const Stored x = columns_of_pages(memory, 0, 32), c{memory.at(31), 512, 30, 512, 8};  // they share a page
  w.operand(x);
  EXPECT_FALSE(w.result(c, false).held);
  EXPECT_EQ(w.operand(x).missing_bytes(8), page_bytes);
  EXPECT_EQ(w.operand(x).spared, x.bytes());
}

TEST_P(Resides, WhatIsRewrittenIsGivenUpUntilSeenUnchangedFourTimes) {
  World& w = world();
  const Mapped memory(64);
  const Stored x = columns_of_pages(memory);
  EXPECT_TRUE(w.operand(x).held);
  EXPECT_TRUE(w.operand(x).held);
  for (const int patience : {4, 16}) {
    w.fill(x);
    EXPECT_FALSE(w.operand(x).held) << "neither used nor kept again";
    EXPECT_EQ(w.arena.taken(), 0u);
    for (int time = 1; time < patience; ++time) {
      const Used use = w.operand(x);
      ASSERT_FALSE(use.held) << time << " of " << patience;
      ASSERT_TRUE(use.unchanged);
    }
    EXPECT_TRUE(w.operand(x).held);
    EXPECT_EQ(w.operand(x).spared, x.bytes());
  }
}

TEST_P(Resides, ALittleDirtIsWorthwhileAndMoreIsNot) {
  const Mapped memory(256);
  for (const auto& [cols, dirt, worthwhile] :
       {std::tuple{160, 10, true}, std::tuple{160, 11, false}, std::tuple{10, 4, true}, std::tuple{10, 5, false}}) {
    World& w = world();
    const Stored x = columns_of_pages(memory, 0, cols);
    w.operand(x);
    for (int page = 0; page < dirt; ++page) w.store(memory.at(static_cast<std::size_t>(2 * page)), 1);
    EXPECT_EQ(w.operand(x).held, worthwhile) << dirt << " pages of " << cols;
  }
}

TEST_P(Resides, NewOperandsGetAnAdvanceOneACall) {
  World& w = world();
  const Mapped memory(256);
  const Stored first = columns_of_pages(memory, 0), second = columns_of_pages(memory, 64),
               third = columns_of_pages(memory, 128);
  auto held = [&w](const Stored& x, const Stored& y) {
    const auto used = w.call({{x, false, true}, {y, false, true}});
    return std::pair(used[0].held, used[1].held);
  };
  EXPECT_EQ(held(first, second), std::pair(true, false));
  EXPECT_EQ(held(first, third), std::pair(true, true)) << "the first is there already";
  EXPECT_TRUE(w.operand(second).held) << "seen unchanged";
  // Who did not get one the first time gets one only for that.
  World& v = world();
  v.call({{first, false, true}, {second, false, true}});
  v.fill(second);
  EXPECT_FALSE(v.operand(second).held);
  EXPECT_TRUE(v.operand(second).held);
}

TEST_P(Resides, KeepsWithinItsHalfOfTheMemoryWhatWasUsedLast) {
  const Mapped memory(256);
  std::vector<Stored> x;
  for (std::size_t i = 0; i < 4; ++i) x.push_back(columns_of_pages(memory, 64 * i, 50));
  const auto bytes = static_cast<std::size_t>(x[0].bytes());
  World& w = world(ResidencyMode::always, 6 * bytes + 5);
  for (const Stored& y : x) {
    EXPECT_TRUE(w.operand(y).held);
    EXPECT_LE(w.arena.taken(), 3 * bytes);
  }
  // 0 had to go for 3.
  EXPECT_EQ(w.operand(x[1]).spared, x[1].bytes());
  EXPECT_EQ(w.operand(x[0]).spared, 0) << "and now 2, used longest ago";
  EXPECT_EQ(w.operand(x[3]).spared, x[3].bytes());
  EXPECT_EQ(w.operand(x[1]).spared, x[1].bytes());
  EXPECT_EQ(w.operand(x[2]).spared, 0);
  // What does not fit at all is not tried.
  const Stored all{memory.at(0), 512, 200, 512, 8};
  EXPECT_FALSE(w.operand(all).held);
  EXPECT_EQ(w.arena.taken(), 3 * bytes) << "and nothing given up for it";
}

TEST_P(Resides, CopiesInUseAreNotGivenUp) {
  World& w = world(ResidencyMode::always, 4 << 20);
  const Mapped memory(128);
  World::Operand a{columns_of_pages(memory, 0, 50), false, true}, b{columns_of_pages(memory, 64, 50), false, true};
  w.operand(a.stored);
  w.operand(b.stored);
  Residency::Glance glance;
  w.look(a, glance);
  ASSERT_TRUE(a.known.hold);
  EXPECT_TRUE(w.residency->evict_one()) << "the other";
  EXPECT_FALSE(w.residency->evict_one());
  void* rest = nullptr;
  EXPECT_EQ(w.arena.take(w.arena.limit(), false, rest), Status::no_memory);
  EXPECT_TRUE(w.same(a));
  w.residency->close(a.known.hold, true);
  EXPECT_EQ(w.arena.take(w.arena.limit(), false, rest), Status::done) << "now it can be";
  w.arena.give_back(rest, w.arena.limit());
  EXPECT_EQ(w.arena.taken(), 0u);
}

TEST_P(Resides, GoodCopiesAreSharedAndThoseBeingFilledOrWrittenAreNot) {
  World& w = world(ResidencyMode::always);
  const Mapped memory(64);
  const Stored x = columns_of_pages(memory);
  Residency::Glance glance;
  World::Operand first{x, false, true}, second{x, false, true}, writer{x, true, false};
  // Being filled.
  w.look(first, glance);
  w.keep(first, glance);
  ASSERT_TRUE(first.known.hold);
  w.look(second, glance);
  w.keep(second, glance);
  EXPECT_FALSE(second.known.hold);
  w.send(first);
  w.residency->close(first.known.hold, true);
  // Good.
  w.look(first, glance);
  w.look(second, glance);
  ASSERT_TRUE(first.known.hold && second.known.hold);
  EXPECT_EQ(first.known.hold.device, second.known.hold.device);
  w.look(writer, glance);
  EXPECT_FALSE(writer.known.hold) << "it would be written under the readers";
  // Dirty while it is read.
  w.residency->close(second.known.hold, true);
  w.store(memory.at(5), 1);
  w.look(second, glance);
  EXPECT_FALSE(second.known.hold);
  w.residency->close(first.known.hold, true);
  // Being sent again.
  w.look(first, glance);
  ASSERT_TRUE(first.known.hold);
  EXPECT_EQ(w.fared(first).missing_bytes(8), page_bytes);
  w.look(second, glance);
  EXPECT_FALSE(second.known.hold);
  w.send(first);
  w.residency->close(first.known.hold, true);
  // Being written.
  w.look(writer, glance);
  ASSERT_TRUE(writer.known.hold);
  w.look(first, glance);
  EXPECT_FALSE(first.known.hold);
  w.residency->before_writing(x);
  w.write(writer, false);
  w.residency->close(writer.known.hold, true);
  EXPECT_EQ(w.operand(x).spared, x.bytes());
}

TEST_P(Resides, ACopyCanBeUsedBeforeItIsLookedAtAndConfirmedAfterwards) {
  World& w = world();
  const Mapped memory(128);
  const Stored x = columns_of_pages(memory), other = columns_of_pages(memory, 64);
  EXPECT_FALSE(w.residency->peek(x)) << "there is none";
  w.operand(x);
  const auto peek = [&] {
    World::Operand early{x, false, true};
    early.known.hold = w.residency->peek(x);
    EXPECT_TRUE(early.known.hold);
    return early;
  };
  const auto confirms = [&](const World::Operand& early) {
    Residency::Glance glance;
    return w.residency->confirm(early.known.hold, x, glance);
  };
  for (int time = 0; time < 3; ++time) {
    World::Operand early = peek();
    EXPECT_TRUE(w.same(early));
    EXPECT_TRUE(confirms(early));
    EXPECT_FALSE(w.residency->evict_one()) << "in use";
    w.residency->close(early.known.hold, true);
  }
  EXPECT_FALSE(w.residency->peek(other));
  // One page written: not confirmed, however often; found by the next look, and only that page.
  w.store(memory.at(7), 1);
  for (int time = 0; time < 2; ++time) {
    World::Operand early = peek(), late{x, false, true};
    EXPECT_FALSE(confirms(early));
    Residency::Glance glance;
    w.look(late, glance);
    EXPECT_FALSE(late.known.hold) << "it would be sent again under the first one";
    w.residency->close(early.known.hold, false);
  }
  EXPECT_EQ(w.operand(x).missing_bytes(8), page_bytes);
  World::Operand early = peek();
  EXPECT_TRUE(confirms(early));
  w.residency->close(early.known.hold, true);
  // Rewritten: its samples tell, nobody asks the kernel, and so nothing is protected again.
  w.fill(x);
  early = peek();
  const int scans = w.script.scans;
  EXPECT_FALSE(confirms(early));
  EXPECT_EQ(w.script.scans, scans);
  w.residency->close(early.known.hold, false);
  EXPECT_FALSE(w.operand(x).held);
  EXPECT_FALSE(w.residency->peek(x)) << "given up";
}

TEST_P(Resides, ACopyThatAnotherCallHasMadeOrWrittenIsConfirmedAtOnce) {
  World& w = world();
  const Mapped memory(128);
  const Stored x = columns_of_pages(memory);
  Stored part = x, triangle = x;
  part.cols = x.cols / 2;
  triangle.part = Part::lower;
  w.operand(x);
  const auto confirmed = [&](const Stored& view) {
    World::Operand early{view, false, true};
    early.known.hold = w.residency->peek(view);
    EXPECT_TRUE(early.known.hold);
    Residency::Glance glance;
    const bool good = w.residency->confirm(early.known.hold, view, glance);
    EXPECT_TRUE(!good || w.same(early)) << "the copy is stale";
    w.residency->close(early.known.hold, good);
    return good;
  };
  // A result on the device: the samples of these operands are from before it.
  const auto write_result = [&] {
    World::Operand writer{x, true, true};
    Residency::Glance glance;
    w.look(writer, glance);
    ASSERT_TRUE(writer.known.hold);
    w.send(writer);
    w.residency->before_writing(x);
    w.write(writer, false);
    w.residency->close(writer.known.hold, true);
    w.residency->note_result(x);
  };
  for (const Stored& view : {part, triangle})
    for (int time = 0; time < 2; ++time) EXPECT_TRUE(confirmed(view)) << "never seen before, or once";
  for (int time = 0; time < 3; ++time) {
    write_result();
    for (const Stored& view : {part, triangle, x}) EXPECT_TRUE(confirmed(view)) << time;
  }
  // What the program itself writes after that is seen all the same, also where no operand's samples could tell.
  write_result();
  w.store(memory.at(7), 1);
  for (const Stored& view : {part, triangle, x}) EXPECT_FALSE(confirmed(view));
  EXPECT_EQ(w.operand(x).missing_bytes(8), page_bytes);
  EXPECT_TRUE(confirmed(part));
  // And where they do tell, nobody asks the kernel.
  w.fill(x);
  const int scans = w.script.scans;
  EXPECT_FALSE(confirmed(part));
  EXPECT_EQ(w.script.scans, scans);
}

TEST(Residency, NothingIsConfirmedWhileWritesCouldGoUnseen) {
  World w(Kernel::scripted, ResidencyMode::always);
  const Mapped memory(64);
  const Stored x = columns_of_pages(memory);
  w.operand(x);
  Residency::Hold hold = w.residency->peek(x);
  Residency::Glance one, two, three;
  EXPECT_TRUE(w.residency->confirm(hold, x, one));
  w.script.blindness = "somebody else's hands";
  EXPECT_FALSE(w.residency->confirm(hold, x, two));
  w.script.blindness = "";
  w.script.failing = 1;
  EXPECT_FALSE(w.residency->confirm(hold, x, three));
  w.residency->close(hold, false);
}

TEST_P(Resides, AFailedCallLeavesNothingHalfDone) {
  World& w = world(ResidencyMode::always);
  const Mapped memory(64);
  const Stored x = columns_of_pages(memory);
  EXPECT_TRUE(w.operand(x, false).held);
  EXPECT_EQ(w.arena.taken(), 0u) << "never filled";
  EXPECT_TRUE(w.operand(x).held);
  w.store(memory.at(4), 1);
  EXPECT_EQ(w.operand(x, false).missing_bytes(8), page_bytes);
  EXPECT_EQ(w.operand(x).missing_bytes(8), page_bytes) << "still to be sent";
  EXPECT_EQ(w.operand(x, false).spared, x.bytes());
  EXPECT_EQ(w.operand(x).spared, x.bytes()) << "it was only read";
  EXPECT_TRUE(w.result(x, false, false).held);
  EXPECT_EQ(w.arena.taken(), 0u) << "half written";
  EXPECT_EQ(w.operand(x).spared, 0);
}

TEST_P(Resides, SwitchedOffOrWithoutATrackerKeepsNothing) {
  const Mapped memory(64);
  const Stored x = columns_of_pages(memory);
  for (const bool off : {false, true}) {
    Heap heap(plenty);
    Arena arena;
    Residency residency(off ? ResidencyMode::off : ResidencyMode::always);
    EXPECT_EQ(residency.state(), "");
    Residency::Glance glance;
    EXPECT_FALSE(residency.look(x, false, true, glance).hold) << "before it is opened";
    EXPECT_FALSE(residency.keep(x, {.writes = false, .reads = true}, glance));
    arena.open(heap, {[](void*) { return false; }, nullptr});
    Scripted script;
    residency.open(arena, heap, off ? std::make_shared<Pages>(script) : nullptr, off ? "" : "no such kernel");
    EXPECT_EQ(residency.state(), off ? "off: switched off" : "off: no such kernel");
    for (int time = 0; time < 6; ++time) {
      EXPECT_FALSE(residency.look(x, false, true, glance).hold);
      EXPECT_FALSE(residency.keep(x, {.writes = false, .reads = true}, glance));
      EXPECT_FALSE(residency.look(x, true, false, glance).hold);
      EXPECT_FALSE(residency.keep(x, {.writes = true, .reads = false}, glance));
      residency.before_writing(x);
      residency.note_result(x);
      residency.note_missed(x, 1);
      EXPECT_FALSE(residency.evict_one());
    }
    EXPECT_EQ(heap.most, 0u);
    EXPECT_EQ(script.covers + script.scans, 0);
    EXPECT_FALSE(residency.cares(x));
  }
  EXPECT_EQ(world().residency->state(), "on");
}

TEST_P(Resides, CaresForLargeOperandsWithoutMuchBetweenTheirColumns) {
  World a(GetParam(), ResidencyMode::automatic), b(GetParam(), ResidencyMode::always);
  if (!a.skipped.empty()) GTEST_SKIP() << a.skipped;
  const Residency &automatic = *a.residency, &always = *b.residency;
  const Mapped memory(1);
  auto stored = [&memory](index rows, index cols, index ld) { return Stored{memory.at(0), rows, cols, ld, 8}; };
  EXPECT_TRUE(automatic.cares(stored(1024, 128, 1024)));
  EXPECT_FALSE(automatic.cares(stored(1024, 127, 1024))) << "less than a MiB";
  EXPECT_TRUE(always.cares(stored(1, 1, 1)));
  EXPECT_TRUE(automatic.cares(stored(1024, 128, 2048)));
  EXPECT_FALSE(automatic.cares(stored(1024, 128, 4096)));
  EXPECT_FALSE(always.cares(stored(1024, 128, 4096))) << "others' pages would be protected, too";
  EXPECT_TRUE(automatic.cares(stored(8, 1 << 16, 100))) << "no whole page lies between the columns";
  EXPECT_TRUE(automatic.cares(stored(1 << 20, 1, 1 << 30)));
  EXPECT_FALSE(always.cares(stored(0, 5, 1)));
  EXPECT_FALSE(always.cares(stored(5, 0, 5)));
}

TEST_P(Resides, OnlyTheProgramsOwnMemoryIsKept) {
  World& w = world(ResidencyMode::always);
  const Mapped memory(64);
  const Stored x = columns_of_pages(memory);
  for (const MemoryKind kind : {MemoryKind::mixed, MemoryKind::reachable, MemoryKind::on_a_device}) {
    w.heap.where = kind;
    EXPECT_FALSE(w.operand(x).held);
  }
  w.heap.where = MemoryKind::pageable;
  EXPECT_TRUE(w.operand(x).held);
  EXPECT_EQ(w.operand(x).missing_bytes(8), 0);
  // Registered since, which pins pages for writing: one of them is enough.
  w.heap.where = MemoryKind::mixed;
  w.store(memory.at(20), 1);
  EXPECT_FALSE(w.operand(x).held);
  EXPECT_FALSE(w.operand(x).held);
  w.heap.where = MemoryKind::pageable;
  EXPECT_EQ(w.operand(x).missing_bytes(8), x.bytes()) << "a new copy";
}

TEST_P(Resides, ResultsInMemoryThatIsRegisteredMeanwhileAreNotKept) {
  World& w = world(ResidencyMode::always);
  const Mapped memory(64);
  const Stored c = columns_of_pages(memory);
  Residency::Glance glance;
  World::Operand x{c, true, false};
  w.look(x, glance);
  w.keep(x, glance);
  ASSERT_TRUE(x.known.hold);
  w.residency->before_writing(c);
  w.write(x, false);
  w.heap.where = MemoryKind::mixed;
  w.residency->close(x.known.hold, true);
  w.heap.where = MemoryKind::pageable;
  EXPECT_EQ(w.operand(c).missing_bytes(8), c.bytes());
}

TEST(Residency, NothingIsUsedOrKeptWhileWritesCouldGoUnseen) {
  World w(Kernel::scripted, ResidencyMode::always);
  const Mapped memory(128);
  const Stored x = columns_of_pages(memory), y = columns_of_pages(memory, 64);
  EXPECT_TRUE(w.operand(x).held);
  w.script.blindness = "somebody else's hands";
  for (int time = 0; time < 3; ++time) {
    EXPECT_FALSE(w.operand(x).held);
    EXPECT_FALSE(w.operand(y).held);
    EXPECT_FALSE(w.result(x, false).held);
  }
  w.script.blindness = "";
  EXPECT_EQ(w.operand(x).missing_bytes(8), x.bytes()) << "the results since then";
}

TEST(Residency, WhatTheKernelRefusesIsTriedAgainMuchLater) {
  World w(Kernel::scripted, ResidencyMode::automatic);
  const Mapped memory(64);
  const Stored x = columns_of_pages(memory);
  w.script.refusal = "shared";
  for (int time = 0; time < 10; ++time) EXPECT_FALSE(w.operand(x).held);
  EXPECT_EQ(w.script.covers, 1);
  EXPECT_EQ(w.arena.taken(), 0u);
  w.script.refusal = "";
  int more = 0;
  while (!w.operand(x).held && more < 200) ++more;
  EXPECT_GT(more, 30);
  EXPECT_LT(more, 100);
}

TEST(Residency, AScanThatFailsCostsTheCopyAndNothingElse) {
  for (const ResidencyMode mode : {ResidencyMode::automatic, ResidencyMode::always}) {
    World w(Kernel::scripted, mode);
    const Mapped memory(64);
    const Stored x = columns_of_pages(memory);
    w.operand(x);
    w.operand(x);
    w.script.failing = 1;
    w.store(memory.at(2), 1);
    EXPECT_EQ(w.operand(x).spared, 0);
    w.script.failing = 1;  // while protecting
    w.operand(x);
    for (int time = 0; time < 100; ++time) w.operand(x);
    EXPECT_EQ(w.operand(x).spared, x.bytes());
    w.script.failing = 1;  // while the result is made good
    w.call({{x, true, false}});
    for (int time = 0; time < 3; ++time) w.operand(x);
  }
}

TEST(Residency, AResultThatCannotBeProtectedAgainIsGivenUp) {
  World w(Kernel::scripted, ResidencyMode::always);
  const Mapped memory(64);
  const Stored c = columns_of_pages(memory);
  Residency::Glance glance;
  World::Operand x{c, true, false};
  w.look(x, glance);
  w.keep(x, glance);
  ASSERT_TRUE(x.known.hold);
  w.residency->before_writing(c);
  w.write(x, false);
  w.script.failing = 1;
  w.residency->close(x.known.hold, true);
  EXPECT_EQ(w.arena.taken(), 0u);
}

TEST(Residency, ResultsAreWrittenWithoutAFaultAPage) {
  World w(Kernel::scripted, ResidencyMode::always);
  const Mapped memory(64);
  const Stored whole = columns_of_pages(memory), c{memory.at(8) + 16, 512, 20, 512, 8};
  w.operand(whole);
  w.residency->before_writing(c);
  for (std::size_t p = 0; p < 60; ++p)
    EXPECT_EQ(w.script.is_protected(memory.range(p, p + 1).begin), p < 8 || p > 28) << p;
}

TEST(Residency, WithoutDeviceMemoryNothingIsKept) {
  World w(Kernel::scripted, ResidencyMode::always);
  const Mapped memory(64);
  const Stored x = columns_of_pages(memory);
  w.heap.refusals = 1;
  EXPECT_FALSE(w.operand(x).held);
  EXPECT_EQ(w.arena.taken(), 0u);
  EXPECT_TRUE(w.operand(x).held);
}

TEST(Residency, CopiesThatWouldHavePaidAreRemembered) {
  World w(Kernel::scripted, ResidencyMode::automatic);
  const Mapped memory(64);
  const Stored x = columns_of_pages(memory);
  const auto look = [&] {
    Residency::Glance call;
    (void)w.residency->look(x, false, true, call);
    return w.residency->look(x, false, true, call);  // C := A * A is one use of A
  };
  EXPECT_FALSE(look().unchanged);
  w.residency->note_missed(x, 0.25);
  w.residency->note_missed(x, 0.5);
  const auto prospect = look();
  EXPECT_TRUE(prospect.unchanged);
  EXPECT_EQ(prospect.missed, 0.75);
  w.fill(x);
  EXPECT_FALSE(look().unchanged);
}

TEST_P(Resides, RandomCallsAndWritesNeverFindAStaleCopy) {
  // Views of the same memory with two leading dimensions and two sizes of elements, many of them on the same pages.
  for (const ResidencyMode mode : {ResidencyMode::always, ResidencyMode::automatic})
    for (unsigned seed = 0; seed < 4; ++seed) {
      SCOPED_TRACE(testing::Message() << "mode " << static_cast<int>(mode) << ", seed " << seed);
      World& w = world(mode, seed % 2 ? 600000 : plenty);
      w.random = Random(seed);
      const Mapped memory(80);
      std::vector<Stored> views;
      for (const std::size_t element : {std::size_t{8}, std::size_t{16}})
        for (const index ld : {index{100}, index{517}})
          for (int view = 0; view < 5; ++view) {
            // All on one grid, so that some are parts of others.
            const index most = static_cast<index>(memory.size() / element) / ld - 1;
            const index row = w.random.coin() ? 0 : w.random.up_to(ld / 2), col = w.random.up_to(most) - 1;
            const index rows = w.random.coin() ? ld - row : w.random.up_to(ld - row), cols = w.random.up_to(most - col);
            views.push_back(
                {memory.at(0) + 8 + static_cast<std::size_t>(row + col * ld) * element, rows, cols, ld, element});
          }
      auto any = [&] { return views[w.random.below(views.size())]; };
      auto apart = [](const Stored& x, const Stored& y) {
        const Range a = x.range(), b = y.range();
        return a.end <= b.begin || b.end <= a.begin;
      };
      double spared = 0;
      int results = 0, confirmed = 0;
      for (int time = 0; time < 600 && !HasFailure(); ++time) {
        const std::size_t at = w.random.below(memory.size() - 5000);
        switch (w.random.below(12)) {
          case 0: w.store(memory.at(0) + at, 1 + w.random.below(16)); break;
          case 1: w.store(memory.at(0) + at, 1 + w.random.below(5000)); break;
          case 2:
            if (w.random.below(4) == 0) w.discard(memory, at / page_bytes);
            break;
          case 3: w.residency->evict_one(); break;
          case 4: {
            World::Operand early{any(), false, true};
            if (!(early.known.hold = w.residency->peek(early.stored))) break;
            Residency::Glance glance;
            if (w.residency->confirm(early.known.hold, early.stored, glance)) {
              ++confirmed;
              EXPECT_TRUE(w.same(early)) << "the copy is stale";
            }
            w.residency->close(early.known.hold, false);
            break;
          }
          default: {
            const Stored a = any(), b = any(), c = any();
            const bool good = w.random.below(6) != 0;
            std::vector<World::Operand> operands{{a, false, true}, {b, false, true}};
            if (apart(a, c) && apart(b, c) && w.random.coin())
              operands.push_back({c, true, w.random.coin()}), ++results;
            for (const Used& use : w.call(std::move(operands), good)) spared += use.spared;
          }
        }
      }
      EXPECT_GT(spared, 1e5);
      EXPECT_GT(results, 20);
      EXPECT_GT(confirmed, 0);
      if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace blaslift::residency_tests
