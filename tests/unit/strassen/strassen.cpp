// Strassen-like levels: that they compute the product, alone and stacked in any mixture; that check() lets nothing pass
// that does not; that the analysis gives the thesis's tables.  What a level's steps mean is said here once more, by an
// interpreter that runs them on numbers.
#include "impl/strassen/strassen.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <stdexcept>

namespace blaslift::strassen {

void PrintTo(Block block, std::ostream* out) { *out << "block " << static_cast<int>(block); }

namespace strassen_tests {
namespace {

using Blocks = std::vector<Block>;
using Numbers = std::vector<std::uint64_t>;
using Chain = std::vector<const Level*>;

/// A square in someone's memory, column by column.
struct Square {
  std::uint64_t* data = nullptr;
  std::size_t size = 0, ld = 0;

  std::uint64_t& operator()(std::size_t i, std::size_t j) const { return data[i + j * ld]; }
  /// 11, 12, 21, 22
  Square quarter(std::size_t number) const {
    const std::size_t half = size / 2;
    return {data + number / 2 * half + number % 2 * half * ld, half, ld};
  }
  template <class Value>
  void fill(Value& value) const {
    for (std::size_t j = 0; j < size; ++j)
      for (std::size_t i = 0; i < size; ++i) (*this)(i, j) = value();
  }
};

/// Runs levels on top of each other on integers modulo 2^64: exact, so that only what computes the product gives the
/// product (but for a negligible chance).
class Interpreter {
 public:
  explicit Interpreter(Chain chain) : chain_(std::move(chain)) {}

  /// Why the levels do not compute s * A * B (+ E) for squares of this size, whose inputs are private copies or to be
  /// kept; empty if they do.  Levels get their inputs, and E, in the basis that they want.
  std::string run(std::size_t size, bool private_inputs, bool with_e) {
    Matrix a(*this, size), b(*this, size), c(*this, size), e(*this, size);
    const std::uint64_t scale = bits_();
    Matrix expected = c;
    Matrix added = e;
    change(added.square(), &Basis::c, C11);
    multiply(expected.square(), a.square(), b.square(), with_e ? added.square() : Square{}, scale);
    change(a.square(), &Basis::a, A11);
    change(b.square(), &Basis::b, B11);
    const Matrix a_before = a, b_before = b, e_before = e;
    held_ = most_ = 0;
    try {
      compute(0, c.square(), a.square(), b.square(), {}, with_e ? e.square() : Square{}, scale, private_inputs);
    } catch (const std::logic_error& fault) {
      return fault.what();
    }
    change(c.square(), &Basis::c, C11);
    if (c.numbers != expected.numbers) return "wrong";
    if (e.numbers != e_before.numbers) return "E is overwritten";
    if (!private_inputs && (a.numbers != a_before.numbers || b.numbers != b_before.numbers))
      return "an input is overwritten";
    return {};
  }

  /// The most memory that the last run took beside A, B and C, in the top level's quarter blocks.
  double extra(std::size_t size) const { return static_cast<double>(most_) / (static_cast<double>(size * size) / 4); }

 private:
  /// With a margin that nobody may touch.
  struct Matrix {
    Matrix(Interpreter& of, std::size_t n) : size(n), numbers((n + 3) * n) {
      for (auto& x : numbers) x = of.bits_();
    }
    Square square() { return {numbers.data(), size, size + 3}; }
    std::size_t size;
    Numbers numbers;
  };

  /// Memory of a level's own, while it lives.
  struct Own {
    Own(Interpreter& interpreter, std::size_t n) : of(interpreter), matrix(interpreter, n) {
      of.held_ += n * n;
      of.most_ = std::max(of.most_, of.held_);
    }
    ~Own() { of.held_ -= matrix.size * matrix.size; }
    Own(const Own&) = delete;
    Own& operator=(const Own&) = delete;
    Interpreter& of;
    Matrix matrix;
  };

  static void multiply(Square c, Square a, Square b, Square e, std::uint64_t scale) {
    for (std::size_t j = 0; j < c.size; ++j)
      for (std::size_t i = 0; i < c.size; ++i) {
        std::uint64_t sum = 0;
        for (std::size_t k = 0; k < c.size; ++k) sum += a(i, k) * b(k, j);
        c(i, j) = scale * sum + (e.data ? e(i, j) : 0);
      }
  }

  void change(Square whole, std::vector<Sum> Basis::*sums, Block first) {
    std::vector<Square> blocks{whole};
    for (const Level* level : chain_) {
      std::vector<Square> quarters;
      for (const Square& block : blocks) {
        for (std::size_t i = 0; i < 4; ++i) quarters.push_back(block.quarter(i));
        const std::size_t number = quarters.size() - 4;
        pass(level->basis.*sums, [&](Block b) { return quarters.at(number + static_cast<std::size_t>(b - first)); });
      }
      blocks = quarters;
    }
  }

  void compute(std::size_t depth, Square c, Square a, Square b, Square support, Square e, std::uint64_t scale,
               bool private_inputs) {
    if (depth == chain_.size()) return multiply(c, a, b, e, scale);
    const Level* level = chain_[depth];
    if (level->destroys_inputs && !private_inputs) level = level->keeping;
    if (!level) return multiply(c, a, b, e, scale);
    if (e.data && level->with_e) level = level->with_e;

    std::deque<Own> own;
    auto bring = [&](std::size_t size) { return own.emplace_back(*this, size).matrix.square(); };
    std::vector<Square> blocks(static_cast<std::size_t>(first_temporary));
    auto quarter = [&](Block first, Square whole) {
      for (std::size_t i = 0; whole.data && i < 4; ++i) blocks[static_cast<std::size_t>(first) + i] = whole.quarter(i);
    };
    quarter(A11, a), quarter(B11, b), quarter(C11, c);
    if (level->adds_e) quarter(E11, e);
    if (level->needs_support()) {
      if (!support.data && !private_inputs) support = bring(c.size);
      quarter(S11, support);
      for (std::size_t i = 0; !support.data && i < 4; ++i)
        blocks[static_cast<std::size_t>(S11) + i] = blocks.at(static_cast<std::size_t>(level->outermost[i]));
    }
    for (std::size_t i = 0; i < level->temporaries.size(); ++i) blocks.push_back(bring(c.size / 2));
    auto at = [&](Block block) {
      const Square& square = blocks.at(static_cast<std::size_t>(block));
      if (!square.data) throw std::logic_error("no such block");
      return square;
    };

    std::vector<Free>& all_free = free_[level];
    if (all_free.empty()) all_free = free_blocks(*level);
    auto free = all_free.begin();
    for (const Step& step : level->steps) {
      if (step.is_product()) {
        const auto kept = [&](Block block) { return block <= B22 && !private_inputs; };
        const bool private_operands = free->operands && !kept(step.x) && !kept(step.y);
        ++free;
        const Square target = at(step.target), lent = step.lend == none ? Square{} : at(step.lend);
        for (const Square& lost : {target, lent}) lost.fill(bits_);
        compute(depth + 1, target, at(step.x), at(step.y), lent, step.e == none ? Square{} : at(step.e),
                step.sign < 0 ? -scale : scale, private_operands);
      } else {
        pass(step.sums, at);
      }
    }
    if (e.data && !level->adds_e)
      for (std::size_t j = 0; j < c.size; ++j)
        for (std::size_t i = 0; i < c.size; ++i) c(i, j) += e(i, j);
  }

  template <class At>
  static void pass(const std::vector<Sum>& sums, const At& at) {
    struct Resolved {
      Square target;
      std::vector<std::pair<Square, bool>> terms;
    };
    std::vector<Resolved> resolved;
    for (const Sum& sum : sums) {
      resolved.push_back({at(sum.target), {}});
      for (const Term& t : sum.terms) resolved.back().terms.emplace_back(at(t.block), t.sign < 0);
    }
    Numbers results(sums.size());
    const std::size_t size = sums.empty() ? 0 : at(sums.front().target).size;
    for (std::size_t j = 0; j < size; ++j)
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t s = 0; s < resolved.size(); ++s) {
          results[s] = 0;
          for (const auto& [square, negative] : resolved[s].terms)
            results[s] += negative ? -square(i, j) : square(i, j);
        }
        for (std::size_t s = 0; s < resolved.size(); ++s) resolved[s].target(i, j) = results[s];
      }
  }

  Chain chain_;
  std::map<const Level*, std::vector<Free>> free_;
  std::mt19937_64 bits_{1};
  std::size_t held_ = 0, most_ = 0;
};

/// All levels, with the forms of them that add E.
Chain all_levels() {
  Chain all = levels();
  for (const Level* level : levels())
    if (level->with_e) all.push_back(level->with_e);
  return all;
}

Step product(Block target, Block x, Block y) { return {.target = target, .x = x, .y = y}; }
Step sum(Block target, std::vector<Term> terms) { return {.sums = {{target, std::move(terms)}}}; }

/// A list that destroys inputs leaves the product to no level at all where these are to be kept.
bool can_stand(const Chain& chain) {
  bool destroys = false;
  for (const Level* level : chain) {
    if (destroys && level->basis.changes()) return false;
    destroys |= level->destroys_inputs;
  }
  return true;
}

TEST(Strassen, EveryLevelPassesItsCheck) {
  for (const Level* level : all_levels())
    for (const bool outermost : {false, true}) EXPECT_EQ(check(*level, outermost), "") << level->name;
}

TEST(Strassen, AnyLevelsOnTopOfEachOtherComputeTheProduct) {
  constexpr std::size_t leaf = 3;
  auto test = [](const Chain& chain) {
    if (!can_stand(chain)) return;
    std::string names;
    for (const Level* level : chain) names += std::string(level->name) + ", ";
    const std::size_t size = leaf << chain.size();
    for (const bool private_inputs : {false, true})
      for (const bool with_e : {false, true})
        if (with_e || !chain.front()->adds_e) {
          EXPECT_EQ(Interpreter(chain).run(size, private_inputs, with_e), "")
              << names << (private_inputs ? "private inputs" : "inputs kept") << (with_e ? ", with E" : "");
        }
  };
  for (const Level* first : all_levels()) {
    test({first});
    for (const Level* second : levels()) {
      test({first, second});
      for (const Level* third : levels()) test({first, second, third});
    }
  }
}

// Mutants.

struct Mutant {
  std::string what;
  Level level;
};

std::vector<Mutant> mutants_of(const Level& original) {
  std::vector<Mutant> all;
  Blocks blocks;
  for (int b = 0; b < static_cast<int>(first_temporary) + static_cast<int>(original.temporaries.size()); ++b)
    blocks.push_back(static_cast<Block>(b));
  Blocks or_none = blocks;
  or_none.push_back(none);

  for (std::size_t i = 0; i < original.steps.size(); ++i) {
    auto add = [&](const std::string& what, const std::function<void(std::vector<Step>&)>& change) {
      all.push_back({"step " + std::to_string(i + 1) + ": " + what, original});
      change(all.back().level.steps);
    };
    /// Every other block in place of one that `of` finds.
    auto exchange = [&](const std::string& what, const Blocks& others, const std::function<Block&(Step&)>& of) {
      Step before = original.steps[i];
      for (const Block b : others)
        if (b != of(before)) add(what + " is block " + std::to_string(b), [&](std::vector<Step>& s) { of(s[i]) = b; });
    };
    auto flip = [&](const std::string& what, const std::function<std::int8_t&(Step&)>& of) {
      add(what + " has its sign flipped", [&](std::vector<Step>& s) {
        std::int8_t& sign = of(s[i]);
        sign = static_cast<std::int8_t>(-sign);
      });
    };

    if (i == 0)
      for (const auto sums : {&Basis::a, &Basis::b, &Basis::c})
        for (std::size_t j = 0; j < (original.basis.*sums).size(); ++j)
          for (std::size_t k = 0; k < (original.basis.*sums)[j].terms.size(); ++k) {
            all.push_back({"basis: a sign flipped", original});
            std::int8_t& sign = (all.back().level.basis.*sums)[j].terms[k].sign;
            sign = static_cast<std::int8_t>(-sign);
          }
    add("removed", [&](std::vector<Step>& s) { s.erase(s.begin() + static_cast<std::ptrdiff_t>(i)); });
    for (std::size_t j = i + 1; j < original.steps.size(); ++j)
      add("swapped with " + std::to_string(j + 1), [&](std::vector<Step>& s) { std::swap(s[i], s[j]); });
    const Step& step = original.steps[i];
    if (step.is_product()) {
      flip("product", [](Step& s) -> std::int8_t& { return s.sign; });
      exchange("target", blocks, [](Step& s) -> Block& { return s.target; });
      exchange("x", blocks, [](Step& s) -> Block& { return s.x; });
      exchange("y", blocks, [](Step& s) -> Block& { return s.y; });
      exchange("e", or_none, [](Step& s) -> Block& { return s.e; });
      exchange("lent", or_none, [](Step& s) -> Block& { return s.lend; });
      add("x and y swapped", [&](std::vector<Step>& s) { std::swap(s[i].x, s[i].y); });
    }
    for (std::size_t j = 0; j < step.sums.size(); ++j) {
      exchange("target", blocks, [j](Step& s) -> Block& { return s.sums[j].target; });
      if (step.sums.size() > 1)
        add("sum removed",
            [&](std::vector<Step>& s) { s[i].sums.erase(s[i].sums.begin() + static_cast<std::ptrdiff_t>(j)); });
      for (std::size_t k = 0; k < step.sums[j].terms.size(); ++k) {
        exchange("term", blocks, [j, k](Step& s) -> Block& { return s.sums[j].terms[k].block; });
        flip("term", [j, k](Step& s) -> std::int8_t& { return s.sums[j].terms[k].sign; });
        add("term removed", [&](std::vector<Step>& s) {
          std::vector<Term>& terms = s[i].sums[j].terms;
          terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(k));
        });
      }
    }
  }
  return all;
}

TEST(Strassen, CheckFindsExactlyTheMutantsThatAreWrong) {
  for (const Level* level : all_levels()) {
    if (level->last) continue;  // another list's steps
    for (const Mutant& mutant : mutants_of(*level))
      for (const bool outermost : {false, true}) {
        if (level->destroys_inputs && !outermost) continue;  // of no use where inputs are kept
        std::string wrong;
        for (const Level* below : {&rum(), &fused()})  // they write early to what is lent and to the target
          if (wrong.empty()) wrong = Interpreter({&mutant.level, below}).run(4, outermost, level->adds_e);
        const std::string fault = check(mutant.level, outermost);
        // There may be nothing wrong with writing to private inputs, but for S's names: below, they are to be kept.
        if (outermost && fault.ends_with("is to be kept")) continue;
        EXPECT_EQ(fault.empty(), wrong.empty()) << level->name << (outermost ? ", outermost, " : ", ") << mutant.what
                                                << "\ncheck: " << fault << "\ninterpreter: " << wrong;
      }
  }
}

// The state table.

void expect_free(const Level& level, const std::vector<std::pair<int, Blocks>>& expected) {
  const std::vector<Free> found = free_blocks(level);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].step, expected[i].first);
    EXPECT_EQ(found[i].blocks, expected[i].second) << "step " << found[i].step;
  }
}

/// As printed, algorithm 2.4.
Level printed_low_level() {
  Level level = low_level();
  level.steps[8] = product(C12, A21, B12);
  return level;
}

TEST(Strassen, StateTableOfLowLevelIsTheThesis) {
  const Level printed = printed_low_level();
  const StateTable table = state_table(printed);
  EXPECT_EQ(table.columns, (Blocks{A11, A12, A21, A22, B11, B12, B21, B22, C11, C12, C21, C22}));
  ASSERT_EQ(table.rows.size(), 23u);
  // Figures 3.3 and 3.8.
  const std::vector<std::pair<std::size_t, std::vector<bool>>> rows{
      {0, {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}},  {15, {0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1}},
      {16, {0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1}}, {17, {0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1}},
      {18, {0, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1}}, {19, {0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}},
      {20, {0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}}, {21, {0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}},
      {22, {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}}};
  for (const auto& [number, row] : rows) EXPECT_EQ(table.rows[number], row) << "step " << number;
  // B22: printed 11, but step 22 reads it.
  EXPECT_EQ(table.last_use, (std::vector<int>{13, 21, 11, 18, 18, 17, 21, 22, 22, 15, 19, 20}));

  // Table 3.2.
  expect_free(printed, {{3, {C12}},
                        {6, {B12, C12}},
                        {9, {}},
                        {11, {}},
                        {13, {A21}},
                        {18, {A11, A21, B12}},
                        {21, {A11, A21, A22, B11, B12}}});
}

TEST(Strassen, LowLevelCannotRecurseInPlaceEvenMended) {
  expect_free(low_level(), {{3, {C12}},
                            {6, {B12, C12}},
                            {9, {C12}},
                            {11, {}},
                            {13, {A21}},
                            {18, {A11, A21, B12}},
                            {21, {A11, A21, A22, B11, B12}}});
}

TEST(Strassen, StateTableOfRumIsTheThesis) {
  // Table 3.3.
  expect_free(rum(), {{3, {C22}},
                      {6, {A21, C11}},
                      {8, {C11}},
                      {10, {A11, B11}},
                      {12, {B11}},
                      {18, {A11, B11, B22}},
                      {21, {A11, A22, B11, B12, B22}}});
  // Table 3.4, the last column.
  Blocks lent;
  for (const Step& step : rum().steps)
    if (step.is_product()) lent.push_back(step.lend);
  EXPECT_EQ(lent, (Blocks{C22, S12, C11, S11, S21, S11, S11}));
}

TEST(Strassen, EveryLevelLendsWhatTheAnalysisChooses) {
  for (const Level* level : all_levels()) {
    const auto any = [](const Step& step) { return step.lend != none; };
    const bool lends = std::any_of(level->steps.begin(), level->steps.end(), any);
    EXPECT_TRUE(lends || !(level->needs_support() || level == &low_level())) << level->name;
    for (const Free& free : free_blocks(*level))
      EXPECT_EQ(level->steps[static_cast<std::size_t>(free.step) - 1].lend, lends ? free.choice : none)
          << level->name << ", step " << free.step;
  }
}

TEST(Strassen, TwoProductsOfHighLevelNeedTheirOperandsAgain) {
  // LowLevel cannot compute these: it would destroy what steps 10, 11, 13 and 20 read.
  std::vector<int> needed;
  for (const Free& free : free_blocks(high_level()))
    if (!free.operands) needed.push_back(free.step);
  EXPECT_EQ(needed, (std::vector<int>{9, 12}));
}

TEST(Strassen, OneOfThreePairsOfTheParallelLevelCanOverlap) {
  const std::vector<Step>& steps = parallel().steps;
  std::vector<bool> overlap;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const Step &first = steps[i], &second = steps[i + 1];
    if (second.stream == 1)
      overlap.push_back(second.target != first.x && second.target != first.y && second.target != first.target &&
                        first.target != second.x && first.target != second.y);
  }
  EXPECT_EQ(overlap, (std::vector<bool>{false, false, true}));
}

TEST(Strassen, AllThreePairsOfOursCanOverlap) {
  // Neither writes what the other reads or writes.
  const std::vector<Step>& steps = pairs().steps;
  int found = 0;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const Step &first = steps[i], &second = steps[i + 1];
    ASSERT_EQ(second.stream == 2, first.stream == 1) << i;
    if (second.stream != 2) continue;
    ++found;
    ASSERT_TRUE(first.is_product() && second.is_product());
    EXPECT_EQ((std::set<Block>{first.target, first.x, first.y, second.target, second.x, second.y}.size()), 6u) << i;
  }
  EXPECT_EQ(found, 3);
}

TEST(Strassen, OtsukasMethodIsHighLevelsOverALowOne) {
  for (const auto& [method, low] : {std::pair{&otsuka(), &low_level()}, std::pair{&otsuka_pairs(), &pairs()}}) {
    EXPECT_EQ(chain(*method, 1), (Chain{method}));
    EXPECT_EQ(chain(*method, 3), (Chain{&high_level(), &high_level(), method}));
    EXPECT_EQ(to_string(*method).substr(std::string(method->name).size()),
              to_string(*low).substr(std::string(low->name).size()));
    EXPECT_EQ(method->keeping, &lai());
    for (int levels = 1; levels <= 3; ++levels)
      for (const bool private_inputs : {false, true})
        EXPECT_EQ(Interpreter(chain(*method, levels)).run(24, private_inputs, false), "") << method->name << levels;
    // The products whose operands are needed again, by a list that does not keep them.
    Level careless = *low;
    careless.destroys_inputs = false;
    EXPECT_EQ(Interpreter({&high_level(), &careless}).run(12, true, false), "wrong") << low->name;
  }
}

// What is printed wrong.

TEST(Strassen, PrintingErrorsAreCaught) {
  auto caught = [](Level level, std::size_t number, const Step& printed) {
    level.steps[number - 1] = printed;
    return !check(level, true).empty();
  };
  EXPECT_FALSE(check(printed_low_level(), true).empty());
  const auto W1 = static_cast<Block>(first_temporary + 3), W2 = static_cast<Block>(first_temporary + 4);
  EXPECT_TRUE(caught(high_level(), 13, sum(W2, {{A12, 1}, {W1, -1}})));
  // Table 2.1's steps 3, 4, 5 (its second product), 10 and 11.
  EXPECT_TRUE(caught(parallel(), 3, product(A21, A21, A22)));
  EXPECT_TRUE(caught(parallel(), 4, sum(C12, {{B12, 1}, {B11, 1}})));
  EXPECT_TRUE(caught(parallel(), 6, product(C22, A21, C11)));
  EXPECT_TRUE(caught(parallel(), 12, sum(C12, {{C12, 1}, {A11, 1}})));
  EXPECT_TRUE(caught(parallel(), 13, sum(B22, {{A11, 1}, {B11, -1}})));
}

TEST(Strassen, ProductsTakeSumsOfABlocksAndOfBBlocksOnly) {
  auto fault = [](const Step& first, const Step& second) {
    Level level = rum();
    level.steps.insert(level.steps.begin(), {first, second});
    return check(level, false);
  };
  EXPECT_EQ(fault(sum(C11, {{A11, 1}, {A12, -1}}), product(C12, C11, B11)), "");
  for (const auto& terms : {std::vector<Term>{{A11, 1}, {B11, 1}}, {{B11, 1}}})
    EXPECT_EQ(fault(sum(C11, terms), product(C12, C11, B11)), "step 2: not a sum of A's blocks times a sum of B's");
  EXPECT_EQ(fault(sum(C11, {{A11, 1}, {B11, 1}}), product(C12, A11, C11)),
            "step 2: not a sum of A's blocks times a sum of B's");
}

// What they cost.

TEST(Strassen, Passes) {
  EXPECT_EQ(passes(classical()), 0);
  for (const Level* level :
       {&rum(), &lai(), &low_level(), &parallel(), &winograd(), &winograd15(), &pairs(), &otsuka()})
    EXPECT_EQ(passes(*level), 45) << level->name;
  EXPECT_EQ(passes(original()), 54);    // eighteen additions of three blocks
  EXPECT_EQ(passes(high_level()), 51);  // three copies
  EXPECT_EQ(passes(absorbed()), 30);
  EXPECT_EQ(passes(*absorbed().with_e), 35);
  EXPECT_EQ(passes(fused()), 26);
  EXPECT_EQ(passes(*fused().with_e), 31);
  EXPECT_EQ(passes(alternative()), 18);
  EXPECT_EQ(passes(*alternative().with_e), 22);
  const Basis& basis = alternative().basis;
  EXPECT_EQ(passes(basis.a) + passes(basis.b) + passes(basis.c), 4 + 4 + 6);
}

/// Quarter blocks of the whole, all levels and their changes of basis; where A and B are to be kept what stays of them
/// is copied with the first change.
double all_passes(const Chain& chain, bool kept) {
  double sum = 0, changed = 0;
  std::vector<double> nodes{1, 0};  // without and with E, in units of their area
  for (const Level* level : chain) {
    std::vector<double> below{0, 0};
    for (const bool e : {false, true}) {
      const Level& form = e ? *level->with_e : *level;
      sum += nodes[e] * passes(form);
      for (const Step& step : form.steps)
        if (step.is_product()) below[step.e != none] += nodes[e] / 4;
    }
    nodes = below;
    for (const auto* sums : {&level->basis.a, &level->basis.b, &level->basis.c}) changed += passes(*sums);
  }
  return sum + changed + (kept && changed > 0 ? 2 * (8 - 4) : 0);
}

TEST(Strassen, AlternativeBasesSaveLittleAndOnlyFromTheThirdLevelOn) {
  // docs/developer/levels.md has this table.
  struct Row {
    int levels;
    double fused, alike, alike_kept, alternative, alternative_kept;
  };
  for (const Row& row : {Row{1, 26, 32, 40, 26, 26},
                         {2, 75.25, 81.5, 89.5, 75.25, 75.25},
                         {3, 162.375, 160.625, 168.625, 150.375, 158.375},
                         {4, 315.078125, 290.84375, 298.84375, 277.59375, 285.59375}}) {
    const Chain alike(static_cast<std::size_t>(row.levels), &alternative());
    SCOPED_TRACE(row.levels);
    EXPECT_DOUBLE_EQ(all_passes(chain(fused(), row.levels), true), row.fused);
    EXPECT_DOUBLE_EQ(all_passes(alike, false), row.alike);
    EXPECT_DOUBLE_EQ(all_passes(alike, true), row.alike_kept);
    EXPECT_DOUBLE_EQ(all_passes(chain(alternative(), row.levels), false), row.alternative);
    EXPECT_DOUBLE_EQ(all_passes(chain(alternative(), row.levels), true), row.alternative_kept);
  }
}

TEST(Strassen, Memory) {
  // In quarter blocks, A, B and C included, three levels deep: each level's own blocks are a quarter of those above.
  auto memory = [](const Level& level, bool private_inputs) {
    Interpreter interpreter({&level, &level, &level});
    EXPECT_EQ(interpreter.run(24, private_inputs, false), "");
    return 12 + interpreter.extra(24);
  };
  constexpr double three_levels = 1 + 1 / 4. + 1 / 16., all_levels_below = 4 / 3.;
  for (const Level* level : {&classical(), &rum(), &absorbed(), &fused()}) {
    EXPECT_EQ(memory(*level, true), 12) << level->name;
    EXPECT_EQ(memory(*level, false), 16) << level->name;  // a support matrix for the first level, then lent ones
  }
  EXPECT_EQ(memory(lai(), true), 12 + 2 * three_levels);
  EXPECT_EQ(memory(high_level(), true), 12 + 7 * three_levels);
  EXPECT_EQ(memory(alternative(), true), 12 + 3 * three_levels);  // and copies of A and B, where they are to be kept
  EXPECT_EQ(memory(original(), true), 12 + 3 * three_levels);
  EXPECT_EQ(memory(winograd(), true), 12 + 18 * three_levels);
  EXPECT_EQ(memory(winograd15(), true), 12 + 15 * three_levels);
  // The thesis, (3.1) and (3.2).
  EXPECT_NEAR(12 + static_cast<double>(lai().temporaries.size()) * all_levels_below, 14.6667, 1e-4);
  EXPECT_NEAR(12 + static_cast<double>(high_level().temporaries.size()) * all_levels_below, 21.3333, 1e-4);
}

TEST(Strassen, PrintsALineForEachStep) {
  const std::string text = to_string(*absorbed().with_e);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 16);
  for (const char* line :
       {"absorbed + E\n", "   1  C11 = A11 - A21\n", "   3  C21 = C11 * C12  (lends C22)\n",
        "   8  C12 = C12 - A11, S11 = A12 - C12 + A11\n", "  14  C21 = C11 - A22 * S22  (lends S11)\n"})
    EXPECT_NE(text.find(line), text.npos) << text;
  EXPECT_NE(to_string(rum()).find("  10  C11 = C12 * S22  (lends S11)  [2]\n"), text.npos);
  EXPECT_NE(to_string(lai()).find("   3  C21 = T1 * T2\n"), text.npos);
}

}  // namespace
}  // namespace strassen_tests
}  // namespace blaslift::strassen
