// Plans of triangular systems with many right-hand sides, op(A) X = alpha B or X op(A) = alpha B, X in B's place.
//
// A is cut into square tiles on its diagonal.  One tile after the other is solved with, and what it makes known is
// subtracted from what is not: right-looking.  B is cut across, into panels that do not know each other: one moves in
// and one moves home while the device solves a third, and A's strips arrive beside the first panel's products.
#pragma once
#include <string>
#include <vector>

#include "impl/core/args.hpp"
#include "impl/core/blocks.hpp"
#include "impl/core/outcome.hpp"
#include "impl/plan/order.hpp"
#include "impl/plan/placed.hpp"
#include "kernels/trsm.hpp"

namespace blaslift {

/// A system without its matrices.
struct TrsmShape {
  bool left;  ///< A's side
  Uplo uplo;
  bool transposed;  ///< op(A) is not A
  index m, n;       ///< of B

  index order() const { return left ? m : n; }
  index others() const { return left ? n : m; }
  /// What is known first is the first tile's, not the last one's.
  bool forward() const { return (uplo == Uplo::lower) == (left == !transposed); }
  /// A tile's part of B is multiplied by what A has in the tile's columns, not in its rows.
  bool by_columns() const { return left == !transposed; }
};

/// How a system is cut up; 0 tiles: it does not fit.
struct TrsmCut {
  index tile = 0, width = 0;  ///< of A's order; of the other dimension of B
  bool streamed = false;      ///< A does not stay: its strips arrive again for each panel
};
/// Depends on nothing else, so the same call is cut the same way every time.
/// @param memory  bytes on the device for A, B's panels and workspaces
TrsmCut trsm_cut(const TrsmShape& shape, Precision precision, std::size_t memory);
/// Bytes of A that are sent more than once.
double sent_again(const TrsmShape& shape, const TrsmCut& cut, std::size_t element);

enum class TrsmStepKind : std::uint8_t {
  upload_a,  ///< a tile, and what A has beside it
  upload_b,  ///< a panel
  solve,     ///< a panel's part of a tile
  subtract,  ///< what that makes known, from the panel's parts of later tiles
  download   ///< a panel's part of a tile
};

struct TrsmStep {
  TrsmStepKind kind;
  index tile, panel;  ///< tiles in the order in which they become known
};

struct TrsmPlan {
  TrsmShape shape;
  TrsmCut cut;
  int slots;  ///< panels that are on the device at a time
  std::vector<TrsmStep> steps;
  Order after;

  index tiles() const { return (shape.order() + cut.tile - 1) / cut.tile; }
  index panels() const { return (shape.others() + cut.width - 1) / cut.width; }
  /// [first, end) of A's order that the tile has, and that what becomes known after it has.
  struct Part {
    index first, count;
  };
  Part part(index tile) const;
  Part rest(index tile) const;
  /// Of the other dimension of B.
  Part panel(index number) const;
  /// A tile, and what is beside it, in A as it is stored.
  Block diagonal(index tile) const;
  Block beside(index tile) const;
  /// Of B.
  Block of_b(Part of_order, index panel) const;

  /// Of a lease.
  /// @param a, b  has device memory of its own
  std::size_t bytes(Precision precision, bool a, bool b) const;
  std::size_t workspace(Precision precision) const;  ///< of one tile
};

/// @param whole_b  B is on the device as a whole, and has no slots
TrsmPlan plan_trsm(const TrsmShape& shape, const TrsmCut& cut, bool whole_b);

std::string to_string(const TrsmPlan& plan);

/// Where the matrices are.
struct TrsmPlacement {
  void* lease = nullptr;  ///< plan.bytes() of device memory, whatever it holds
  Placed A{}, B{};
};

struct TrsmOutcome : Outcome {
  std::vector<bool> solved{};  ///< after a failure, by panel: B holds X there
};

/// Runs the plan on the lane; as for a QR (impl/qr/qr_execute.hpp): after a failure B is what it was, but for panels
/// that are solved (none where A is out of the host's reach), unless it is in device memory.
template <class T>
TrsmOutcome execute(const TrsmPlan& plan, const TrsmArgs<T>& args, const TrsmPlacement& placement,
                    std::size_t piece_bytes, Lane& lane, bool (*keep_going)());

}  // namespace blaslift
