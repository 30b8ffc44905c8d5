#include "impl/svd/gesdd_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace blaslift {
namespace {

// Matrices of A's size beside A and the vectors, where A is square (kernels/polar_svd.hpp): five that a decomposition
// works in; four of a second stage with nearly as large a matrix, which few have; and what the device's library needs
// for an eigenproblem, a bit more than four (syevd_plan.cpp), with a systems' workspace.  A third stage as large as
// that may find no room, and so does a second one above the order at which the library's QR ends.
constexpr double beside = 13.5;

}  // namespace

bool svd_fits(const SvdShape& shape, Precision precision, std::size_t memory) {
  const auto [m, n, u_cols, vt_rows, u_in_a, vt_in_a] = shape;
  // The device's library numbers elements of its QR by 32 bits.
  const index longer = std::max(m, n), shorter = std::min(m, n), made = std::max({shorter, m < n ? vt_rows : u_cols});
  if (longer > shorter && shorter > 0 && longer > std::numeric_limits<std::int32_t>::max() / made) return false;
  const auto elements = [](index rows, index cols) { return static_cast<double>(rows) * static_cast<double>(cols); };
  // All vectors of the longer side are made twice: by the library, and where they are asked for.
  const double whole = u_cols > n ? elements(m, m) : vt_rows > m ? elements(n, n) : 0;
  const double all =
      elements(m, n) * (1 + beside) + elements(m, shape.cols_of_u()) + elements(shape.rows_of_vt(), n) + whole;
  return all * static_cast<double>(element_size(precision)) <= static_cast<double>(memory);
}

Plan plan_svd(const SvdShape& shape, Precision precision, bool a_in_place, bool u_in_place, bool vt_in_place,
              bool s_in_place) {
  const auto [m, n, u_cols, vt_rows, u_in_a, vt_in_a] = shape;
  const index values = elements_of_reals(shape.count(), precision);
  Plan plan;
  plan.operands = {{"A", m, n, shape.replaced()},
                   {"U", shape.cols_of_u() > 0 ? m : 0, shape.cols_of_u(), shape.cols_of_u() > 0},
                   {"VT", shape.rows_of_vt(), shape.rows_of_vt() > 0 ? n : 0, shape.rows_of_vt() > 0},
                   {"s", values, 1, true, true},
                   {"failed", 1, 1, true, true}};
  std::vector<Plan::Access> accesses;
  const auto all_of = [&](int operand) {
    const Plan::Operand& x = plan.operands[static_cast<std::size_t>(operand)];
    return Block{0, 0, x.rows, x.cols};
  };
  const auto origin = [&](int operand, bool in_place) {
    const Plan::Operand& x = plan.operands[static_cast<std::size_t>(operand)];
    return Plan::Origin{in_place ? plan.add_own_area(operand) : plan.add_area(x.name, x.rows, x.cols), operand};
  };
  std::vector<Plan::Origin> results;
  const Plan::Origin a = origin(0, a_in_place);
  accesses.push_back(shape.replaced() ? Plan::update(a, all_of(0)) : Plan::read(a, all_of(0)));
  if (shape.replaced()) results.push_back(a);
  for (const auto& [operand, in_place] :
       {std::pair(1, u_in_place), std::pair(2, vt_in_place), std::pair(3, s_in_place), std::pair(4, false)}) {
    if (plan.operands[static_cast<std::size_t>(operand)].rows == 0) continue;
    results.push_back(origin(operand, in_place));
    accesses.push_back(Plan::access(results.back(), all_of(operand), AccessMode::write));
  }
  plan.upload(a, all_of(0));
  plan.compute(Svd{.precision = precision,
                   .m = m,
                   .n = n,
                   .u_cols = u_cols,
                   .vt_rows = vt_rows,
                   .u_in_a = u_in_a,
                   .vt_in_a = vt_in_a,
                   .A = nullptr,
                   .lda = 0,
                   .U = nullptr,
                   .ldu = 0,
                   .VT = nullptr,
                   .ldvt = 0,
                   .s = nullptr,
                   .failed = nullptr},
               std::move(accesses), Scalar::one);
  for (const Plan::Origin& x : results) plan.download(x, all_of(x.operand));
  plan.after = order_of(plan);
  return plan;
}

}  // namespace blaslift
