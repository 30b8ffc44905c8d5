#include "impl/solve/trsm_plan.hpp"

#include <utility>
#include <vector>

#include "impl/core/stored.hpp"
#include "kernels/trsm.hpp"

namespace blaslift {
namespace {

class Planner : public panels::Planner<TrsmShape> {
 public:
  Planner(const TrsmShape& shape, Precision precision, const TrsmCut& cut, const TrsmHeld& held)
      : panels::Planner<TrsmShape>(shape, precision, cut) {
    const index n = s_.order();
    plan.operands = {{"A", n, n, false, false, part_of(s_.uplo)}, {"B", s_.m, s_.n, true}};
    if (held.finishable) keep_groups();
    const std::size_t workspace = leased_bytes(static_cast<index>(trsm_workspace(solving(cut.tile, cut.width))), 1, 1);
    if (workspace > 0)
      workspaces_ = plan.add_area("workspaces", static_cast<index>(workspace / element_size(precision)), tiles_);
    add_a(held.a);
    b_ = add_panels("panel", operand_b, held.b);
  }

  void make_steps() {
    // Nothing of what they overwrite need be kept, then; which an A that comes piece by piece would hold up.
    const bool whole_columns = plan.kept_groups > 0 && s_.left && !cut_.streamed;
    for_each_panel(
        b_.own || panels_ <= panels::most_slots, [&](index panel) { plan.upload(b(panel), block(all(), panel)); },
        [&](index panel) {
          for (index tile = 0; tile < tiles_; ++tile) {
            const bool last = tile + 1 == tiles_;
            if (cut_.streamed) upload_a(tile);
            solve(tile, panel);
            if (last || !whole_columns)
              plan.download(b(panel), block(whole_columns ? all() : part(tile), panel), static_cast<int>(panel), last);
            if (!last) subtract(tile, panel);
          }
        });
    plan.after = order_of(plan);
  }

 private:
  enum { operand_b = 1 };

  Plan::Origin b(index panel) const { return origin(b_, panel); }

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
    const Block own = block(part(tile), panel);
    Trsm operation = solving(part(tile).count, s_.left ? own.cols : own.rows);
    operation.prepared = panel > 0;
    std::vector<Plan::Access> accesses{Plan::read(a(tile), diagonal(tile)), Plan::update(b(panel), own)};
    if (workspaces_ >= 0) {
      const index rows = plan.areas[static_cast<std::size_t>(workspaces_)].rows;
      accesses.push_back(
          {{workspaces_, {0, tile, rows, 1}}, operation.prepared ? AccessMode::update : AccessMode::write});
    }
    plan.compute(operation, std::move(accesses), tile == 0 ? Scalar::alpha : Scalar::one);
  }

  /// What a tile makes known, from the panel's parts of later ones.
  void subtract(index tile, index panel) {
    multiply(Scalar::minus_one, s_.trans, Plan::read(a(tile), beside(tile)),
             Plan::read(b(panel), block(part(tile), panel)), tile == 0 ? Scalar::alpha : Scalar::one,
             Plan::update(b(panel), block(rest(tile), panel)));
  }

  Panels b_;
  int workspaces_ = nobodys;
};

}  // namespace

TrsmCut trsm_cut(const TrsmShape& s, Precision precision, std::size_t memory) {
  return panels::cut_to(
      panels::along(s.order()), panels::across(s.others()), s.others(), true,
      [&](const TrsmCut& cut) { return Planner(s, precision, cut, {}).plan.bytes(element_size(precision)) <= memory; });
}

Plan plan_trsm(const TrsmShape& shape, Precision precision, const TrsmCut& cut, const TrsmHeld& held) {
  Planner planner(shape, precision, cut, held);
  planner.make_steps();
  return std::move(planner.plan);
}

}  // namespace blaslift
