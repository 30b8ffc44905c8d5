// Plans of LU factorisations of matrices that the device has no room for.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "impl/lu/getrf_plan.hpp"
#include "impl/lu/getrf_steps.hpp"

namespace blaslift {
namespace {

using namespace getrf_steps;

constexpr index slots = 2;  // of panels that come and go, and of strips
// What factors a panel takes memory of its own beside the lease, for as many columns.
constexpr index widest_panel = 8192, widest_strip = 1024, round = 64;
// Of more panels, each of whose strips has the rows exchanged of all that come after it, the list of steps would take
// more than it could be worth; of fewer, wider ones are needed.
constexpr index most_panels = 16;

/// Two panels are there at a time.  L is kept in the host's memory as each panel leaves it, and comes from there in
/// strips: for every later panel with the rows exchanged as those before that have it, and once more when all are
/// factored, to have its rows as they stay.
class Planner {
 public:
  Planner(Plan& to, index m, index n, Precision precision, const GetrfCut& cut, const GetrfOperands& operands = {})
      : plan_(to), operands_(operands), m_(m), n_(n), precision_(precision), cut_(cut) {
    for (index i = 0; i < slots; ++i) panels_.push_back(plan_.add_area("panel" + std::to_string(i), m, cut.panel));
    for (index i = 0; i < slots; ++i) strips_.push_back(plan_.add_area("strip" + std::to_string(i), m, cut.strip));
    failed_ = plan_.add_area("failed", groups(), 1);
    rows_ = RowGroups(plan_, precision, m, factored(), cut.panel);
    if (const std::size_t bytes = trsm_workspace(solving(cut.strip, cut.panel)))
      workspace_ = plan_.add_area("workspace", static_cast<index>((bytes - 1) / element_size(precision) + 1), 1);
  }

  void make_steps() {
    const index count = cut_.panels(n_);
    index arrived = 0;
    for (index panel = 0; panel < count; ++panel) {
      for (; arrived < std::min(count, panel + slots); ++arrived)
        plan_.upload(of_panel(arrived), {0, columns(arrived).first, m_, columns(arrived).count});
      const Part own = columns(panel);
      const Plan::Origin here = of_panel(panel);
      const index earlier = std::min(panel, groups());
      for (index e = 0; e < earlier; ++e) rows_.exchange(plan_, e, here, own.first, own.count);
      for (index e = 0; e < earlier; ++e) subtract(e, here, own, earlier);
      if (const index known = std::min(own.first, factored()); known > 0)
        plan_.download(here, {0, own.first, known, own.count});
      if (panel < groups()) factor(panel, here);
    }
    for (index panel = 0; panel + 1 < groups(); ++panel) settle(panel);
    plan_.download({rows_.area(), operands_.pivots}, {0, 0, factored(), 1});
    plan_.download({failed_, operands_.failed}, {0, 0, groups(), 1});
  }

  StreamedGetrf streamed() const { return {rows_, panels_, strips_}; }

 private:
  struct Part {
    index first, count;
  };
  index factored() const { return std::min(m_, n_); }
  index groups() const { return cut_.panels(factored()); }
  Part columns(index panel) const { return {panel * cut_.panel, std::min(cut_.panel, n_ - panel * cut_.panel)}; }
  /// Those of L.
  Part factors(index panel) const {
    return {panel * cut_.panel, std::min(cut_.panel, factored() - panel * cut_.panel)};
  }
  Plan::Origin of_panel(index panel) const {
    return {panels_[static_cast<std::size_t>(panel % slots)], operands_.a, 0, columns(panel).first};
  }

  /// What an earlier panel makes of one.
  /// @param end  of the panels whose exchanges that has had
  void subtract(index earlier, const Plan::Origin& here, Part own, index end) {
    for_each_strip(earlier, [&](Part strip) {
      const Plan::Origin L = bring(earlier, strip, strip.first, end);
      const Block known{strip.first, own.first, strip.count, own.count};
      const Trsm solve = solving(strip.count, own.count);
      std::vector<Plan::Access> accesses{
          Plan::read(L, {strip.first, strip.first, strip.count, strip.count}, blaslift::Part::lower),
          Plan::update(here, known)};
      if (workspace_ >= 0)
        accesses.push_back(
            {{workspace_, {0, 0, plan_.areas[static_cast<std::size_t>(workspace_)].rows, 1}}, AccessMode::write});
      plan_.compute(solve, std::move(accesses), Scalar::one);
      if (const index below = strip.first + strip.count; below < m_)
        plan_.multiply(precision_, Scalar::minus_one, Op::none,
                       Plan::read(L, {below, strip.first, m_ - below, strip.count}), Op::none, Plan::read(here, known),
                       Scalar::one, Plan::update(here, {below, own.first, m_ - below, own.count}));
    });
  }

  void factor(index panel, const Plan::Origin& here) {
    const Part own = columns(panel);
    const Block rest{own.first, own.first, m_ - own.first, own.count};
    add_factors(plan_, precision_, panel, Plan::update(here, rest), rows_.written(panel, operands_.pivots), failed_,
                operands_.failed);
    if (panel + 1 == groups()) plan_.download(here, rest);  // no rows of it are exchanged any more
    if (panel + 1 == cut_.panels(n_)) return;
    const index left = factors(panel).count;
    plan_.steps.push_back({.kind = Plan::Kind::download,
                           .accesses = {Plan::read(here, {own.first, own.first, rest.rows, left})},
                           .transfer = {kept(panel), {0, 0, rest.rows, left}}});
  }

  /// All that a panel has left, with the exchanges of those that have come after it.
  void settle(index panel) {
    const Part own = columns(panel);
    for_each_strip(panel, [&](Part strip) {
      const Plan::Origin L = bring(panel, strip, own.first, groups());
      plan_.download(L, {own.first, strip.first, m_ - own.first, strip.count});
    });
  }

  template <class Each>
  void for_each_strip(index panel, const Each& each) const {
    const Part all = factors(panel);
    for (index first = all.first; first < all.first + all.count; first += cut_.strip)
      each(Part{first, std::min(cut_.strip, all.first + all.count - first)});
  }
  /// A strip of what a panel has left, from a row on, with later panels' exchanges until `end`.
  Plan::Origin bring(index panel, Part strip, index row, index end) {
    const index base = columns(panel).first;
    const Plan::Origin to{strips_[static_cast<std::size_t>(strips_sent_++ % slots)], operands_.a, 0, strip.first};
    const Block block{row, strip.first, m_ - row, strip.count};
    plan_.steps.push_back({.kind = Plan::Kind::upload,
                           .accesses = {Plan::access(to, block, AccessMode::write)},
                           .transfer = {kept(panel), {row - base, strip.first - base, block.rows, block.cols}}});
    for (index later = panel + 1; later < end; ++later) rows_.exchange(plan_, later, to, strip.first, strip.count);
    return to;
  }
  /// The operand that holds what a panel has left.
  int kept(index panel) const { return operands_.kept + static_cast<int>(panel); }

  Trsm solving(index order, index others) const {
    Trsm solve = getrf_steps::solving(precision_, cut_, n_, order, others);
    solve.way = trsm_way(precision_, order, others);
    solve.block = trsm_block(order);
    return solve;
  }

  Plan& plan_;
  const GetrfOperands operands_;
  const index m_, n_;
  const Precision precision_;
  const GetrfCut& cut_;
  std::vector<int> panels_, strips_;  ///< areas, in turns
  RowGroups rows_{};
  int failed_ = -1, workspace_ = -1;
  index strips_sent_ = 0;
};

}  // namespace

GetrfCut getrf_cut_streamed(index m, index n, Precision precision, std::size_t memory, const GetrfBesides& besides) {
  if (std::min(m, n) == 0) return {};
  const auto at_most = [](index panel) { return GetrfCut{panel, std::min(widest_strip, (panel + 3) / 4)}; };
  const auto fits = [&](index panel) {
    const GetrfCut cut = at_most(panel);
    Plan plan;
    Planner(plan, m, n, precision, cut);
    return plan.bytes(element_size(precision)) + (besides ? besides(cut) : 0) <= memory;
  };
  const index fewest = ((n + most_panels - 1) / most_panels + round - 1) / round * round;
  // The widest that fits, since each takes all of the earlier ones, is in [low, high).
  index low = 0, high = std::min(n, std::max(widest_panel, fewest) + 1);
  while (high - low > 1) {
    const index middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  const index even = low / round * round, panel = even > 0 && fits(even) ? even : low;
  return panel == 0 || (n - 1) / panel >= most_panels ? GetrfCut{} : at_most(panel);
}

std::vector<KeptFactors> kept_factors(index m, index n, const GetrfCut& cut) {
  std::vector<KeptFactors> all;
  const index factored = std::min(m, n);
  for (index first = 0; first < factored && first + cut.panel < n; first += cut.panel)
    all.push_back({m - first, std::min(cut.panel, factored - first)});
  return all;
}

double sent_again(index m, index n, const GetrfCut& cut, std::size_t element) {
  if (!cut.streamed()) return 0;
  double elements = 0, later = static_cast<double>(cut.panels(n));
  for (const KeptFactors& x : kept_factors(m, n, cut)) {
    const double left = static_cast<double>(x.rows) * static_cast<double>(x.cols);
    double in_strips = left;  // each from its own first row on
    for (index first = 0; first < x.cols; first += cut.strip)
      in_strips -= static_cast<double>(first) * static_cast<double>(std::min(cut.strip, x.cols - first));
    // To where it is kept, to each panel behind it, and when it is settled.
    elements += left + --later * in_strips;
    if (m - x.rows + cut.panel < std::min(m, n)) elements += left;
  }
  return elements * static_cast<double>(element);
}

StreamedGetrf add_getrf_streamed(Plan& plan, index m, index n, Precision precision, const GetrfCut& cut,
                                 GetrfOperands operands) {
  operands.kept = static_cast<int>(plan.operands.size());
  for (const KeptFactors& x : kept_factors(m, n, cut))
    plan.operands.push_back(
        {.name = "L", .rows = x.rows, .cols = x.cols, .result = true, .ours = true, .scratch = true});
  Planner planner(plan, m, n, precision, cut, operands);
  planner.make_steps();
  return planner.streamed();
}

Plan plan_getrf_streamed(index m, index n, Precision precision, const GetrfCut& cut) {
  Plan plan = begun(m, n, cut);
  add_getrf_streamed(plan, m, n, precision, cut, {});
  plan.after = order_of(plan);
  return plan;
}

}  // namespace blaslift
