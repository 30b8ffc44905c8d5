#include "impl/qr/geqp3_plan.hpp"

#include "impl/plan/reduction.hpp"

namespace blaslift {

bool geqp3_fits(index m, index n, Precision precision, std::size_t memory) {
  // Beside A: what a panel of 32 reflectors does to each column, and columns and rows of numbers.
  constexpr double panel = 32, others = 8;
  const double rows = static_cast<double>(m), cols = static_cast<double>(n);
  return (rows * cols + (panel + others) * cols + others * rows) * static_cast<double>(element_size(precision)) <=
         static_cast<double>(memory);
}

Plan plan_geqp3(index m, index n, Precision precision, bool a_in_place) {
  const Geqp3 factors{.precision = precision,
                      .m = m,
                      .n = n,
                      .A = nullptr,
                      .lda = 0,
                      .fixed = nullptr,
                      .order = nullptr,
                      .tau = nullptr,
                      .failed = nullptr};
  return plan_reduction(factors, m, n, Part::whole, {{"fixed", n}, {"order", n}, {"tau", factors.factored()}},
                        a_in_place, 1);
}

}  // namespace blaslift
