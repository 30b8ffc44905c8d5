#include "impl/solve/least_squares_plan.hpp"

#include <algorithm>
#include <utility>

#include "impl/qr/panel_qr.hpp"

namespace blaslift {
namespace {

/// Columns that reflectors are applied to at a time: to the first ones while others are on their way.
constexpr index columns_of_piece = 8 * panel_qr_columns;

class Planner {
 public:
  /// @param solves  all of it, in A's place on the device or beside its rows there
  Planner(const LeastSquaresShape& shape, Precision precision, bool a_in_place, bool solves)
      : shape_(shape),
        m_(shape.longer()),
        n_(shape.order()),
        nrhs_(shape.nrhs),
        precision_(precision),
        held_(a_in_place),
        solves_(solves) {
    plan.operands = {{"A", shape.m, shape.n, solves}, {"B", m_, nrhs_, true}};
    if (shape.turned()) {
      rows_ = {held_ ? plan.add_own_area(operand_a) : plan.add_area("A", shape.m, shape.n), operand_a};
      a_ = {plan.add_area("C", m_, n_), nobodys};
    } else {
      const bool apart = held_ && !solves;
      a_ = {apart || !held_ ? plan.add_area(apart ? "C" : "A", m_, n_) : plan.add_own_area(operand_a),
            apart ? nobodys : operand_a};
    }
    b_ = {plan.add_area("B", m_, nrhs_), operand_b};
    if (!solves) {
      plan.operands.push_back({"R", n_, n_, true, false, Part::upper});
      r_ = {plan.add_area("R", n_, n_), operand_r};
    }
    const Plan::Origin tau{plan.add_area("tau", n_, 1), nobodys};
    qr_ = PanelQr(plan, precision, a_, m_, n_, tau, std::max(std::min(n_, columns_of_piece), nrhs_));
  }

  void make_steps() {
    bring();
    qr_.for_each_panel([&](index col, index cols) {
      qr_.make_reflectors(plan, col, cols, false);
      if (solves_) bring_home(col, cols);
      for (index to = col + cols; to < n_; to += columns_of_piece)
        qr_.reflect(plan, Op::conjugate, col, cols, a_, to, std::min(columns_of_piece, n_ - to));
      if (!shape_.shortest()) qr_.reflect(plan, Op::conjugate, col, cols, b_, 0, nrhs_);
    });
    const Block triangle{0, 0, n_, n_};
    if (solves_) solve(triangle);
    if (shape_.shortest()) multiply_by_q();
    plan.download(b_, {0, 0, m_, nrhs_});
    if (!solves_) bring_triangle_home(triangle);
    plan.after = order_of(plan);
  }

  Plan plan;

 private:
  enum { operand_a, operand_b, operand_r, nobodys = -1 };

  void bring_triangle_home(const Block& triangle) {
    plan.compute(assignment(precision_, n_, n_, Part::upper),
                 {Plan::read(a_, triangle, Part::upper), Plan::written(r_, triangle)}, Scalar::one);
    plan.download(r_, triangle);
  }

  /// What nothing changes any more.
  void bring_home(index col, index cols) {
    const Block here{0, col, m_, cols};
    if (!shape_.turned()) return plan.download(a_, here);
    const Block there{col, 0, cols, m_};
    plan.compute(adjoint_assignment(precision_, cols, m_), {Plan::read(a_, here), Plan::written(rows_, there)},
                 Scalar::one);
    plan.download(rows_, there);
  }

  /// With R, or of the shortest solution with its adjoint.
  void solve(const Block& triangle) {
    const Op adjoint = is_complex(precision_) ? Op::conjugate : Op::transpose;
    plan.compute(Trsm{.precision = precision_,
                      .side = Side::left,
                      .uplo = Uplo::upper,
                      .trans = shape_.shortest() ? adjoint : Op::none,
                      .unit = false,
                      .m = n_,
                      .n = nrhs_,
                      .alpha = nullptr,
                      .A = nullptr,
                      .lda = 0,
                      .B = nullptr,
                      .ldb = 0},
                 {Plan::read(a_, triangle, Part::upper), Plan::update(b_, {0, 0, n_, nrhs_})}, Scalar::one);
  }

  /// From the last panel on, whose reflectors are there.
  void multiply_by_q() {
    qr_.for_each_panel_backwards([&](index col, index cols) {
      if (col + cols < n_) qr_.make_reflectors(plan, col, cols, true);
      qr_.reflect(plan, Op::none, col, cols, b_, 0, nrhs_);
    });
  }

  void bring() {
    if (shape_.turned()) {
      const Block there{0, 0, n_, m_};
      plan.upload(rows_, there);
      plan.compute(adjoint_assignment(precision_, m_, n_),
                   {Plan::read(rows_, there), Plan::written(a_, {0, 0, m_, n_})}, Scalar::one);
    } else if (held_ && !solves_) {
      const Plan::Origin own{plan.add_own_area(operand_a), operand_a};
      const Block all{0, 0, m_, n_};
      plan.upload(own, all);
      plan.compute(assignment(precision_, m_, n_), {Plan::read(own, all), Plan::written(a_, all)}, Scalar::one);
    } else {
      for (index col = 0; col < n_; col += columns_of_piece)
        plan.upload(a_, {0, col, m_, std::min(columns_of_piece, n_ - col)});
    }
    plan.upload(b_, {0, 0, shape_.equations(), nrhs_});
    if (shape_.equations() == m_) return;
    // Below the right-hand sides zeros, as far from an identity's diagonal as they have columns.
    const index rows = m_ - n_;
    Assign zeros = assignment(precision_, rows, nrhs_);
    zeros.below = nrhs_;
    plan.compute(zeros, {Plan::written(b_, {n_, 0, rows, nrhs_})}, Scalar::one);
  }

  const LeastSquaresShape shape_;
  const index m_, n_, nrhs_;  ///< m_ x n_: what is factored, A or its adjoint
  const Precision precision_;
  const bool held_, solves_;  ///< A has memory of its own, which stays as it is unless the QR takes its place
  Plan::Origin rows_{}, a_{}, b_{}, r_{};
  PanelQr qr_;
};

template <class Make>
bool fits(const LeastSquaresShape& shape, Precision precision, std::size_t memory, const Make& make) {
  // Sizes that integers might not hold are not counted.
  const double least = static_cast<double>(shape.longer()) * static_cast<double>(shape.order() + shape.nrhs) *
                       static_cast<double>(element_size(precision));
  return least <= static_cast<double>(memory) && make().bytes(element_size(precision)) <= memory;
}

Plan planned(const LeastSquaresShape& shape, Precision precision, bool a_in_place, bool solves) {
  Planner planner(shape, precision, a_in_place, solves);
  planner.make_steps();
  return std::move(planner.plan);
}

}  // namespace

bool least_squares_fits(index m, index n, index nrhs, Precision precision, std::size_t memory) {
  return fits({m, n, nrhs}, precision, memory, [&] { return plan_least_squares(m, n, nrhs, precision); });
}

bool gels_fits(const LeastSquaresShape& shape, Precision precision, std::size_t memory) {
  return fits(shape, precision, memory, [&] { return plan_gels(shape, precision); });
}

Plan plan_least_squares(index m, index n, index nrhs, Precision precision, bool a_in_place) {
  return planned({m, n, nrhs}, precision, a_in_place, false);
}

Plan plan_gels(const LeastSquaresShape& shape, Precision precision, bool a_in_place) {
  return planned(shape, precision, a_in_place, true);
}

}  // namespace blaslift
