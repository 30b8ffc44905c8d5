#include "impl/qr/lq_plan.hpp"

#include <algorithm>
#include <utility>

#include "impl/qr/panel_qr.hpp"

namespace blaslift {
namespace {

class Planner {
 public:
  /// @param apart  the factors have memory of their own
  Planner(const LqShape& shape, Precision precision, bool a_in_place, bool apart = false)
      : m_(shape.m), n_(shape.n), k_(shape.k), precision_(precision) {
    const index count = std::max<index>(1, k_);
    if (apart)
      plan.operands = {{"A", m_, n_, false},
                       {"R", m_, m_, true, true, Part::upper, true},
                       {"Q", n_, m_, true, true, Part::whole, true}};
    else
      plan.operands = {{"A", m_, n_, true}, {"tau", count, 1, !shape.makes_q, true}};
    a_ = {a_in_place ? plan.add_own_area(operand_a) : plan.add_area("A", m_, n_), operand_a};
    c_ = {plan.add_area("C", n_, m_), apart ? operand_q : nobodys};
    tau_ = {plan.add_area("tau", count, 1), apart ? nobodys : operand_tau};
    if (apart) r_ = {plan.add_area("R", m_, m_), operand_r};
    qr_ = PanelQr(plan, precision, c_, n_, k_, tau_, m_);
  }

  /// Rows go home as soon as they are final.
  void factor() {
    bring(m_);
    qr_.for_each_panel([&](index col, index cols) {
      factor_panel(col, cols);
      bring_home(col, cols);
    });
    if (k_ < m_) bring_home(k_, m_ - k_);
    plan.download(tau_, {0, 0, k_, 1});
  }

  void make_q() {
    if (k_ > 0) {
      plan.upload(tau_, {0, 0, k_, 1});
      bring(k_);
    }
    if (k_ < m_) make_identity(k_, m_ - k_);
    multiply_out();
    bring_home(0, m_);
  }

  void factor_apart() {
    bring(m_);
    qr_.for_each_panel([&](index col, index cols) { factor_panel(col, cols); });
    const Block triangle{0, 0, m_, m_};
    plan.compute(assignment(precision_, m_, m_, Part::upper),
                 {Plan::read(c_, triangle, Part::upper), Plan::written(r_, triangle)}, Scalar::one);
    plan.download(r_, triangle);
    multiply_out();
    plan.download(c_, {0, 0, n_, m_});
  }

  Plan plan;

 private:
  enum { operand_a, operand_tau, nobodys = -1, operand_r = 1, operand_q = 2 };

  void factor_panel(index col, index cols) {
    qr_.make_reflectors(plan, col, cols, false);
    qr_.reflect(plan, Op::conjugate, col, cols, c_, col + cols, m_ - (col + cols));
  }
  /// Q's columns begin as an identity's, those of a block in its reflectors' place as soon as V has these; blocks from
  /// the last one on leave columns on their left as they are.
  void multiply_out() {
    qr_.for_each_panel_backwards([&](index col, index cols) {
      qr_.make_reflectors(plan, col, cols, true);
      make_identity(col, cols);
      qr_.reflect(plan, Op::none, col, cols, c_, col, m_ - col);
    });
  }

  /// A's first rows, as C's first columns.
  void bring(index rows) {
    const Block there{0, 0, rows, n_}, here{0, 0, n_, rows};
    plan.upload(a_, there);
    plan.compute(adjoint_assignment(precision_, n_, rows), {Plan::read(a_, there), Plan::written(c_, here)},
                 Scalar::one);
  }
  void bring_home(index col, index cols) {
    const Block there{col, 0, cols, n_}, here{0, col, n_, cols};
    plan.compute(adjoint_assignment(precision_, cols, n_), {Plan::read(c_, here), Plan::written(a_, there)},
                 Scalar::one);
    plan.download(a_, there);
  }

  void make_identity(index col, index cols) {
    Assign identity = assignment(precision_, n_, cols);
    identity.below = -col;
    plan.compute(identity, {Plan::written(c_, {0, col, n_, cols})}, Scalar::one);
  }

  const index m_, n_, k_;
  const Precision precision_;
  Plan::Origin a_{}, c_{}, r_{}, tau_{};
  PanelQr qr_;
};

}  // namespace

bool lq_fits(const LqShape& shape, Precision precision, std::size_t memory) {
  // Sizes that integers might not hold are not counted.
  const double least =
      2 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(element_size(precision));
  return least <= static_cast<double>(memory) && plan_lq(shape, precision).bytes(element_size(precision)) <= memory;
}

bool lq_apart_fits(index m, index n, Precision precision, std::size_t memory, bool a_in_place) {
  const double least = (a_in_place ? 1 : 2) * static_cast<double>(m) * static_cast<double>(n) *
                       static_cast<double>(element_size(precision));
  return least <= static_cast<double>(memory) &&
         plan_lq_apart(m, n, precision, a_in_place).bytes(element_size(precision)) <= memory;
}

Plan plan_lq_apart(index m, index n, Precision precision, bool a_in_place) {
  Planner planner({m, n, m, true}, precision, a_in_place, true);
  planner.factor_apart();
  planner.plan.after = order_of(planner.plan);
  return std::move(planner.plan);
}

Plan plan_lq(const LqShape& shape, Precision precision, bool a_in_place) {
  Planner planner(shape, precision, a_in_place);
  shape.makes_q ? planner.make_q() : planner.factor();
  planner.plan.after = order_of(planner.plan);
  return std::move(planner.plan);
}

}  // namespace blaslift
