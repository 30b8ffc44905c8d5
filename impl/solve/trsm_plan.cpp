#include "impl/solve/trsm_plan.hpp"

#include <algorithm>

#include "impl/plan/run.hpp"

namespace blaslift {
namespace {

// A system in fewer and larger parts begins later, but takes less time: of order 2,048 an H100 solves 15 Tflop/s, of
// 4,096 twice that.
constexpr index most_tiles = 4, least_tile = 4096, most_panels = 8, least_width = 1024, round = 64;
constexpr int most_slots = 3;  // one moves in, one is solved, one moves home
constexpr int strips = 2;      // of a streamed A

index rounded_up(index x) { return (x + round - 1) / round * round; }

/// So many parts of x, at least so large.
index part_of(index x, index parts, index least) {
  return x <= least ? x : std::min(x, std::max(least, rounded_up((x + parts - 1) / parts)));
}
index smaller(index x) { return x >= 2 * round ? x / 2 / round * round : std::max<index>(1, x / 2); }

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
          .way = trsm_way(precision, tile, s.others())};
}

template <class T>
class Solving : public PlanRun<T> {
 public:
  Solving(const TrsmPlan& plan, const TrsmArgs<T>& args, const TrsmPlacement& at, std::size_t piece_bytes, Lane& lane)
      : PlanRun<T>(lane, at.lease, piece_bytes), p_(plan), x_(args), a_(at.A), b_(at.B) {
    const Placed &a = a_, &b = b_;
    const index n = plan.shape.order();
    workspaces_ = reinterpret_cast<char*>(
        this->part(static_cast<index>(plan.workspace(precision_of<T>) / sizeof(T)), plan.tiles()));
    if (a.device) {
      A_[0] = static_cast<T*>(a.device);
      lda_ = a.ld;
    } else if (plan.cut.streamed) {
      for (T*& A : A_) A = this->part(n, plan.cut.tile);
      lda_ = plan.shape.by_columns() ? n : plan.cut.tile;
    } else {
      A_[0] = this->part(n, n);
      lda_ = n;
    }
    ldb_ = b.device ? b.ld : plan.shape.left ? n : plan.cut.width;
    for (int slot = 0; !b.device && slot < plan.slots; ++slot) B_.push_back(this->part(n, plan.cut.width));
    const index kept = (finishable() ? kept_panels_ : plan.panels()) * plan.cut.width;
    if (!b.in_place) result_ = {args.B, args.ldb, args.m, args.n, args.left ? args.m : kept, args.left ? kept : args.n};
  }

  Status ask(std::size_t step) {
    const TrsmStep& s = p_.steps[step];
    const TrsmPlan::Part own = p_.part(s.tile), rest = p_.rest(s.tile);
    const Block solved = p_.of_b(own, s.panel);
    switch (s.kind) {
      case TrsmStepKind::upload_a: return bring_a(s.tile);
      case TrsmStepKind::upload_b:
        return this->bring(
            b_, p_.of_b({0, p_.shape.order()}, s.panel), [&](index row, index col) { return of_b(s.panel, row, col); },
            ldb_, x_.B, x_.ldb);
      case TrsmStepKind::solve:
        return this->then(this->lane_.ask(
            Trsm{.precision = precision_of<T>,
                 .side = x_.left ? Side::left : Side::right,
                 .uplo = x_.uplo,
                 .trans = x_.trans,
                 .unit = x_.unit,
                 .m = solved.rows,
                 .n = solved.cols,
                 .alpha = s.tile == 0 ? &x_.alpha : &this->one_,
                 .A = of_a(s.tile, own.first, own.first),
                 .lda = lda_,
                 .B = of_b(s.panel, solved.row, solved.col),
                 .ldb = ldb_,
                 .way = p_.workspace(precision_of<T>) > 0 ? TrsmWay::blocks : TrsmWay::substitution,
                 .block = trsm_block(p_.cut.tile),
                 .workspace = workspaces_ + static_cast<std::size_t>(s.tile) * p_.workspace(precision_of<T>),
                 .prepared = s.panel > 0},
            this->after()));
      case TrsmStepKind::subtract: {
        const Block to = p_.of_b(rest, s.panel), beside = p_.beside(s.tile);
        const T& beta = s.tile == 0 ? x_.alpha : this->one_;
        const T *A = of_a(s.tile, beside.row, beside.col), *X = of_b(s.panel, solved.row, solved.col);
        T* const C = of_b(s.panel, to.row, to.col);
        return x_.left ? this->multiply(0, x_.trans, Op::none, to.rows, to.cols, own.count, this->minus_one_, A, lda_,
                                        X, ldb_, beta, C, ldb_)
                       : this->multiply(0, Op::none, x_.trans, to.rows, to.cols, own.count, this->minus_one_, X, ldb_,
                                        A, lda_, beta, C, ldb_);
      }
      case TrsmStepKind::download: return bring_home(s, solved);
    }
    return Status::lost;
  }

 private:
  /// Of a tile in a lease only the triangle; a copy may be one of the whole matrix, and of use to other calls.
  Status bring_a(index tile) {
    const auto at = [&](index row, index col) { return of_a(tile, row, col); };
    const Status status =
        this->bring(a_, p_.diagonal(tile), at, lda_, x_.A, x_.lda, a_.device ? Part::whole : part_of(x_.uplo));
    if (status != Status::done || p_.rest(tile).count == 0) return status;
    return this->bring(a_, p_.beside(tile), at, lda_, x_.A, x_.lda);
  }
  /// Whether the host could solve what a failure leaves: where A is in its reach.  Otherwise all of B is put back.
  bool finishable() const { return !a_.in_place; }
  /// Panels do not know each other: one that is home is final, and what is kept of it gives way to that of a later one.
  Status bring_home(const TrsmStep& s, const Block& solved) {
    if (!result_) return Status::done;
    if (finishable() && s.tile == 0 && s.panel >= kept_panels_)
      if (const Status status = this->await_group(static_cast<std::size_t>(s.panel - kept_panels_));
          status != Status::done)
        return status;
    const Status status = this->download(result_, solved, of_b(s.panel, solved.row, solved.col), ldb_);
    if (status == Status::done && finishable() && s.tile + 1 == p_.tiles()) this->end_group();
    return status;
  }
  T* of_a(index tile, index row, index col) const {
    if (!p_.cut.streamed || a_.device) return A_[0] + row + col * lda_;
    const index first = p_.part(tile).first;
    return A_[tile % 2] + (p_.shape.by_columns() ? row + (col - first) * lda_ : row - first + col * lda_);
  }
  T* of_b(index panel, index row, index col) const {
    if (b_.device) return static_cast<T*>(b_.device) + row + col * ldb_;
    const index first = p_.panel(panel).first;
    T* const B = B_[static_cast<std::size_t>(panel % p_.slots)];
    return x_.left ? B + row + (col - first) * ldb_ : B + row - first + col * ldb_;
  }

  static constexpr index kept_panels_ = most_slots + 1;

  const TrsmPlan& p_;
  const TrsmArgs<T>& x_;
  const Placed &a_, &b_;
  T* A_[2] = {};
  std::vector<T*> B_{};
  char* workspaces_;
  index lda_, ldb_;
  Overwritten<T> result_;  ///< unless it is in device memory
};

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
    bring(plan.slots == panels ? panels : panel + plan.slots - 1);
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

template <class T>
TrsmOutcome execute(const TrsmPlan& plan, const TrsmArgs<T>& args, const TrsmPlacement& placement,
                    std::size_t piece_bytes, Lane& lane, bool (*keep_going)()) {
  Solving<T> run(plan, args, placement, piece_bytes, lane);
  const Outcome outcome = run.run(plan.after, keep_going, [&](std::size_t step) { return run.ask(step); });
  return {outcome, std::move(run.finished)};
}

#define INSTANTIATE(T)                                                                                        \
  template TrsmOutcome execute(const TrsmPlan&, const TrsmArgs<T>&, const TrsmPlacement&, std::size_t, Lane&, \
                               bool (*)());
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(std::complex<float>)
INSTANTIATE(std::complex<double>)

}  // namespace blaslift
