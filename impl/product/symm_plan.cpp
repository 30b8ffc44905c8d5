#include "impl/product/symm_plan.hpp"

#include <string>
#include <utility>
#include <vector>

#include "impl/plan/panels.hpp"

namespace blaslift {
namespace {

using namespace panels;

class Planner {
 public:
  Planner(const SymmShape& shape, Precision precision, const SymmCut& cut, const SymmHeld& held)
      : s_(shape), precision_(precision), cut_(cut), tiles_(cut.tiles(shape)), panels_(cut.panels(shape)) {
    const index n = s_.order();
    plan.operands = {{"A", n, n, false, false, part_of(s_.uplo)}, {"B", s_.m, s_.n, false}, {"C", s_.m, s_.n, true}};
    if (held.finishable) plan.kept_groups = most_slots + 1;
    plan.by_columns = s_.left;
    const index kept = plan.kept_groups * cut.width;
    plan.kept_rows = s_.left ? s_.m : kept;
    plan.kept_cols = s_.left ? kept : s_.n;
    const bool stays = held.a || !cut.streamed;
    if (stays)
      a_.push_back(held.a ? plan.add_own_area(operand_a) : plan.add_area("A", n, n));
    else
      for (index i = 0; i < strips; ++i)
        a_.push_back(plan.add_area("strip" + std::to_string(i), lower() ? n : cut.tile, lower() ? cut.tile : n));
    mirrored_ = plan.add_area("mirrored", cut.tile, stays ? n : cut.tile);
    add_panels(b_, operand_b, held.b);
    add_panels(c_, operand_c, held.c);
    b_is_own_ = held.b;
    c_is_own_ = held.c;
  }

  void make_steps() {
    const bool room_for_all = panels_ <= most_slots || (b_is_own_ && c_is_own_);
    // Nothing of what they overwrite need be kept, then; which an A that comes piece by piece would hold up.
    const bool whole_columns = plan.kept_groups > 0 && s_.left && !streamed();
    index arrived = 0;  // panels
    for (index panel = 0; panel < panels_; ++panel) {
      const auto bring = [&](index end) {
        for (; arrived < std::min(end, panels_); ++arrived) {
          plan.upload(b(arrived), block({0, s_.order()}, arrived));
          if (s_.reads_c) plan.upload(c(arrived), block({0, s_.order()}, arrived));
        }
      };
      bring(panel + 1);
      if (!streamed() && panel == 0)
        for (index tile = 0; tile < tiles_; ++tile) upload_a(tile);
      bring(room_for_all ? panels_ : panel + most_slots - 1);
      for (index tile = 0; tile < tiles_; ++tile) {
        const bool last = tile + 1 == tiles_;
        if (streamed()) upload_a(tile);
        if (streamed() || panel == 0) mirror(tile);
        multiply(tile, panel);
        if (last || !whole_columns)
          plan.download(c(panel), block(whole_columns ? Part{0, s_.order()} : part(tile), panel),
                        static_cast<int>(panel), last);
      }
    }
    plan.after = order_of(plan);
  }

  Plan plan;

 private:
  enum { operand_a, operand_b, operand_c, nobodys = -1 };
  struct Part {
    index first, count;
  };

  bool lower() const { return s_.uplo == Uplo::lower; }
  bool streamed() const { return a_.size() > 1; }
  Op adjoint() const { return s_.hermitian ? Op::conjugate : Op::transpose; }

  void add_panels(std::vector<int>& areas, int operand, bool held) {
    if (held) areas.push_back(plan.add_own_area(operand));
    const char* const name = operand == operand_b ? "b" : "c";
    for (index i = 0; !held && i < std::min(panels_, most_slots); ++i)
      areas.push_back(plan.add_area(name + std::to_string(i), s_.left ? s_.order() : cut_.width,
                                    s_.left ? cut_.width : s_.order()));
  }

  /// What A's order has in a tile, and in those behind it.
  Part part(index tile) const {
    const index first = tile * cut_.tile;
    return {first, std::min(cut_.tile, s_.order() - first)};
  }
  Part rest(index tile) const {
    const auto [first, count] = part(tile);
    return {first + count, s_.order() - first - count};
  }
  /// Of B and of C.
  Block block(Part of_order, index panel) const {
    const index first = panel * cut_.width, count = std::min(cut_.width, s_.others() - first);
    return s_.left ? Block{of_order.first, first, of_order.count, count}
                   : Block{first, of_order.first, count, of_order.count};
  }
  /// A tile, and what is beside it, in A as it is stored.
  Block diagonal(index tile) const {
    const auto [first, count] = part(tile);
    return {first, first, count, count};
  }
  Block beside(index tile) const {
    const Part own = part(tile), others = rest(tile);
    return lower() ? Block{others.first, own.first, others.count, own.count}
                   : Block{own.first, others.first, own.count, others.count};
  }

  /// Where what of A is in or beside a tile lies, the whole of the tile, and panels of B and C.
  Plan::Origin a(index tile) const {
    const index first = streamed() ? part(tile).first : 0;
    return {a_[static_cast<std::size_t>(tile) % a_.size()], operand_a, lower() ? 0 : first, lower() ? first : 0};
  }
  Plan::Origin mirrored(index tile) const {
    const index first = part(tile).first;
    return {mirrored_, nobodys, first, streamed() ? first : 0};
  }
  Plan::Origin b(index panel) const { return of_panel(b_, operand_b, b_is_own_, panel); }
  Plan::Origin c(index panel) const { return of_panel(c_, operand_c, c_is_own_, panel); }
  Plan::Origin of_panel(const std::vector<int>& areas, int operand, bool own, index panel) const {
    const index first = own ? 0 : panel * cut_.width;
    return {areas[static_cast<std::size_t>(panel) % areas.size()], operand, s_.left ? 0 : first, s_.left ? first : 0};
  }

  void upload_a(index tile) {
    plan.upload(a(tile), diagonal(tile));
    if (rest(tile).count > 0) plan.upload(a(tile), beside(tile));
  }

  /// Makes all of a tile.
  void mirror(index tile) {
    const Block from = diagonal(tile);
    const Plan::Access stored = Plan::read(a(tile), from, part_of(s_.uplo));
    Assign copy{.precision = precision_,
                .part = part_of(s_.uplo),
                .strict = false,
                .transposed = false,
                .m = from.rows,
                .n = from.cols,
                .below = 0,
                .A = nullptr,
                .lda = 0,
                .C = nullptr,
                .ldc = 0};
    plan.compute(copy, {stored, Plan::access(mirrored(tile), from, AccessMode::write)}, Scalar::one);
    if (is_complex(precision_) && !s_.hermitian) {  // a Mirror's other triangle is conjugated
      copy.part = lower() ? blaslift::Part::upper : blaslift::Part::lower;
      copy.strict = copy.transposed = true;
      plan.compute(copy, {stored, Plan::update(mirrored(tile), from)}, Scalar::one);
      return;
    }
    Plan::Access whole = Plan::update(mirrored(tile), from);
    whole.part = part_of(s_.uplo);
    plan.compute(Mirror{.precision = precision_, .uplo = s_.uplo, .n = from.rows, .A = nullptr, .lda = 0}, {whole},
                 Scalar::one);
  }

  /// C's part of the tile becomes final; and its later ones get what the tile's part of B makes of them.
  void multiply(index tile, index panel) {
    const Part own = part(tile), others = rest(tile);
    const bool first = tile == 0;
    add(Op::none, Plan::read(mirrored(tile), diagonal(tile)), own, own, panel, first);
    if (others.count == 0) return;
    // Of columns of A what is below the tile, of rows what is right of it; the other one is its adjoint.
    const Plan::Access stored = Plan::read(a(tile), beside(tile));
    const bool is_column = lower() == s_.left;
    add(is_column ? adjoint() : Op::none, stored, others, own, panel, false);
    add(is_column ? Op::none : adjoint(), stored, own, others, panel, first);
  }
  /// C's part `to` += alpha times B's part `from`, multiplied by op(x) from A's side; `first`: beta times it before.
  void add(Op op, const Plan::Access& x, Part from, Part to, index panel, bool first) {
    const Plan::Access y = Plan::read(b(panel), block(from, panel));
    const Plan::Access z = first && !s_.reads_c ? Plan::access(c(panel), block(to, panel), AccessMode::write)
                                                : Plan::update(c(panel), block(to, panel));
    const Scalar beta = first ? Scalar::beta : Scalar::one;
    if (s_.left)
      plan.multiply(precision_, Scalar::alpha, op, x, Op::none, y, beta, z);
    else
      plan.multiply(precision_, Scalar::alpha, Op::none, y, op, x, beta, z);
  }

  const SymmShape& s_;
  const Precision precision_;
  const SymmCut& cut_;
  const index tiles_, panels_;
  std::vector<int> a_{}, b_{}, c_{};  ///< areas: one, or in turns
  bool b_is_own_ = false, c_is_own_ = false;
  int mirrored_ = -1;
};

}  // namespace

SymmCut symm_cut(const SymmShape& s, Precision precision, std::size_t memory, const SymmHeld& there) {
  const index across = there.b && there.c ? s.others() : panels::across(s.others());
  return cut_to<SymmCut>(s.order(), across, s.others(), !there.a, [&](const SymmCut& cut) {
    return Planner(s, precision, cut, there).plan.bytes(element_size(precision)) <= memory;
  });
}

double sent_again(const SymmShape& s, const SymmCut& cut, std::size_t element) {
  if (!cut.streamed) return 0;
  const double n = static_cast<double>(s.order());
  return static_cast<double>(cut.panels(s) - 1) * n * n / 2 * static_cast<double>(element);
}

Plan plan_symm(const SymmShape& shape, Precision precision, const SymmCut& cut, const SymmHeld& held) {
  Planner planner(shape, precision, cut, held);
  planner.make_steps();
  return std::move(planner.plan);
}

}  // namespace blaslift
