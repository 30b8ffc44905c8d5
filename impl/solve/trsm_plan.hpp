// Plans of triangular systems with many right-hand sides, op(A) X = alpha B or X op(A) = alpha B, X in B's place.
//
// A is cut into square tiles on its diagonal.  One tile after the other is solved with, and what it makes known is
// subtracted from what is not: right-looking.  B is cut across, into panels that do not know each other: one moves in
// and one moves home while the device solves a third, and A's strips arrive beside the first panel's products.
#pragma once
#include "impl/core/args.hpp"
#include "impl/plan/plan.hpp"

namespace blaslift {

/// A system without its matrices.
struct TrsmShape {
  bool left;  ///< A's side
  Uplo uplo;
  Op trans;
  bool unit;
  index m, n;  ///< of B

  index order() const { return left ? m : n; }
  index others() const { return left ? n : m; }
  bool plain() const { return left == (trans == Op::none); }
  /// What is known first is the first tile's, not the last one's.
  bool forward() const { return (uplo == Uplo::lower) == plain(); }
};

/// How a system is cut up; 0 tiles: it does not fit.
struct TrsmCut {
  index tile = 0, width = 0;  ///< of A's order; of the other dimension of B
  bool streamed = false;      ///< A does not stay: its strips arrive again for each panel

  index tiles(const TrsmShape& s) const { return (s.order() + tile - 1) / tile; }
  index panels(const TrsmShape& s) const { return (s.others() + width - 1) / width; }
};
/// Depends on nothing else, so the same call is cut the same way every time.
/// @param memory  bytes on the device for A, B's panels and workspaces
TrsmCut trsm_cut(const TrsmShape& shape, Precision precision, std::size_t memory);
/// Bytes of A that are sent more than once.
double sent_again(const TrsmShape& shape, const TrsmCut& cut, std::size_t element);

/// What has device memory of its own, and whether the host could solve what a failure leaves: then a panel that is home
/// is final.
struct TrsmHeld {
  bool a = false, b = false;
  bool finishable = true;
};

/// Operands A and B; groups are panels.
Plan plan_trsm(const TrsmShape& shape, Precision precision, const TrsmCut& cut, const TrsmHeld& held = {});

}  // namespace blaslift
