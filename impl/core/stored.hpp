// Stored: matrices where the program has them, and what they take on the device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "impl/core/blocks.hpp"
#include "kernels/part.hpp"
#include "kernels/types.hpp"

namespace blaslift {

using Address = std::uintptr_t;

/// Addresses [begin, end).
struct Range {
  Address begin, end;
  std::size_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// A matrix as it lies in the program's memory, column-major.
struct Stored {
  const void* at;
  index rows, cols, ld;
  std::size_t element;
  Part part = Part::whole;  ///< of a triangle, a copy may hold anything in the other one

  double bytes() const { return static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(element); }
  /// From its first byte to its last, with the gaps between columns.
  Range range() const {
    const auto begin = reinterpret_cast<Address>(at);
    return {begin, begin + static_cast<std::size_t>((cols - 1) * ld + rows) * element};
  }
  friend bool operator==(const Stored&, const Stored&) = default;
};

/// Elements from one column of a device copy to the next.  A triangle's columns begin with two lines of the device's
/// memory, since SYMV reads them one by one (an H100 loses 6 to 8 % otherwise, 2 % if they begin with one line); whole
/// matrices are packed, and move in one piece.
constexpr index copy_ld(const Stored& x) {
  const auto line = static_cast<index>(256 / x.element);
  return x.part == Part::whole ? x.rows : (x.rows + line - 1) / line * line;
}

/// Device memory that a rows x cols block takes in a lease: parts start at multiples of 256 bytes.
constexpr std::size_t leased_bytes(index rows, index cols, std::size_t element) {
  return (static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) * element + 255) / 256 * 256;
}

/// What of an operand is on the device before the call, in device memory for the whole of it; without that, it is
/// streamed through buffers.
struct Resident {
  bool whole = false;
  std::vector<Block> missing{};  ///< parts of op(X) to be uploaded, disjoint
  bool in_place = false;         ///< the program's own memory: nothing moves
};

/// Where an operand is for a call on the device.
struct DeviceOperand {
  void* device = nullptr;  ///< its own memory for the whole of the stored operand, if the plan says so
  index ld = 0;            ///< there
  bool direct = false;     ///< the device reaches it where the program has it
};

}  // namespace blaslift
