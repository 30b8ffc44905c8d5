// Calls of the host BLAS and LAPACK with arguments of our own (a caller's own are replayed as they came).
#pragma once
#include "compat/site.hpp"
#include "impl/core/signatures.hpp"

namespace blaslift {

/// By what `site` has led to: a gemm, also for a triangle of a product of two matrices; for other products of which one
/// triangle is computed, a syrk or syr2k or, where it is Hermitian, a herk or her2k.  Sizes must fit its integers, as
/// those of a block of the caller's own product do.
void call_product(const Site& site, const Gemm& product);

/// A BLAS call by what `site` has led to, of whose routine Args are.  Sizes must fit its integers, as those of a part
/// of the caller's own call do.
template <class Args>
void call_library(const Site& site, Args args) {
  signatures::call(described(args), site);
}

namespace signatures {
/// Asks for the best lengths of the call's workspaces, which are not there yet.
void take_best_lengths(Described call, const Site& library);
/// Makes the call with workspaces of its own; returns info.  Throws std::bad_alloc.
int call_with_own_workspaces(Described call, const Site& library);
}  // namespace signatures

/// The call with the best lengths of its workspaces, which are not there yet.
/// @param site  of the routine that Args are of: by its Fortran symbol
template <class Args>
Args with_best_lengths(const Site& site, Args args) {
  signatures::take_best_lengths(described(args), site);
  return args;
}

/// With workspaces of its own, of the best sizes; returns info.  Throws std::bad_alloc.
template <class Args>
int call_with_own_workspaces(const Site& site, Args args) {
  return signatures::call_with_own_workspaces(described(args), site);
}

}  // namespace blaslift
