#include "impl/cholesky/potrf_plan.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "impl/core/stored.hpp"
#include "kernels/trsm.hpp"

namespace blaslift {
namespace {

// Panels take long to be factored for what they are, so they are wide; but the first one is waited for, and so is the
// last one's way home, unless nothing moves (on an H100 of 1,024 and 4,096 columns, from n = 2,000 to 16,384).
constexpr index most_panels = 16, least_panel = 1024, panel_in_place = 4096, widest_strip = 1024, round = 64;
constexpr index most_streamed = 128;  // panels: of more, the list of steps would take more than it could be worth
constexpr index slots = 2;            // of panels that come and go, and of strips
constexpr index widest_together = 1024, panels_together = 16;  // of a place
// Of a place's panels, from the next one to be factored on: those behind them get several panels' share as one product,
// and have time to arrive.
constexpr std::size_t looked_after = 3;

class Planner {
 public:
  /// @param a, failed  operands
  /// @param area       A's own, if it has one
  Planner(Plan& to, Uplo uplo, index n, Precision precision, const PotrfCut& cut, int a, int failed, int area)
      : plan_(to),
        operand_a_(a),
        operand_failed_(failed),
        lower_(uplo == Uplo::lower),
        uplo_(uplo),
        n_(n),
        precision_(precision),
        cut_(cut) {
    failed_ = plan_.add_area("failed", cut.panels(n), 1);
    if (area >= 0 || !cut.streamed()) {
      panels_.push_back(area >= 0 ? area : plan_.add_area("A", n, n));
    } else {
      for (index i = 0; i < slots; ++i) panels_.push_back(add_area("panel", i, cut.panel));
      for (index i = 0; i < slots; ++i) strips_.push_back(add_area("strip", i, cut.strip));
    }
    const Trsm widest = solving(cut.panel, n);
    if (const std::size_t bytes = trsm_workspace(widest))
      workspace_ = plan_.add_area("workspace", static_cast<index>((bytes - 1) / element_size(precision) + 1), 1);
  }

  void make_steps() {
    const index count = cut_.panels(n_);
    index arrived = 0;
    for (index panel = 0; panel < count; ++panel) {
      for (; arrived < (cut_.streamed() ? std::min(count, panel + slots) : count); ++arrived) upload(arrived);
      factor(panel);
    }
    plan_.download({failed_, operand_failed_}, {0, 0, count, 1});
  }
  /// One place's of several.
  void make_steps_together(int place, int places) {
    const index count = cut_.panels(n_);
    plan_.place = place, plan_.places = places, plan_.pieces = static_cast<int>(count);
    std::vector<index> own, subtracted;  // panels of the place; and from these, so many panels' share
    for (index panel = 0; panel < count; ++panel) {
      if (owner_of(panel, places) == place) {
        own.push_back(panel), subtracted.push_back(0);
        upload(panel);
        continue;
      }
      const Part of = part(panel), below = behind(of);
      plan_.elsewhere.push_back({operand_a_, block(of, of)});
      plan_.elsewhere.push_back({operand_failed_, {panel, 0, 1, 1}});
      if (below.count > 0) plan_.elsewhere.push_back({operand_a_, block(below, of)});
    }
    const Plan::Origin a = of_panel(0);
    const auto subtract_until = [&](std::size_t i, index end, std::int8_t stream) {
      const index begin = std::exchange(subtracted[i], end);
      if (begin < end) subtract(a, {part(begin).first, part(end).first - part(begin).first}, a, part(own[i]), stream);
    };
    std::size_t next = 0;  // of the place's own, to be factored
    for (index panel = 0; panel < count; ++panel) {
      const Part of = part(panel), below = behind(of);
      const std::vector<Plan::Access> needed =
          below.count > 0 ? std::vector{Plan::read(a, block(below, of))} : std::vector<Plan::Access>{};
      if (owner_of(panel, places) == place) {
        subtract_until(next++, panel, 0);
        factor_diagonal(panel, a);
        if (below.count > 0) solve_below(panel, a);
        plan_.share(static_cast<int>(panel), needed);
        plan_.download({failed_, operand_failed_}, {panel, 0, 1, 1});
        plan_.download(a, block(of, of));
        if (below.count > 0) plan_.download(a, block(below, of));
      } else if (next < own.size()) {
        plan_.fetch(static_cast<int>(panel), needed);
      }
      if (next == own.size()) continue;
      subtract_until(next, panel + 1, 0);
      for (std::size_t i = next + 1; i < std::min(own.size(), next + looked_after); ++i)
        subtract_until(i, panel + 1, 1);
    }
  }

  /// Not of strips.
  Plan::Origin whole() const { return origin(panels_[0], 0); }
  StreamedPotrf streamed() const { return {panels_, strips_}; }

 private:
  /// Of L's rows or columns; of U it is the other way round.
  struct Part {
    index first, count;
    index end() const { return first + count; }
  };

  int add_area(const char* name, index number, index width) {
    return plan_.add_area(name + std::to_string(number), lower_ ? n_ : width, lower_ ? width : n_);
  }

  Part part(index panel) const { return {panel * cut_.panel, std::min(cut_.panel, n_ - panel * cut_.panel)}; }
  Part behind(Part x) const { return {x.end(), n_ - x.end()}; }
  Block block(Part rows, Part cols) const {
    return lower_ ? Block{rows.first, cols.first, rows.count, cols.count}
                  : Block{cols.first, rows.first, cols.count, rows.count};
  }
  /// Where columns of L are that have an area of their own.
  Plan::Origin origin(int area, index first) const {
    return {area, operand_a_, lower_ ? 0 : first, lower_ ? first : 0};
  }
  Plan::Origin of_panel(index panel) const {
    return cut_.streamed() ? origin(panels_[static_cast<std::size_t>(panel % slots)], part(panel).first)
                           : origin(panels_[0], 0);
  }

  void upload(index panel) {
    const Part own = part(panel), below = behind(own);
    plan_.upload(of_panel(panel), block(own, own));
    if (below.count > 0) plan_.upload(of_panel(panel), block(below, own));
  }

  void factor(index panel) {
    const Part own = part(panel), below = behind(own);
    const Plan::Origin here = of_panel(panel);
    if (cut_.streamed()) {
      for (index first = 0; first < own.first; first += cut_.strip) {
        const Part strip{first, std::min(cut_.strip, own.first - first)};
        const Plan::Origin from = origin(strips_[static_cast<std::size_t>(strips_sent_++ % slots)], first);
        plan_.upload(from, block({own.first, n_ - own.first}, strip));
        subtract(from, strip, here, own);
      }
    } else if (panel > 0) {
      subtract(here, {0, own.first}, here, own);
    }
    factor_diagonal(panel, here);
    plan_.download(here, block(own, own));
    if (below.count == 0) return;
    solve_below(panel, here);
    plan_.download(here, block(below, own));
  }

  /// Of a panel that has got all earlier ones' share.
  void factor_diagonal(index panel, const Plan::Origin& here) {
    const Part own = part(panel);
    plan_.compute(
        Potrf{.precision = precision_, .uplo = uplo_, .n = own.count, .A = nullptr, .lda = 0, .failed = nullptr},
        {Plan::update(here, block(own, own)),
         {{failed_, {panel, 0, 1, 1}}, AccessMode::write, {operand_failed_, panel, 0}}},
        Scalar::one);
  }
  void solve_below(index panel, const Plan::Origin& here) {
    const Part own = part(panel), below = behind(own);
    const Trsm solve = solving(own.count, below.count);
    std::vector<Plan::Access> accesses{Plan::read(here, block(own, own)), Plan::update(here, block(below, own))};
    if (trsm_workspace(solve) > 0)
      accesses.push_back(
          {{workspace_, {0, 0, plan_.areas[static_cast<std::size_t>(workspace_)].rows, 1}}, AccessMode::write});
    plan_.compute(solve, std::move(accesses), Scalar::one);
  }

  /// What earlier columns of L make of a panel.
  void subtract(const Plan::Origin& from, Part earlier, const Plan::Origin& to, Part panel, std::int8_t stream = 0) {
    const Part below = behind(panel);
    const Plan::Access x = Plan::read(from, block(panel, earlier));
    multiply(x, x, Plan::update(to, block(panel, panel)), part_of(uplo_), stream);
    if (below.count > 0)
      multiply(Plan::read(from, block(below, earlier)), x, Plan::update(to, block(below, panel)), blaslift::Part::whole,
               stream);
  }
  /// z -= x y^H of parts of L; of U, of which they are the adjoints, z -= y^H x.
  void multiply(const Plan::Access& x, const Plan::Access& y, const Plan::Access& z, blaslift::Part of_z,
                std::int8_t stream) {
    if (lower_)
      plan_.multiply(precision_, Scalar::minus_one, Op::none, x, adjoint(), y, Scalar::one, z, of_z, stream);
    else
      plan_.multiply(precision_, Scalar::minus_one, adjoint(), y, Op::none, x, Scalar::one, z, of_z, stream);
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

  Plan& plan_;
  const int operand_a_, operand_failed_;
  const bool lower_;
  const Uplo uplo_;
  const index n_;
  const Precision precision_;
  const PotrfCut& cut_;
  std::vector<int> panels_, strips_;  ///< areas: one, or in turns
  int failed_ = -1, workspace_ = -1;
  index strips_sent_ = 0;
};

enum { operand_a, operand_failed };

Plan begun(Uplo uplo, index n, const PotrfCut& cut) {
  Plan plan;
  plan.operands = {{"A", n, n, true, false, part_of(uplo)}, {"failed", cut.panels(n), 1, true, true}};
  return plan;
}

}  // namespace

Plan::Origin add_potrf(Plan& plan, Uplo uplo, index n, Precision precision, const PotrfCut& cut, int a, int failed,
                       int area) {
  Planner planner(plan, uplo, n, precision, cut, a, failed, area);
  planner.make_steps();
  return planner.whole();
}

StreamedPotrf add_potrf_streamed(Plan& plan, Uplo uplo, index n, Precision precision, const PotrfCut& cut, int a,
                                 int failed) {
  Planner planner(plan, uplo, n, precision, cut, a, failed, -1);
  planner.make_steps();
  return planner.streamed();
}

PotrfCut potrf_cut_in_place(index n) { return {std::min(n, panel_in_place)}; }

namespace {
std::size_t bytes_of(index n, Precision precision, const PotrfCut& cut) {
  Plan plan = begun(Uplo::lower, n, cut);
  Planner(plan, Uplo::lower, n, precision, cut, operand_a, operand_failed, -1);
  return plan.bytes(element_size(precision));
}
}  // namespace

PotrfCut potrf_cut(index n, Precision precision, std::size_t memory) {
  const index even = (n + most_panels - 1) / most_panels;
  const PotrfCut cut{std::min(n, std::max(least_panel, (even + round - 1) / round * round))};
  return bytes_of(n, precision, cut) <= memory ? cut : potrf_cut_streamed(n, precision, memory);
}

PotrfCut potrf_cut_streamed(index n, Precision precision, std::size_t memory, const PotrfBesides& besides) {
  // Panels as wide as there is room for, since each takes all of the earlier ones.
  const auto at_most = [&](index panel) { return PotrfCut{panel, std::min(widest_strip, (panel + 3) / 4)}; };
  const auto fits = [&](const PotrfCut& cut) {
    return bytes_of(n, precision, cut) + (besides ? besides(cut) : 0) <= memory;
  };
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

PotrfCut potrf_cut_together(index n, Precision precision, std::size_t memory, int places) {
  const index even = (n + places * panels_together - 1) / (places * panels_together);
  PotrfCut cut{std::min(widest_together, even >= round ? (even + round - 1) / round * round : even)};
  if (cut.panels(n) < places) return {};
  Plan plan = begun(Uplo::lower, n, cut);
  Planner(plan, Uplo::lower, n, precision, cut, operand_a, operand_failed, -1);
  return plan.bytes(element_size(precision)) <= memory ? cut : PotrfCut{};
}

Plan plan_potrf_together(Uplo uplo, index n, Precision precision, const PotrfCut& cut, int place, int places) {
  Plan plan = begun(uplo, n, cut);
  Planner(plan, uplo, n, precision, cut, operand_a, operand_failed, -1).make_steps_together(place, places);
  plan.after = order_of(plan);
  return plan;
}

Plan plan_potrf(Uplo uplo, index n, Precision precision, const PotrfCut& cut, bool in_place) {
  Plan plan = begun(uplo, n, cut);
  const int area = in_place ? plan.add_own_area(operand_a) : -1;
  Planner(plan, uplo, n, precision, cut, operand_a, operand_failed, area).make_steps();
  plan.after = order_of(plan);
  return plan;
}

}  // namespace blaslift
