// Plans of generalized symmetric-definite eigenproblems: Cholesky's factor L of B takes B's place.  A x = w B x has the
// eigenvalues of L^-1 A L^-H, whose vectors y become x = L^-H y.  A B x = w x and B A x = w x have those of L^H A L,
// and x = L^-H y or x = L y; or with B = U^H U likewise.  All of it is on the device: nothing comes back in between,
// and B's factor goes home while the rest is computed.
#pragma once
#include "impl/cholesky/potrf_plan.hpp"
#include "impl/core/args.hpp"
#include "impl/plan/plan.hpp"

namespace blaslift {

/// What has device memory of its own.
struct SygvHeld {
  bool a = false, b = false, z = false, w = false;
};

/// Depends on nothing else, so the same call is cut the same way every time.
PotrfCut sygv_cut(index n, Precision precision);

/// Whether a device with so many bytes has room for it, and for what its library works in.
bool sygv_fits(index itype, const EigenShape& shape, Precision precision, std::size_t memory);

/// Operands A; B; Z, if vectors go there; a column that begins with the eigenvalues asked for, as plan_syevd() has it;
/// a column with what Potrf::failed says of each of B's panels; and one element with what Syevd::failed says.  With
/// vectors in its place A is a result, otherwise it is only read.
Plan plan_sygv(index itype, const EigenShape& shape, Precision precision, const PotrfCut& cut,
               const SygvHeld& held = {});

/// Operands A and B, of which a triangle each is touched.  A's becomes L^-1 A L^-H or, with `itype` 2 or 3, L^H A L; or
/// with B = U^H U likewise.
/// @param held  of A and B alone
Plan plan_sygst(index itype, Uplo uplo, index n, Precision precision, const SygvHeld& held = {});

}  // namespace blaslift
