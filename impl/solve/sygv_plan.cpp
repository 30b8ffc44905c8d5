#include "impl/solve/sygv_plan.hpp"

#include <limits>
#include <utility>
#include <vector>

#include "impl/core/stored.hpp"
#include "impl/eigen/syevd_plan.hpp"
#include "kernels/trsm.hpp"

namespace blaslift {
namespace {

class Planner {
 public:
  Planner(const EigenShape& shape, Precision precision, const PotrfCut& cut, const SygvHeld& held)
      : s_(shape), n_(shape.n), precision_(precision), cut_(cut), held_(held) {
    const index values = elements_of_reals(s_.count, precision);
    plan.operands = {{"A", n_, n_, replaced(), false, replaced() ? Part::whole : part()},
                     {"B", n_, n_, true, false, part()}};
    const auto add = [&](const Plan::Operand& x) {
      plan.operands.push_back(x);
      return static_cast<int>(plan.operands.size()) - 1;
    };
    operand_z_ = s_.apart ? add({"Z", n_, s_.count, true}) : operand_a;
    operand_w_ = add({"w", values, 1, true, true});
    operand_pivots_ = add({"pivots", cut.panels(n_), 1, true, true});
    operand_failed_ = add({"none", 1, 1, true, true});
  }

  void make_steps() {
    factor();
    bring_matrix();
    reduce();
    find();
    plan.after = order_of(plan);
  }

  Plan plan;

 private:
  enum { operand_a, operand_b, nobodys = -1 };

  bool replaced() const { return s_.vectors && !s_.apart; }  ///< A, by the vectors
  Part part() const { return part_of(s_.uplo); }
  bool lower() const { return s_.uplo == Uplo::lower; }
  Op adjoint() const { return is_complex(precision_) ? Op::conjugate : Op::transpose; }
  Block all() const { return {0, 0, n_, n_}; }

  Plan::Origin origin(int operand, bool held) {
    const Plan::Operand& x = plan.operands[static_cast<std::size_t>(operand)];
    return {held ? plan.add_own_area(operand) : plan.add_area(x.name, x.rows, x.cols), operand};
  }

  void factor() {
    const int own = held_.b ? plan.add_own_area(operand_b) : -1;
    b_ = add_potrf(plan, s_.uplo, n_, precision_, cut_, operand_b, operand_pivots_, own);
    if (const std::size_t bytes = trsm_workspace(solving(Side::left, Op::none, n_)))
      workspace_ = plan.add_area("solving", static_cast<index>((bytes - 1) / element_size(precision_) + 1), 1);
  }

  /// All of A, in its own place or, where that is not to change, in another one.
  void bring_matrix() {
    const Plan::Origin a = origin(operand_a, held_.a);
    plan.upload(a, all());
    c_ = a;
    if (held_.a && !replaced()) {
      c_ = {plan.add_area("C", n_, n_), nobodys};
      plan.compute(Assign{.precision = precision_,
                          .part = part(),
                          .strict = false,
                          .transposed = false,
                          .m = n_,
                          .n = n_,
                          .below = 0,
                          .A = nullptr,
                          .lda = 0,
                          .C = nullptr,
                          .ldc = 0},
                   {Plan::read(a, all(), part()), Plan::access(c_, all(), AccessMode::write)}, Scalar::one);
    }
    Plan::Access mirrored = Plan::update(c_, all());
    mirrored.part = part();
    plan.compute(Mirror{.precision = precision_, .uplo = s_.uplo, .n = n_, .A = nullptr, .lda = 0}, {mirrored},
                 Scalar::one);
  }

  Trsm solving(Side side, Op trans, index others) const {
    return {.precision = precision_,
            .side = side,
            .uplo = s_.uplo,
            .trans = trans,
            .unit = false,
            .m = side == Side::left ? n_ : others,
            .n = side == Side::left ? others : n_,
            .alpha = nullptr,
            .A = nullptr,
            .lda = 0,
            .B = nullptr,
            .ldb = 0,
            .way = trsm_way(precision_, n_, n_),
            .block = trsm_block(n_)};
  }
  void solve(Side side, Op trans, const Plan::Origin& to, const Block& block) {
    Trsm operation = solving(side, trans, side == Side::left ? block.cols : block.rows);
    std::vector<Plan::Access> accesses{Plan::read(b_, all(), part()), Plan::update(to, block)};
    if (workspace_ >= 0) {
      operation.prepared = std::exchange(prepared_, true);
      const index rows = plan.areas[static_cast<std::size_t>(workspace_)].rows;
      accesses.push_back({{workspace_, {0, 0, rows, 1}}, operation.prepared ? AccessMode::update : AccessMode::write});
    }
    plan.compute(operation, std::move(accesses), Scalar::one);
  }

  /// L^-1 A L^-H, or U^-H A U^-1.
  void reduce() {
    solve(Side::left, lower() ? Op::none : adjoint(), c_, all());
    solve(Side::right, lower() ? adjoint() : Op::none, c_, all());
  }

  void find() {
    const Block columns{0, 0, n_, s_.count}, values{0, 0, elements_of_reals(s_.count, precision_), 1}, one{0, 0, 1, 1};
    const Plan::Origin z = s_.apart ? origin(operand_z_, held_.z) : c_, w = origin(operand_w_, held_.w),
                       failed = origin(operand_failed_, false);
    std::vector<Plan::Access> accesses{replaced() ? Plan::update(c_, all()) : Plan::read(c_, all(), part())};
    if (s_.apart) accesses.push_back(Plan::access(z, columns, AccessMode::write));
    accesses.push_back(Plan::access(w, values, AccessMode::write));
    accesses.push_back(Plan::access(failed, one, AccessMode::write));
    plan.compute(Syevd{.precision = precision_,
                       .vectors = s_.vectors,
                       .uplo = s_.uplo,
                       .n = n_,
                       .first = s_.first,
                       .count = s_.count,
                       .A = nullptr,
                       .lda = 0,
                       .V = nullptr,
                       .ldv = 0,
                       .w = nullptr,
                       .failed = nullptr},
                 std::move(accesses), Scalar::one);
    if (s_.vectors) {
      solve(Side::left, lower() ? adjoint() : Op::none, z, columns);
      plan.download(z, columns);
    }
    plan.download(w, values);
    plan.download(failed, one);
  }

  const EigenShape& s_;
  const index n_;
  const Precision precision_;
  const PotrfCut& cut_;
  const SygvHeld& held_;
  int operand_z_ = -1, operand_w_ = -1, operand_pivots_ = -1, operand_failed_ = -1;
  Plan::Origin b_{}, c_{};  ///< B's factor; A, which becomes what has the eigenvalues
  int workspace_ = -1;
  bool prepared_ = false;
};

}  // namespace

PotrfCut sygv_cut(index n, Precision precision) {
  return {potrf_cut(n, precision, std::numeric_limits<std::size_t>::max()).panel};
}

bool sygv_fits(const EigenShape& shape, Precision precision, std::size_t memory) {
  const double order = static_cast<double>(shape.n),
               matrix = order * order * static_cast<double>(element_size(precision)),
               beside = syevd_beside(shape) * matrix;
  // Sizes that integers might not hold are not counted.
  if (matrix + beside > static_cast<double>(memory)) return false;
  const PotrfCut cut = sygv_cut(shape.n, precision);
  const Plan plan = plan_sygv(shape, precision, cut);
  return static_cast<double>(plan.bytes(element_size(precision))) + beside <= static_cast<double>(memory);
}

Plan plan_sygv(const EigenShape& shape, Precision precision, const PotrfCut& cut, const SygvHeld& held) {
  Planner planner(shape, precision, cut, held);
  planner.make_steps();
  return std::move(planner.plan);
}

}  // namespace blaslift
