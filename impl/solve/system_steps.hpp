// What plans of linear systems have in common, whether A is on the device as a whole or comes in strips.
#pragma once
#include "impl/core/args.hpp"
#include "impl/plan/plan.hpp"
#include "kernels/trsm.hpp"

namespace blaslift::system_steps {

enum { operand_a, operand_b, operand_third, operand_fourth };

/// Operands A and B; where rows are exchanged the pivots; and, if the factors are made, what each panel says of itself.
inline void begin(Plan& plan, const SystemShape& s, index panel) {
  plan.operands = {{"A", s.n, s.n, !s.factored, false, s.part()}, {"B", s.n, s.nrhs, true}};
  if (s.exchanges()) plan.operands.push_back({"pivots", s.n, 1, !s.factored, true});
  if (!s.factored) plan.operands.push_back({"failed", (s.n + panel - 1) / panel, 1, true, true});
}

/// Solves with L or U of LU, or with Cholesky's one factor or its adjoint; or with a triangle.
/// @param order      of what is solved with
/// @param others     right-hand sides
/// @param of_system  what the way to solve is chosen by: its order, and right-hand sides
inline Trsm solving(const SystemShape& s, Precision precision, bool of_lower, index order, index others,
                    index order_of_system, index others_of_system) {
  const Op adjoint = is_complex(precision) ? Op::conjugate : Op::transpose;
  const bool stored_lower = s.lu ? of_lower : s.uplo == Uplo::lower;
  return {.precision = precision,
          .side = Side::left,
          .uplo = stored_lower ? Uplo::lower : Uplo::upper,
          .trans = s.lu || s.triangle         ? s.trans
                   : of_lower == stored_lower ? Op::none
                                              : adjoint,
          .unit = s.triangle ? s.unit : s.lu && of_lower,
          .m = order,
          .n = others,
          .alpha = nullptr,
          .A = nullptr,
          .lda = 0,
          .B = nullptr,
          .ldb = 0,
          .way = trsm_way(precision, order_of_system, others_of_system),
          .block = trsm_block(order_of_system)};
}

}  // namespace blaslift::system_steps
