// How calls are cut up that have A, stored as a triangle, on one side of others: into tiles on A's diagonal, and the
// others across, into panels that do not know each other (trsm, symm, trmm); and what their plans share.
//
// A call without its matrices is a Shape: left (A's side), uplo, order() of A, others() across.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "impl/plan/plan.hpp"

namespace blaslift {

/// How such a call is cut up; 0 tiles: it does not fit.
struct PanelCut {
  index tile = 0, width = 0;  ///< of A's order; of the others across
  bool streamed = false;      ///< A does not stay: its strips arrive again for each panel

  index tiles(const auto& shape) const { return (shape.order() + tile - 1) / tile; }
  index panels(const auto& shape) const { return (shape.others() + width - 1) / width; }
};

/// Bytes of A that are sent more than once.
double sent_again(const auto& shape, const PanelCut& cut, std::size_t element) {
  if (!cut.streamed) return 0;
  const double n = static_cast<double>(shape.order());
  return static_cast<double>(cut.panels(shape) - 1) * n * n / 2 * static_cast<double>(element);
}

namespace panels {

// Fewer and larger parts begin later, but take less time: of order 2,048 an H100 solves 15 Tflop/s, of 4,096 twice
// that.
inline constexpr index most_tiles = 4, least_tile = 4096, most_panels = 8, least_width = 1024, round = 64;
inline constexpr index most_slots = 3;  ///< one panel moves in, one is computed, one moves home
inline constexpr index strips = 2;      ///< of an A that is streamed

inline index rounded_up(index x) { return (x + round - 1) / round * round; }

/// One of so many parts of x, at least so large.
inline index share(index x, index parts, index least) {
  return x <= least ? x : std::min(x, std::max(least, rounded_up((x + parts - 1) / parts)));
}
inline index smaller(index x) { return x >= 2 * round ? x / 2 / round * round : std::max<index>(1, x / 2); }

/// Of A's order in a tile, and columns or rows of a panel, if there is room for them.
inline index along(index order) { return share(order, most_tiles, least_tile); }
inline index across(index others) { return share(others, most_panels, least_width); }

/// @param tile        of A's order, and width of a panel, if there is room for them
/// @param others      columns or rows of all of them
/// @param may_stream  A does not stay where it does not fit
/// @param fits        bool(const PanelCut&)
PanelCut cut_to(index tile, index width, index others, bool may_stream, const auto& fits) {
  PanelCut cut{tile, width};
  while (!fits(cut) && cut.width > round) cut.width = smaller(cut.width);
  if (fits(cut)) return cut;
  // Panels as wide as there is room for, since each takes all of A.
  cut = {tile, others, may_stream};
  while (!fits(cut) && (cut.tile > 1 || cut.width > 1)) {
    const bool narrow = cut.width <= 2 * cut.tile;
    index& next = (narrow && cut.tile > 1) || cut.width == 1 ? cut.tile : cut.width;
    next = smaller(next);
  }
  return fits(cut) ? cut : PanelCut{};
}

/// A Family's sent_again.
/// @param cut  PanelCut(): how the call is cut up, which is not empty
std::optional<double> sent_again(const auto& shape, std::size_t element, const auto& cut) {
  if (shape.m == 0 || shape.n == 0) return std::nullopt;
  const PanelCut how = cut();
  return how.streamed ? std::optional(blaslift::sent_again(shape, how, element)) : std::nullopt;
}

/// Where the parts of such a call lie: in the operands, and on the device.  Operand 0 is A.
/// @tparam Shape  with `backward`, whether the first tile is the last one of A's order, and `column`, whether what is
///                stored beside a tile is below or above it
template <class Shape>
class Planner {
 public:
  Plan plan;

 protected:
  struct Range {
    index first, count;
  };
  /// Areas of an operand's panels: one, or in turns.
  struct Panels {
    std::vector<int> areas;
    int operand = nobodys;
    bool own = false;
  };
  enum { operand_a = 0, nobodys = -1 };

  Planner(const Shape& shape, Precision precision, const PanelCut& cut)
      : s_(shape), precision_(precision), cut_(cut), tiles_(cut.tiles(shape)), panels_(cut.panels(shape)) {
    plan.by_columns = s_.left;
  }

  /// A panel that is home is final.
  void keep_groups() {
    plan.kept_groups = most_slots + 1;
    const index kept = plan.kept_groups * cut_.width;
    plan.kept_rows = s_.left ? s_.m : kept;
    plan.kept_cols = s_.left ? kept : s_.n;
  }
  void add_a(bool held) {
    const index n = s_.order();
    if (held || !cut_.streamed)
      a_.push_back(held ? plan.add_own_area(operand_a) : plan.add_area("A", n, n));
    else
      for (index i = 0; i < strips; ++i)
        a_.push_back(
            plan.add_area("strip" + std::to_string(i), s_.column() ? n : cut_.tile, s_.column() ? cut_.tile : n));
  }
  Panels add_panels(const std::string& name, int operand, bool held) {
    Panels added{{}, operand, held};
    if (held) added.areas.push_back(plan.add_own_area(operand));
    for (index i = 0; !held && i < std::min(panels_, most_slots); ++i)
      added.areas.push_back(plan.add_area(name + std::to_string(i), s_.left ? s_.order() : cut_.width,
                                          s_.left ? cut_.width : s_.order()));
    return added;
  }

  bool streamed() const { return a_.size() > 1; }
  Range all() const { return {0, s_.order()}; }
  /// What A's order has in a tile; tiles come in the order in which their parts of the result become final.
  Range part(index tile) const {
    const index first = (s_.backward() ? tiles_ - 1 - tile : tile) * cut_.tile;
    return {first, std::min(cut_.tile, s_.order() - first)};
  }
  /// And in those that come later.
  Range rest(index tile) const {
    const auto [first, count] = part(tile);
    return s_.backward() ? Range{0, first} : Range{first + count, s_.order() - first - count};
  }
  /// Of what A stands beside.
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
    return s_.column() ? Block{others.first, own.first, others.count, own.count}
                       : Block{own.first, others.first, own.count, others.count};
  }

  /// Where what of A is in or beside a tile lies, and a panel.
  Plan::Origin a(index tile) const {
    const index first = streamed() ? part(tile).first : 0;
    return {a_[static_cast<std::size_t>(tile) % a_.size()], operand_a, s_.column() ? 0 : first,
            s_.column() ? first : 0};
  }
  Plan::Origin origin(const Panels& x, index panel) const {
    const index first = x.own ? 0 : panel * cut_.width;
    return {x.areas[static_cast<std::size_t>(panel) % x.areas.size()], x.operand, s_.left ? 0 : first,
            s_.left ? first : 0};
  }

  void upload_a(index tile) {
    plan.upload(a(tile), diagonal(tile));
    if (rest(tile).count > 0) plan.upload(a(tile), beside(tile));
  }
  /// z := alpha op(x) y, with op(x) on A's side, + beta z.
  void multiply(Scalar alpha, Op op, const Plan::Access& x, const Plan::Access& y, Scalar beta, const Plan::Access& z) {
    if (s_.left)
      plan.multiply(precision_, alpha, op, x, Op::none, y, beta, z);
    else
      plan.multiply(precision_, alpha, Op::none, y, op, x, beta, z);
  }

  /// Steps of one panel after the other.
  /// @param room_for_all  panels
  /// @param bring         void(index panel): uploads it
  /// @param compute       void(index panel), once it, and an A that stays, have been brought
  void for_each_panel(bool room_for_all, const auto& bring, const auto& compute) {
    index arrived = 0;
    const auto bring_to = [&](index end) {
      for (; arrived < std::min(end, panels_); ++arrived) bring(arrived);
    };
    for (index panel = 0; panel < panels_; ++panel) {
      bring_to(panel + 1);
      if (!streamed() && panel == 0)
        for (index tile = 0; tile < tiles_; ++tile) upload_a(tile);
      bring_to(room_for_all ? panels_ : panel + most_slots - 1);
      compute(panel);
    }
  }

  const Shape& s_;
  const Precision precision_;
  const PanelCut& cut_;
  const index tiles_, panels_;

 private:
  std::vector<int> a_;
};

}  // namespace panels
}  // namespace blaslift
