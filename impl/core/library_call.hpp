// Calls of the host BLAS and LAPACK with arguments of our own (a caller's own are replayed as they came).
#pragma once
#include <complex>
#include <memory>

#include "compat/site.hpp"
#include "impl/core/args.hpp"

namespace blaslift {

/// By what `site` has led to: a gemm or, for a product of which one triangle is computed, a syrk or, where it is
/// Hermitian, a herk.  Sizes must fit its integers, as those of a block of the caller's own product do.
void call_product(const Site& site, const Gemm& product);

/// The best size of a workspace for this call, in elements.
/// @param site  of the routine that Args are of: by its Fortran symbol
template <class Args>
index best_workspace(const Site& site, Args args);

/// With a workspace of its own, of the best size.  Throws std::bad_alloc.
template <class Args>
void call_with_own_workspace(const Site& site, Args args);

}  // namespace blaslift
