// What trmm and trsm have in common: op(A) with a triangular A stands beside B, which the result replaces.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "impl/core/args.hpp"
#include "impl/core/library_call.hpp"
#include "impl/plan/panels.hpp"
#include "impl/route/family.hpp"
#include "impl/route/operands.hpp"
#include "impl/route/route.hpp"

namespace blaslift {

/// Cuts, and what is sent, are the same for op() of either kind and any diagonal.
TriangularShape triangular_shape(const Problem& problem);

// A Family's.
void count_triangular(Problem& problem);
std::string text_of_triangular(const Problem& problem);

/// @param cut  PanelCut(const Shape&, Precision, std::size_t memory)
template <class Shape>
std::optional<double> triangular_sent_again(const Problem& p, std::size_t memory, const auto& cut) {
  const Shape shape{triangular_shape(p)};
  return panels::sent_again(shape, element_size(p.element), [&] { return cut(shape, p.precision(), memory); });
}

/// A Way's.
template <class Args>
Problem triangular_problem(Routine routine, const Args& x) {
  using T = decltype(x.alpha);
  return counted({.routine = routine,
                  .element = precision_of<T>,
                  .m = x.m,
                  .n = x.n,
                  .alpha_zero = x.alpha == T(0),
                  .overlaps = overlap(x.B, x.m, x.n, x.ldb, x.A, x.order(), x.order(), x.lda, sizeof(T)),
                  .part = part_of(x.uplo),
                  .alpha_finite = is_finite(x.alpha),
                  .left = x.left,
                  .adjoint = x.trans != Op::none});
}

/// A Way's: A and B.
template <class Args>
Operands triangular_operands(Place& place, const Args& x, bool ephemeral) {
  using T = decltype(x.alpha);
  const bool reads = x.alpha != T(0);
  return Operands(place,
                  {{.stored = {x.A, x.order(), x.order(), x.lda, sizeof(T), part_of(x.uplo)}, .reads = reads},
                   {.stored = {x.B, x.m, x.n, x.ldb, sizeof(T)}, .writes = true, .reads = reads, .destroyed = true}},
                  ephemeral);
}

/// So many columns of B with A on the left, or rows, from the first on.
template <class Args>
Args triangular_part(const Args& x, index first, index count) {
  Args part = x;
  part.B += x.left ? first * x.ldb : first;
  (x.left ? part.n : part.m) = count;
  return part;
}

/// A Way's calls fall into such parts.
template <class Args>
constexpr Dealing<Args> triangular_dealing(const Way<Args>& way) {
  return {.parts =
              [](const Args& x, int places) {
                std::vector<Args> parts;
                for (const Share& share : shares_of(x.left ? x.n : x.m, places))
                  parts.push_back(triangular_part(x, share.first, share.count));
                return parts;
              },
          .way = way,
          .on_cpu = [](const Site& site, HostBlas&, const Args& part) { call_library(site, part); }};
}

}  // namespace blaslift
