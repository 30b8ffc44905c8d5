// Strassen-like levels as data: C := s * A * B on 2 x 2 blocks with seven products (or the classical eight) and
// additions, as a list of steps over named blocks that can be printed, checked, analysed and executed.
//
// Any scale s comes free: every block of C is a sum of products, so each product is scaled by s and nothing else
// changes.
//
// Sources: the original form: Strassen, Gaussian elimination is not optimal, 1969.  RUM: Li, 2023, algorithm 3.1; its
// state table: chapter 3.3.2.  Winograd: algorithm 2.1 there.  Lai: algorithm 2.2 and, in parallel, figures 2.7 and 2.8
// there.  LowLevel, HighLevel and parallel: Otsuka, 2020, as Li prints them (algorithms 2.4 and 2.3, table 2.1),
// mended; the tests name the errors.  Alternative bases: Karstadt and Schwartz, Matrix multiplication, a little faster,
// 2017.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace blaslift::strassen {

/// A block of a level: the quarters of A, B, C, of the support matrix S and of E from above, then temporaries of the
/// level's own.
enum Block : std::int8_t {
  none = -1,
  // clang-format off
  A11, A12, A21, A22,
  B11, B12, B21, B22,
  C11, C12, C21, C22,
  S11, S12, S21, S22,
  E11, E12, E21, E22,
  // clang-format on
  first_temporary
};

/// +block or -block.
struct Term {
  Block block = none;
  std::int8_t sign = 1;
};

/// One result of a pass: target := sum of terms.
struct Sum {
  Block target;
  std::vector<Term> terms;
};

/// Either a pass over memory that computes one or more sums at once, element by element, all of them from what the
/// blocks held before; or a product, target := s * sign * x * y + e.
struct Step {
  std::vector<Sum> sums{};  ///< a pass, if not empty
  Block target = none, x = none, y = none;
  std::int8_t sign = 1;
  Block e = none;     ///< added to the product; not the target, which the level below writes before it reads e
  Block lend = none;  ///< dead during the product: its support matrix.  None: a level below has to bring its own
  /// A hint, from the papers.  What has to wait for what follows from the blocks that steps read, write and lend.
  std::int8_t stream = 0;

  bool is_product() const { return sums.empty(); }
};

/// Blocks are linear combinations of a matrix's quarters, in place of the quarters themselves; inside each of them the
/// levels below have theirs.  Each list is one pass over the blocks under their own names, from what they held before.
struct Basis {
  std::vector<Sum> a{}, b{};  ///< from quarters of A and of B, before the product; may only be done to private copies
  std::vector<Sum> c{};       ///< to quarters of C, after it

  bool changes() const { return !a.empty() || !b.empty() || !c.empty(); }
};

struct Level {
  const char* name;
  std::vector<Step> steps;
  std::vector<const char*> temporaries{};  ///< names of blocks beyond A's, B's, C's, S's and E's
  /// S11 S12 S21 S22 are other names for these where the inputs are private copies; `none`: uses no support matrix.
  Block outermost[4] = {none, none, none, none};
  bool destroys_inputs = false;   ///< writes A or B under their own names, at every level
  bool adds_e = false;            ///< computes C := s * A * B + E; E is only read
  const Level* with_e = nullptr;  ///< the same with E.  Null: C := C + E in a pass of its own, twelve quarter blocks
  Basis basis{};                  ///< what the steps take A's and B's blocks, and leave C's, in; E's are as C's
  /// Outer levels are by this list, where a number of levels is asked for.  Null: all are alike.
  const Level* above = nullptr;
  bool last = false;  ///< so are all but the last; otherwise the outermost two
  /// A product whose inputs are to be kept is by this list, where the level destroys them.  Null: it is classical.
  const Level* keeping = nullptr;

  bool needs_support() const { return outermost[0] != none; }
  /// A block under its name at the outermost level.
  Block at_outermost(Block b) const { return needs_support() && b >= S11 && b <= S22 ? outermost[b - S11] : b; }
};

const Level& classical();    ///< eight products, no addition
const Level& rum();          ///< as printed: 22 steps, seven products, fifteen additions
const Level& absorbed();     ///< RUM with additions absorbed in products and shared passes
const Level& fused();        ///< ours: an order in which more additions share passes
const Level& lai();          ///< two temporaries
const Level& low_level();    ///< Otsuka: overwrites inputs
const Level& high_level();   ///< Otsuka: seven temporaries; in print above low_level or parallel, here by itself
const Level& parallel();     ///< Otsuka, for two streams; overwrites inputs
const Level& alternative();  ///< twelve additions, in bases of its own (Karstadt and Schwartz); three temporaries
const Level& original();     ///< Strassen: eighteen additions; three temporaries
const Level& winograd();     ///< fifteen additions, each result in a block of its own; eighteen temporaries
const Level& winograd15();   ///< Lai, for seven streams; fifteen temporaries
const Level& pairs();        ///< ours: Otsuka's parallel list with pairs of products that share nothing
/// Otsuka's method: high_level() over low_level() or pairs(), and lai() in place of these where inputs are to be kept.
const Level& otsuka();
const Level& otsuka_pairs();
const std::vector<const Level*>& levels();

/// So many levels of a list, the outermost first, with what it has above.
std::vector<const Level*> chain(const Level& level, int levels);

/// Proves by symbols that the steps, between the changes of basis where there are any, compute C := s * A * B (all four
/// quarters; + E where the level adds it), from
/// blocks that hold what is read, with nothing lent that is still needed; `outermost` with S under the inputs' names,
/// otherwise with inputs that are kept unless the level destroys them.  The first fault, or empty.
std::string check(const Level& level, bool outermost);

/// Which blocks hold a value that is still needed, at each step: the thesis's state table.
struct StateTable {
  std::vector<Block> columns;           ///< A's, B's, C's (S under the inputs' names) and temporaries
  std::vector<std::vector<bool>> rows;  ///< initial state, then each step's
  std::vector<int> last_use;            ///< by column: the last step (from 1) that reads or writes it; 0: none
};
StateTable state_table(const Level& level);

/// What a product step may give away.
struct Free {
  int step;                   ///< from 1
  std::vector<Block> blocks;  ///< free during it, where the inputs are private copies
  Block choice;               ///< the first of them that may be lent at any level, under its name there; or `none`
  bool operands;              ///< nothing reads x and y any more: a level below may destroy them, inputs if private
};
std::vector<Free> free_blocks(const Level& level);

/// Whether some of its steps are meant for a second stream: 1 and 2, as Li counts.  Otsuka's 0 and 1 are not meant:
/// two of his three pairs of products race (parallel()).
bool says_streams(const Level& level);

/// Quarter blocks that the passes of one level read or write; without changes of basis.
int passes(const Level& level);
int passes(const std::vector<Sum>& sums);  ///< of one pass

/// One line a step, as in the papers.
std::string to_string(const Level& level);

}  // namespace blaslift::strassen
