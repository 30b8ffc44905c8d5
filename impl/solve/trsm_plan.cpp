#include "impl/solve/trsm_plan.hpp"

#include <algorithm>

#include "impl/core/stored.hpp"

namespace blaslift {
namespace {

constexpr index most_tiles = 8, least_tile = 2048, most_panels = 16, least_width = 512, round = 64;
constexpr int most_slots = 3;  // one moves in, one is solved, one moves home
constexpr int strips = 2;      // of a streamed A

index rounded_up(index x) { return (x + round - 1) / round * round; }

/// So many parts of x, at least so large.
index part_of(index x, index parts, index least) {
  return x <= least ? x : std::min(x, std::max(least, rounded_up((x + parts - 1) / parts)));
}
index smaller(index x) { return x > round ? x / 2 / round * round : std::max<index>(1, x / 2); }

TrsmPlan empty_plan(const TrsmShape& shape, const TrsmCut& cut, bool whole_b) {
  TrsmPlan plan{shape, cut, 0, {}, {}};
  plan.slots = static_cast<int>(whole_b ? plan.panels() : std::min<index>(plan.panels(), most_slots));
  return plan;
}

Trsm operation(const TrsmShape& s, Precision precision, index tile, index width) {
  return {.precision = precision,
          .side = s.left ? Side::left : Side::right,
          .uplo = s.uplo,
          .trans = Op::none,
          .unit = false,
          .m = s.left ? tile : width,
          .n = s.left ? width : tile,
          .alpha = nullptr,
          .A = nullptr,
          .lda = tile,
          .B = nullptr,
          .ldb = 1,
          .way = trsm_way(precision, s.left ? Side::left : Side::right, tile, s.others())};
}

}  // namespace

TrsmCut trsm_cut(const TrsmShape& s, Precision precision, std::size_t memory) {
  TrsmCut cut{part_of(s.order(), most_tiles, least_tile), part_of(s.others(), most_panels, least_width)};
  const auto fits = [&] { return empty_plan(s, cut, false).bytes(precision, false, false) <= memory; };
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
  const double n = static_cast<double>(s.order()),
               panels = static_cast<double>((s.others() + cut.width - 1) / cut.width);
  return (panels - 1) * n * n / 2 * static_cast<double>(element);
}

TrsmPlan::Part TrsmPlan::part(index tile) const {
  const index number = shape.forward() ? tile : tiles() - 1 - tile, first = number * cut.tile;
  return {first, std::min(cut.tile, shape.order() - first)};
}
TrsmPlan::Part TrsmPlan::rest(index tile) const {
  const auto [first, count] = part(tile);
  return shape.forward() ? Part{first + count, shape.order() - first - count} : Part{0, first};
}
TrsmPlan::Part TrsmPlan::panel(index number) const {
  const index first = number * cut.width;
  return {first, std::min(cut.width, shape.others() - first)};
}
Block TrsmPlan::diagonal(index tile) const {
  const auto [first, count] = part(tile);
  return {first, first, count, count};
}
Block TrsmPlan::beside(index tile) const {
  const Part own = part(tile), others = rest(tile);
  return shape.by_columns() ? Block{others.first, own.first, others.count, own.count}
                            : Block{own.first, others.first, own.count, others.count};
}
Block TrsmPlan::of_b(Part of_order, index number) const {
  const Part across = panel(number);
  return shape.left ? Block{of_order.first, across.first, of_order.count, across.count}
                    : Block{across.first, of_order.first, across.count, of_order.count};
}

std::size_t TrsmPlan::workspace(Precision precision) const {
  return leased_bytes(static_cast<index>(trsm_workspace(operation(shape, precision, cut.tile, cut.width))), 1, 1);
}

std::size_t TrsmPlan::bytes(Precision precision, bool a, bool b) const {
  const std::size_t element = element_size(precision);
  std::size_t sum = static_cast<std::size_t>(tiles()) * workspace(precision);
  if (!a)
    sum += cut.streamed ? strips * leased_bytes(shape.order(), cut.tile, element)
                        : leased_bytes(shape.order(), shape.order(), element);
  if (!b) sum += static_cast<std::size_t>(slots) * leased_bytes(shape.order(), cut.width, element);
  return sum;
}

TrsmPlan plan_trsm(const TrsmShape& shape, const TrsmCut& cut, bool whole_b) {
  TrsmPlan plan = empty_plan(shape, cut, whole_b);
  const index tiles = plan.tiles(), panels = plan.panels();
  std::vector<std::vector<Touched>> parts;
  enum { of_a, workspaces, of_slots };
  const auto step = [&](TrsmStepKind kind, index tile, index panel) {
    const index strip = cut.streamed ? tile % strips : tile;
    const int slot = of_slots + static_cast<int>(panel % plan.slots);
    std::vector<Touched> touched;
    switch (kind) {
      case TrsmStepKind::upload_a: touched = {{of_a, strip, 1, true}}; break;
      case TrsmStepKind::upload_b: touched = {{slot, 0, tiles, true}}; break;
      case TrsmStepKind::solve:
        touched = {{of_a, strip, 1, false}, {workspaces, tile, 1, true}, {slot, tile, 1, true}};
        break;
      case TrsmStepKind::subtract:
        touched = {{of_a, strip, 1, false}, {slot, tile, 1, false}, {slot, tile + 1, tiles - tile - 1, true}};
        break;
      case TrsmStepKind::download: touched = {{slot, tile, 1, false}}; break;
    }
    plan.steps.push_back({kind, tile, panel});
    parts.push_back(std::move(touched));
  };
  index arrived = 0;  // panels
  for (index panel = 0; panel < panels; ++panel) {
    const auto bring = [&](index end) {
      for (; arrived < std::min(end, panels); ++arrived) step(TrsmStepKind::upload_b, 0, arrived);
    };
    bring(panel + 1);
    if (!cut.streamed && panel == 0)
      for (index tile = 0; tile < tiles; ++tile) step(TrsmStepKind::upload_a, tile, 0);
    bring(panel + plan.slots - 1);
    for (index tile = 0; tile < tiles; ++tile) {
      if (cut.streamed) step(TrsmStepKind::upload_a, tile, panel);
      step(TrsmStepKind::solve, tile, panel);
      step(TrsmStepKind::download, tile, panel);
      if (tile + 1 < tiles) step(TrsmStepKind::subtract, tile, panel);
    }
  }
  plan.after = order_of(parts);
  return plan;
}

std::string to_string(const TrsmPlan& plan) {
  return listed(plan.after, [&](std::size_t i) {
    constexpr const char* names[] = {"upload A", "upload B", "solve", "subtract", "download"};
    const TrsmStep& s = plan.steps[i];
    std::string text = names[static_cast<int>(s.kind)];
    if (s.kind != TrsmStepKind::upload_b) text += " tile " + std::to_string(s.tile);
    return s.kind == TrsmStepKind::upload_a ? text : text + " panel " + std::to_string(s.panel);
  });
}

}  // namespace blaslift
