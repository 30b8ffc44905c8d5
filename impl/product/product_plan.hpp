// Schedule: a product as a list of backend operations, as data: it can be printed, checked and executed.
//
// C is cut into blocks and k into chunks that the device has room for; a block of C with a chunk of k is a unit.  Each
// unit's operands come in panels, and whatever part of the unit can be multiplied once a panel is there is multiplied
// then.  After its last chunk a block is brought back in pieces, each committed as a whole: whatever fails later, the
// library underneath computes only the pieces not committed.
//
// Where only a triangle of C is computed, blocks on its diagonal grow from their corner with the operands' panels, each
// of which brings a rectangle and a triangle.  What crosses the diagonal moves and is multiplied without the other
// triangle.  Of a rank-k update op(B) is op(A) transposed, and its blocks come from A's memory.  Of a rank-2k update
// rectangles take a second product, with A and B exchanged, from the same panels.
//
// Strassen-like levels (impl/product/tiling.hpp plans them) add products and sums of square blocks anywhere in the
// device's memory.
//
// The list is in an order in which it could run step by step.  What may overlap follows from what each step reads and
// writes (depend), not from the order.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "impl/core/args.hpp"
#include "impl/core/blocks.hpp"
#include "impl/core/stored.hpp"

namespace blaslift {

enum class StepKind : std::uint8_t {
  upload_a,  ///< panel of op(A): rows of C x a chunk of k
  upload_b,  ///< panel of op(B): a chunk of k x columns of C
  upload_c,  ///< part of C, where beta needs it
  multiply,  ///< part of C by a whole chunk of k; `first` scales by beta, later chunks add; or `apart`, in scratch
  leaf,      ///< product of blocks that a level makes
  pass,      ///< sums of blocks
  begin,     ///< zeros where surveys note what they find
  survey,    ///< largest magnitudes in a block of A or B within a slice of k, before anything overwrites it
  findings,  ///< what surveys have found, in pieces, to the host
  download   ///< piece of C, into the caller's
};

/// Device memory of a schedule: the operands', then its own.
enum Area : std::int8_t { area_a, area_b, area_c, area_findings, first_scratch };

/// A block of device memory as it is stored: where op(X) is a transpose, rows are columns of op(X).
struct Region {
  Area area;
  Block block;
  friend bool operator==(const Region&, const Region&) = default;
};

/// target := +-alpha * op(x) * op(y), and as much of e; op() as A's and B's.
struct Leaf {
  Region target, x, y, e{};
  bool negative = false;
  bool adds = false;    ///< e
  bool scaled = false;  ///< e by beta
};

/// Combination (kernels/types.hpp) of regions of one size.
struct Pass {
  struct Source {
    Region region;
    bool scaled;  ///< by beta
  };
  struct Target {
    Region region;
    std::vector<signed char> sign;  ///< by source
  };
  std::vector<Source> sources;
  std::vector<Target> targets;
};

struct Step {
  StepKind kind;
  /// upload_*, survey: of that operand; multiply, download: of C; begin, findings: a column of what surveys note
  Block block{};
  index k0 = 0, kb = 0;  ///< multiply: the chunk of k
  bool first = false;    ///< multiply: first chunk that goes to C
  bool apart = false;    ///< multiply: to the same place in the first scratch area, over what was there
  bool makes_a = false, makes_b = false;  ///< multiply, by residues: what it takes of that operand is split first
  bool exchanged = false;                 ///< multiply: the second product of a rank-2k update, op(B)' op(A)'
  std::int8_t a = 0, b = 0, c = 0;        ///< which of the buffers of each operand it uses
  std::int32_t number = 0;                ///< leaf, pass: among the schedule's; survey: of the area
  std::int8_t stream = 0;                 ///< what computes: of two
};

struct Residents {
  Resident a{}, b{}, c{};
};

struct Extent {
  index rows, cols;
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// How a product is cut.
struct Cut {
  index mb = 0, nb = 0, kb = 0;  ///< largest block of C and largest chunk of k
  int operands = 1;  ///< buffers for A's blocks, as many for B's: with 2, the next unit's arrive during this one
  int results = 1;   ///< buffers for C's blocks
  /// Operands with device memory of their own need no buffers.  B needs none, either, where all of its blocks are A's.
  bool whole_a = false, whole_b = false, whole_c = false;
  Part part = Part::whole;         ///< of C: what is computed.  A triangle: mb = nb, or both all of it
  Update update = Update::rank_k;  ///< of a triangle

  bool own_b() const { return has_own_b(part, update); }

  std::size_t a_bytes(std::size_t element) const { return whole_a ? 0 : leased_bytes(mb, kb, element); }
  std::size_t b_bytes(std::size_t element) const { return whole_b ? 0 : leased_bytes(kb, nb, element); }
  std::size_t c_bytes(std::size_t element) const { return whole_c ? 0 : leased_bytes(mb, nb, element); }
  /// Device memory for all buffers.
  std::size_t bytes(std::size_t element) const {
    return static_cast<std::size_t>(operands) * (a_bytes(element) + b_bytes(element)) +
           static_cast<std::size_t>(results) * c_bytes(element);
  }
};

struct GemmSchedule {
  index m = 0, n = 0, k = 0;
  bool reads_c = false;
  Cut cut{};
  Residents residents{};
  std::vector<Step> steps{};
  std::vector<std::vector<std::int32_t>> after{};  ///< by step: depend() of this, for execute()
  std::vector<bool> awaited{};                     ///< by step: awaited_elsewhere() of this, for execute()

  /// Products are computed by residues where their guard lets them.  What that takes follows the scratch areas: what A
  /// and B are split into, and sums.
  bool residues = false;
  Precision precision{};  ///< with residues

  std::vector<Pass> passes{};
  /// What scratch areas hold, in order.  Their memory follows the buffers'.
  std::vector<Extent> scratch{};

  // With levels only.
  bool transposed_a = false, transposed_b = false;  ///< op(X) is not X
  std::vector<Leaf> leaves{};
  /// A and B are surveyed: see impl/product/guard.hpp.  What is found follows the scratch areas: a real number for each
  /// row of op(A) within each slice of k and for each of its columns, then, where it is not A, for each row of op(B)
  /// and for each of its columns within each slice.
  bool surveyed = false;
  index slice = 0;  ///< surveyed: so many of k, and of rows and columns that are judged as one; the last slice has more
  int depth = 0;    ///< levels that products really go by
  /// The steps from here on may run only if the findings are sound: they bring back what is not to be used otherwise,
  /// or overwrite what would be needed.
  std::size_t first_if_sound = SIZE_MAX;
  /// Multiplications that the device is asked for at a time while nothing is known of A and B for certain: what it has
  /// been asked for cannot be taken back.
  double unjudged = 0;

  index slices() const { return std::max<index>(1, k / slice); }
  index slice_of(index at) const { return std::min(at / slice, slices() - 1); }
  index findings() const {
    if (!surveyed) return 0;
    return cut.own_b() ? (m + n) * slices() + 2 * k : m * slices() + k;
  }

  /// What is computed of a multiply step's block of C: a triangle of those on the diagonal.
  Part part_of(const Block& c) const { return on_diagonal(c) ? cut.part : Part::whole; }
  /// Whether op(B)'s block of a multiply step is taken from A's memory.
  bool from_a(const Block& c) const { return !cut.own_b() && (cut.whole_b || c.row / cut.mb == c.col / cut.nb); }
  /// Whether a multiply step's block is to get a second product, with A and B exchanged.
  bool twice(const Block& c) const { return cut.update == Update::rank_2k && part_of(c) == Part::whole; }
  /// The blocks of op(A) and op(B) that a multiply step takes, op(B)'s also where it is A's.
  Block of_a(const Step& x) const {
    return x.exchanged ? Block{x.block.col, x.k0, x.block.cols, x.kb} : Block{x.block.row, x.k0, x.block.rows, x.kb};
  }
  Block of_b(const Step& x) const {
    return x.exchanged ? Block{x.k0, x.block.row, x.kb, x.block.rows} : Block{x.k0, x.block.col, x.kb, x.block.cols};
  }

  /// A region of an operand's memory as a block of op(X), and the other way round; others as they are.
  Block as_operand(const Region& r) const {
    const bool swapped = (r.area == area_a && transposed_a) || (r.area == area_b && transposed_b);
    return swapped ? Block{r.block.col, r.block.row, r.block.cols, r.block.rows} : r.block;
  }

  /// How much of k a leaf has.
  index depth_of(const Leaf& leaf) const { return transposed_a ? leaf.x.block.rows : leaf.x.block.cols; }

  struct ResidueBytes {
    std::size_t a = 0, b = 0, sums = 0;
    std::size_t all() const { return a + b + sums; }
  };
  ResidueBytes residue_bytes() const;

  /// Device memory for all buffers and scratch areas.
  std::size_t bytes(std::size_t element) const {
    std::size_t sum = cut.bytes(element);
    for (const Extent& area : scratch) sum += leased_bytes(area.rows, area.cols, element);
    return sum + leased_bytes(findings(), 1, element) + residue_bytes().all();
  }
};

/// The cut with the largest blocks whose buffers fit `memory` bytes; false if not even 1 x 1 x 1 does.  Depends on
/// nothing else, so the same call is cut the same way every time.  A triangle is cut into chunks of k first: as long as
/// C is one block, A moves once.
/// @param part  of C
bool cut_to_fit(index m, index n, index k, std::size_t element, std::size_t memory, const Residents& residents,
                Cut& cut, Part part = Part::whole, Update update = Update::rank_k);

inline constexpr index usual_panel = 1024;

/// How much of k plan_gemm() had best begin with where A and B have to be brought; 0: nothing apart.  Products that
/// take longer than their transfers wait for operands at first, for half a panel of each at a time; with a part of k
/// they wait as much less.  With 7/32 of k sgemm of 16,384 is busy on an H200 until nearly all of A and B is there.  By
/// levels it takes 2.5 % longer than without a head; but what is multiplied so is not lost if the guard refuses levels.
index best_head(index m, index n, index k);

/// The schedule for a product (m, n, k at least 1) cut this way, in panels of about `panel` rows or columns, its pieces
/// at most `piece_bytes` large (at least one element must fit).
/// @param head  of k, less than all of it: with so much of A and B all of C is begun, before the rest of them arrives;
///              C itself, if it is read, arrives with that rest, and what was begun waits for it in a scratch area.
///              0, or where C is more than one block or a triangle, or k more than one chunk: none
GemmSchedule plan_gemm(index m, index n, index k, bool reads_c, std::size_t element, Cut cut, Residents residents,
                       std::size_t piece_bytes, index panel = usual_panel, index head = 0);

/// The same by residues; C has to be one block, and k one chunk.  Of a triangle with a buffer of its own.
GemmSchedule plan_by_residues(index m, index n, index k, bool reads_c, Precision precision, Cut cut,
                              Residents residents, std::size_t piece_bytes, index panel = usual_panel);

/// Appends what a leaf or a pass reads and writes; a region may be in both.
void touched(const GemmSchedule& schedule, const Step& step, std::vector<Region>& read, std::vector<Region>& written);

/// For each step the earlier steps that must have ended before it: those that write what it reads or writes, or read
/// what it writes, on the device or in the caller's C.  Earlier ones that these themselves come after may be left out.
std::vector<std::vector<std::int32_t>> depend(const GemmSchedule& schedule);

/// Goes to the device by the queue on the way in.
bool goes_in(const Step& step);

/// The steps that go in, as they are asked for: as the schedule has them; but of A and B, what is needed before the
/// same product by levels comes in the order of k.  That is all the same to levels, and more of it is of use without
/// them.
std::vector<std::size_t> order_of_arrival(const GemmSchedule& schedule);

/// By step: whether a later one in another of the device's queues comes after it, and not after a later one of its own
/// queue as well.
std::vector<bool> awaited_elsewhere(const GemmSchedule& schedule);

/// By step: an upload of A or B, to where nothing else is written.
std::vector<bool> staying(const GemmSchedule& schedule);

/// Proves that the schedule computes the product: every element of C gets every k exactly once, from operands that are
/// there, scaled by beta exactly once, and is committed exactly once, when it is final.  Returns the first fault, or
/// an empty string.  For schedules without levels.
std::string check(const GemmSchedule& schedule);

/// One line a step.
std::string to_string(const GemmSchedule& schedule);

}  // namespace blaslift
