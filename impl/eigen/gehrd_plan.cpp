#include "impl/eigen/gehrd_plan.hpp"

#include <algorithm>

#include "impl/plan/reduction.hpp"

namespace blaslift {
namespace {

// Columns, or rows, of a panel's that lie beside A on a GPU: its reflectors, products of A with them and so on.
constexpr double beside = 4 * 32;

}  // namespace

bool gehrd_fits(index rows, index cols, Precision precision, std::size_t memory) {
  const double m = static_cast<double>(rows), n = static_cast<double>(cols);
  return (m * n + beside * std::max(m, n)) * static_cast<double>(element_size(precision)) <=
         static_cast<double>(memory);
}

Plan plan_gehrd(index rows, index cols, index above, Precision precision, bool a_in_place) {
  const Gehrd reduction{.precision = precision,
                        .rows = rows,
                        .cols = cols,
                        .above = above,
                        .A = nullptr,
                        .lda = 0,
                        .tau = nullptr,
                        .failed = nullptr};
  return plan_reduction(reduction, rows, cols, Part::whole, {{"tau", std::max<index>(1, reduction.reflectors())}},
                        a_in_place);
}

}  // namespace blaslift
