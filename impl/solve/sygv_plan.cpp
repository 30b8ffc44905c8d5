#include "impl/solve/sygv_plan.hpp"

#include <limits>
#include <utility>
#include <vector>

#include "impl/core/stored.hpp"
#include "impl/eigen/syevd_plan.hpp"
#include "kernels/trsm.hpp"

namespace blaslift {
namespace {

/// A and B's factor on the device: what is the same whoever has made the factor.
class Reduction {
 public:
  Reduction(Uplo uplo, index n, Precision precision, bool replaced)
      : uplo_(uplo), n_(n), precision_(precision), replaced_(replaced) {}

  Plan plan;

 protected:
  enum { operand_a, operand_b, nobodys = -1 };

  Part part() const { return part_of(uplo_); }
  bool lower() const { return uplo_ == Uplo::lower; }
  Op adjoint() const { return is_complex(precision_) ? Op::conjugate : Op::transpose; }
  Block all() const { return {0, 0, n_, n_}; }

  Plan::Origin origin(int operand, bool held) {
    const Plan::Operand& x = plan.operands[static_cast<std::size_t>(operand)];
    return {held ? plan.add_own_area(operand) : plan.add_area(x.name, x.rows, x.cols), operand};
  }

  void add_workspace() {
    if (const std::size_t bytes = trsm_workspace(solving(Side::left, Op::none, n_)))
      workspace_ = plan.add_area("solving", static_cast<index>((bytes - 1) / element_size(precision_) + 1), 1);
  }

  /// A triangle, or all of an identity where there is nothing to copy.
  void assign(const Plan::Origin* from, const Plan::Origin& to, AccessMode mode) {
    std::vector<Plan::Access> accesses;
    if (from) accesses.push_back(Plan::read(*from, all(), part()));
    accesses.push_back(Plan::access(to, all(), mode));
    assign(from ? part() : Part::whole, n_, std::move(accesses));
  }
  /// Whole columns.
  void assign(const Plan::Origin& from, const Plan::Origin& to, const Block& columns) {
    assign(Part::whole, columns.cols, {Plan::read(from, columns), Plan::written(to, columns)});
  }
  void assign(Part which, index cols, std::vector<Plan::Access> accesses) {
    plan.compute(assignment(precision_, n_, cols, which), std::move(accesses), Scalar::one);
  }

  /// Of a triangle a whole matrix, whose diagonal is real.
  void mirror(const Plan::Origin& x) {
    Plan::Access mirrored = Plan::update(x, all());
    mirrored.part = part();
    plan.compute(Mirror{.precision = precision_, .uplo = uplo_, .n = n_, .A = nullptr, .lda = 0}, {mirrored},
                 Scalar::one);
  }

  /// All of A, in its own place or, where that is not to change, in another one.
  void bring_matrix(bool held) {
    a_ = origin(operand_a, held);
    plan.upload(a_, all());
    c_ = a_;
    if (held && !replaced_) {
      c_ = {plan.add_area("C", n_, n_), nobodys};
      assign(&a_, c_, AccessMode::write);
    }
    mirror(c_);
  }

  Trsm solving(Side side, Op trans, index others) const {
    return {.precision = precision_,
            .side = side,
            .uplo = uplo_,
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

  /// L^H A L, or U A U^H.
  void multiply() {
    whole_ = {plan.add_area("W", n_, n_), nobodys};
    half_ = {plan.add_area("half", n_, n_), nobodys};
    assign(nullptr, whole_, AccessMode::write);  // zeros, where B has something else
    assign(&b_, whole_, AccessMode::update);
    const Plan::Access factor = Plan::read(whole_, all());
    const auto to = [&](const Plan::Origin& x) { return Plan::written(x, all()); };
    plan.multiply(precision_, Scalar::one, lower() ? adjoint() : Op::none, factor, Op::none, Plan::read(c_, all()),
                  Scalar::zero, to(half_));
    plan.multiply(precision_, Scalar::one, Op::none, Plan::read(half_, all()), lower() ? Op::none : adjoint(), factor,
                  Scalar::zero, to(c_));
  }

  /// X := L X, or U^H X, after multiply().
  void multiply_back(const Plan::Origin& x, const Block& columns) {
    plan.multiply(precision_, Scalar::one, lower() ? Op::none : adjoint(), Plan::read(whole_, all()), Op::none,
                  Plan::read(x, columns), Scalar::zero, Plan::written(half_, columns));
    assign(half_, x, columns);
  }

  const Uplo uplo_;
  const index n_;
  const Precision precision_;
  const bool replaced_;           ///< A, by what becomes of it
  Plan::Origin a_{}, b_{}, c_{};  ///< A; B's factor; A, which becomes what has the eigenvalues

 private:
  int workspace_ = -1;
  bool prepared_ = false;
  Plan::Origin whole_{}, half_{};  ///< B's factor with zeros in its other triangle; of a product
};

class Planner : public Reduction {
 public:
  Planner(index itype, const EigenShape& shape, Precision precision, const PotrfCut& cut, const SygvHeld& held)
      : Reduction(shape.uplo, shape.n, precision, shape.vectors && !shape.apart),
        itype_(itype),
        s_(shape),
        cut_(cut),
        held_(held) {
    const index values = elements_of_reals(s_.count, precision);
    plan.operands = {{"A", n_, n_, replaced_, false, replaced_ ? Part::whole : part()},
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
    bring_matrix(held_.a);
    if (itype_ == 1)
      reduce();
    else
      multiply();
    find();
    plan.after = order_of(plan);
  }

 private:
  void factor() {
    const int own = held_.b ? plan.add_own_area(operand_b) : -1;
    b_ = add_potrf(plan, s_.uplo, n_, precision_, cut_, operand_b, operand_pivots_, own);
    if (itype_ == 1 || (itype_ == 2 && s_.vectors)) add_workspace();
  }

  void find() {
    const Block columns{0, 0, n_, s_.count}, values{0, 0, elements_of_reals(s_.count, precision_), 1}, one{0, 0, 1, 1};
    const Plan::Origin z = s_.apart ? origin(operand_z_, held_.z) : c_, w = origin(operand_w_, held_.w),
                       failed = origin(operand_failed_, false);
    std::vector<Plan::Access> accesses{replaced_ ? Plan::update(c_, all()) : Plan::read(c_, all(), part())};
    if (s_.apart) accesses.push_back(Plan::written(z, columns));
    accesses.push_back(Plan::written(w, values));
    accesses.push_back(Plan::written(failed, one));
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
      if (itype_ == 3)
        multiply_back(z, columns);
      else
        solve(Side::left, lower() ? adjoint() : Op::none, z, columns);
      plan.download(z, columns);
    }
    plan.download(w, values);
    plan.download(failed, one);
  }

  const index itype_;
  const EigenShape& s_;
  const PotrfCut& cut_;
  const SygvHeld& held_;
  int operand_z_ = -1, operand_w_ = -1, operand_pivots_ = -1, operand_failed_ = -1;
};

/// The reduction alone, with a factor that is there.
class SygstPlanner : public Reduction {
 public:
  SygstPlanner(index itype, Uplo uplo, index n, Precision precision, const SygvHeld& held)
      : Reduction(uplo, n, precision, false) {
    plan.operands = {{"A", n, n, true, false, part()}, {"B", n, n, false, false, part()}};
    b_ = origin(operand_b, held.b);
    plan.upload(b_, all());
    if (itype == 1) add_workspace();
    bring_matrix(held.a);
    if (itype == 1)
      reduce();
    else
      multiply();
    if (is_complex(precision)) mirror(c_);  // roundings have left imaginary parts on the diagonal
    if (c_.area != a_.area) assign(&c_, a_, AccessMode::update);
    plan.download(a_, all());
    plan.after = order_of(plan);
  }
};

}  // namespace

PotrfCut sygv_cut(index n, Precision precision) {
  return {potrf_cut(n, precision, std::numeric_limits<std::size_t>::max()).panel};
}

bool sygv_fits(index itype, const EigenShape& shape, Precision precision, std::size_t memory) {
  const double order = static_cast<double>(shape.n),
               matrix = order * order * static_cast<double>(element_size(precision)),
               beside = syevd_beside(shape) * matrix;
  // Sizes that integers might not hold are not counted.
  if (matrix + beside > static_cast<double>(memory)) return false;
  const PotrfCut cut = sygv_cut(shape.n, precision);
  const Plan plan = plan_sygv(itype, shape, precision, cut);
  return static_cast<double>(plan.bytes(element_size(precision))) + beside <= static_cast<double>(memory);
}

Plan plan_sygst(index itype, Uplo uplo, index n, Precision precision, const SygvHeld& held) {
  return std::move(SygstPlanner(itype, uplo, n, precision, held).plan);
}

Plan plan_sygv(index itype, const EigenShape& shape, Precision precision, const PotrfCut& cut, const SygvHeld& held) {
  Planner planner(itype, shape, precision, cut, held);
  planner.make_steps();
  return std::move(planner.plan);
}

}  // namespace blaslift
