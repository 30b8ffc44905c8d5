#include "impl/qr/panel_qr.hpp"

#include <algorithm>
#include <cmath>

#include "impl/qr/panel_step.hpp"

namespace blaslift {
namespace {

constexpr Plan::Origin at(int area) { return {area, -1}; }

}  // namespace

PanelQr::PanelQr(Plan& plan, Precision precision, const Plan::Origin& a, index m, index n, const Plan::Origin& tau,
                 index widest)
    : precision_(precision),
      m_(m),
      n_(n),
      panel_(std::clamp<index>(n, 1, panel_qr_columns)),
      a_(a),
      tau_(tau),
      v_(at(plan.add_area("V", m, panel_))),
      t_(at(plan.add_area("T", panel_, panel_))) {
  for (Plan::Origin& w : w_) w = at(plan.add_area("W", panel_, widest));
}

/// V begins in its area's first row.
void PanelQr::make_reflectors(Plan& plan, index col, index cols, bool factored) const {
  const AccessMode mode = factored ? AccessMode::read : AccessMode::write;
  const Block panel{col, col, m_ - col, cols};
  plan.compute(panel_step(precision_, m_ - col, cols, factored),
               {factored ? Plan::read(a_, panel) : Plan::update(a_, panel), Plan::access(tau_, {col, 0, cols, 1}, mode),
                Plan::written(v_, {0, 0, m_ - col, cols}), Plan::written(t_, {0, 0, cols, cols})},
               Scalar::one);
}

void PanelQr::reflect(Plan& plan, Op op, index col, index cols, const Plan::Origin& x, index to, index to_cols) const {
  if (to_cols == 0) return;
  const Plan::Access v = Plan::read(v_, {0, 0, m_ - col, cols}), t = Plan::read(t_, {0, 0, cols, cols});
  const Block c{col, to, m_ - col, to_cols}, w{0, 0, cols, to_cols};
  plan.multiply(precision_, Scalar::one, Op::conjugate, v, Op::none, Plan::read(x, c), Scalar::zero,
                Plan::written(w_[0], w));
  plan.multiply(precision_, Scalar::one, op, t, Op::none, Plan::read(w_[0], w), Scalar::zero, Plan::written(w_[1], w));
  plan.multiply(precision_, Scalar::minus_one, Op::none, v, Op::none, Plan::read(w_[1], w), Scalar::one,
                Plan::update(x, c));
}

double seconds_of_panels(const Profile& profile, Precision precision, double m, double n, double flops, double times) {
  constexpr double steps = 8, of_rate = 0.5;  // beside each panel; with so few reflectors
  const double panels = std::ceil(n / static_cast<double>(panel_qr_columns)),
               bytes = m * n * static_cast<double>(element_size(precision));
  return times * (panels * (profile.panel_seconds + steps * profile.step_seconds) + bytes / profile.panel_rate) +
         flops / (of_rate * profile.gemm_rate[static_cast<int>(precision)]);
}

}  // namespace blaslift
