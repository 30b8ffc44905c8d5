// What is the same of all QR factorisations, and of all products with their Q.
#pragma once
#include "impl/core/args.hpp"
#include "impl/route/family.hpp"

namespace blaslift {

extern const Family qr_family, apply_q_family;

/// A product with Q by its sizes.
QProduct product_with_q(const Problem& problem);

template <class T>
Problem problem_of(Routine routine, const GeqrfArgs<T>& a) {
  const index k = a.factored();
  Problem problem{.routine = routine,
                  .element = precision_of<T>,
                  .m = a.m,
                  .n = a.n,
                  .overlaps = overlap(a.A, a.m, a.n, a.lda, a.tau, k, 1, k, sizeof(T))};
  family_of(routine).count(problem);
  return problem;
}

template <class T>
Problem problem_of(Routine routine, const OrmqrArgs<T>& a) {
  const QProduct& p = a.product;
  const auto in_c = [&](const T* at, index rows, index cols, index ld) {
    return overlap(a.C, p.stored_rows(), p.stored_cols(), a.ldc, at, rows, cols, ld, sizeof(T));
  };
  Problem problem{.routine = routine,
                  .element = precision_of<T>,
                  .m = p.stored_rows(),
                  .n = p.stored_cols(),
                  .k = p.k,
                  .overlaps = in_c(a.tau, p.k, 1, p.k) ||
                              (!p.of_identity && in_c(a.A, p.rows ? p.k : p.order(), p.rows ? p.order() : p.k, a.lda)),
                  .left = p.left != p.turned(),
                  .adjoint = p.adjoint != p.rows,  // as the caller says it: an LQ's Q is the adjoint of a QR's
                  .of_identity = p.of_identity};
  family_of(routine).count(problem);
  return problem;
}

/// As the part of it that is computed: its sizes are those.
template <class T>
Problem problem_of(Routine routine, const ReductionQArgs<T>& a) {
  Problem problem = problem_of(routine, a.part());
  problem.adjoint = a.adjoint;
  const auto in_c = [&](const T* at, index rows, index cols, index ld) {
    return overlap(a.C, a.m, a.n, a.ldc, at, rows, cols, ld, sizeof(T));
  };
  // Whatever of the matrices is computed with: the library underneath has all of them.
  const index count = a.of == Reduction::bidiagonal ? a.reflectors() : a.order();
  problem.overlaps = in_c(a.tau, a.reflectors(), 1, a.reflectors()) ||
                     (!a.of_identity && in_c(a.A, a.rows ? count : a.order(), a.rows ? a.order() : count, a.lda));
  return problem;
}

}  // namespace blaslift
