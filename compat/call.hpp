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

/// The same for a product with a symmetric or Hermitian matrix, not conjugated; `site` is of a Fortran symbol.
void call_symv(const Site& site, const Symv& product);

/// C (m x n) := Q C, Q^H C, C Q or C Q^H with the Q of k reflectors, as ormqr and unmqr have it.
struct ProductWithQ {
  Precision precision;
  bool left;  ///< Q's side
  bool adjoint;
  index m, n, k;
  const void* A;  ///< of its diagonal some versions write and restore
  index lda;
  const void* tau;
  void* C;
  index ldc;
};
/// With a workspace of its own.  Throws std::bad_alloc.
void call_ormqr(const Site& site, const ProductWithQ& product);
/// With one of `lwork` elements: n at least, with Q on the right m.
void call_ormqr(const Site& site, const ProductWithQ& product, void* work, index lwork);
/// The best size of it, in elements.
index ormqr_workspace(const Site& site, const ProductWithQ& product);

/// C, which holds k reflectors, becomes their Q's first n columns, as by orgqr and ungqr; `product.A` is not used.
void call_orgqr(const Site& site, const ProductWithQ& product);

}  // namespace blaslift
