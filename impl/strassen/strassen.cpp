#include "impl/strassen/strassen.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>

namespace blaslift::strassen {
namespace {

using Blocks = std::vector<Block>;

// Notation: step(C11, C12 * S22 + S12, S21) is the product C11 = C12 * S22 + S12, which lends S21.

/// Sum of blocks and at most one product.
struct Value {
  std::vector<Term> terms{};
  Block x = none, y = none;
  std::int8_t sign = 1;

  Value(Block b) : terms{{b}} {}
  Value(Block left, Block right) : x(left), y(right) {}
};

Value operator*(Block x, Block y) { return {x, y}; }
Value operator+(Value v, const Value& w) {
  v.terms.insert(v.terms.end(), w.terms.begin(), w.terms.end());
  if (w.x != none) v.x = w.x, v.y = w.y, v.sign = w.sign;
  return v;
}
Value operator-(Value v, Value w) {
  for (Term& t : w.terms) t.sign = static_cast<std::int8_t>(-t.sign);
  w.sign = static_cast<std::int8_t>(-w.sign);
  return std::move(v) + w;
}
Value operator+(Block a, Block b) { return Value(a) + Value(b); }
Value operator-(Block a, Block b) { return Value(a) - Value(b); }

Step step(Block target, const Value& v, Block lend = none) {
  if (v.x == none) return {.sums = {{target, v.terms}}};
  const Block e = v.terms.empty() ? none : v.terms.front().block;
  return {.target = target, .x = v.x, .y = v.y, .sign = v.sign, .e = e, .lend = lend};
}

Step pass(std::initializer_list<std::pair<Block, Value>> sums) {
  Step s;
  for (const auto& [target, value] : sums) s.sums.push_back({target, value.terms});
  return s;
}

/// The same pass as in a basis.
std::vector<Sum> sums(std::initializer_list<std::pair<Block, Value>> of) { return pass(of).sums; }

Step on(int stream, Step s) {
  s.stream = static_cast<std::int8_t>(stream);
  return s;
}

constexpr Block temporary(int i) { return static_cast<Block>(static_cast<int>(first_temporary) + i); }

/// The level, with its form that adds E: the same but for these steps (from 1).
const Level& also_with_e(Level& level, const char* name, const std::vector<std::pair<std::size_t, Step>>& changed) {
  Level& form = *new Level(level);
  form.name = name;
  form.adds_e = true;
  for (const auto& [number, changed_step] : changed) form.steps[number - 1] = changed_step;
  level.with_e = &form;
  return level;
}

/// High levels over a low one.
const Level& of_otsuka(const char* name, const Level& low) {
  Level& level = *new Level(low);
  level.name = name;
  level.above = &high_level();
  level.last = true;
  level.keeping = &lai();
  return level;
}

// What steps touch.

Blocks reads(const Step& s) {
  Blocks blocks;
  if (s.is_product()) {
    blocks = {s.x, s.y};
    if (s.e != none) blocks.push_back(s.e);
  }
  for (const Sum& sum : s.sums)
    for (const Term& t : sum.terms) blocks.push_back(t.block);
  return blocks;
}

Blocks writes(const Step& s) {
  if (s.is_product()) return {s.target};
  Blocks blocks;
  for (const Sum& sum : s.sums) blocks.push_back(sum.target);
  return blocks;
}

bool contains(const Blocks& blocks, Block b) { return std::find(blocks.begin(), blocks.end(), b) != blocks.end(); }
bool is_input(Block b) { return b >= A11 && b <= B22; }
bool is_result(Block b) { return b >= C11 && b <= C22; }
bool is_support(Block b) { return b >= S11 && b <= S22; }
bool is_e(Block b) { return b >= E11 && b <= E22; }

std::size_t at(Block b) { return static_cast<std::size_t>(b); }
std::size_t block_count(const Level& level) { return at(first_temporary) + level.temporaries.size(); }

std::string name(const Level& level, Block b) {
  if (b < 0 || at(b) >= block_count(level)) return "block " + std::to_string(static_cast<int>(b));
  if (b >= first_temporary) return level.temporaries[at(b) - at(first_temporary)];
  const int i = static_cast<int>(b);
  return {"ABCSE"[i / 4], "12"[i / 2 % 2], "12"[i % 2]};
}

/// What a block holds, as integer coefficients of A's, B's and E's blocks and of s times the products of A's and B's.
using Form = std::array<int, 28>;
constexpr std::size_t a_part = 0, b_part = 4, e_part = 8, products = 12;

/// The four coefficients from `part` on, if all others are zero.
std::optional<std::array<int, 4>> only(const Form& form, std::size_t part) {
  std::array<int, 4> found;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (i >= part && i < part + 4)
      found[i - part] = form[i];
    else if (form[i] != 0)
      return {};
  }
  return found;
}

}  // namespace

// A line for each step, as in the papers.
// clang-format off

const Level& classical() {
  static const Level& level = *new Level{.name = "classical", .steps = {
    step(C12, A11 * B11, C11),
    step(C11, A12 * B21 + C12, C21),
    step(C22, A11 * B12, C12),
    step(C12, A12 * B22 + C22, S11),
    step(C21, A21 * B12, S11),
    step(C22, A22 * B22 + C21, S11),
    step(S11, A21 * B11, S12),
    step(C21, A22 * B21 + S11, S12)},
    .outermost = {A11, A12, B12, B22}};
  return level;
}

const Level& rum() {
  static const Level& level = *new Level{.name = "rum", .steps = {
    on(1, step(C11, A11 - A21)),
    on(2, step(C12, B22 - B12)),
    on(2, step(C21, C11 * C12, C22)),
    on(2, step(C12, A21 + A22)),
    on(1, step(S22, B12 - B11)),
    on(1, step(C22, C12 * S22, S12)),
    on(1, step(C12, C12 - A11)),
    on(2, step(S12, A11 * B11, C11)),
    on(2, step(S22, B22 - S22)),
    on(2, step(C11, C12 * S22, S11)),
    on(1, step(S11, A12 - C12)),
    on(1, step(C12, S11 * B22, S21)),
    on(1, step(C12, C12 + C22)),
    on(2, step(C11, C11 + S12)),
    on(2, step(C12, C12 + C11)),
    on(2, step(C11, C11 + C21)),
    on(1, step(S22, S22 - B21)),
    on(2, step(C21, A22 * S22, S11)),
    on(2, step(C21, C11 - C21)),
    on(1, step(C22, C22 + C11)),
    on(1, step(C11, A12 * B21, S11)),
    on(1, step(C11, S12 + C11))},
    .outermost = {A11, A21, B11, B12}};
  return level;
}

// In the comments: RUM's steps.
const Level& absorbed() {
  static const Level& level = also_with_e(*new Level{.name = "absorbed", .steps = {
    step(C11, A11 - A21),                              // 1
    step(C12, B22 - B12),                              // 2
    step(C21, C11 * C12, C22),                         // 3
    step(C12, A21 + A22),                              // 4
    step(S22, B12 - B11),                              // 5
    step(C22, C12 * S22, S12),                         // 6
    step(S12, A11 * B11, C11),                         // 8
    pass({{C12, C12 - A11}, {S11, A12 - C12 + A11}}),  // 7, 11
    step(S22, B22 - S22),                              // 9
    step(C11, C12 * S22 + S12, S21),                   // 10, 14
    step(C12, S11 * B22, S21),                         // 12
    pass({{C12, C12 + C22 + C11}, {C11, C11 + C21}, {C22, C11 + C21 + C22}}),  // 13, 15, 16, 20
    step(S22, S22 - B21),                              // 17
    step(C21, C11 - A22 * S22, S11),                   // 18, 19
    step(C11, A12 * B21 + S12, S11)},                  // 21, 22
    .outermost = {A11, A21, B11, B12}},
    "absorbed + E", {
    {11, step(C12, S11 * B22 + E12, S21)},
    {12, pass({{C12, C12 + C22 + C11}, {C11, C11 + C21 + E21}, {C22, C11 + C21 + C22 + E22}, {S12, S12 + E11}})}});
  return level;
}

const Level& fused() {
  static const Level& level = also_with_e(*new Level{.name = "fused", .steps = {
    step(C12, A11 * B11, C11),
    pass({{C11, A21 + A22 - A11}, {S12, A21 + A22}, {S11, A11 - A21}}),
    pass({{S21, B22 - B12}, {S22, B12 - B11}}),
    step(C21, S11 * S21, C22),
    step(C22, S12 * S22, S11),
    pass({{S22, B22 - S22}, {S11, B22 - S22 - B21}}),
    step(S21, C11 * S22 + C12, S12),
    step(S22, A12 - C11),
    step(C11, A12 * B21 + C12, S12),
    step(C12, S22 * B22, S12),
    pass({{C12, C12 + C22 + S21}, {C22, S21 + C21 + C22}, {S21, S21 + C21}}),
    step(C21, S21 - A22 * S11, S12)},
    .outermost = {A11, A21, B11, B12}},
    "fused + E", {
    {8, pass({{S22, A12 - C11}, {C12, C12 + E11}})},
    {10, step(C12, S22 * B22 + E12, S12)},
    {11, pass({{C12, C12 + C22 + S21}, {C22, S21 + C21 + C22 + E22}, {S21, S21 + C21 + E21}})}});
  return level;
}

const Level& lai() {
  constexpr Block T1 = temporary(0), T2 = temporary(1);
  static const Level& level = *new Level{.name = "lai", .steps = {
    step(T1, A11 - A21),
    step(T2, B22 - B12),
    step(C21, T1 * T2),
    step(T1, A21 + A22),
    step(T2, B12 - B11),
    step(C22, T1 * T2),
    step(T1, T1 - A11),
    step(T2, B22 - T2),
    step(C11, T1 * T2),
    step(T1, A12 - T1),
    step(C12, T1 * B22),
    step(C12, C12 + C22),
    step(T1, A11 * B11),
    step(C11, C11 + T1),
    step(C12, C12 + C11),
    step(C11, C11 + C21),
    step(T2, T2 - B21),
    step(C21, A22 * T2),
    step(C21, C11 - C21),
    step(C22, C22 + C11),
    step(C11, A12 * B21),
    step(C11, T1 + C11)},
    .temporaries = {"T1", "T2"}};
  return level;
}

const Level& low_level() {
  static const Level& level = *new Level{.name = "low_level", .steps = {
    step(C22, A11 - A21),
    step(C11, B22 - B12),
    step(C21, C22 * C11, C12),
    step(A21, A21 + A22),
    step(C11, B12 - B11),
    step(C22, A21 * C11, B12),
    step(A21, A21 - A11),
    step(B12, B22 - C11),
    step(C11, A21 * B12, C12),  // printed: C12 = A21 * B12
    step(A21, A12 - A21),
    step(C12, A21 * B22),       // nothing is free
    step(C12, C12 + C22),
    step(B22, A11 * B11, A21),
    step(C11, C11 + B22),
    step(C12, C12 + C11),
    step(C11, C11 + C21),
    step(B11, B12 - B21),
    step(C21, A22 * B11, A11),
    step(C21, C11 - C21),
    step(C22, C22 + C11),
    step(C11, A12 * B21, A11),
    step(C11, B22 + C11)},
    .destroys_inputs = true};
  return level;
}

const Level& high_level() {
  constexpr Block S1 = temporary(0), S2 = temporary(1), S3 = temporary(2), W1 = temporary(3), W2 = temporary(4),
                  M1 = temporary(5), M2 = temporary(6);
  static const Level& level = *new Level{.name = "high_level", .steps = {
    step(S1, A11),
    step(S2, A21),
    step(S3, B12),
    step(W1, S1 - S2),
    step(W2, B22 - S3),
    step(M1, W1 * W2),
    step(W1, S2 + A22),
    step(W2, S3 - B11),
    step(S2, W1 * W2),
    step(W1, W1 - S1),
    step(W2, B22 - W2),
    step(S3, W1 * W2),
    step(W1, A12 - W1),  // printed: W2 = A12 - W1
    step(M2, W1 * B22),
    step(M2, M2 + S2),
    step(W1, S1 * B11),
    step(S3, W1 + S3),
    step(C12, M2 + S3),
    step(S3, S3 + M1),
    step(W2, W2 - B21),
    step(M1, A22 * W2),
    step(C21, S3 - M1),
    step(C22, S2 + S3),
    step(S3, A12 * B21),
    step(C11, W1 + S3)},
    .temporaries = {"S1", "S2", "S3", "W1", "W2", "M1", "M2"}};
  return level;
}

const Level& parallel() {
  // Of the pairs of products that are to overlap only the last can: the others' second writes what the first reads.
  // The streams are as printed, 0 and 1, and nothing follows them.
  static const Level& level = *new Level{.name = "parallel", .steps = {
    step(C22, A11 - A21),
    step(C11, B22 - B12),
    step(A21, A21 + A22),         // printed: A21 * A22
    step(C12, B12 - B11),         // printed: B12 + B11
    on(0, step(C21, C22 * C11)),
    on(1, step(C22, A21 * C12)),  // printed: A21 * C11
    step(A21, A21 - A11),
    step(B12, B22 - C12),
    step(C12, A12 - A21),
    on(0, step(C11, A21 * B12)),
    on(1, step(A21, C12 * B22)),
    step(C12, C22 + A21),         // printed: C12 + A11
    step(B22, A11 * B11),         // printed: A11 - B11
    step(C11, C11 + B22),
    step(C12, C12 + C11),
    step(C11, C11 + C21),
    step(B11, B12 - B21),
    on(0, step(C21, A22 * B11)),
    on(1, step(A11, A12 * B21)),
    step(C22, C22 + C11),
    step(C21, C11 - C21),
    step(C11, B22 + A11)},
    .destroys_inputs = true};
  return level;
}

// With s = A21 + A22 - A11 in the place of A21 and t = B22 - B12 + B11 in that of B12, all sums of Winograd's form are
// of two blocks: its S are s + A11, A22 - s, A12 - s, its T are B22 - t, t - B11, t - B21.  Of C's blocks there are C11,
// C22 - C12 in C22's place, C22 - C21 in C21's and C12 + C21 - C22 in C12's: no product is in more than two of them.
const Level& alternative() {
  constexpr Block T1 = temporary(0), T2 = temporary(1), T3 = temporary(2);
  // E's blocks come with the first product of each pair, so that the last step has to take them out of C12's again.
  static const Level& level = also_with_e(*new Level{.name = "alternative", .steps = {
    pass({{T1, A21 + A11}, {T2, A22 - A21}, {T3, A21 - A12}}),
    pass({{C21, B12 - B21}, {C22, B22 - B12}, {C11, B12 - B11}}),
    step(C12, A22 * C21),
    step(C21, T1 * C22 + C12),
    step(T1, T3 * B22),
    step(C22, T2 * C11 + T1),
    step(T2, A11 * B11),
    step(T3, A21 * B12 + T2),
    step(C11, A12 * B21 + T2),
    step(C12, T3 - C12 - T1)},
    .temporaries = {"T1", "T2", "T3"},
    .basis = {.a = sums({{A21, A21 + A22 - A11}}),
              .b = sums({{B12, B22 - B12 + B11}}),
              .c = sums({{C12, C12 + C21}, {C21, C22 + C12}, {C22, C22 + C12 + C21}})},
    .above = &fused()},
    "alternative + E", {
    {3, step(C12, A22 * C21 + E21)},
    {5, step(T1, T3 * B22 + E22)},
    {7, step(T2, A11 * B11 + E11)},
    {10, step(C12, T3 - C12 - T1 - E11 + E21 + E22 + E12)}});
  return level;
}

// A product is added to C's blocks as soon as it is there, so that three temporaries do.
const Level& original() {
  constexpr Block T1 = temporary(0), T2 = temporary(1), T3 = temporary(2);
  static const Level& level = *new Level{.name = "original", .steps = {
    step(T1, A11 + A22),
    step(T2, B11 + B22),
    step(C11, T1 * T2),
    step(T1, A21 + A22),
    step(C21, T1 * B11),
    step(C22, C11 - C21),
    step(T2, B12 - B22),
    step(C12, A11 * T2),
    step(C22, C22 + C12),
    step(T2, B21 - B11),
    step(T1, A22 * T2),
    step(C11, C11 + T1),
    step(C21, C21 + T1),
    step(T1, A11 + A12),
    step(T2, T1 * B22),
    step(C11, C11 - T2),
    step(C12, C12 + T2),
    step(T1, A21 - A11),
    step(T2, B11 + B12),
    step(T3, T1 * T2),
    step(C22, C22 + T3),
    step(T1, A12 - A22),
    step(T2, B21 + B22),
    step(T3, T1 * T2),
    step(C11, C11 + T3)},
    .temporaries = {"T1", "T2", "T3"}};
  return level;
}

const Level& winograd() {
  constexpr Block S1 = temporary(0), S2 = temporary(1), S3 = temporary(2), S4 = temporary(3), S5 = temporary(4),
                  S6 = temporary(5), S7 = temporary(6), S8 = temporary(7), M1 = temporary(8), M2 = temporary(9),
                  M3 = temporary(10), M4 = temporary(11), M5 = temporary(12), M6 = temporary(13), M7 = temporary(14),
                  V1 = temporary(15), V2 = temporary(16), V3 = temporary(17);
  static const Level& level = *new Level{.name = "winograd", .steps = {
    step(S1, A21 + A22),
    step(S2, S1 - A11),
    step(S3, A11 - A21),
    step(S4, A12 - S2),
    step(S5, B12 - B11),
    step(S6, B22 - S5),
    step(S7, B22 - B12),
    step(S8, S6 - B21),
    step(M1, S2 * S6),
    step(M2, A11 * B11),
    step(M3, A12 * B21),
    step(M4, S3 * S7),
    step(M5, S1 * S5),
    step(M6, S4 * B22),
    step(M7, A22 * S8),
    step(V1, M1 + M2),
    step(V2, V1 + M4),
    step(V3, M5 + M6),
    step(C11, M2 + M3),
    step(C12, V1 + V3),
    step(C21, V2 - M7),
    step(C22, V2 + M5)},
    .temporaries = {"S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "M1", "M2", "M3", "M4", "M5", "M6", "M7", "V1",
                    "V2", "V3"}};
  return level;
}

// Its seven streams are left out: spread() has two, and finds what can overlap by itself.
const Level& winograd15() {
  constexpr Block S1 = temporary(0), S2 = temporary(1), S3 = temporary(2), S4 = temporary(3), S5 = temporary(4),
                  S6 = temporary(5), S7 = temporary(6), S8 = temporary(7), M1 = temporary(8), M2 = temporary(9),
                  M3 = temporary(10), M4 = temporary(11), M5 = temporary(12), M6 = temporary(13), M7 = temporary(14);
  static const Level& level = *new Level{.name = "winograd15", .steps = {
    step(S1, A21 + A22),
    step(S3, A11 - A21),
    step(S5, B12 - B11),
    step(S7, B22 - B12),
    step(S2, S1 - A11),
    step(S6, B22 - S5),
    step(S4, A12 - S2),
    step(S8, S6 - B21),
    step(M1, S2 * S6),
    step(M2, A11 * B11),
    step(M3, A12 * B21),
    step(M4, S3 * S7),
    step(M5, S1 * S5),
    step(M6, S4 * B22),
    step(M7, A22 * S8),
    step(S1, M1 + M2),
    step(C11, M2 + M3),
    step(C12, M5 + M6),
    step(S2, S1 + M4),
    step(C12, S1 + C12),
    step(C21, S2 - M7),
    step(C22, S2 + M5)},
    .temporaries = {"S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "M1", "M2", "M3", "M4", "M5", "M6", "M7"}};
  return level;
}

const Level& pairs() {
  static const Level& level = *new Level{.name = "pairs", .steps = {
    step(C22, A11 - A21),
    step(C11, B22 - B12),
    step(A21, A21 + A22),
    step(C12, B12 - B11),
    on(1, step(C21, C22 * C11)),
    on(2, step(B12, A21 * C12)),
    step(A21, A21 - A11),
    step(C12, B22 - C12),
    on(1, step(C11, A21 * C12)),
    on(2, step(C22, A11 * B11)),
    step(C11, C11 + C22),
    step(C21, C21 + C11),
    step(A21, A12 - A21),
    step(C12, C12 - B21),
    on(1, step(A11, A21 * B22)),
    on(2, step(B11, A22 * C12)),
    step(C12, C11 + A11),
    step(C12, C12 + B12),
    step(C11, A12 * B21),
    step(C11, C11 + C22),
    step(C22, C21 + B12),
    step(C21, C21 - B11)},
    .destroys_inputs = true};
  return level;
}

// clang-format on

const Level& otsuka() {
  static const Level& level = of_otsuka("otsuka", low_level());
  return level;
}

const Level& otsuka_pairs() {
  static const Level& level = of_otsuka("otsuka_pairs", pairs());
  return level;
}

const std::vector<const Level*>& levels() {
  static const auto& all = *new std::vector<const Level*>{
      &classical(),   &rum(),      &absorbed(), &fused(),      &lai(),   &low_level(), &high_level(),  &parallel(),
      &alternative(), &original(), &winograd(), &winograd15(), &pairs(), &otsuka(),    &otsuka_pairs()};
  return all;
}

std::vector<const Level*> chain(const Level& level, int levels) {
  std::vector<const Level*> all(static_cast<std::size_t>(levels), &level);
  const int outer = level.last ? levels - 1 : std::min(levels, 2);
  if (level.above) std::fill_n(all.begin(), outer, level.above);  // of a negative number: nothing
  return all;
}

std::string check(const Level& level, bool outermost) {
  std::vector<std::optional<Form>> memory(block_count(level));
  auto place = [&](Block b) { return outermost ? level.at_outermost(b) : b; };
  auto held = [&](Block b) -> std::optional<Form>& { return memory[at(place(b))]; };
  for (std::size_t i = 0; i < 4; ++i) {
    memory[at(A11) + i].emplace()[a_part + i] = 1;
    memory[at(B11) + i].emplace()[b_part + i] = 1;
    if (level.adds_e) memory[at(E11) + i].emplace()[e_part + i] = 1;
  }
  const auto value = [&](const Sum& sum) {
    Form result{};
    for (const Term& t : sum.terms)
      for (std::size_t j = 0; j < result.size(); ++j) result[j] += t.sign * (*held(t.block))[j];
    return result;
  };
  /// One pass over a matrix's blocks; a fault, or empty.
  const auto change = [&](const std::vector<Sum>& sums, Block first) -> std::string {
    const auto foreign = [&](Block b) { return b < first || b >= first + 4; };
    std::vector<Form> results;
    for (const Sum& sum : sums) {
      if (foreign(sum.target)) return "basis: " + name(level, sum.target) + " is another matrix's";
      for (const Sum& other : sums)
        if (&other != &sum && other.target == sum.target) return "basis: " + name(level, sum.target) + " is used twice";
      for (const Term& t : sum.terms)
        if (foreign(t.block) || !held(t.block)) return "basis: " + name(level, t.block) + " holds nothing of it";
      results.push_back(value(sum));
    }
    for (std::size_t i = 0; i < sums.size(); ++i) held(sums[i].target) = results[i];
    return {};
  };
  for (const auto& [sums, first] : {std::pair{&level.basis.a, A11}, std::pair{&level.basis.b, B11}})
    if (const std::string fault = change(*sums, first); !fault.empty()) return fault;

  for (std::size_t i = 0; i < level.steps.size(); ++i) {
    const Step& s = level.steps[i];
    auto fault = [&](const std::string& what) { return "step " + std::to_string(i + 1) + ": " + what; };
    Blocks spoilt = writes(s);
    if (s.lend != none) spoilt.push_back(s.lend);
    for (const Blocks& blocks : {reads(s), spoilt})
      for (const Block b : blocks)
        if (b < 0 || at(b) >= memory.size() || (is_support(b) && !level.needs_support()))
          return fault("no " + name(level, b) + " here");
    for (const Block b : reads(s))
      if (!held(b)) return fault(name(level, b) + " holds nothing");
    for (std::size_t j = 0; j < spoilt.size(); ++j) {
      const Block b = spoilt[j];
      if (is_e(b) || (is_input(b) && !level.destroys_inputs)) return fault(name(level, b) + " is to be kept");
      for (std::size_t k = 0; k < j; ++k)
        if (place(spoilt[k]) == place(b)) return fault(name(level, b) + " is used twice");
      for (const Block r : reads(s))
        if (s.is_product() && place(r) == place(b)) return fault(name(level, b) + " is still read");
    }

    std::vector<Form> results;
    for (const Sum& sum : s.sums) results.push_back(value(sum));
    if (s.is_product()) {
      const auto x = only(*held(s.x), a_part), y = only(*held(s.y), b_part);
      if (!x || !y) return fault("not a sum of A's blocks times a sum of B's");
      Form& result = results.emplace_back(s.e == none ? Form{} : *held(s.e));
      for (std::size_t j = 0; j < 4; ++j)
        for (std::size_t k = 0; k < 4; ++k) result[products + 4 * j + k] += s.sign * (*x)[j] * (*y)[k];
    }
    for (const Block b : spoilt) held(b).reset();
    for (std::size_t j = 0; j < results.size(); ++j) held(spoilt[j]) = results[j];
  }

  if (const std::string fault = change(level.basis.c, C11); !fault.empty()) return "at the end: " + fault;
  // What was added, in E's blocks as they were given.
  std::array<std::array<int, 4>, 4> e{};
  for (std::size_t i = 0; i < 4; ++i) e[i][i] = level.adds_e;
  const auto given = e;
  for (const Sum& sum : level.basis.c) {
    auto& added = e[at(sum.target) - at(C11)] = {};
    for (const Term& t : sum.terms)
      for (std::size_t i = 0; i < 4; ++i) added[i] += t.sign * given[at(t.block) - at(C11)][i];
  }
  for (std::size_t row = 0; row < 2; ++row)
    for (std::size_t col = 0; col < 2; ++col) {
      Form expected{};
      for (std::size_t k = 0; k < 2; ++k) expected[products + 4 * (2 * row + k) + 2 * k + col] = 1;
      for (std::size_t i = 0; i < 4; ++i) expected[e_part + i] = e[2 * row + col][i];
      const auto c = static_cast<Block>(at(C11) + 2 * row + col);
      if (held(c) != expected) return "at the end: " + name(level, c) + " is wrong";
    }
  return {};
}

StateTable state_table(const Level& level) {
  StateTable table;
  for (std::size_t b = 0; b < block_count(level); ++b)
    if (!is_support(static_cast<Block>(b)) && !is_e(static_cast<Block>(b)))
      table.columns.push_back(static_cast<Block>(b));
  const std::size_t columns = table.columns.size();
  table.last_use.assign(columns, 0);
  std::vector<bool> row(columns);
  for (std::size_t c = 0; c < columns; ++c) row[c] = is_input(table.columns[c]);
  table.rows.push_back(row);

  auto clear = [&](std::size_t column, int from, int to) {
    for (int i = from; i < to; ++i) table.rows[static_cast<std::size_t>(i)][column] = false;
  };
  int number = 0;
  for (const Step& s : level.steps) {
    table.rows.push_back(table.rows.back());
    ++number;
    auto use = [&](const Blocks& blocks, bool written) {
      for (const Block b : blocks) {
        const auto found = std::find(table.columns.begin(), table.columns.end(), level.at_outermost(b));
        if (found == table.columns.end()) continue;  // E's: never free
        const auto column = static_cast<std::size_t>(found - table.columns.begin());
        if (written) clear(column, table.last_use[column] + 1, number);
        table.rows.back()[column] = true;
        table.last_use[column] = number;
      }
    };
    use(reads(s), false);
    use(writes(s), true);
  }
  for (std::size_t c = 0; c < columns; ++c)
    if (!is_result(table.columns[c])) clear(c, table.last_use[c] + 1, number + 1);
  return table;
}

std::vector<Free> free_blocks(const Level& level) {
  const StateTable table = state_table(level);
  auto own_name = [&](Block b) {
    for (const Block s : {S11, S12, S21, S22})
      if (level.at_outermost(s) == b) return s;
    return b;
  };
  // Whether a later step reads what the block holds.
  auto is_read = [&](Block b, std::size_t step) {
    auto touched = [&](Blocks blocks) {
      for (Block& x : blocks) x = level.at_outermost(x);
      return contains(blocks, level.at_outermost(b));
    };
    for (++step; step < level.steps.size(); ++step) {
      if (touched(reads(level.steps[step]))) return true;
      if (touched(writes(level.steps[step]))) return false;
    }
    return false;
  };

  std::vector<Free> all;
  for (std::size_t i = 0; i < level.steps.size(); ++i) {
    const Step& s = level.steps[i];
    if (!s.is_product()) continue;
    Free free{.step = static_cast<int>(i) + 1, .blocks = {}, .choice = none, .operands = false};
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (table.rows[i + 1][c]) continue;
      free.blocks.push_back(table.columns[c]);
      const Block b = own_name(table.columns[c]);
      if (free.choice == none && (level.destroys_inputs || !is_input(b))) free.choice = b;
    }
    free.operands = !is_read(s.x, i) && !is_read(s.y, i);
    all.push_back(free);
  }
  return all;
}

bool says_streams(const Level& level) {
  return std::any_of(level.steps.begin(), level.steps.end(), [](const Step& step) { return step.stream == 2; });
}

int passes(const std::vector<Sum>& sums) {
  if (sums.empty()) return 0;
  const Step s{.sums = sums};
  const Blocks in = reads(s), out = writes(s);
  return static_cast<int>(std::set<Block>(in.begin(), in.end()).size() +
                          std::set<Block>(out.begin(), out.end()).size());
}

int passes(const Level& level) {
  int count = 0;
  for (const Step& s : level.steps) count += passes(s.sums);
  return count;
}

std::string to_string(const Level& level) {
  std::string text = std::string(level.name) + '\n';
  int number = 0;
  for (const Step& s : level.steps) {
    auto called = [&](Block b) { return name(level, b); };
    std::string line = std::to_string(++number);
    line.insert(0, 4 - std::min<std::size_t>(4, line.size()), ' ');
    line += "  ";
    if (s.is_product()) {
      line += called(s.target) + " = ";
      if (s.e != none)
        line += called(s.e) + (s.sign < 0 ? " - " : " + ");
      else if (s.sign < 0)
        line += "-";
      line += called(s.x) + " * " + called(s.y);
      if (s.lend != none) line += "  (lends " + called(s.lend) + ")";
    }
    for (const Sum& sum : s.sums) {
      if (&sum != &s.sums.front()) line += ", ";
      line += called(sum.target) + " =";
      for (const Term& t : sum.terms)
        line += (t.sign < 0 ? " - " : &t == &sum.terms.front() ? " " : " + ") + called(t.block);
    }
    if (s.stream != 0) line += "  [" + std::to_string(s.stream) + "]";
    text += line + '\n';
  }
  return text;
}

}  // namespace blaslift::strassen
