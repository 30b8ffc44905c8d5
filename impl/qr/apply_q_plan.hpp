// Products with the Q of LAPACK's reflectors as a list of steps, as data: it can be printed, checked and executed.
//
// Q = Q1 Q2 ..., one for each block of columns, I - V T V^H each.  V and T of a block are made from what a QR has left,
// by panels, as its own are (impl/qr/qr_plan.hpp); those of the next block in a stream of their own while this one's
// products run.  C moves in parts that do not depend on each other, columns or, with Q on the right, rows: the first
// block is applied to each as it arrives, and each goes home when it has seen the last one.
//
// Of what is reversed (QProduct) a plan counts reflectors, and columns of what was an identity, from the last one on,
// and so is a QR's.
//
// Where the device has no room for all of it, C goes through it in windows, a few parts each, and the reflectors come
// by block, for each window anew.
#pragma once
#include <string>
#include <vector>

#include "impl/core/args.hpp"
#include "impl/qr/qr_plan.hpp"

namespace blaslift {

enum class QStepKind : std::uint8_t {
  tau,         ///< all of tau is uploaded
  reflectors,  ///< columns of reflectors are uploaded
  upload,      ///< a part of C
  identity,    ///< or C becomes an identity's first columns
  panel,       ///< V and T of columns of reflectors; of reversed ones, of a block
  join,        ///< T of columns and those next to them, as QrStepKind::join
  update,      ///< their Q, or Q^H, applied to a part of C
  download     ///< a part of C
};

struct QStep {
  QStepKind kind;
  index col = 0, cols = 0;    ///< of reflectors
  index to = 0, to_cols = 0;  ///< join: the ones on the right; others: the part of C
  std::int8_t stream = 0;
  friend bool operator==(const QStep&, const QStep&) = default;
};

struct QPlan {
  QProduct product{};
  index block = 0;        ///< columns; a block's V and T are in set number (col / block) % 2
  index panel = 0;        ///< columns at most
  index part = 0;         ///< of C at most, where it moves
  index window = 0;       ///< of C on the device at a time: its length, or if streamed less
  bool streamed = false;  ///< reflectors of two blocks at most are on the device, in the sets
  std::vector<QStep> steps{};
  Order after{};

  index first_of(index col) const { return col / block * block; }
  int set_of(index col) const { return static_cast<int>(col / block % 2); }
  int sets() const { return product.k > block ? 2 : 1; }

  /// Where in its window a column, or row, of C is.
  index within(index to) const { return to % window; }

  /// T of a block is made with products of its order.
  bool joins() const { return block > panel || product.reversed; }

  // Device memory, in parts: the reflectors as the caller has them, order x k, or streamed, order x block for each set;
  // of reflectors in rows these, too, as they come; tau; for each set V, order x block, T, block x block, and two of
  // block x block for joins; two of block x window, or as much, for products in between; a window of C, and if it is
  // turned its adjoint, as it goes home.
  /// @param own_v, own_tau, own_c  these have memory elsewhere; not V and C if streamed; of what is turned the adjoint
  std::size_t bytes(std::size_t element, bool own_v = false, bool own_tau = false, bool own_c = false) const;
};

/// m, n, k at least 1, k at most the order.
/// @param panel  at most most_panel_columns, and at most `block`; of reversed reflectors, which no panel is made of, it
QPlan plan_q(const QProduct& product, index block, index panel, index part, index window, bool streamed);
inline QPlan plan_q(const QProduct& product, index block, index panel, index part) {
  return plan_q(product, block, panel, part, product.length(), false);
}

/// How wide a part of C is that moves, out of so much of its length on the device: an eighth, but not too narrow for
/// its products.
index q_part(index window);

/// How a product is cut for a device.
struct QCut {
  index block, panel, part, window;
  bool streamed;
  friend bool operator==(const QCut&, const QCut&) = default;
};

/// With these widths where `memory` bytes are enough for all of it.  Otherwise the fewest windows that there is room
/// for and, if reflectors are sent again for each, narrower blocks, whose reflectors take room, too, until a window has
/// the length of several.  Where nothing fits, or only by a list of more than most_steps: as if all did.
QCut q_cut(const QProduct& product, const QrWidths& widths, std::size_t element, std::size_t memory);

/// What such a cut sends more than once: reflectors, for all windows but one, unless V and T of all blocks stay.
double sent_again(const QProduct& product, const QCut& cut, std::size_t element);

/// Proves that the steps, in the order of the list, compute the product: every part of C is there, gets every block's
/// reflectors once and in order, from V and T that are there and not overwritten, and comes back once, at the end.
/// Returns the first fault, or an empty string.
std::string check(const QPlan& plan);

/// One line a step.
std::string to_string(const QPlan& plan);

}  // namespace blaslift
