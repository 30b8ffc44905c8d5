// Products by Strassen-like levels (impl/strassen/strassen.hpp), as schedules.
//
// A level halves all three sizes at once and keeps a block of one operand where one of another was, so it wants
// squares: the product is cut, once for all levels, into square tiles and what is left over at the edges of m, n and k.
// These strips are multiplied classically.  A tile of C is a chain of tile products, each adding to the one before.
//
// Levels need half of A and B before their second product, and classical products nearly nothing.  So a head of k may
// be multiplied classically first, while the rest arrives; then tiles have less of k than rows and columns.  If the
// guard refuses levels, the classical product goes on from there.
//
// What is uploaded when, and what may be brought back when, follows from what the levels' steps touch first and write
// last.
#pragma once
#include "impl/product/product_plan.hpp"
#include "impl/strassen/strassen.hpp"

namespace blaslift {

/// How a product is computed by levels.
struct Tiling {
  /// Outermost first; none: not at all.  Above one with a basis of its own there is none that destroys inputs.
  std::vector<const strassen::Level*> levels{};
  index tile = 0;  ///< edge of a tile, a multiple of 2 to the number of levels
  /// A's and B's device memory holds private copies, read by one tile product each: the outermost level may overwrite
  /// them, and no support matrix is needed.  Then the strips come first, and with them all of A and B.
  bool overwrite = false;
  /// Of k, as plan_gemm's: with all of C whole, none of it read, and levels that keep their inputs as they are; so not
  /// with `overwrite`.
  index head = 0;
  bool surveyed = true;  ///< A and B are, for impl/product/guard.hpp
  /// Multiplications that are always asked for at once before the findings are known: so many take longer than hearing
  /// of them.
  double least_unjudged = 5e9;
  /// Steps of the outermost level whose list says so (Step::stream) overlap, with all that is below them.
  bool two_streams = false;
  bool at_all_levels = false;  ///< two_streams: so do those of every other level, each as its own list says
};

/// Whether `overwrite` is possible: each operand is in buffers, which are private, and one tile of C is all there is.
bool may_overwrite(index m, index n, index tile, const Residents& residents);

/// Whether `head` is possible.
bool may_have_head(const Tiling& tiling, const Residents& residents, bool reads_c, Part part);

/// The schedule for a product (m, n, k at least `tile`) by levels, all of it on the device at once.  Its scratch: a
/// support matrix where the levels need one, a second tile of C where products are added up, what temporaries the
/// levels have, and a tile each of A and B where a level has bases of its own and they are to be kept.
/// Nothing is brought back before the findings are known; where C is in place and read, nothing is computed before.
/// @param part         of C: of a triangle the tiles beside the diagonal are computed by levels, those on it
/// classically
/// @param update       of a triangle: not rank_2k
/// @param reads_c      beta is not 0
/// @param piece_bytes  as in plan_gemm
GemmSchedule plan_levels(index m, index n, index k, bool transposed_a, bool transposed_b, bool reads_c,
                         std::size_t element, const Tiling& tiling, Residents residents, std::size_t piece_bytes,
                         Part part = Part::whole, Update update = Update::rank_k);

/// The same in `room` bytes of device memory, as far as that is possible: with the tiling's head where there is room
/// for what that takes, and overwriting A and B where there is no room for a support matrix.
/// @param tiling  `overwrite` is not looked at
GemmSchedule plan_levels_in(std::size_t room, index m, index n, index k, bool transposed_a, bool transposed_b,
                            bool reads_c, std::size_t element, Tiling tiling, const Residents& residents,
                            std::size_t piece_bytes, Part part = Part::whole, Update update = Update::rank_k);

}  // namespace blaslift
