// A blocked QR in LAPACK's format as a list of steps, as data: it can be printed, checked and executed.
//
// A block of columns is factored by halves down to panels: the left half, its reflectors on the right half, the right
// half, and the triangular factor of both together (Elmroth and Gustavson, 2000), so that what is done to the columns
// on the right are products with a long k.  Those that the next block consists of come first: its panels can be
// factored while the others follow, in a stream of their own.  For that there are two sets of V and T.
//
// Where the columns have to come first, that bulk of them keeps the device waiting until the last one is there.  As a
// stream, the first blocks' reflectors are applied to each piece of the columns on the right as it arrives.  Then there
// is a set of V and T for each of these blocks, and one more.  (Takayanagi, 2021, sections 7.3 and 7.4, has these two
// names for other methods: his tiles are in the host's memory, and are sent for each update.)
//
// A matrix for which the device has no room goes through it in parts of whole blocks of columns, from left to right:
// each gets all reflectors before it, which come back from where they were brought to, and is then factored like a
// matrix of its own (left-looking: a column is sent, and brought back, once).
//
// Where several places compute it together, blocks of columns are dealt out in turns.  Each place gets V and T of a
// block from the place that has factored it, and applies them to what it has on the right, to the block that it factors
// next first.  There are so many sets of V and T that none is overwritten that another place might be copying.
//
// The list is in an order in which it could run step by step.  What may overlap follows from what each step reads and
// writes.
#pragma once
#include <string>
#include <vector>

#include "impl/plan/gang.hpp"
#include "impl/plan/order.hpp"
#include "impl/qr/qr_widths.hpp"

namespace blaslift {

enum class QrStepKind : std::uint8_t {
  upload,      ///< columns of A
  panel,       ///< Lane::panel: columns are factored
  update,      ///< Q^H of `cols` columns' reflectors, on other columns
  join,        ///< T of columns and those next to them: T12 = -T1 (V1^H V2) T2
  download,    ///< columns of A, and their tau
  reflectors,  ///< a block of columns that has been downloaded, beside A
  remake,      ///< V and T of such columns
  share,       ///< V and T of a block, with other places
  fetch        ///< the same, which another place has factored
};

struct QrStep {
  QrStepKind kind;
  index col, cols;
  /// Update: the other columns, of which a gang's place counts those that it has; join: the ones on the right.
  index to = 0, to_cols = 0;
  std::int8_t stream = 0;
  friend bool operator==(const QrStep&, const QrStep&) = default;
};

struct QrPlan {
  index m = 0, n = 0;
  index block = 0;            ///< columns; a block's V and T are in set number (col / block) % sets()
  index panel = 0;            ///< columns at most
  index part = 0;             ///< columns of A on the device at a time: n, or whole blocks
  index lead = 0;             ///< so many blocks' updates are a stream; not where A comes in parts
  int place = 0, places = 1;  ///< of a gang: which one of how many, and `part` is what it has of A, side by side
  std::vector<QrStep> steps{};
  Order after{};

  index factored() const { return m < n ? m : n; }
  index first_of(index col) const { return col / block * block; }
  int set_of(index col) const { return static_cast<int>(col / block % sets()); }

  /// Of V and T: as long as there is but one block, nobody asks for the second one.
  int sets() const {
    if (together()) return 2 * places;
    return factored() > block ? static_cast<int>(lead > 1 ? lead + 1 : 2) : 1;
  }

  bool in_parts() const { return part < n && !together(); }
  /// Where a part begins, or a column is in it.
  index start_of(index col) const { return col / part * part; }
  index within(index col) const {
    return together() ? col / block / places * block + col % block : col - start_of(col);
  }
  bool together() const { return places > 1; }
  bool has(index col) const { return owner_of(col / block, places) == place; }
  /// The column that is there, of those that a gang's place has.
  index column_at(index there) const { return (there / block * places + place) * block + there % block; }

  /// Device memory, in parts: A's columns, m x part; tau; V, m x block for each set; T, block x block for each; W, two
  /// of block x part for products in between; and if A comes in parts, for each set m x block for its reflectors, and
  /// two of block x block for joins' products.
  /// @param own_a, own_tau  A, and tau, have memory elsewhere
  std::size_t bytes(std::size_t element, bool own_a = false, bool own_tau = false) const;
};

/// For an m x n matrix, both at least 1.
/// @param panel  at most most_panel_columns, and at most `block`
/// @param part   n, or a multiple of `block` below that
/// @param lead   0, or if part is n up to stream_lead() of any number of blocks
QrPlan plan_qr(index m, index n, index block, index panel, index part, index lead = 0);
inline QrPlan plan_qr(index m, index n, index block, index panel) { return plan_qr(m, n, block, panel, n); }

/// Of a place's share in a gang.
QrPlan plan_qr_together(index m, index n, index block, index panel, int place, int places);

/// Of how many blocks the updates are a stream, of k reflectors in blocks: as many as the device might do while columns
/// arrive, but a quarter at most.
index stream_lead(index k, index block);

/// About how many steps make V and T of k reflectors once, and apply them, where that is done for each piece of what
/// goes through the device.
double steps_of_blocks(index k, index block, index panel);
/// A list that is longer takes more time and memory to be made than it could be worth.
inline constexpr double most_steps = 1 << 17;

/// How a matrix is cut for a device.
struct QrCut {
  index block, panel, part;
  index lead = 0;  ///< as QrPlan's
  friend bool operator==(const QrCut&, const QrCut&) = default;
};

/// With these widths where `memory` bytes are enough for all of it.  Otherwise parts as wide as there is room for, and
/// narrower blocks, whose reflectors take room, too, until a part has several.  Where nothing fits, or only by a list
/// of more than most_steps: as if all did.
QrCut qr_cut(index m, index n, const QrWidths& widths, std::size_t element, std::size_t memory);

/// How one is cut for a gang; block 0: it is not.
QrCut qr_cut_together(index m, index n, const QrWidths& widths, std::size_t element, std::size_t memory, int places);

/// The same with updates as a stream, where there is room for that.
QrCut as_stream(index m, index n, QrCut cut, std::size_t element, std::size_t memory);

/// What such a cut sends more than once: reflectors, for all parts on their right but the next block.
double sent_again(index m, index n, const QrCut& cut, std::size_t element);

/// Proves that the steps, in the order of the list, leave a QR: every column gets every block of reflectors before it
/// exactly once and in order, from V and T that are there and not overwritten, is factored with what it has got by
/// then, and comes back once, when it is final, before another one takes its place.  Returns the first fault, or an
/// empty string.
std::string check(const QrPlan& plan);

/// One line a step.
std::string to_string(const QrPlan& plan);

}  // namespace blaslift
