#include "impl/solve/trsm_plan.hpp"

#include <string>

#include "impl/core/stored.hpp"
#include "impl/plan/panels.hpp"
#include "kernels/trsm.hpp"

namespace blaslift {
namespace {

using namespace panels;

class Planner {
 public:
  Planner(const TrsmShape& shape, Precision precision, const TrsmCut& cut, const TrsmHeld& held)
      : s_(shape), precision_(precision), cut_(cut), tiles_(cut.tiles(shape)), panels_(cut.panels(shape)) {
    const index n = s_.order();
    plan.operands = {{"A", n, n, false, false, part_of(s_.uplo)}, {"B", s_.m, s_.n, true}};
    if (held.finishable) plan.kept_groups = most_slots + 1;
    plan.by_columns = s_.left;
    const index kept = plan.kept_groups * cut.width;
    plan.kept_rows = s_.left ? s_.m : kept;
    plan.kept_cols = s_.left ? kept : s_.n;
    const std::size_t workspace = leased_bytes(static_cast<index>(trsm_workspace(solving(cut.tile, cut.width))), 1, 1);
    if (workspace > 0)
      workspaces_ = plan.add_area("workspaces", static_cast<index>(workspace / element_size(precision)), tiles_);
    if (held.a || !cut.streamed)
      a_.push_back(held.a ? plan.add_own_area(operand_a) : plan.add_area("A", n, n));
    else
      for (index i = 0; i < strips; ++i)
        a_.push_back(plan.add_area("strip" + std::to_string(i), s_.plain() ? n : cut.tile, s_.plain() ? cut.tile : n));
    if (held.b) b_.push_back(plan.add_own_area(operand_b));
    for (index i = 0; !held.b && i < std::min(panels_, most_slots); ++i)
      b_.push_back(plan.add_area("panel" + std::to_string(i), s_.left ? n : cut.width, s_.left ? cut.width : n));
    b_is_own_ = held.b;
  }

  void make_steps() {
    const bool room_for_all = b_is_own_ || panels_ <= most_slots;
    // Nothing of what they overwrite need be kept, then; which an A that comes piece by piece would hold up.
    const bool whole_columns = plan.kept_groups > 0 && s_.left && !cut_.streamed;
    index arrived = 0;  // panels
    for (index panel = 0; panel < panels_; ++panel) {
      const auto bring = [&](index end) {
        for (; arrived < std::min(end, panels_); ++arrived)
          plan.upload(b(arrived), block_of_b({0, s_.order()}, arrived));
      };
      bring(panel + 1);
      if (!cut_.streamed && panel == 0)
        for (index tile = 0; tile < tiles_; ++tile) upload_a(tile);
      bring(room_for_all ? panels_ : panel + most_slots - 1);
      for (index tile = 0; tile < tiles_; ++tile) {
        const bool last = tile + 1 == tiles_;
        if (cut_.streamed) upload_a(tile);
        solve(tile, panel);
        if (last || !whole_columns)
          plan.download(b(panel), block_of_b(whole_columns ? Part{0, s_.order()} : part(tile), panel),
                        static_cast<int>(panel), last);
        if (!last) subtract(tile, panel);
      }
    }
    plan.after = order_of(plan);
  }

  Plan plan;

 private:
  enum { operand_a, operand_b };
  struct Part {
    index first, count;
  };

  /// What A's order has in a tile; tiles come in the order in which they become known.
  Part part(index tile) const {
    const index first = (s_.forward() ? tile : tiles_ - 1 - tile) * cut_.tile;
    return {first, std::min(cut_.tile, s_.order() - first)};
  }
  /// And in those that become known later.
  Part rest(index tile) const {
    const auto [first, count] = part(tile);
    return s_.forward() ? Part{first + count, s_.order() - first - count} : Part{0, first};
  }
  Block block_of_b(Part of_order, index panel) const {
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
    return s_.plain() ? Block{others.first, own.first, others.count, own.count}
                      : Block{own.first, others.first, own.count, others.count};
  }

  /// Where what of A is in or beside a tile lies, and a panel of B.
  Plan::Origin a(index tile) const {
    const index first = a_.size() > 1 ? part(tile).first : 0;
    return {a_[static_cast<std::size_t>(tile) % a_.size()], operand_a, s_.plain() ? 0 : first, s_.plain() ? first : 0};
  }
  Plan::Origin b(index panel) const {
    const index first = b_is_own_ ? 0 : panel * cut_.width;
    return {b_[static_cast<std::size_t>(panel) % b_.size()], operand_b, s_.left ? 0 : first, s_.left ? first : 0};
  }

  void upload_a(index tile) {
    plan.upload(a(tile), diagonal(tile));
    if (rest(tile).count > 0) plan.upload(a(tile), beside(tile));
  }

  Trsm solving(index tile, index width) const {
    return {.precision = precision_,
            .side = s_.left ? Side::left : Side::right,
            .uplo = s_.uplo,
            .trans = s_.trans,
            .unit = s_.unit,
            .m = s_.left ? tile : width,
            .n = s_.left ? width : tile,
            .alpha = nullptr,
            .A = nullptr,
            .lda = 0,
            .B = nullptr,
            .ldb = 0,
            .way = trsm_way(precision_, cut_.tile, s_.others()),
            .block = trsm_block(cut_.tile)};
  }

  void solve(index tile, index panel) {
    const Block block = block_of_b(part(tile), panel);
    Trsm operation = solving(part(tile).count, s_.left ? block.cols : block.rows);
    operation.prepared = panel > 0;
    std::vector<Plan::Access> accesses{Plan::read(a(tile), diagonal(tile)), Plan::update(b(panel), block)};
    if (workspaces_ >= 0) {
      const index rows = plan.areas[static_cast<std::size_t>(workspaces_)].rows;
      accesses.push_back(
          {{workspaces_, {0, tile, rows, 1}}, operation.prepared ? AccessMode::update : AccessMode::write});
    }
    plan.compute(operation, std::move(accesses), tile == 0 ? Scalar::alpha : Scalar::one);
  }

  /// What a tile makes known, from the panel's parts of later ones.
  void subtract(index tile, index panel) {
    const Plan::Access x = Plan::read(a(tile), beside(tile)), y = Plan::read(b(panel), block_of_b(part(tile), panel)),
                       to = Plan::update(b(panel), block_of_b(rest(tile), panel));
    const Scalar beta = tile == 0 ? Scalar::alpha : Scalar::one;
    if (s_.left)
      plan.multiply(precision_, Scalar::minus_one, s_.trans, x, Op::none, y, beta, to);
    else
      plan.multiply(precision_, Scalar::minus_one, Op::none, y, s_.trans, x, beta, to);
  }

  const TrsmShape& s_;
  const Precision precision_;
  const TrsmCut& cut_;
  const index tiles_, panels_;
  std::vector<int> a_, b_;  ///< areas: one, or in turns
  bool b_is_own_ = false;
  int workspaces_ = -1;
};

}  // namespace

TrsmCut trsm_cut(const TrsmShape& s, Precision precision, std::size_t memory) {
  return cut_to<TrsmCut>(s.order(), across(s.others()), s.others(), true, [&](const TrsmCut& cut) {
    return Planner(s, precision, cut, {}).plan.bytes(element_size(precision)) <= memory;
  });
}

double sent_again(const TrsmShape& s, const TrsmCut& cut, std::size_t element) {
  if (!cut.streamed) return 0;
  const double n = static_cast<double>(s.order());
  return static_cast<double>(cut.panels(s) - 1) * n * n / 2 * static_cast<double>(element);
}

Plan plan_trsm(const TrsmShape& shape, Precision precision, const TrsmCut& cut, const TrsmHeld& held) {
  Planner planner(shape, precision, cut, held);
  planner.make_steps();
  return std::move(planner.plan);
}

}  // namespace blaslift
