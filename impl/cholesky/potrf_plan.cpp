#include "impl/cholesky/potrf_plan.hpp"

#include <algorithm>
#include <string>

#include "impl/core/stored.hpp"
#include "kernels/trsm.hpp"

namespace blaslift {
namespace {

// Panels take long to be factored for what they are, so they are wide; but the first one is waited for, and so is the
// last one's way home, unless nothing moves (on an H100 of 1,024 and 4,096 columns, from n = 2,000 to 16,384).
constexpr index most_panels = 16, least_panel = 1024, panel_in_place = 4096, widest_strip = 1024, round = 64;
constexpr index most_streamed = 128;  // panels: of more, the list of steps would take more than it could be worth
constexpr index slots = 2;            // of panels that come and go, and of strips

class Planner {
 public:
  Planner(Uplo uplo, index n, Precision precision, const PotrfCut& cut, bool in_place)
      : lower_(uplo == Uplo::lower), uplo_(uplo), n_(n), precision_(precision), cut_(cut) {
    plan.operands = {{"A", n, n, true, false, part_of(uplo)}, {"failed", cut.panels(n), 1, true, true}};
    failed_ = plan.add_area("failed", cut.panels(n), 1);
    if (in_place || !cut.streamed()) {
      panels_.push_back(in_place ? plan.add_own_area(operand_a) : plan.add_area("A", n, n));
    } else {
      for (index i = 0; i < slots; ++i) panels_.push_back(add_area("panel", i, cut.panel));
      for (index i = 0; i < slots; ++i) strips_.push_back(add_area("strip", i, cut.strip));
    }
    const Trsm widest = solving(cut.panel, n);
    if (const std::size_t bytes = trsm_workspace(widest))
      workspace_ = plan.add_area("workspace", static_cast<index>((bytes - 1) / element_size(precision) + 1), 1);
  }

  void make_steps() {
    const index count = cut_.panels(n_);
    index arrived = 0;
    for (index panel = 0; panel < count; ++panel) {
      for (; arrived < (cut_.streamed() ? std::min(count, panel + slots) : count); ++arrived) upload(arrived);
      factor(panel);
    }
    plan.download({failed_, operand_failed}, {0, 0, count, 1});
    plan.after = order_of(plan);
  }

  Plan plan;

 private:
  enum { operand_a, operand_failed };
  /// Of L's rows or columns; of U it is the other way round.
  struct Part {
    index first, count;
    index end() const { return first + count; }
  };

  int add_area(const char* name, index number, index width) {
    return plan.add_area(name + std::to_string(number), lower_ ? n_ : width, lower_ ? width : n_);
  }

  Part part(index panel) const { return {panel * cut_.panel, std::min(cut_.panel, n_ - panel * cut_.panel)}; }
  Part behind(Part x) const { return {x.end(), n_ - x.end()}; }
  Block block(Part rows, Part cols) const {
    return lower_ ? Block{rows.first, cols.first, rows.count, cols.count}
                  : Block{cols.first, rows.first, cols.count, rows.count};
  }
  /// Where columns of L are that have an area of their own.
  Plan::Origin origin(int area, index first) const { return {area, operand_a, lower_ ? 0 : first, lower_ ? first : 0}; }
  Plan::Origin of_panel(index panel) const {
    return cut_.streamed() ? origin(panels_[static_cast<std::size_t>(panel % slots)], part(panel).first)
                           : origin(panels_[0], 0);
  }

  void upload(index panel) {
    const Part own = part(panel), below = behind(own);
    plan.upload(of_panel(panel), block(own, own));
    if (below.count > 0) plan.upload(of_panel(panel), block(below, own));
  }

  void factor(index panel) {
    const Part own = part(panel), below = behind(own);
    const Plan::Origin here = of_panel(panel);
    if (cut_.streamed()) {
      for (index first = 0; first < own.first; first += cut_.strip) {
        const Part strip{first, std::min(cut_.strip, own.first - first)};
        const Plan::Origin from = origin(strips_[static_cast<std::size_t>(strips_sent_++ % slots)], first);
        plan.upload(from, block({own.first, n_ - own.first}, strip));
        subtract(from, strip, here, own);
      }
    } else if (panel > 0) {
      subtract(here, {0, own.first}, here, own);
    }
    plan.compute(
        Potrf{.precision = precision_, .uplo = uplo_, .n = own.count, .A = nullptr, .lda = 0, .failed = nullptr},
        {Plan::update(here, block(own, own)),
         {{failed_, {panel, 0, 1, 1}}, AccessMode::write, {operand_failed, panel, 0}}},
        Scalar::one);
    plan.download(here, block(own, own));
    if (below.count == 0) return;
    const Trsm solve = solving(own.count, below.count);
    std::vector<Plan::Access> accesses{Plan::read(here, block(own, own)), Plan::update(here, block(below, own))};
    if (trsm_workspace(solve) > 0)
      accesses.push_back(
          {{workspace_, {0, 0, plan.areas[static_cast<std::size_t>(workspace_)].rows, 1}}, AccessMode::write});
    plan.compute(solve, std::move(accesses), Scalar::one);
    plan.download(here, block(below, own));
  }

  /// What earlier columns of L make of a panel.
  void subtract(const Plan::Origin& from, Part earlier, const Plan::Origin& to, Part panel) {
    const Part below = behind(panel);
    const Plan::Access x = Plan::read(from, block(panel, earlier));
    multiply(x, x, Plan::update(to, block(panel, panel)), part_of(uplo_));
    if (below.count > 0)
      multiply(Plan::read(from, block(below, earlier)), x, Plan::update(to, block(below, panel)),
               blaslift::Part::whole);
  }
  /// z -= x y^H of parts of L; of U, of which they are the adjoints, z -= y^H x.
  void multiply(const Plan::Access& x, const Plan::Access& y, const Plan::Access& z, blaslift::Part of_z) {
    if (lower_)
      plan.multiply(precision_, Scalar::minus_one, Op::none, x, adjoint(), y, Scalar::one, z, of_z);
    else
      plan.multiply(precision_, Scalar::minus_one, adjoint(), y, Op::none, x, Scalar::one, z, of_z);
  }
  Op adjoint() const { return is_complex(precision_) ? Op::conjugate : Op::transpose; }

  /// A panel's rows below its diagonal block, from that.
  Trsm solving(index order, index others) const {
    return {.precision = precision_,
            .side = lower_ ? Side::right : Side::left,
            .uplo = uplo_,
            .trans = adjoint(),
            .unit = false,
            .m = lower_ ? others : order,
            .n = lower_ ? order : others,
            .alpha = nullptr,
            .A = nullptr,
            .lda = 0,
            .B = nullptr,
            .ldb = 0,
            .way = trsm_way(precision_, order, others),
            .block = trsm_block(order)};
  }

  const bool lower_;
  const Uplo uplo_;
  const index n_;
  const Precision precision_;
  const PotrfCut& cut_;
  std::vector<int> panels_, strips_;  ///< areas: one, or in turns
  int failed_ = -1, workspace_ = -1;
  index strips_sent_ = 0;
};

}  // namespace

PotrfCut potrf_cut_in_place(index n) { return {std::min(n, panel_in_place)}; }

PotrfCut potrf_cut(index n, Precision precision, std::size_t memory) {
  const auto fits = [&](const PotrfCut& cut) {
    return Planner(Uplo::lower, n, precision, cut, false).plan.bytes(element_size(precision)) <= memory;
  };
  const index even = (n + most_panels - 1) / most_panels;
  PotrfCut cut{std::min(n, std::max(least_panel, (even + round - 1) / round * round))};
  if (fits(cut)) return cut;
  // Panels as wide as there is room for, since each takes all of the earlier ones.
  const auto at_most = [&](index panel) { return PotrfCut{panel, std::min(widest_strip, (panel + 3) / 4)}; };
  index low = 0, high = n;  // the widest that fits is in [low, high)
  while (high - low > 1) {
    const index middle = low + (high - low) / 2;
    (fits(at_most(middle)) ? low : high) = middle;
  }
  const index panel = low >= round ? low / round * round : low;
  return panel == 0 || (n - 1) / panel >= most_streamed ? PotrfCut{} : at_most(panel);
}

double sent_again(index n, const PotrfCut& cut, std::size_t element) {
  double elements = 0;
  for (index first = 0; cut.streamed() && first < n; first += cut.panel)
    elements += static_cast<double>(first) * static_cast<double>(n - first);
  return elements * static_cast<double>(element);
}

Plan plan_potrf(Uplo uplo, index n, Precision precision, const PotrfCut& cut, bool in_place) {
  Planner planner(uplo, n, precision, cut, in_place);
  planner.make_steps();
  return std::move(planner.plan);
}

}  // namespace blaslift
