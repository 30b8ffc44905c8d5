#include "impl/lu/getrf_plan.hpp"

#include <algorithm>
#include <utility>

#include "impl/core/stored.hpp"
#include "impl/lu/getrf_steps.hpp"

namespace blaslift {
namespace {

constexpr index most_panels = 16, least_panel = 2048, round = 64;
// A panel is a small part of what there is room for.
constexpr index panels_in_memory = 16;

using namespace getrf_steps;

class Planner {
 public:
  Planner(Plan& to, index m, index n, Precision precision, const GetrfCut& cut, int a, int pivots, int failed, int area)
      : plan_(to),
        operand_a_(a),
        operand_pivots_(pivots),
        operand_failed_(failed),
        m_(m),
        n_(n),
        precision_(precision),
        cut_(cut) {
    a_ = {area >= 0 ? area : plan_.add_area("A", m, n), a, 0, 0};
    failed_ = plan_.add_area("failed", cut.panels(factored()), 1);
    rows_ = RowGroups(plan_, precision, m, factored(), cut.panel);
    workspaces_ = getrf_steps::add_workspaces(plan_, precision, cut, n, factored(), cut.panel);
  }

  void make_steps() {
    for (index panel = 0; panel < cut_.panels(n_); ++panel)
      plan_.upload(a_, {0, columns(panel).first, m_, columns(panel).count});
    for (index panel = 0; panel < cut_.panels(n_); ++panel) {
      if (panel > 0) bring_up_to_date(panel, panel - 1, panel);
      const Part own = columns(panel);
      if (const index known = std::min(own.first, factored()); known > 0)
        plan_.download(a_, {0, own.first, known, own.count});
      // While a panel is factored, which leaves most of the device idle, the next one gets what the others make of it.
      if (panel + 1 < cut_.panels(n_)) bring_up_to_date(panel + 1, 0, panel, 1);
      if (panel < rows_.groups()) factor(panel);
    }
    if (rows_.groups() == cut_.panels(n_)) settle(rows_.groups() - 1);
    plan_.download({rows_.area(), operand_pivots_}, {0, 0, factored(), 1});
    plan_.download({failed_, operand_failed_}, {0, 0, cut_.panels(factored()), 1});
  }

  AddedGetrf added() const { return {a_, rows_}; }

 private:
  struct Part {
    index first, count;
  };
  index factored() const { return std::min(m_, n_); }
  Part columns(index panel) const { return {panel * cut_.panel, std::min(cut_.panel, n_ - panel * cut_.panel)}; }
  /// Rows of U that a panel makes.
  Part rows(index panel) const { return {panel * cut_.panel, std::min(cut_.panel, factored() - panel * cut_.panel)}; }

  /// What earlier panels make of one: all rows are exchanged as theirs are, then products are subtracted.
  void bring_up_to_date(index panel, index begin, index end, std::int8_t stream = 0) {
    end = std::min(end, rows_.groups());
    for (index earlier = begin; earlier < end; ++earlier) {
      if (panel == earlier + 1) settle(earlier);
      rows_.exchange(plan_, earlier, a_, columns(panel).first, columns(panel).count, false, stream);
    }
    for (index earlier = begin; earlier < end; ++earlier) eliminate(earlier, panel, stream);
  }

  void eliminate(index earlier, index panel, std::int8_t stream) {
    const Part pivots = rows(earlier), own = columns(panel);
    const Block known{pivots.first, own.first, pivots.count, own.count};
    Trsm solve = solving(pivots.count, own.count);
    solve.stream = stream;
    std::vector<Plan::Access> accesses{
        Plan::read(a_, {pivots.first, pivots.first, pivots.count, pivots.count}, blaslift::Part::lower),
        Plan::update(a_, known)};
    if (workspaces_ >= 0) {
      solve.prepared = panel > earlier + 1;
      const index bytes = plan_.areas[static_cast<std::size_t>(workspaces_)].rows;
      accesses.push_back(
          {{workspaces_, {0, earlier, bytes, 1}}, solve.prepared ? AccessMode::update : AccessMode::write});
    }
    plan_.compute(solve, std::move(accesses), Scalar::one);
    const index below = pivots.first + pivots.count;
    if (below < m_)
      plan_.multiply(precision_, Scalar::minus_one, Op::none,
                     Plan::read(a_, {below, pivots.first, m_ - below, pivots.count}), Op::none, Plan::read(a_, known),
                     Scalar::one, Plan::update(a_, {below, own.first, m_ - below, own.count}), blaslift::Part::whole,
                     stream);
  }

  void factor(index panel) {
    const Part own = columns(panel);
    const Block rest{own.first, own.first, m_ - own.first, own.count};
    add_factors(plan_, precision_, panel, Plan::update(a_, rest), rows_.written(panel, operand_pivots_), failed_,
                operand_failed_);
  }

  /// What a factored panel's exchanges make of the columns before it; then its rows of L are as they will stay.
  void settle(index panel) {
    const Part own = columns(panel);
    if (own.first > 0) rows_.exchange(plan_, panel, a_, 0, own.first);
    const bool last = panel + 1 == rows_.groups();
    plan_.download(a_, {own.first, 0, last ? m_ - own.first : rows(panel).count, own.first + own.count});
  }

  Trsm solving(index order, index others) const { return getrf_steps::solving(precision_, cut_, n_, order, others); }

  Plan& plan_;
  const int operand_a_, operand_pivots_, operand_failed_;
  const index m_, n_;
  const Precision precision_;
  const GetrfCut& cut_;
  Plan::Origin a_{};
  RowGroups rows_{};
  int failed_ = -1, workspaces_ = -1;
};

}  // namespace

RowGroups::RowGroups(Plan& plan, Precision precision, index rows, index count, index panel)
    : precision_(precision), rows_(rows), count_(count), panel_(panel) {
  pivots_ = plan.add_area("pivots", count, 1);
  const std::size_t moves = leased_bytes(static_cast<index>(row_swaps_workspace(panel)), 1, 1);
  moves_ = plan.add_area("moves", static_cast<index>(moves / element_size(precision)), groups());
  prepared_.resize(static_cast<std::size_t>(groups()));
}

Plan::Access RowGroups::written(index group, int operand) const {
  return {{pivots_, {first(group), 0, count(group), 1}}, AccessMode::write, {operand, first(group), 0}};
}

void RowGroups::exchange(Plan& plan, index group, const Plan::Origin& origin, index first_col, index cols,
                         bool backward, std::int8_t stream) {
  exchange(plan, group, Plan::update(origin, {first(group), first_col, rows_ - first(group), cols}), backward, stream);
}

void RowGroups::exchange(Plan& plan, index group, const Plan::Access& columns, bool backward, std::int8_t stream) {
  const Block& block = columns.region.block;
  const std::size_t at = static_cast<std::size_t>(group);
  RowSwaps swaps{.precision = precision_,
                 .m = block.rows,
                 .n = block.cols,
                 .A = nullptr,
                 .lda = 0,
                 .count = count(group),
                 .pivots = nullptr};
  swaps.prepared = prepared_[at];
  swaps.backward = backward;
  swaps.stream = stream;
  plan.compute(swaps,
               {columns,
                {{pivots_, {first(group), 0, count(group), 1}}, AccessMode::read},
                {{moves_, {0, group, plan.areas[static_cast<std::size_t>(moves_)].rows, 1}},
                 prepared_[at] ? AccessMode::read : AccessMode::write}},
               Scalar::one);
  prepared_[at] = true;
}

GetrfCut getrf_cut(index m, index n, Precision precision, std::size_t memory) {
  const std::size_t element = element_size(precision);
  const index even = (n + most_panels - 1) / most_panels, factored = std::min(m, n);
  if (factored == 0 ||
      static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(element) > static_cast<double>(memory))
    return {};
  GetrfCut cut{std::min(n, std::max(least_panel, (even + round - 1) / round * round))};
  cut.panel = std::clamp(static_cast<index>(memory / element) / (panels_in_memory * m), index{1}, cut.panel);
  Plan plan = begun(m, n, cut);
  Planner(plan, m, n, precision, cut, operand_a, operand_pivots, operand_failed, -1);
  return plan.bytes(element) <= memory ? cut : GetrfCut{};
}

AddedGetrf add_getrf(Plan& plan, index m, index n, Precision precision, const GetrfCut& cut, int a, int pivots,
                     int failed, int area) {
  Planner planner(plan, m, n, precision, cut, a, pivots, failed, area);
  planner.make_steps();
  return planner.added();
}

Plan plan_getrf(index m, index n, Precision precision, const GetrfCut& cut, bool in_place) {
  Plan plan = begun(m, n, cut);
  (void)add_getrf(plan, m, n, precision, cut, operand_a, operand_pivots, operand_failed,
                  in_place ? plan.add_own_area(operand_a) : -1);
  plan.after = order_of(plan);
  return plan;
}

}  // namespace blaslift
