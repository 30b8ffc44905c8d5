// What plans of LU factorisations by one place and by several have in common.
#pragma once
#include <algorithm>

#include "impl/core/stored.hpp"
#include "impl/plan/plan.hpp"
#include "kernels/trsm.hpp"

namespace blaslift {

/// How a matrix is cut up; panel 0: it does not fit.
struct GetrfCut {
  index panel = 0;  ///< columns
  index strip = 0;  ///< of L at a time, if it comes again; 0: all of the matrix stays

  bool streamed() const { return strip > 0; }
  index panels(index n) const { return (n + panel - 1) / panel; }
};

namespace getrf_steps {

enum { operand_a, operand_pivots, operand_failed };

inline Plan begun(index m, index n, const GetrfCut& cut) {
  const index factored = std::min(m, n);
  Plan plan;
  plan.operands = {
      {"A", m, n, true}, {"pivots", factored, 1, true, true}, {"failed", cut.panels(factored), 1, true, true}};
  return plan;
}

/// Factors a panel, from its own first row on.
/// @param rest    of it, which becomes its factors
/// @param pivots  that become known with them
/// @param failed  an area, and the operand that it comes home to: an element a panel
inline void add_factors(Plan& plan, Precision precision, index panel, const Plan::Access& rest,
                        const Plan::Access& pivots, int failed, int operand) {
  plan.compute(Getrf{.precision = precision,
                     .m = rest.region.block.rows,
                     .n = rest.region.block.cols,
                     .A = nullptr,
                     .lda = 0,
                     .pivots = nullptr,
                     .failed = nullptr},
               {rest, pivots, {{failed, {panel, 0, 1, 1}}, AccessMode::write, {operand, panel, 0}}}, Scalar::one);
}

/// With the L of a panel.
inline Trsm solving(Precision precision, const GetrfCut& cut, index n, index order, index others) {
  return {.precision = precision,
          .side = Side::left,
          .uplo = Uplo::lower,
          .trans = Op::none,
          .unit = true,
          .m = order,
          .n = others,
          .alpha = nullptr,
          .A = nullptr,
          .lda = 0,
          .B = nullptr,
          .ldb = 0,
          .way = trsm_way(precision, cut.panel, n),
          .block = trsm_block(cut.panel)};
}

/// A column of workspace for each panel's L, with which up to so many columns are solved at once; negative: they need
/// none.
inline int add_workspaces(Plan& plan, Precision precision, const GetrfCut& cut, index n, index factored, index others) {
  const std::size_t each = trsm_workspace(solving(precision, cut, n, cut.panel, others)),
                    bytes = leased_bytes(static_cast<index>(each), 1, 1);
  if (bytes == 0) return -1;
  return plan.add_area("workspaces", static_cast<index>(bytes / element_size(precision)), cut.panels(factored));
}

}  // namespace getrf_steps
}  // namespace blaslift
