#include "impl/solve/least_squares_plan.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "impl/qr/panel_step.hpp"

namespace blaslift {
namespace {

/// Panels' worth of columns that reflectors are applied to at a time: the first ones' while others are on their way.
constexpr index panels_of_piece = 8;

class Planner {
 public:
  /// @param solves  in A's place, and on the device
  Planner(index m, index n, index nrhs, Precision precision, bool a_in_place, bool solves)
      : m_(m),
        n_(n),
        nrhs_(nrhs),
        panel_(std::min(n, least_squares_panel)),
        precision_(precision),
        held_(a_in_place),
        solves_(solves) {
    plan.operands = {{"A", m, n, solves}, {"B", m, nrhs, true}};
    const index widest = std::max(std::min(n, panels_of_piece * panel_), nrhs);
    const bool apart = held_ && !solves;
    a_ = {apart || !held_ ? plan.add_area(apart ? "C" : "A", m, n) : plan.add_own_area(operand_a),
          apart ? nobodys : operand_a};
    b_ = {plan.add_area("B", m, nrhs), operand_b};
    if (!solves) {
      plan.operands.push_back({"R", n, n, true, false, Part::upper});
      r_ = {plan.add_area("R", n, n), operand_r};
    }
    tau_ = {plan.add_area("tau", n, 1), nobodys};
    v_ = {plan.add_area("V", m, panel_), nobodys};
    t_ = {plan.add_area("T", panel_, panel_), nobodys};
    for (Plan::Origin& w : w_) w = {plan.add_area("W", panel_, widest), nobodys};
  }

  void make_steps() {
    bring();
    for (index col = 0; col < n_; col += panel_) {
      const index cols = std::min(panel_, n_ - col), right = col + cols;
      factor(col, cols);
      if (solves_) plan.download(a_, {0, col, m_, cols});
      for (index to = right; to < n_; to += panels_of_piece * panel_)
        reflect(col, cols, a_, to, std::min(panels_of_piece * panel_, n_ - to));
      reflect(col, cols, b_, 0, nrhs_);
    }
    const Block triangle{0, 0, n_, n_};
    if (solves_) solve(triangle);
    plan.download(b_, {0, 0, m_, nrhs_});
    if (!solves_) bring_home(triangle);
    plan.after = order_of(plan);
  }

  Plan plan;

 private:
  enum { operand_a, operand_b, operand_r, nobodys = -1 };

  void bring_home(const Block& triangle) {
    plan.compute(copying(Part::upper, n_), {Plan::read(a_, triangle, Part::upper), written(r_, triangle)}, Scalar::one);
    plan.download(r_, triangle);
  }

  void solve(const Block& triangle) {
    plan.compute(Trsm{.precision = precision_,
                      .side = Side::left,
                      .uplo = Uplo::upper,
                      .trans = Op::none,
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

  static Plan::Access written(const Plan::Origin& x, const Block& b) { return Plan::access(x, b, AccessMode::write); }

  Assign copying(Part part, index rows) const {
    return {.precision = precision_,
            .part = part,
            .strict = false,
            .transposed = false,
            .m = rows,
            .n = n_,
            .below = 0,
            .A = nullptr,
            .lda = 0,
            .C = nullptr,
            .ldc = 0};
  }

  void bring() {
    const index width = panels_of_piece * panel_;
    if (held_ && !solves_) {
      const Plan::Origin own{plan.add_own_area(operand_a), operand_a};
      const Block all{0, 0, m_, n_};
      plan.upload(own, all);
      plan.compute(copying(Part::whole, m_), {Plan::read(own, all), written(a_, all)}, Scalar::one);
    } else {
      for (index col = 0; col < n_; col += width) plan.upload(a_, {0, col, m_, std::min(width, n_ - col)});
    }
    plan.upload(b_, {0, 0, m_, nrhs_});
  }

  /// V begins in its area's first row.
  void factor(index col, index cols) {
    plan.compute(panel_step(precision_, m_ - col, cols),
                 {Plan::update(a_, {col, col, m_ - col, cols}), written(tau_, {col, 0, cols, 1}),
                  written(v_, {0, 0, m_ - col, cols}), written(t_, {0, 0, cols, cols})},
                 Scalar::one);
  }

  /// Q^H of these columns' reflectors, on columns of x.
  void reflect(index col, index cols, const Plan::Origin& x, index to, index to_cols) {
    const Plan::Access v = Plan::read(v_, {0, 0, m_ - col, cols}), t = Plan::read(t_, {0, 0, cols, cols}),
                       c = Plan::update(x, {col, to, m_ - col, to_cols});
    const Block w{0, 0, cols, to_cols};
    plan.multiply(precision_, Scalar::one, Op::conjugate, v, Op::none, Plan::read(x, {col, to, m_ - col, to_cols}),
                  Scalar::zero, written(w_[0], w));
    plan.multiply(precision_, Scalar::one, Op::conjugate, t, Op::none, Plan::read(w_[0], w), Scalar::zero,
                  written(w_[1], w));
    plan.multiply(precision_, Scalar::minus_one, Op::none, v, Op::none, Plan::read(w_[1], w), Scalar::one, c);
  }

  const index m_, n_, nrhs_, panel_;
  const Precision precision_;
  const bool held_, solves_;  ///< A has memory of its own, which stays as it is unless the QR takes its place
  Plan::Origin a_{}, b_{}, r_{}, tau_{}, v_{}, t_{}, w_[2]{};
};

}  // namespace

bool least_squares_fits(index m, index n, index nrhs, Precision precision, std::size_t memory) {
  // Sizes that integers might not hold are not counted.
  const double least =
      static_cast<double>(m) * static_cast<double>(n + nrhs) * static_cast<double>(element_size(precision));
  return least <= static_cast<double>(memory) &&
         plan_least_squares(m, n, nrhs, precision).bytes(element_size(precision)) <= memory;
}

Plan plan_least_squares(index m, index n, index nrhs, Precision precision, bool a_in_place) {
  Planner planner(m, n, nrhs, precision, a_in_place, false);
  planner.make_steps();
  return std::move(planner.plan);
}

Plan plan_gels(index m, index n, index nrhs, Precision precision, bool a_in_place) {
  Planner planner(m, n, nrhs, precision, a_in_place, true);
  planner.make_steps();
  return std::move(planner.plan);
}

}  // namespace blaslift
