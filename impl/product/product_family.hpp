// What is the same of all products: gemm, and gemmt, syrk, herk, syr2k and her2k as products of a triangle.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"

namespace blaslift {

extern const Family product_family;

/// Steps of a schedule by levels, about: beyond, planning would take longer than it could save.
inline constexpr double most_leaves = 50000;
double leaves_of(const Problem& product, int level, index tile);

/// Whether the product can be computed by residues, as far as its arguments say.  Not two products in one; and not a
/// herk that reads C, whose diagonal may hold anything for imaginary parts.
bool has_residues(const Problem& product);

template <class T>
Problem problem_of(Routine routine, const GemmArgs<T>& a) {
  Problem problem{.routine = routine,
                  .element = precision_of<T>,
                  .m = a.m,
                  .n = a.n,
                  .k = a.k,
                  .alpha_zero = a.alpha == T(0),
                  .beta_zero = a.beta == T(0),
                  .overlaps = overlap(a.C, a.m, a.n, a.ldc, a.A, a.rows_a(), a.cols_a(), a.lda, sizeof(T)) ||
                              overlap(a.C, a.m, a.n, a.ldc, a.B, a.rows_b(), a.cols_b(), a.ldb, sizeof(T)),
                  .part = a.part,
                  .update = a.update,
                  .transposes = transposes_of(a.transa, a.transb),
                  .alpha_finite = is_finite(a.alpha)};
  family_of(routine).count(problem);
  return problem;
}

}  // namespace blaslift
