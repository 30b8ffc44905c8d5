#include "impl/solve/trsm_plan.hpp"

#include <algorithm>
#include <string>

#include "impl/core/stored.hpp"
#include "kernels/trsm.hpp"

namespace blaslift {
namespace {

// A system in fewer and larger parts begins later, but takes less time: of order 2,048 an H100 solves 15 Tflop/s, of
// 4,096 twice that.
constexpr index most_tiles = 4, least_tile = 4096, most_panels = 8, least_width = 1024, round = 64;
constexpr index most_slots = 3;  // one panel moves in, one is solved, one moves home
constexpr index strips = 2;      // of a streamed A

index rounded_up(index x) { return (x + round - 1) / round * round; }

/// So many parts of x, at least so large.
index part_of(index x, index parts, index least) {
  return x <= least ? x : std::min(x, std::max(least, rounded_up((x + parts - 1) / parts)));
}
index smaller(index x) { return x >= 2 * round ? x / 2 / round * round : std::max<index>(1, x / 2); }

class Planner {
 public:
  Planner(const TrsmShape& shape, Precision precision, const TrsmCut& cut, const TrsmHeld& held)
      : s_(shape), precision_(precision), cut_(cut), tiles_(cut.tiles(shape)), panels_(cut.panels(shape)) {
    const index n = s_.order();
    plan.operands = {{"A", n, n, false}, {"B", s_.m, s_.n, true}};
    if (held.finishable) plan.kept_groups = most_slots + 1;
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
  }

  void make_steps() {
    const bool room_for_all = is_own(b_) || panels_ <= most_slots;
    index arrived = 0;  // panels
    for (index panel = 0; panel < panels_; ++panel) {
      const auto bring = [&](index end) {
        for (; arrived < std::min(end, panels_); ++arrived) {
          const Block all = block_of_b({0, s_.order()}, arrived);
          plan.upload({operand_b, all}, b(all, arrived));
        }
      };
      bring(panel + 1);
      if (!cut_.streamed && panel == 0)
        for (index tile = 0; tile < tiles_; ++tile) upload_a(tile);
      bring(room_for_all ? panels_ : panel + most_slots - 1);
      for (index tile = 0; tile < tiles_; ++tile) {
        if (cut_.streamed) upload_a(tile);
        solve(tile, panel);
        const Block solved = block_of_b(part(tile), panel);
        plan.download({operand_b, solved}, b(solved, panel), static_cast<int>(panel), tile + 1 == tiles_);
        if (tile + 1 < tiles_) subtract(tile, panel);
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

  bool is_own(const std::vector<int>& areas) const {
    return plan.areas[static_cast<std::size_t>(areas[0])].operand >= 0;
  }
  /// Where a block of A in or beside a tile is.
  Plan::Region a(Block block, index tile) const {
    if (a_.size() > 1) (s_.plain() ? block.col : block.row) -= part(tile).first;
    return {a_[static_cast<std::size_t>(tile) % a_.size()], block};
  }
  /// Where a block of B is.
  Plan::Region b(Block block, index panel) const {
    if (!is_own(b_)) (s_.left ? block.col : block.row) -= panel * cut_.width;
    return {b_[static_cast<std::size_t>(panel) % b_.size()], block};
  }
  Plan::Access of_a(const Block& block, index tile) const {
    return {a(block, tile), AccessMode::read, {operand_a, block.row, block.col}};
  }
  Plan::Access of_b(const Block& block, index panel, AccessMode mode) const {
    return {b(block, panel), mode, {operand_b, block.row, block.col}};
  }

  void upload_a(index tile) {
    plan.upload({operand_a, diagonal(tile), s_.uplo == Uplo::upper ? blaslift::Part::upper : blaslift::Part::lower},
                a(diagonal(tile), tile));
    if (rest(tile).count > 0) plan.upload({operand_a, beside(tile)}, a(beside(tile), tile));
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
    std::vector<Plan::Access> accesses{of_a(diagonal(tile), tile), of_b(block, panel, AccessMode::update)};
    if (workspaces_ >= 0) {
      const index rows = plan.areas[static_cast<std::size_t>(workspaces_)].rows;
      accesses.push_back(
          {{workspaces_, {0, tile, rows, 1}}, operation.prepared ? AccessMode::update : AccessMode::write});
    }
    plan.compute(operation, std::move(accesses), tile == 0 ? Scalar::alpha : Scalar::one);
  }

  /// What a tile makes known, from the panel's parts of later ones.
  void subtract(index tile, index panel) {
    const Block to = block_of_b(rest(tile), panel), known = block_of_b(part(tile), panel);
    Plan::Access x = of_a(beside(tile), tile), y = of_b(known, panel, AccessMode::read);
    if (!s_.left) std::swap(x, y);
    plan.compute(Gemm{.precision = precision_,
                      .transa = s_.left ? s_.trans : Op::none,
                      .transb = s_.left ? Op::none : s_.trans,
                      .m = to.rows,
                      .n = to.cols,
                      .k = part(tile).count,
                      .alpha = nullptr,
                      .A = nullptr,
                      .lda = 0,
                      .B = nullptr,
                      .ldb = 0,
                      .beta = nullptr,
                      .C = nullptr,
                      .ldc = 0},
                 {x, y, of_b(to, panel, AccessMode::update)}, Scalar::minus_one,
                 tile == 0 ? Scalar::alpha : Scalar::one);
  }

  const TrsmShape& s_;
  const Precision precision_;
  const TrsmCut& cut_;
  const index tiles_, panels_;
  std::vector<int> a_, b_;  ///< areas: one, or in turns
  int workspaces_ = -1;
};

}  // namespace

TrsmCut trsm_cut(const TrsmShape& s, Precision precision, std::size_t memory) {
  TrsmCut cut{part_of(s.order(), most_tiles, least_tile), part_of(s.others(), most_panels, least_width)};
  const auto fits = [&] { return Planner(s, precision, cut, {}).plan.bytes(element_size(precision)) <= memory; };
  while (!fits() && cut.width > round) cut.width = smaller(cut.width);
  if (fits()) return cut;
  // Panels as wide as there is room for, since each takes all of A.
  cut = {part_of(s.order(), most_tiles, least_tile), s.others(), true};
  while (!fits() && (cut.tile > 1 || cut.width > 1)) {
    const bool narrow = cut.width <= 2 * cut.tile;
    index& next = (narrow && cut.tile > 1) || cut.width == 1 ? cut.tile : cut.width;
    next = smaller(next);
  }
  return fits() ? cut : TrsmCut{};
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
