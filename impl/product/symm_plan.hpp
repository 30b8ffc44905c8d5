// Plans of products with a symmetric or Hermitian matrix of which a triangle is stored, C := alpha A B + beta C or
// alpha B A + beta C.
//
// A is cut into square tiles on its diagonal.  What is beside a tile in the stored triangle is multiplied twice, as it
// is and as its adjoint; only of the tiles themselves the other triangle is made, in matrices of their own, since A may
// be a copy that other calls use, or the program's.  After the first tile's products its part of C is final, and so on,
// so that tiles may arrive one after the other.  B and C are cut across, into panels that do not know each other: some
// move in and one moves home while the device computes another.
#pragma once
#include "impl/plan/panels.hpp"

namespace blaslift {

/// A product without its matrices.
struct SymmShape {
  bool hermitian;
  bool left;  ///< A's side
  Uplo uplo;
  index m, n;    ///< of B and C
  bool reads_c;  ///< beta is not zero

  index order() const { return left ? m : n; }
  index others() const { return left ? n : m; }
  // For panels::Planner.
  bool column() const { return uplo == Uplo::lower; }
  bool backward() const { return false; }
};

using SymmCut = PanelCut;

/// What has device memory of its own, and whether the host could compute what a failure leaves: then a panel that is
/// home is final.
struct SymmHeld {
  bool a = false, b = false, c = false;
  bool finishable = true;
};

/// Depends on nothing else, so the same call is cut the same way every time.
/// @param memory  bytes on the device
/// @param there   what is in the program's own device memory
SymmCut symm_cut(const SymmShape& shape, Precision precision, std::size_t memory, const SymmHeld& there = {});

/// Operands A, B and C; groups are panels.
Plan plan_symm(const SymmShape& shape, Precision precision, const SymmCut& cut, const SymmHeld& held = {});

}  // namespace blaslift
