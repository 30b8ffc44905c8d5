#include "impl/product/symm_plan.hpp"

#include <utility>
#include <vector>

namespace blaslift {
namespace {

class Planner : public panels::Planner<SymmShape> {
 public:
  Planner(const SymmShape& shape, Precision precision, const SymmCut& cut, const SymmHeld& held)
      : panels::Planner<SymmShape>(shape, precision, cut) {
    const index n = s_.order();
    plan.operands = {{"A", n, n, false, false, part_of(s_.uplo)}, {"B", s_.m, s_.n, false}, {"C", s_.m, s_.n, true}};
    if (held.finishable) keep_groups();
    add_a(held.a);
    mirrored_ = plan.add_area("mirrored", cut.tile, streamed() ? cut.tile : n);
    b_ = add_panels("b", operand_b, held.b);
    c_ = add_panels("c", operand_c, held.c);
  }

  void make_steps() {
    // Nothing of what they overwrite need be kept, then; which an A that comes piece by piece would hold up.
    const bool whole_columns = plan.kept_groups > 0 && s_.left && !streamed();
    for_each_panel(
        panels_ <= panels::most_slots || (b_.own && c_.own),
        [&](index panel) {
          plan.upload(b(panel), block(all(), panel));
          if (s_.reads_c) plan.upload(c(panel), block(all(), panel));
        },
        [&](index panel) {
          for (index tile = 0; tile < tiles_; ++tile) {
            const bool last = tile + 1 == tiles_;
            if (streamed()) upload_a(tile);
            if (streamed() || panel == 0) mirror(tile);
            multiply_tile(tile, panel);
            if (last || !whole_columns)
              plan.download(c(panel), block(whole_columns ? all() : part(tile), panel), static_cast<int>(panel), last);
          }
        });
    plan.after = order_of(plan);
  }

 private:
  enum { operand_b = 1, operand_c };

  Op adjoint() const { return s_.hermitian ? Op::conjugate : Op::transpose; }

  /// All of a tile, and panels of B and C.
  Plan::Origin mirrored(index tile) const {
    const index first = part(tile).first;
    return {mirrored_, nobodys, first, streamed() ? first : 0};
  }
  Plan::Origin b(index panel) const { return origin(b_, panel); }
  Plan::Origin c(index panel) const { return origin(c_, panel); }

  /// Makes all of a tile.
  void mirror(index tile) {
    const Block from = diagonal(tile);
    const Plan::Access stored = Plan::read(a(tile), from, part_of(s_.uplo));
    Assign copy = assignment(precision_, from.rows, from.cols, part_of(s_.uplo));
    plan.compute(copy, {stored, Plan::written(mirrored(tile), from)}, Scalar::one);
    if (is_complex(precision_) && !s_.hermitian) {  // a Mirror's other triangle is conjugated
      copy.part = s_.uplo == Uplo::lower ? Part::upper : Part::lower;
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
  void multiply_tile(index tile, index panel) {
    const Range own = part(tile), others = rest(tile);
    const bool first = tile == 0;
    add(Op::none, Plan::read(mirrored(tile), diagonal(tile)), own, own, panel, first);
    if (others.count == 0) return;
    // Of columns of A what is below the tile, of rows what is right of it; the other one is its adjoint.
    const Plan::Access stored = Plan::read(a(tile), beside(tile));
    const bool is_column = s_.column() == s_.left;
    add(is_column ? adjoint() : Op::none, stored, others, own, panel, false);
    add(is_column ? Op::none : adjoint(), stored, own, others, panel, first);
  }
  /// C's part `to` += alpha times B's part `from`, multiplied by op(x) from A's side; `first`: beta times it before.
  void add(Op op, const Plan::Access& x, Range from, Range to, index panel, bool first) {
    const Plan::Access y = Plan::read(b(panel), block(from, panel));
    const Plan::Access z =
        first && !s_.reads_c ? Plan::written(c(panel), block(to, panel)) : Plan::update(c(panel), block(to, panel));
    multiply(Scalar::alpha, op, x, y, first ? Scalar::beta : Scalar::one, z);
  }

  Panels b_{}, c_{};
  int mirrored_ = nobodys;
};

}  // namespace

SymmCut symm_cut(const SymmShape& s, Precision precision, std::size_t memory, const SymmHeld& there) {
  const index across = there.b && there.c ? s.others() : panels::across(s.others());
  return panels::cut_to(panels::along(s.order()), across, s.others(), !there.a, [&](const SymmCut& cut) {
    return Planner(s, precision, cut, there).plan.bytes(element_size(precision)) <= memory;
  });
}

Plan plan_symm(const SymmShape& shape, Precision precision, const SymmCut& cut, const SymmHeld& held) {
  Planner planner(shape, precision, cut, held);
  planner.make_steps();
  return std::move(planner.plan);
}

}  // namespace blaslift
