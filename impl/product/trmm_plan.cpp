#include "impl/product/trmm_plan.hpp"

#include <utility>
#include <vector>

namespace blaslift {
namespace {

enum { nobodys = -1 };

Assign assigning(Precision precision, Part part, bool strict, const Block& b, index below = 0) {
  return {.precision = precision,
          .part = part,
          .strict = strict,
          .transposed = false,
          .m = b.rows,
          .n = b.cols,
          .below = below,
          .A = nullptr,
          .lda = 0,
          .C = nullptr,
          .ldc = 0};
}

/// Finds the largest magnitudes in each row and each column of blocks, and brings home those of one kind.
class Surveyor {
 public:
  Surveyor() = default;
  /// @param rows, cols  of the largest block
  /// @param count       of blocks: each one's magnitudes are a column of the operand
  /// @param by_columns  which ones come home
  Surveyor(Plan& plan, Precision precision, index rows, index cols, index count, bool by_columns, int operand)
      : precision_(precision), by_columns_(by_columns), operand_(operand) {
    const index by_row = elements_of_reals(rows, precision), by_col = elements_of_reals(cols, precision);
    home_ = plan.add_area("magnitudes", by_columns ? by_col : by_row, count);
    others_ = plan.add_area("others", by_columns ? by_row : by_col, 1);
  }
  void add(Plan& plan, const Plan::Origin& of, const Block& b, index number) const {
    const Plan::Origin home{home_, operand_}, others{others_, nobodys};
    const Block at_home{0, number, plan.areas[static_cast<std::size_t>(home_)].rows, 1},
        of_others{0, 0, plan.areas[static_cast<std::size_t>(others_)].rows, 1};
    // They begin as zeros: what an identity has below its diagonal.
    plan.compute(assigning(precision_, Part::whole, false, at_home, 1), {Plan::written(home, at_home)}, Scalar::one);
    plan.compute(assigning(precision_, Part::whole, false, of_others, 1), {Plan::written(others, of_others)},
                 Scalar::one);
    Plan::Access by_row = Plan::update(others, of_others), by_col = Plan::update(home, at_home);
    if (!by_columns_) std::swap(by_row, by_col);
    plan.compute(Survey{.precision = precision_,
                        .rows = b.rows,
                        .cols = b.cols,
                        .at = nullptr,
                        .ld = 0,
                        .row_max = nullptr,
                        .col_max = nullptr},
                 {Plan::read(of, b), by_row, by_col}, Scalar::one);
    plan.download(home, at_home);
  }

 private:
  Precision precision_ = Precision::d;
  bool by_columns_ = false;
  int operand_ = nobodys, home_ = nobodys, others_ = nobodys;
};

class Planner : public panels::Planner<TrmmShape> {
 public:
  Planner(const TrmmShape& shape, Precision precision, const TrmmCut& cut, const TrmmHeld& held)
      : panels::Planner<TrmmShape>(shape, precision, cut) {
    const index n = s_.order(), w = cut.width;
    plan.operands = {{"A", n, n, false, false, part_of(s_.uplo)},
                     {"B", s_.m, s_.n, true},
                     {"magnitudes", trmm_magnitudes(precision, cut), panels_, true, true}};
    add_a(held.a);
    triangles_ = plan.add_area("triangles", cut.tile, streamed() ? cut.tile : n);
    before_ = plan.add_area("before", s_.left ? cut.tile : w, s_.left ? w : cut.tile);
    surveyor_ = Surveyor(plan, precision, s_.left ? n : w, s_.left ? w : n, panels_, s_.left, operand_magnitudes);
    b_ = add_panels("panel", operand_b, held.b);
  }

  void make_steps() {
    for_each_panel(
        b_.own || panels_ <= panels::most_slots, [&](index panel) { plan.upload(b(panel), block(all(), panel)); },
        [&](index panel) {
          surveyor_.add(plan, b(panel), block(all(), panel), panel);
          for (index tile = 0; tile < tiles_; ++tile) {
            if (streamed()) upload_a(tile);
            if (streamed() || panel == 0) clear(tile);
            multiply_tile(tile, panel);
            plan.download(b(panel), block(part(tile), panel));
          }
        });
    plan.after = cut_.tile == 1 && b_.own ? one_after_the_other() : order_of(plan);
  }

 private:
  enum { operand_b = 1, operand_magnitudes };

  /// Of a B in its place: each operation behind the one before it and what has moved since.  With as many tiles as A
  /// has rows, who needs what of whom would take the square of that.
  Order one_after_the_other() const {
    Order after(plan.steps.size());
    std::vector<std::int32_t> last, moved;
    for (std::size_t i = 0; i < after.size(); ++i) {
      const auto number = static_cast<std::int32_t>(i);
      after[i] = last;
      if (plan.steps[i].kind != Plan::Kind::compute) {
        moved.push_back(number);
        continue;
      }
      after[i].insert(after[i].end(), moved.begin(), moved.end());
      moved.clear();
      last = {number};
    }
    return after;
  }

  /// All of a tile, a panel of B, and what a part of it was.
  Plan::Origin triangle(index tile) const {
    const index first = part(tile).first;
    return {triangles_, nobodys, first, streamed() ? first : 0};
  }
  Plan::Origin b(index panel) const { return origin(b_, panel); }
  Plan::Origin before(const Block& b) const { return {before_, nobodys, b.row, b.col}; }

  /// Makes all of a tile: what is not stored of it is as in an identity.
  void clear(index tile) {
    const Block tile_of_a = diagonal(tile);
    plan.compute(assigning(precision_, Part::whole, false, tile_of_a), {Plan::written(triangle(tile), tile_of_a)},
                 Scalar::one);
    plan.compute(assigning(precision_, part_of(s_.uplo), s_.unit, tile_of_a),
                 {Plan::read(a(tile), tile_of_a, part_of(s_.uplo)), Plan::update(triangle(tile), tile_of_a)},
                 Scalar::one);
  }

  /// B's part of the tile becomes final.
  void multiply_tile(index tile, index panel) {
    const Block own = block(part(tile), panel);
    plan.compute(assigning(precision_, Part::whole, false, own),
                 {Plan::read(b(panel), own), Plan::written(before(own), own)}, Scalar::one);
    multiply(Scalar::alpha, s_.trans, Plan::read(triangle(tile), diagonal(tile)), Plan::read(before(own), own),
             Scalar::zero, Plan::written(b(panel), own));
    if (rest(tile).count > 0)
      multiply(Scalar::alpha, s_.trans, Plan::read(a(tile), beside(tile)),
               Plan::read(b(panel), block(rest(tile), panel)), Scalar::one, Plan::update(b(panel), own));
  }
  Panels b_{};
  int triangles_ = nobodys, before_ = nobodys;
  Surveyor surveyor_{};
};

}  // namespace

TrmmCut trmm_cut(const TrmmShape& s, Precision precision, std::size_t memory, const TrmmHeld& there) {
  // Where nothing moves, smaller tiles have fewer products with zeros.
  constexpr index most_tiles = 8, least_tile = 512;
  const bool moves = !there.a || !there.b;
  return panels::cut_to(moves ? panels::along(s.order()) : panels::share(s.order(), most_tiles, least_tile),
                        moves ? panels::across(s.others()) : s.others(), s.others(), !there.a, [&](const TrmmCut& cut) {
                          return Planner(s, precision, cut, there).plan.bytes(element_size(precision)) <= memory;
                        });
}

index trmm_magnitudes(Precision precision, const TrmmCut& cut) { return elements_of_reals(cut.width, precision); }

Plan plan_trmm(const TrmmShape& shape, Precision precision, const TrmmCut& cut, const TrmmHeld& held) {
  Planner planner(shape, precision, cut, held);
  planner.make_steps();
  return std::move(planner.plan);
}

Plan plan_survey(const TrmmShape& s, Precision precision) {
  enum { operand_b, operand_magnitudes };
  Plan plan;
  plan.operands = {{"B", s.m, s.n, false}, {"magnitudes", elements_of_reals(s.others(), precision), 1, true, true}};
  const Plan::Origin b{plan.add_own_area(operand_b), operand_b};
  plan.upload(b, {0, 0, s.m, s.n});  // nothing moves
  Surveyor(plan, precision, s.m, s.n, 1, s.left, operand_magnitudes).add(plan, b, {0, 0, s.m, s.n}, 0);
  plan.after = order_of(plan);
  return plan;
}

}  // namespace blaslift
