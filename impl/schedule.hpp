// Schedule: a product as a list of backend operations, as data: it can be printed, checked and executed.
//
// C is cut into blocks; a block gets its operands uploaded (k in chunks if need be), is multiplied, fetched back in
// pieces that fit a ring slot, and committed piece by piece.  A piece, once fetched and its arrival checked, is final:
// whatever fails later, the library underneath computes only the pieces not committed.
#pragma once
#include <string>
#include <vector>

#include "impl/args.hpp"

namespace blaslift {

/// A rectangle of a matrix, in elements.
struct Block {
  index row, col, rows, cols;
  friend bool operator==(const Block&, const Block&) = default;
};

enum class StepKind : std::uint8_t {
  upload_a,  ///< block of op(A): rows of C x a chunk of k
  upload_b,  ///< block of op(B): a chunk of k x columns of C
  upload_c,  ///< block of C, where beta needs it
  multiply,  ///< block of C from the operands uploaded last; `first` scales by beta, later chunks of k add
  fetch,     ///< piece of C's block into ring slot `slot`
  commit     ///< the piece in ring slot `slot` into the caller's C
};

struct Step {
  StepKind kind;
  Block block;           ///< upload_*: of that operand; multiply: of C; fetch, commit: the piece of C
  index k0 = 0, kb = 0;  ///< multiply: the chunk of k
  bool first = false;    ///< multiply: first chunk of its block
  int slot = 0;          ///< fetch, commit
};

/// Device memory that a rows x cols block takes in a lease: parts start at multiples of 256 bytes.
constexpr std::size_t leased_bytes(index rows, index cols, std::size_t element) {
  return (static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) * element + 255) / 256 * 256;
}

/// How a product is cut.
struct Cut {
  index mb, nb, kb;  ///< largest block of C and largest chunk of k

  /// Device memory for one block of each operand.
  std::size_t bytes(std::size_t element) const {
    return leased_bytes(mb, kb, element) + leased_bytes(kb, nb, element) + leased_bytes(mb, nb, element);
  }
};

struct GemmSchedule {
  index m, n, k;
  bool reads_c;
  Cut cut;
  std::vector<Step> steps;
};

/// The largest cut whose operands fit `memory` bytes; false if not even 1 x 1 x 1 does.  Depends on nothing else, so
/// the same call is cut the same way every time.
bool cut_to_fit(index m, index n, index k, std::size_t element, std::size_t memory, Cut& cut);

/// The schedule for a product (m, n, k at least 1) cut this way, its pieces at most `ring_bytes` large (at least one
/// element must fit).
GemmSchedule plan_gemm(index m, index n, index k, bool reads_c, std::size_t element, Cut cut, std::size_t ring_bytes);

/// Proves that the schedule computes the product: every element of C gets every k exactly once, from operands that are
/// there, scaled by beta exactly once, and is committed exactly once, from its own fetch.  Returns the first fault, or
/// an empty string.
std::string check(const GemmSchedule& schedule);

/// One line a step.
std::string to_string(const GemmSchedule& schedule);

}  // namespace blaslift
