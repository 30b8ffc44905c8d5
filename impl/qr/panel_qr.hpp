// A tall matrix's QR by panels, one after the other, within another plan, and products with its Q: what drivers of
// LAPACK begin with that need all of the matrix on the device anyhow.
#pragma once
#include <algorithm>

#include "impl/plan/plan.hpp"
#include "impl/route/profile.hpp"

namespace blaslift {

/// Columns of a panel at most: half of what a product with so many reflectors takes is memory's
/// (impl/qr/qr_family.cpp).
inline constexpr index panel_qr_columns = 64;

class PanelQr {
 public:
  PanelQr() = default;
  /// Adds areas for a panel's reflectors, and for products with them.
  /// @param a       m x n of it are factored, m >= n, in LAPACK's format
  /// @param tau     a column of n elements at least
  /// @param widest  columns that are multiplied at a time, at most
  PanelQr(Plan& plan, Precision precision, const Plan::Origin& a, index m, index n, const Plan::Origin& tau,
          index widest);

  index panel() const { return panel_; }
  /// Calls each(col, cols) for the panels from left to right, or from right to left.
  template <class Each>
  void for_each_panel(const Each& each) const {
    for (index col = 0; col < n_; col += panel_) each(col, std::min(panel_, n_ - col));
  }
  template <class Each>
  void for_each_panel_backwards(const Each& each) const {
    for (index col = (n_ - 1) / panel_ * panel_; n_ > 0 && col >= 0; col -= panel_)
      each(col, std::min(panel_, n_ - col));
  }

  /// The panel's reflectors, from its columns or, `factored`, from what a former call left of them.
  void make_reflectors(Plan& plan, index col, index cols, bool factored) const;
  /// Q of the reflectors made last, which are those of these columns, or Q^H, on x's columns `to` and following, whose
  /// rows are a's.
  void reflect(Plan& plan, Op op, index col, index cols, const Plan::Origin& x, index to, index to_cols) const;

 private:
  Precision precision_{};
  index m_ = 0, n_ = 0, panel_ = 1;
  Plan::Origin a_{}, tau_{}, v_{}, t_{}, w_[2]{};
};

/// What a device takes for panels of an m x n matrix, and for so many flops of products with their reflectors.
/// @param times  how often a panel's reflectors are made
double seconds_of_panels(const Profile& profile, Precision precision, double m, double n, double flops,
                         double times = 1);

}  // namespace blaslift
