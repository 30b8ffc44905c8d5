#include "impl/svd/gebrd_plan.hpp"

#include <algorithm>

#include "impl/plan/reduction.hpp"

namespace blaslift {
namespace {

// Matrices of A's size beside A: what a device's library works in, and where it takes tall ones alone, A's adjoint.
constexpr double beside_tall = 1, beside_wide = 2;

}  // namespace

bool gebrd_fits(index m, index n, Precision precision, std::size_t memory) {
  const double bytes = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(element_size(precision));
  return bytes * (1 + (m >= n ? beside_tall : beside_wide)) <= static_cast<double>(memory);
}

Plan plan_gebrd(index m, index n, Precision precision, bool a_in_place) {
  const index count = std::min(m, n), reals = elements_of_reals(count, precision);
  return plan_reduction(Gebrd{.precision = precision,
                              .m = m,
                              .n = n,
                              .A = nullptr,
                              .lda = 0,
                              .d = nullptr,
                              .e = nullptr,
                              .tauq = nullptr,
                              .taup = nullptr,
                              .failed = nullptr},
                        m, n, Part::whole, {{"d", reals}, {"e", reals}, {"tauq", count}, {"taup", count}}, a_in_place);
}

}  // namespace blaslift
