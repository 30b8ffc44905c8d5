// Calling the library underneath with arguments of our own (the caller's own arguments are replayed by api/ as they
// came).
#pragma once
#include "compat/site.hpp"
#include "kernels/types.hpp"

namespace blaslift {

/// Computes `product` with the function, interface and integer width that `site` resolved to.  Sizes must fit that
/// width, as those of a block of the caller's own product do.
void call_gemm(const Site& site, const Gemm& product);

/// The same for a product of which one triangle is computed; `site` is of a syrk or, where it is Hermitian, a herk.
void call_syrk(const Site& site, const Gemm& product);

/// The same for a product with a symmetric or Hermitian matrix; `site` is of a Fortran symbol.
void call_symv(const Site& site, const Symv& product);

}  // namespace blaslift
