#include "impl/product/batch_plan.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace blaslift {
namespace {

// Fewer and larger groups begin later, but take less time; those of small batches are not worth a transfer each.
constexpr index most_groups = 8, most_slots = 3;  ///< one group moves in, one is computed, one moves home
constexpr double least_bytes = 4 << 20;           ///< of a group

class Planner {
 public:
  Planner(const BatchShape& shape, Precision precision, const BatchCut& cut, const BatchHeld& held)
      : s_(shape), precision_(precision), cut_(cut) {
    const bool plain_a = s_.transa == Op::none, plain_b = s_.transb == Op::none;
    a_ = {0, s_.a, plain_a ? s_.m : s_.k, plain_a ? s_.k : s_.m};
    b_ = {1, s_.b, plain_b ? s_.k : s_.n, plain_b ? s_.n : s_.k};
    c_ = {2, s_.c, s_.m, s_.n};
    const char* const names[] = {"A", "B", "C"};
    const bool own[] = {held.a, held.b, held.c};
    for (Matrices* x : {&a_, &b_, &c_}) {
      const Block all = block(*x, 0, s_.count);
      plan.operands.push_back({names[x->operand], all.rows, all.cols, x == &c_});
    }
    for (Matrices* x : {&a_, &b_, &c_}) {
      if (own[x->operand]) {
        x->own = true;
        x->areas = {plan.add_own_area(x->operand)};
        continue;
      }
      const Block part = block(*x, 0, std::min(cut_.width, s_.count));
      const index slots = x->form == BatchForm::alone ? 1 : std::min(cut_.slots, cut_.groups(s_));
      for (index i = 0; i < slots; ++i)
        x->areas.push_back(plan.add_area(names[x->operand] + std::to_string(i), part.rows, part.cols));
    }
    plan.by_columns = s_.c != BatchForm::one_below_another;
    if (!held.finishable) return;
    plan.kept_groups = static_cast<int>(cut_.slots) + 1;
    const Block kept = block(c_, 0, plan.kept_groups * cut_.width);
    plan.kept_rows = kept.rows;
    plan.kept_cols = kept.cols;
  }

  void make_steps() {
    const index groups = cut_.groups(s_), ahead = groups <= cut_.slots ? groups : std::max<index>(1, cut_.slots - 1);
    index arrived = 0;
    for (index group = 0; group < groups; ++group) {
      for (; arrived < std::min(groups, group + ahead); ++arrived) bring(arrived);
      multiply(group);
      plan.download(origin(c_, group), block_of(c_, group), static_cast<int>(group), true);
    }
    plan.after = order_of(plan);
  }

  Plan plan;

 private:
  /// The matrices of an operand.
  struct Matrices {
    int operand;
    BatchForm form;
    index rows, cols;  ///< of each
    std::vector<int> areas{};
    bool own = false;
  };

  /// In the operand: `count` of them, from the first on.
  static Block block(const Matrices& x, index first, index count) {
    switch (x.form) {
      case BatchForm::side_by_side: return {0, first * x.cols, x.rows, count * x.cols};
      case BatchForm::as_columns: return {0, first, x.rows * x.cols, count};
      case BatchForm::one_below_another: return {first * x.rows, 0, count * x.rows, x.cols};
      default: return {0, 0, x.rows, x.cols};
    }
  }
  index first(index group) const { return group * cut_.width; }
  index size(index group) const { return std::min(cut_.width, s_.count - first(group)); }
  Block block_of(const Matrices& x, index group) const { return block(x, first(group), size(group)); }
  Plan::Origin origin(const Matrices& x, index group) const {
    const Block at = block(x, x.own ? 0 : first(group), 1);
    return {x.areas[static_cast<std::size_t>(group) % x.areas.size()], x.operand, at.row, at.col};
  }

  void bring(index group) {
    for (const Matrices* x : {&a_, &b_})
      if (group == 0 || x->form != BatchForm::alone) plan.upload(origin(*x, group), block_of(*x, group));
    if (s_.reads_c) plan.upload(origin(c_, group), block_of(c_, group));
  }

  void multiply(index group) {
    const GemmBatch products{.precision = precision_,
                             .transa = s_.transa,
                             .transb = s_.transb,
                             .m = s_.m,
                             .n = s_.n,
                             .k = s_.k,
                             .count = size(group),
                             .alpha = nullptr,
                             .A = nullptr,
                             .lda = 0,
                             .stride_a = 0,
                             .B = nullptr,
                             .ldb = 0,
                             .stride_b = 0,
                             .beta = nullptr,
                             .C = nullptr,
                             .ldc = 0,
                             .stride_c = 0,
                             .systolic = s_.systolic};
    plan.compute(
        PlannedBatch{products, s_.a, s_.b, s_.c},
        {Plan::read(origin(a_, group), block_of(a_, group)), Plan::read(origin(b_, group), block_of(b_, group)),
         Plan::access(origin(c_, group), block_of(c_, group), s_.reads_c ? AccessMode::update : AccessMode::write)},
        Scalar::alpha, Scalar::beta);
  }

  const BatchShape& s_;
  const Precision precision_;
  const BatchCut& cut_;
  Matrices a_{}, b_{}, c_{};
};

}  // namespace

BatchCut batch_cut(const BatchShape& s, Precision precision, std::size_t memory, const BatchHeld& there) {
  const double m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k),
               bytes = (m * k + k * n + m * n) * static_cast<double>(element_size(precision));
  const auto worth_it = static_cast<index>(std::min(least_bytes / bytes + 1, static_cast<double>(s.count)));
  const bool moves = !there.a || !there.b || !there.c;
  BatchCut cut{moves ? std::max((s.count + most_groups - 1) / most_groups, worth_it) : s.count, most_slots};
  const auto fits = [&] { return Planner(s, precision, cut, there).plan.bytes(element_size(precision)) <= memory; };
  while (!fits()) {
    if (cut.width > 1)
      cut.width = (cut.width + 1) / 2;
    else if (--cut.slots == 0)
      return {};
  }
  return cut;
}

Plan plan_batch(const BatchShape& shape, Precision precision, const BatchCut& cut, const BatchHeld& held) {
  Planner planner(shape, precision, cut, held);
  planner.make_steps();
  return std::move(planner.plan);
}

}  // namespace blaslift
