#include "impl/product/trmm_plan.hpp"

#include <string>
#include <utility>
#include <vector>

#include "impl/plan/panels.hpp"

namespace blaslift {
namespace {

using namespace panels;

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
    plan.compute(assigning(precision_, Part::whole, false, at_home, 1),
                 {Plan::access(home, at_home, AccessMode::write)}, Scalar::one);
    plan.compute(assigning(precision_, Part::whole, false, of_others, 1),
                 {Plan::access(others, of_others, AccessMode::write)}, Scalar::one);
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

class Planner {
 public:
  Planner(const TrmmShape& shape, Precision precision, const TrmmCut& cut, const TrmmHeld& held)
      : s_(shape), precision_(precision), cut_(cut), tiles_(cut.tiles(shape)), panels_(cut.panels(shape)) {
    const index n = s_.order(), w = cut.width;
    plan.operands = {{"A", n, n, false, false, part_of(s_.uplo)},
                     {"B", s_.m, s_.n, true},
                     {"magnitudes", trmm_magnitudes(precision, cut), panels_, true, true}};
    plan.by_columns = s_.left;
    const bool stays = held.a || !cut.streamed;
    if (stays)
      a_.push_back(held.a ? plan.add_own_area(operand_a) : plan.add_area("A", n, n));
    else
      for (index i = 0; i < strips; ++i)
        a_.push_back(plan.add_area("strip" + std::to_string(i), s_.plain() ? cut.tile : n, s_.plain() ? n : cut.tile));
    triangles_ = plan.add_area("triangles", cut.tile, stays ? n : cut.tile);
    before_ = plan.add_area("before", s_.left ? cut.tile : w, s_.left ? w : cut.tile);
    surveyor_ = Surveyor(plan, precision, s_.left ? n : w, s_.left ? w : n, panels_, s_.left, operand_magnitudes);
    if (held.b) b_.push_back(plan.add_own_area(operand_b));
    for (index i = 0; !held.b && i < std::min(panels_, most_slots); ++i)
      b_.push_back(plan.add_area("panel" + std::to_string(i), s_.left ? n : w, s_.left ? w : n));
    b_is_own_ = held.b;
  }

  void make_steps() {
    const bool room_for_all = b_is_own_ || panels_ <= most_slots;
    index arrived = 0;  // panels
    for (index panel = 0; panel < panels_; ++panel) {
      const auto bring = [&](index end) {
        for (; arrived < std::min(end, panels_); ++arrived) plan.upload(b(arrived), block({0, s_.order()}, arrived));
      };
      bring(panel + 1);
      if (!streamed() && panel == 0)
        for (index tile = 0; tile < tiles_; ++tile) upload_a(tile);
      bring(room_for_all ? panels_ : panel + most_slots - 1);
      surveyor_.add(plan, b(panel), block({0, s_.order()}, panel), panel);
      for (index tile = 0; tile < tiles_; ++tile) {
        if (streamed()) upload_a(tile);
        if (streamed() || panel == 0) clear(tile);
        multiply(tile, panel);
        plan.download(b(panel), block(part(tile), panel));
      }
    }
    plan.after = cut_.tile == 1 && b_is_own_ ? one_after_the_other() : order_of(plan);
  }

  Plan plan;

 private:
  enum { operand_a, operand_b, operand_magnitudes };
  struct Range {
    index first, count;
  };

  bool streamed() const { return a_.size() > 1; }

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

  /// What A's order has in a tile; tiles come in the order in which their parts of B become final.
  Range part(index tile) const {
    const index first = (s_.backward() ? tiles_ - 1 - tile : tile) * cut_.tile;
    return {first, std::min(cut_.tile, s_.order() - first)};
  }
  /// And in those that come later.
  Range rest(index tile) const {
    const auto [first, count] = part(tile);
    return s_.backward() ? Range{0, first} : Range{first + count, s_.order() - first - count};
  }
  Block block(Range of_order, index panel) const {
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
    const Range own = part(tile), others = rest(tile);
    return s_.plain() ? Block{own.first, others.first, own.count, others.count}
                      : Block{others.first, own.first, others.count, own.count};
  }

  /// Where what of A is in or beside a tile lies, the whole of the tile, a panel of B, and what a part of it was.
  Plan::Origin a(index tile) const {
    const index first = streamed() ? part(tile).first : 0;
    return {a_[static_cast<std::size_t>(tile) % a_.size()], operand_a, s_.plain() ? first : 0, s_.plain() ? 0 : first};
  }
  Plan::Origin triangle(index tile) const {
    const index first = part(tile).first;
    return {triangles_, nobodys, first, streamed() ? first : 0};
  }
  Plan::Origin b(index panel) const {
    const index first = b_is_own_ ? 0 : panel * cut_.width;
    return {b_[static_cast<std::size_t>(panel) % b_.size()], operand_b, s_.left ? 0 : first, s_.left ? first : 0};
  }
  Plan::Origin before(const Block& b) const { return {before_, nobodys, b.row, b.col}; }

  void upload_a(index tile) {
    plan.upload(a(tile), diagonal(tile));
    if (rest(tile).count > 0) plan.upload(a(tile), beside(tile));
  }

  /// Makes all of a tile: what is not stored of it is as in an identity.
  void clear(index tile) {
    const Block all = diagonal(tile);
    plan.compute(assigning(precision_, Part::whole, false, all), {Plan::access(triangle(tile), all, AccessMode::write)},
                 Scalar::one);
    plan.compute(assigning(precision_, part_of(s_.uplo), s_.unit, all),
                 {Plan::read(a(tile), all, part_of(s_.uplo)), Plan::update(triangle(tile), all)}, Scalar::one);
  }

  /// B's part of the tile becomes final.
  void multiply(index tile, index panel) {
    const Block own = block(part(tile), panel);
    plan.compute(assigning(precision_, Part::whole, false, own),
                 {Plan::read(b(panel), own), Plan::access(before(own), own, AccessMode::write)}, Scalar::one);
    add(Plan::read(triangle(tile), diagonal(tile)), Plan::read(before(own), own), Scalar::zero,
        Plan::access(b(panel), own, AccessMode::write));
    if (rest(tile).count > 0)
      add(Plan::read(a(tile), beside(tile)), Plan::read(b(panel), block(rest(tile), panel)), Scalar::one,
          Plan::update(b(panel), own));
  }
  /// z := alpha times y, multiplied by op(x) from A's side, + beta z.
  void add(const Plan::Access& x, const Plan::Access& y, Scalar beta, const Plan::Access& z) {
    if (s_.left)
      plan.multiply(precision_, Scalar::alpha, s_.trans, x, Op::none, y, beta, z);
    else
      plan.multiply(precision_, Scalar::alpha, Op::none, y, s_.trans, x, beta, z);
  }

  const TrmmShape& s_;
  const Precision precision_;
  const TrmmCut& cut_;
  const index tiles_, panels_;
  std::vector<int> a_{}, b_{};  ///< areas: one, or in turns
  bool b_is_own_ = false;
  int triangles_ = nobodys, before_ = nobodys;
  Surveyor surveyor_{};
};

}  // namespace

TrmmCut trmm_cut(const TrmmShape& s, Precision precision, std::size_t memory, const TrmmHeld& there) {
  return cut_to<TrmmCut>(s.order(), across(s.others()), s.others(), !there.a, [&](const TrmmCut& cut) {
    return Planner(s, precision, cut, there).plan.bytes(element_size(precision)) <= memory;
  });
}

double sent_again(const TrmmShape& s, const TrmmCut& cut, std::size_t element) {
  if (!cut.streamed) return 0;
  const double n = static_cast<double>(s.order());
  return static_cast<double>(cut.panels(s) - 1) * n * n / 2 * static_cast<double>(element);
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
