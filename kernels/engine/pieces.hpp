// Pieces of transfers, and shares of pieces.
#pragma once
#include "kernels/backend.hpp"

namespace blaslift {

/// A block cut into parts of about the same size: of whole columns, or each within one column.
struct Parts {
  index rows = 0, cols = 0;    ///< of all but the last ones
  index down = 0, across = 0;  ///< how many
  index count() const { return down * across; }
};

/// @param bytes  of each, about
Parts parts(const Transfer& transfer, std::size_t bytes);

/// These rows and columns of a transfer.
Transfer part(const Transfer& transfer, index row, index col, index rows, index cols);

inline std::size_t bytes_of(const Transfer& t) {
  return static_cast<std::size_t>(t.rows) * static_cast<std::size_t>(t.cols) * t.element;
}

}  // namespace blaslift
