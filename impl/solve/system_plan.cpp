#include "impl/solve/system_plan.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "impl/core/stored.hpp"
#include "impl/solve/system_steps.hpp"

namespace blaslift {
namespace {

using namespace system_steps;

constexpr index most_panels = 8, least_width = 1024, round = 64;
constexpr index most_narrow = 128;  // panels: of more, the list of steps would take more than it could be worth
constexpr index most_slots = 3;     // one panel moves in, one is solved, one moves home

class Planner {
 public:
  Planner(const SystemShape& shape, Precision precision, const SystemCut& cut, const SystemHeld& held)
      : s_(shape), precision_(precision), cut_(cut), held_(held) {
    begin(plan, s_, cut.panel);
  }

  void make_steps() {
    bring_factors();
    const index slots = held_.b ? 1 : std::min(panels(), most_slots);
    for (index i = 0; i < slots; ++i)
      b_.push_back(held_.b ? plan.add_own_area(operand_b)
                           : plan.add_area("panel" + std::to_string(i), s_.n, std::min(cut_.width, s_.nrhs)));
    const std::size_t bytes = leased_bytes(static_cast<index>(trsm_workspace(solve_with(true, cut_.width))), 1, 1);
    if (bytes > 0) workspaces_ = plan.add_area("workspaces", static_cast<index>(bytes / element_size(precision_)), 2);
    for (index panel = 0; panel < panels(); ++panel) {
      const index first = panel * cut_.width, cols = std::min(cut_.width, s_.nrhs - first);
      const Plan::Origin at{b_[static_cast<std::size_t>(panel) % b_.size()], operand_b, 0, held_.b ? 0 : first};
      const Block block{0, first, s_.n, cols};
      plan.upload(at, block);
      const bool forward = s_.trans == Op::none;
      for (index group = 0; s_.exchanges() && forward && group < rows_.groups(); ++group)
        rows_.exchange(plan, group, at, first, cols);
      for (const bool of_lower : {forward, !forward})
        if (!s_.triangle || of_lower) solve(of_lower, at, block, panel > 0);
      for (index group = rows_.groups(); s_.exchanges() && !forward && group-- > 0;)
        rows_.exchange(plan, group, at, first, cols, true);
      plan.download(at, block);
    }
    plan.after = order_of(plan);
  }

  Plan plan;

 private:
  index panels() const { return s_.nrhs > 0 ? (s_.nrhs + cut_.width - 1) / cut_.width : 0; }

  void bring_factors() {
    const int own = held_.a ? plan.add_own_area(operand_a) : -1;
    if (s_.factored) {
      a_ = {own >= 0 ? own : plan.add_area("A", s_.n, s_.n), operand_a, 0, 0};
      plan.upload(a_, {0, 0, s_.n, s_.n});
      if (!s_.exchanges()) return;
      rows_ = RowGroups(plan, precision_, s_.n, s_.n, cut_.panel);
      plan.upload({rows_.area(), operand_third}, {0, 0, s_.n, 1});
    } else if (s_.lu) {
      const GetrfCut cut{cut_.panel};
      AddedGetrf added = add_getrf(plan, s_.n, s_.n, precision_, cut, operand_a, operand_third, operand_fourth, own);
      a_ = added.a;
      rows_ = std::move(added.rows);
    } else {
      a_ = add_potrf(plan, s_.uplo, s_.n, precision_, {cut_.panel}, operand_a, operand_third, own);
    }
  }

  Trsm solve_with(bool of_lower, index others) const {
    return solving(s_, precision_, of_lower, s_.n, others, s_.n, s_.nrhs);
  }

  void solve(bool of_lower, const Plan::Origin& b, const Block& block, bool prepared) {
    Trsm operation = solve_with(of_lower, block.cols);
    std::vector<Plan::Access> accesses{Plan::read(a_, {0, 0, s_.n, s_.n}, part_of(operation.uplo)),
                                       Plan::update(b, block)};
    if (workspaces_ >= 0) {
      // Cholesky's factor is the same one both times.
      const index which = s_.lu && of_lower;
      operation.prepared = prepared || (!s_.lu && std::exchange(cholesky_prepared_, true));
      const index rows = plan.areas[static_cast<std::size_t>(workspaces_)].rows;
      accesses.push_back(
          {{workspaces_, {0, which, rows, 1}}, operation.prepared ? AccessMode::update : AccessMode::write});
    }
    plan.compute(operation, std::move(accesses), Scalar::one);
  }

  const SystemShape& s_;
  const Precision precision_;
  const SystemCut& cut_;
  const SystemHeld& held_;
  Plan::Origin a_{};
  RowGroups rows_{};
  std::vector<int> b_{};  ///< areas: one, or in turns
  int workspaces_ = -1;
  bool cholesky_prepared_ = false;
};

}  // namespace

SystemCut system_cut(const SystemShape& s, Precision precision, std::size_t memory, const SystemHeld& held) {
  const double element = static_cast<double>(element_size(precision)), n = static_cast<double>(s.n);
  if (s.n == 0 || (!held.a && n * n * element > static_cast<double>(memory))) return {};
  const std::size_t for_a = held.a ? std::numeric_limits<std::size_t>::max() : memory;
  const index even = (s.nrhs + most_panels - 1) / most_panels;
  SystemCut cut{0, std::max(index{1}, std::min(s.nrhs, std::max(least_width, (even + round - 1) / round * round)))};
  if (s.lu)
    cut.panel = getrf_cut(s.n, s.n, precision, for_a).panel;
  else if (const PotrfCut triangle = potrf_cut(s.n, precision, for_a); !triangle.streamed())
    cut.panel = triangle.panel;
  const auto fits = [&] {
    Planner planner(s, precision, cut, held);
    planner.make_steps();
    return planner.plan.bytes(element_size(precision)) <= memory;
  };
  if (cut.panel == 0) return {};
  if (held.b) cut.width = std::max<index>(1, s.nrhs);
  while (!fits()) {
    if (held.b || cut.width == 1 || s.nrhs / cut.width >= most_narrow) return {};
    cut.width = cut.width > 2 * round ? cut.width / 2 / round * round : cut.width / 2;
  }
  return cut;
}

Plan plan_system(const SystemShape& shape, Precision precision, const SystemCut& cut, const SystemHeld& held) {
  Planner planner(shape, precision, cut, held);
  planner.make_steps();
  return std::move(planner.plan);
}

}  // namespace blaslift
