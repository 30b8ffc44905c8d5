#include "impl/solve/inverse_plan.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "impl/core/stored.hpp"
#include "impl/lu/getrf_plan.hpp"
#include "kernels/trsm.hpp"

namespace blaslift {
namespace {

constexpr index most_panels = 8, least_width = 1024, round = 64;
constexpr index most_narrow = 128;  // panels: of more, the list of steps would take more than it could be worth
constexpr index most_slots = 2;     // one panel is solved, one moves home

class Planner {
 public:
  Planner(const InverseShape& shape, Precision precision, const InverseCut& cut, bool in_place)
      : s_(shape), n_(shape.n), precision_(precision), cut_(cut) {
    plan.operands = {{"A", n_, n_, true, false, s_.part()}};
    if (s_.of == InverseOf::lu) plan.operands.push_back({"pivots", n_, 1, false, true});
    a_ = {in_place ? plan.add_own_area(operand_a) : plan.add_area("A", n_, n_), operand_a};
    if (s_.of == InverseOf::cholesky || s_.of == InverseOf::none)
      apart_ = plan.add_area("W", n_, n_);
    else
      for (index i = 0; i < std::min(cut.panels(n_), most_slots); ++i)
        slots_.push_back(plan.add_area("panel" + std::to_string(i), n_, std::min(cut.width, n_)));
    if (s_.of == InverseOf::lu) {
      apart_ = plan.add_area("factors", n_, n_);
      rows_ = RowGroups(plan, precision, n_, n_, n_);
    }
    if (s_.of == InverseOf::none) return;  // nothing is solved
    const std::size_t bytes = leased_bytes(static_cast<index>(trsm_workspace(solving(Op::none, n_, cut.width))), 1, 1);
    if (bytes > 0) workspaces_ = plan.add_area("workspaces", static_cast<index>(bytes / element_size(precision)), 2);
  }

  void make_steps() {
    plan.upload(a_, {0, 0, n_, n_});
    switch (s_.of) {
      case InverseOf::lu: by_factors(); break;
      case InverseOf::cholesky:
      case InverseOf::none: by_factor(); break;
      case InverseOf::triangle: of_triangle(); break;
    }
    plan.after = order_of(plan);
  }

  Plan plan;

 private:
  enum { operand_a, operand_pivots, nobodys = -1 };
  enum { of_each_panel, of_all_panels };  // workspaces
  struct Part {
    index first, count;
    index end() const { return first + count; }
  };

  Part part(index panel) const { return {panel * cut_.width, std::min(cut_.width, n_ - panel * cut_.width)}; }
  bool lower() const { return s_.uplo == Uplo::lower; }
  Op adjoint() const { return is_complex(precision_) ? Op::conjugate : Op::transpose; }
  /// Panels in the order in which a triangular matrix' may be replaced.
  index in_order(index i) const { return lower() ? i : cut_.panels(n_) - 1 - i; }
  /// Rows in which a panel of a triangular matrix is not zero.
  Part rows(Part panel) const { return lower() ? Part{panel.first, n_ - panel.first} : Part{0, panel.end()}; }
  Plan::Origin slot(index panel, Part columns) const {
    return {slots_[static_cast<std::size_t>(panel) % slots_.size()], nobodys, 0, columns.first};
  }

  /// What an identity has in a block, which becomes something of nobody's.
  void assign_identity(const Plan::Origin& to, const Block& b) {
    plan.compute(assigning(b, blaslift::Part::whole), {Plan::written(to, b)}, Scalar::one);
  }
  Assign assigning(const Block& b, blaslift::Part part) const {
    return {.precision = precision_,
            .part = part,
            .strict = part != blaslift::Part::whole && s_.unit,
            .transposed = false,
            .m = b.rows,
            .n = b.cols,
            .below = b.row - b.col,
            .A = nullptr,
            .lda = 0,
            .C = nullptr,
            .ldc = 0};
  }

  Trsm solving(Op trans, index order, index others) const {
    return {.precision = precision_,
            .side = Side::left,
            .uplo = s_.uplo,
            .trans = trans,
            .unit = s_.unit,
            .m = order,
            .n = others,
            .alpha = nullptr,
            .A = nullptr,
            .lda = 0,
            .B = nullptr,
            .ldb = 0,
            .way = trsm_way(precision_, n_, n_),
            .block = trsm_block(n_)};
  }
  /// @param order  of the triangle's rows and columns, and the block's rows
  void solve(Trsm operation, const Plan::Origin& triangle, Part order, const Plan::Origin& to, const Block& b,
             index workspace, bool prepared) {
    operation.prepared = prepared;
    std::vector<Plan::Access> accesses{
        Plan::read(triangle, {order.first, order.first, order.count, order.count}, part_of(operation.uplo)),
        Plan::update(to, b)};
    if (workspaces_ >= 0) {
      const index rows = plan.areas[static_cast<std::size_t>(workspaces_)].rows;
      accesses.push_back({{workspaces_, {0, workspace, rows, 1}}, prepared ? AccessMode::update : AccessMode::write});
    }
    plan.compute(operation, std::move(accesses), Scalar::one);
  }
  /// With the triangle that A is, or Cholesky's factor, a panel of an identity.
  void solve_panel(const Plan::Origin& to, Part panel) {
    const Part order = rows(panel);
    solve(solving(Op::none, order.count, panel.count), a_, order, to,
          {order.first, panel.first, order.count, panel.count}, of_each_panel, false);
  }

  void of_triangle() {
    for (index i = 0; i < cut_.panels(n_); ++i) {
      const Part panel = part(in_order(i)), high = rows(panel);
      const Block b{high.first, panel.first, high.count, panel.count};
      const Plan::Origin x = slot(i, panel);
      assign_identity(x, b);
      solve_panel(x, panel);
      plan.compute(assigning(b, s_.part()), {Plan::read(x, b), Plan::update(a_, b)}, Scalar::one);
      plan.download(a_, b);
    }
  }

  void by_factor() {
    const Plan::Origin w{apart_, nobodys};
    const Block all{0, 0, n_, n_};
    assign_identity(w, all);
    if (s_.of == InverseOf::none)
      plan.compute(assigning(all, s_.part()), {Plan::read(a_, all, s_.part()), Plan::update(w, all)}, Scalar::one);
    else
      for (index i = 0; i < cut_.panels(n_); ++i) solve_panel(w, part(in_order(i)));
    for (index i = 0; i < cut_.panels(n_); ++i) {
      // Of W^H W a panel of rows, or of W W^H one of columns: all that comes before it, beside it.
      const Part own = part(i), before{0, own.first}, behind{own.first, n_ - own.first};
      const Plan::Access panel = Plan::read(w, block(behind, own));
      multiply(panel, panel, block(own, own), s_.part());
      plan.download(a_, block(own, own));
      if (before.count == 0) continue;
      multiply(panel, Plan::read(w, block(behind, before)), block(own, before), blaslift::Part::whole);
      plan.download(a_, block(own, before));
    }
  }
  /// Of L's rows and columns; of U it is the other way round.
  Block block(Part rows, Part cols) const {
    return lower() ? Block{rows.first, cols.first, rows.count, cols.count}
                   : Block{cols.first, rows.first, cols.count, rows.count};
  }
  /// x^H y of parts of W; where W is U's inverse, y x^H.
  void multiply(const Plan::Access& x, const Plan::Access& y, const Block& to, blaslift::Part part) {
    const Plan::Access z = Plan::update(a_, to);
    if (lower())
      plan.multiply(precision_, Scalar::one, adjoint(), x, Op::none, y, Scalar::zero, z, part);
    else
      plan.multiply(precision_, Scalar::one, Op::none, y, adjoint(), x, Scalar::zero, z, part);
  }

  void by_factors() {
    const Block all{0, 0, n_, n_};
    const Plan::Origin factors{apart_, operand_a};
    plan.compute(assigning(all, blaslift::Part::whole), {Plan::read(a_, all), Plan::written(factors, all)},
                 Scalar::one);
    plan.upload({rows_.area(), operand_pivots}, {0, 0, n_, 1});
    for (index i = 0; i < cut_.panels(n_); ++i) {
      const Part panel = part(i), below{panel.first, n_ - panel.first};
      const Plan::Origin y = slot(i, panel);
      const Block b{0, panel.first, n_, panel.count}, of_result{panel.first, 0, panel.count, n_};
      assign_identity(y, b);
      Trsm upper = solving(Op::transpose, below.count, panel.count), unit = solving(Op::transpose, n_, panel.count);
      upper.uplo = Uplo::upper;
      unit.uplo = Uplo::lower;
      unit.unit = true;
      solve(upper, factors, below, y, {below.first, panel.first, below.count, panel.count}, of_each_panel, false);
      solve(unit, factors, {0, n_}, y, b, of_all_panels, i > 0);
      for (index group = rows_.groups(); group-- > 0;) rows_.exchange(plan, group, y, b.col, b.cols, true);
      Assign transposed = assigning(of_result, blaslift::Part::whole);
      transposed.transposed = true;
      plan.compute(transposed, {Plan::read(y, b), Plan::written(a_, of_result)}, Scalar::one);
      plan.download(a_, of_result);
    }
  }

  const InverseShape& s_;
  const index n_;
  const Precision precision_;
  const InverseCut& cut_;
  Plan::Origin a_{};
  RowGroups rows_{};
  std::vector<int> slots_{};  ///< areas, in turns
  int apart_ = -1, workspaces_ = -1;
};

}  // namespace

InverseCut inverse_cut(const InverseShape& s, Precision precision, std::size_t memory, bool in_place) {
  const double matrix =
      static_cast<double>(s.n) * static_cast<double>(s.n) * static_cast<double>(element_size(precision));
  const double matrices = (in_place ? 0 : 1) + (s.of == InverseOf::triangle ? 0 : 1);
  if (s.n == 0 || matrices * matrix > static_cast<double>(memory)) return {};
  const index even = (s.n + most_panels - 1) / most_panels;
  InverseCut cut{std::min(s.n, std::max(least_width, (even + round - 1) / round * round))};
  const auto fits = [&] { return Planner(s, precision, cut, in_place).plan.bytes(element_size(precision)) <= memory; };
  while (!fits()) {
    if (cut.width == 1 || s.n / cut.width >= most_narrow) return {};
    cut.width = cut.width > 2 * round ? cut.width / 2 / round * round : cut.width / 2;
  }
  return cut;
}

Plan plan_inverse(const InverseShape& shape, Precision precision, const InverseCut& cut, bool in_place) {
  Planner planner(shape, precision, cut, in_place);
  planner.make_steps();
  return std::move(planner.plan);
}

}  // namespace blaslift
