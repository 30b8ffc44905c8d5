// Plans of LU factorisations that several places compute together.
#include <algorithm>
#include <utility>
#include <vector>

#include "impl/lu/getrf_plan.hpp"
#include "impl/lu/getrf_steps.hpp"

namespace blaslift {
namespace {

using namespace getrf_steps;

constexpr index widest = 1024, panels_of_a_place = 16, round = 64;
/// Groups of a place's panels that arrive one after the other, each while two panels are factored.
constexpr index arriving = 4;
/// Panels that are computed with at a time: of more, products would be no faster, and systems would take more memory.
constexpr index at_once = 4;

/// What one place does.  Its own panels lie side by side, so that it computes with many of them at a time, and beside
/// them the L that it gets from others.
class Planner {
 public:
  Planner(Plan& to, index m, index n, Precision precision, const GetrfCut& cut, int place, int places)
      : plan_(to), m_(m), n_(n), precision_(precision), cut_(cut), place_(place), places_(places) {
    plan_.place = place, plan_.places = places, plan_.pieces = static_cast<int>(groups());
    const index of_others = groups() - own_before(groups());
    own_ = plan_.add_area("A", m, columns_of(0, own_before(panels())));
    others_ = plan_.add_area("L", m, std::max<index>(1, of_others) * cut.panel);
    shared_ = plan_.add_area("shared", m, cut.panel);
    failed_ = plan_.add_area("failed", groups(), 1);
    rows_ = RowGroups(plan_, precision, m, factored(), cut.panel);
    workspaces_ = add_workspaces(plan_, precision, cut, n, factored(), at_once * cut.panel);
    prepared_.resize(static_cast<std::size_t>(groups()));
  }

  void make_steps() {
    for (index panel = 0; panel < panels(); ++panel)
      if (owns(panel)) {
        plan_.upload(at(panel), {0, first(panel), m_, count(panel)});
      } else {
        plan_.elsewhere.push_back({operand_a, {0, first(panel), m_, count(panel)}});
        if (panel < groups()) plan_.elsewhere.push_back({operand_failed, {panel, 0, 1, 1}});
      }
    const index all = own_before(panels()), group = (all + arriving - 1) / arriving;
    index there = std::min(all, std::max<index>(group, 2));  // so many of its own have what is subtracted from all
    for (index panel = 0; panel < groups(); ++panel) {
      const index next = own_before(panel + 1);  // of its own, to be factored
      if (owns(panel)) {
        factor(panel);
        share(panel);
        bring_known(panel);
      } else {
        fetch(panel, next < all);
      }
      if (next < all) subtract(panel, next, next + 1, 0);
      settle(panel);
      if (next == all) continue;
      const bool last = panel + 1 == groups();
      const index others = next + 1, end = last ? all : std::min(all, std::max(group * (panel / 2 + 2), next + 2));
      if (others < there) subtract(panel, others, there, 1);
      // Those that come now have missed what was subtracted from the others.
      if (there < end) subtract_all(panel + 1, there, end);
      there = std::max(there, end);
    }
    for (index own = own_before(groups()); own < all; ++own) bring_known(panel_of(own));
    plan_.download({rows_.area(), operand_pivots}, {0, 0, factored(), 1});
  }

 private:
  index factored() const { return std::min(m_, n_); }
  index panels() const { return cut_.panels(n_); }
  index groups() const { return cut_.panels(factored()); }  ///< panels that are factored
  index first(index panel) const { return panel * cut_.panel; }
  index count(index panel) const { return std::min(cut_.panel, n_ - first(panel)); }
  /// Rows of U that a panel makes.
  index rows(index panel) const { return std::min(cut_.panel, factored() - first(panel)); }

  bool owns(index panel) const { return owner_of(panel, places_) == place_; }
  index own_before(index panel) const { return (panel + places_ - 1 - place_) / places_; }
  index panel_of(index own) const { return own * places_ + place_; }
  /// In all of its own from one to the next.
  index columns_of(index own, index end) const {
    return end <= own ? 0 : (end - 1 - own) * cut_.panel + count(panel_of(end - 1));
  }

  /// Where a panel is.
  Plan::Origin at(index panel) const {
    const index before = own_before(panel), number = owns(panel) ? before : panel - before;
    return {owns(panel) ? own_ : others_, operand_a, 0, first(panel) - number * cut_.panel};
  }
  /// Rows of some of its own.
  Plan::Access own(index row, index rows, index begin, index end, AccessMode mode) const {
    Plan::Access x{{own_, {row, begin * cut_.panel, rows, columns_of(begin, end)}}, mode};
    if (end == begin + 1) x.of = {operand_a, row, first(panel_of(begin))};  // otherwise they are no block of it
    return x;
  }
  Block with_below(index panel) const { return {first(panel), first(panel), m_ - first(panel), count(panel)}; }

  void factor(index panel) {
    const Block b = with_below(panel);
    add_factors(plan_, precision_, panel, Plan::update(at(panel), b), rows_.written(panel, operand_pivots), failed_,
                operand_failed);
  }

  /// A copy: the place goes on exchanging rows of its own.
  void share(index panel) {
    const Block b = with_below(panel);
    const Plan::Access copy{{shared_, {0, 0, b.rows, b.cols}}, AccessMode::write, {operand_a, b.row, b.col}};
    plan_.compute(assignment(precision_, b.rows, b.cols), {Plan::read(at(panel), b), copy}, Scalar::one);
    plan_.share(static_cast<int>(panel), {rows_.written(panel, operand_pivots), copy});
    plan_.download({failed_, operand_failed}, {panel, 0, 1, 1});
  }
  /// Its exchanges, and if they are of use its factors.
  void fetch(index panel, bool factors) {
    std::vector<Plan::Access> parts{rows_.written(panel, operand_pivots)};
    if (factors) parts.push_back(Plan::read(at(panel), with_below(panel)));
    plan_.fetch(static_cast<int>(panel), std::move(parts));
    fetched_ += factors ? 1 : 0;
  }

  /// What a panel makes of some of its own.
  void subtract(index panel, index begin, index end, std::int8_t stream) {
    for (; begin < end; begin += at_once) {
      const index some = std::min(end, begin + at_once);
      exchange(panel, begin, some, stream);
      eliminate(panel, begin, some, stream);
    }
  }
  /// The same of the first panels: their L has all exchanges by now.
  void subtract_all(index count, index begin, index end) {
    for (; begin < end; begin += at_once) {
      const index some = std::min(end, begin + at_once);
      for (index panel = 0; panel < count; ++panel) exchange(panel, begin, some, 1);
      for (index panel = 0; panel < count; ++panel) eliminate(panel, begin, some, 1);
    }
  }
  void exchange(index panel, index begin, index end, std::int8_t stream) {
    rows_.exchange(plan_, panel, own(first(panel), m_ - first(panel), begin, end, AccessMode::update), false, stream);
  }
  void eliminate(index panel, index begin, index end, std::int8_t stream) {
    const index top = first(panel), pivots = rows(panel), below = top + pivots, cols = columns_of(begin, end);
    Trsm solve = solving(precision_, cut_, n_, pivots, cols);
    solve.stream = stream;
    std::vector<Plan::Access> accesses{Plan::read(at(panel), {top, top, pivots, pivots}, Part::lower),
                                       own(top, pivots, begin, end, AccessMode::update)};
    if (workspaces_ >= 0) {
      solve.prepared = std::exchange(prepared_[static_cast<std::size_t>(panel)], char{1});
      const index bytes = plan_.areas[static_cast<std::size_t>(workspaces_)].rows;
      accesses.push_back(
          {{workspaces_, {0, panel, bytes, 1}}, solve.prepared ? AccessMode::update : AccessMode::write});
    }
    plan_.compute(solve, std::move(accesses), Scalar::one);
    if (below < m_)
      plan_.multiply(precision_, Scalar::minus_one, Op::none, Plan::read(at(panel), {below, top, m_ - below, pivots}),
                     Op::none, own(top, pivots, begin, end, AccessMode::read), Scalar::one,
                     own(below, m_ - below, begin, end, AccessMode::update), Part::whole, stream);
  }

  /// Rows of U in columns that have got all panels' share.
  void bring_known(index panel) {
    if (const index known = std::min(first(panel), factored()); known > 0)
      plan_.download(at(panel), {0, first(panel), known, count(panel)});
  }
  /// What a factored panel's exchanges make of the L before it; then its rows of L are as they will stay.
  void settle(index panel) {
    // Where no factors come any more, nothing is computed with those of others.
    const index mine = own_before(panel), theirs = std::min(panel - mine, fetched_ - (owns(panel) ? 0 : 1)),
                top = first(panel);
    if (mine > 0) exchange(panel, 0, mine, 1);
    if (theirs > 0)
      rows_.exchange(plan_, panel, {{others_, {top, 0, m_ - top, theirs * cut_.panel}}, AccessMode::update}, false, 1);
    const bool last = panel + 1 == groups();
    for (index number = 0; number < own_before(panel + 1); ++number) {
      const index of = panel_of(number);
      plan_.download(at(of), {top, first(of), last ? m_ - top : rows(panel), count(of)});
    }
  }

  Plan& plan_;
  const index m_, n_;
  const Precision precision_;
  const GetrfCut& cut_;
  const int place_, places_;
  RowGroups rows_{};
  int own_ = -1, others_ = -1, shared_ = -1, failed_ = -1, workspaces_ = -1;
  index fetched_ = 0;             ///< factors of others, which are the first ones
  std::vector<char> prepared_{};  ///< by panel: its part of the workspaces
};

}  // namespace

GetrfCut getrf_cut_together(index m, index n, Precision precision, std::size_t memory, int places) {
  const std::size_t element = element_size(precision);
  const index even = (n + places * panels_of_a_place - 1) / (places * panels_of_a_place);
  GetrfCut cut{std::min(widest, even >= round ? (even + round - 1) / round * round : even)};
  if (cut.panels(std::min(m, n)) < places ||
      static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(element) > static_cast<double>(memory))
    return {};
  for (int place = 0; place < places; ++place) {  // who has the last panel has another number of columns
    Plan plan = begun(m, n, cut);
    Planner(plan, m, n, precision, cut, place, places);
    if (plan.bytes(element) > memory) return {};
  }
  return cut;
}

Plan plan_getrf_together(index m, index n, Precision precision, const GetrfCut& cut, int place, int places) {
  Plan plan = begun(m, n, cut);
  Planner(plan, m, n, precision, cut, place, places).make_steps();
  plan.after = order_of(plan);
  return plan;
}

}  // namespace blaslift
