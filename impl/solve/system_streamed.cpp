// Plans of linear systems whose matrix the device has no room for.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "impl/plan/panels.hpp"
#include "impl/solve/system_plan.hpp"
#include "impl/solve/system_steps.hpp"

namespace blaslift {
namespace {

using namespace system_steps;

constexpr index strips_at_a_time = 2, most_slots = 3;
constexpr index widest_strip = 1024, widest_panel = 4096;
constexpr double most_for_b = 0.25;  // of the memory, where the factors' own areas cannot be used again
// Of more, the list of steps would take more than it could be worth.
constexpr double most_steps = 100000;

/// Whether B, and strips of the factors, lie where the factors were made, which have columns there.
bool reuses_areas(const SystemShape& s) { return !s.factored && (s.lu || s.uplo == Uplo::lower); }

/// Columns, in strips that do not go beyond a panel, whose parts are home at different times.
index strips_of(const SystemCut& cut, index columns) {
  const auto in_panel = [&](index count) { return (count + cut.strip - 1) / cut.strip; };
  return columns / cut.panel * in_panel(cut.panel) + in_panel(columns % cut.panel);
}

/// The factors come in strips of columns, from the host's memory, where those that are made here have been brought to:
/// for each panel of B once.  A strip of a factor that is not transposed is solved with, and what that makes known is
/// subtracted from the other rows; of one that is, what other rows have made known is subtracted first.
class Planner {
 public:
  Planner(const SystemShape& shape, Precision precision, const SystemCut& cut)
      : s_(shape), precision_(precision), cut_(cut) {
    begin(plan, s_, cut.panel);
  }

  void make_steps() {
    bring_factors();
    add_areas();
    for (index panel = 0; panel < panels(); ++panel) solve(panel);
    plan.after = order_of(plan);
  }

  /// What there is besides the areas that the factors are made in.
  std::size_t bytes_besides() {
    if (s_.factored) bring_factors();
    add_areas();
    return plan.bytes(element_size(precision_));
  }

  Plan plan;

 private:
  struct Strip {
    index first, count;
    index end() const { return first + count; }
  };

  Strip strip(index number) const {
    const index each = strips_of(cut_, cut_.panel), first = number / each * cut_.panel + number % each * cut_.strip,
                end = std::min(s_.n, first / cut_.panel * cut_.panel + cut_.panel);
    return {first, std::min(cut_.strip, end - first)};
  }
  index panels() const { return s_.nrhs > 0 ? (s_.nrhs + cut_.width - 1) / cut_.width : 0; }
  Trsm solve_with(bool of_lower, index order, index others) const {
    return solving(s_, precision_, of_lower, order, others, cut_.strip, cut_.width);
  }

  void bring_factors() {
    if (!s_.factored && s_.lu) {
      StreamedGetrf added = add_getrf_streamed(plan, s_.n, s_.n, precision_, {cut_.panel, cut_.strip},
                                               {operand_a, operand_third, operand_fourth});
      rows_ = std::move(added.rows);
      b_ = std::move(added.panels);
      strips_ = std::move(added.strips);
    } else if (!s_.factored) {
      StreamedPotrf added =
          add_potrf_streamed(plan, s_.uplo, s_.n, precision_, {cut_.panel, cut_.strip}, operand_a, operand_third);
      if (!reuses_areas(s_)) return;
      b_ = std::move(added.panels);
      strips_ = std::move(added.strips);
    } else if (s_.exchanges()) {
      rows_ = RowGroups(plan, precision_, s_.n, s_.n, cut_.panel);
      plan.upload({rows_.area(), operand_third}, {0, 0, s_.n, 1});
    }
  }

  void add_areas() {
    if (panels() == 0) return;
    const index width = std::min(cut_.width, s_.nrhs);
    for (index i = 0; !reuses_areas(s_) && i < std::min(panels(), most_slots); ++i)
      b_.push_back(plan.add_area("B" + std::to_string(i), s_.n, width));
    for (index i = 0; !reuses_areas(s_) && i < strips_at_a_time; ++i)
      strips_.push_back(plan.add_area("columns" + std::to_string(i), s_.n, cut_.strip));
    if (const std::size_t bytes = trsm_workspace(solve_with(true, cut_.strip, cut_.width)))
      workspace_ = plan.add_area("for columns", static_cast<index>((bytes - 1) / element_size(precision_) + 1), 1);
  }

  void solve(index panel) {
    const index first = panel * cut_.width, cols = std::min(cut_.width, s_.nrhs - first);
    const Plan::Origin at{b_[static_cast<std::size_t>(panel) % b_.size()], operand_b, 0, first};
    const Block block{0, first, s_.n, cols};
    plan.upload(at, block);
    const bool forward = s_.trans == Op::none;
    for (index group = 0; s_.exchanges() && forward && group < rows_.groups(); ++group)
      rows_.exchange(plan, group, at, first, cols);
    for (const bool of_lower : {forward, !forward})
      if (!s_.triangle || of_lower) solve_triangle(of_lower, at, block);
    for (index group = rows_.groups(); s_.exchanges() && !forward && group-- > 0;)
      rows_.exchange(plan, group, at, first, cols, true);
    plan.download(at, block);
  }

  void solve_triangle(bool of_lower, const Plan::Origin& b, const Block& all) {
    const Trsm whole = solve_with(of_lower, s_.n, all.cols);
    const bool plain = whole.trans == Op::none, below = whole.uplo == Uplo::lower, ascending = below == plain;
    const index count = strips_of(cut_, s_.n);
    for (index i = 0; i < count; ++i) {
      const Strip own = strip(ascending ? i : count - 1 - i),
                  beside = below ? Strip{own.end(), s_.n - own.end()} : Strip{0, own.first};
      const Block diagonal{own.first, own.first, own.count, own.count},
          others{beside.first, own.first, beside.count, own.count}, x{own.first, all.col, own.count, all.cols},
          y{beside.first, all.col, beside.count, all.cols};
      const Plan::Origin a{strips_[static_cast<std::size_t>(sent_++) % strips_.size()], operand_a, 0, own.first};
      plan.upload(a, diagonal);
      if (beside.count > 0) plan.upload(a, others);
      if (!plain && beside.count > 0)
        subtract(whole.trans, Plan::read(a, others), Plan::read(b, y), Plan::update(b, x));
      const Trsm solve = solve_with(of_lower, own.count, all.cols);
      std::vector<Plan::Access> accesses{Plan::read(a, diagonal, part_of(solve.uplo)), Plan::update(b, x)};
      if (workspace_ >= 0)
        accesses.push_back(
            {{workspace_, {0, 0, plan.areas[static_cast<std::size_t>(workspace_)].rows, 1}}, AccessMode::write});
      plan.compute(solve, std::move(accesses), Scalar::one);
      if (plain && beside.count > 0) subtract(Op::none, Plan::read(a, others), Plan::read(b, x), Plan::update(b, y));
    }
  }

  void subtract(Op op, const Plan::Access& a, const Plan::Access& known, const Plan::Access& from) {
    plan.multiply(precision_, Scalar::minus_one, op, a, Op::none, known, Scalar::one, from);
  }

  const SystemShape& s_;
  const Precision precision_;
  const SystemCut& cut_;
  RowGroups rows_{};
  std::vector<int> b_{}, strips_{};  ///< areas, in turns
  int workspace_ = -1;
  index sent_ = 0;  ///< strips
};

bool too_many_steps(const SystemShape& s, const SystemCut& cut) {
  constexpr double of_a_strip = 4, triangles = 2;
  const double panels = std::ceil(static_cast<double>(s.nrhs) / static_cast<double>(cut.width)),
               strips = static_cast<double>(strips_of(cut, s.n));
  return panels * strips * triangles * of_a_strip > most_steps;
}

std::size_t bytes_besides(const SystemShape& s, Precision precision, const SystemCut& cut) {
  return Planner(s, precision, cut).bytes_besides();
}

/// With panels of the factors as wide as there is room for: B's are as wide at most, and lie there afterwards; or else
/// they have a part of the memory, and less where the factors need it.
SystemCut cut_with_factors(const SystemShape& s, Precision precision, std::size_t memory) {
  const index columns = std::max<index>(1, s.nrhs);
  const auto with = [&](index panel, index strip, index width) {
    return SystemCut{.panel = panel, .width = std::min(columns, width), .strip = strip};
  };
  const auto cut_for = [&](index width) {
    const auto besides = [&](const auto& factors) {
      return bytes_besides(s, precision, with(factors.panel, factors.strip, width > 0 ? width : factors.panel));
    };
    const auto made = [&](const auto& factors) {
      return factors.panel > 0 ? with(factors.panel, factors.strip, width > 0 ? width : factors.panel) : SystemCut{};
    };
    return s.lu ? made(getrf_cut_streamed(s.n, s.n, precision, memory, besides))
                : made(potrf_cut_streamed(s.n, precision, memory, besides));
  };
  if (reuses_areas(s)) return cut_for(0);
  const double bytes = static_cast<double>(s.n) * static_cast<double>(element_size(precision)) * most_slots;
  index width = columns;
  while (width > 1 && bytes * static_cast<double>(width) > most_for_b * static_cast<double>(memory))
    width = panels::smaller(width);
  for (;; width = panels::smaller(width))
    if (const SystemCut cut = cut_for(width); cut.width > 0 || width == 1) return cut;
}

/// With panels of B as wide as there is room for, since each takes all of the factors, beside strips of these that are
/// not wider.
SystemCut cut_of_factors(const SystemShape& s, Precision precision, std::size_t memory) {
  SystemCut cut{.panel = std::min(s.n, widest_panel), .width = 0, .strip = std::min(s.n, widest_strip)};
  for (;; cut.strip = panels::smaller(cut.strip)) {
    const auto fits = [&](index width) {
      return bytes_besides(s, precision, {.panel = cut.panel, .width = width, .strip = cut.strip}) <= memory;
    };
    // One panel takes less than two that are more than half as wide; of more there are as many areas.
    const index half = (s.nrhs + 1) / 2;
    if (fits(s.nrhs)) {
      cut.width = s.nrhs;
    } else if (fits(half)) {
      cut.width = half;
    } else {
      index low = 0, high = half;  // the widest that fits is in [low, high)
      while (high - low > 1) {
        const index middle = low + (high - low) / 2;
        (fits(middle) ? low : high) = middle;
      }
      const index count = low > 0 ? (s.nrhs + low - 1) / low : 1, width = low > 0 ? (s.nrhs + count - 1) / count : 0;
      cut.width = panels::rounded_up(width) <= low ? panels::rounded_up(width) : width;
    }
    if (cut.width >= std::min(s.nrhs, cut.strip) || cut.strip == 1) return cut;
  }
}

}  // namespace

SystemCut system_cut_streamed(const SystemShape& s, Precision precision, std::size_t memory) {
  if (s.n == 0) return {};
  const SystemCut cut = s.factored ? cut_of_factors(s, precision, memory) : cut_with_factors(s, precision, memory);
  return cut.width == 0 || too_many_steps(s, cut) ? SystemCut{} : cut;
}

double sent_again(const SystemShape& s, const SystemCut& cut, std::size_t element) {
  if (!cut.streamed()) return 0;
  const auto squares_in = [&](index columns) {
    const index last = columns % cut.strip;
    return static_cast<double>(columns / cut.strip * cut.strip * cut.strip + last * last);
  };
  const double n = static_cast<double>(s.n), bytes = static_cast<double>(element), triangle = n * (n + 1) / 2,
               squares = static_cast<double>(s.n / cut.panel) * squares_in(cut.panel) + squares_in(s.n % cut.panel),
               factors = s.lu ? n * n + squares : 2 * triangle,
               panels = std::ceil(static_cast<double>(s.nrhs) / static_cast<double>(cut.width));
  if (s.factored) return (panels * factors - (s.lu ? n * n : triangle)) * bytes;
  return panels * factors * bytes + (s.lu ? sent_again(s.n, s.n, GetrfCut{cut.panel, cut.strip}, element)
                                          : sent_again(s.n, PotrfCut{cut.panel, cut.strip}, element));
}

Plan plan_system_streamed(const SystemShape& shape, Precision precision, const SystemCut& cut) {
  Planner planner(shape, precision, cut);
  planner.make_steps();
  return std::move(planner.plan);
}

}  // namespace blaslift
