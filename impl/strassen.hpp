// Strassen-like levels as data: C = A * B on 2 x 2 blocks with seven products (or the classical eight) and additions, as
// a list of steps over named blocks that can be printed, checked, analysed and executed.
//
// Sources: RUM: Li, 2023, algorithm 3.1; its state table: chapter 3.3.2.  Lai: algorithm 2.2.  LowLevel, HighLevel and
// parallel: Otsuka, 2020, with the printing errors mended that the tests name.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace blaslift::strassen {

/// A block of a level: the quarters of A, B, C and of the support matrix S, then temporaries of the level's own.
using Block = std::int8_t;
inline constexpr Block none = -1, A11 = 0, A12 = 1, A21 = 2, A22 = 3, B11 = 4, B12 = 5, B21 = 6, B22 = 7, C11 = 8, C12 = 9,
                       C21 = 10, C22 = 11, S11 = 12, S12 = 13, S21 = 14, S22 = 15, first_temporary = 16;

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

/// Either a pass over memory that computes one or more sums at once, all of them from what the blocks held before; or a
/// product, target := sign * x * y + e.
struct Step {
  std::vector<Sum> sums{};  ///< a pass, if not empty
  Block target = none, x = none, y = none;
  std::int8_t sign = 1;
  Block e = none;     ///< added to the product; may be the target itself
  Block lend = none;  ///< dead during the product: its support matrix.  None: the product cannot recurse in place
  std::int8_t stream = 0;

  bool is_product() const { return sums.empty(); }
};

struct Level {
  const char* name;
  int temporaries;  ///< blocks beyond C's and the support matrix
  /// S11 S12 S21 S22 are other names for these at the outermost level, where the inputs are private copies; `none` where
  /// the level uses no support matrix.
  Block outermost[4];
  bool destroys_inputs;  ///< writes A or B under their own names, at every level
  std::vector<Step> steps;
};

const Level& classical();   ///< eight products, no temporary
const Level& rum();         ///< as printed: 22 steps, seven products, fifteen additions
const Level& absorbed();    ///< RUM with additions absorbed in products and shared passes
const Level& lai();         ///< two temporaries
const Level& low_level();   ///< Otsuka: overwrites inputs
const Level& high_level();  ///< Otsuka: seven temporaries
const Level& parallel();    ///< Otsuka, for two streams
const std::vector<const Level*>& levels();

/// Proves by symbols that the steps compute C := A * B (all four quarters), from blocks that hold what is read, with
/// nothing lent that is still needed; `outermost` also with S under the inputs' names.  The first fault, or empty.
std::string check(const Level& level, bool outermost);

/// Which blocks hold a value that is still needed, after each step: the thesis's state table.
struct StateTable {
  std::vector<Block> columns;             ///< the level's own blocks
  std::vector<std::vector<bool>> rows;    ///< initial state, after each step, after the last use of the inputs
  std::vector<int> last_use;              ///< by column: the last step (from 1) that reads it; 0: none
};
StateTable state_table(const Level& level);

/// For each product step (from 1) of a level the blocks that are free during it: existence (at least one) and choice.
struct Free {
  int step;
  std::vector<Block> blocks;
};
std::vector<Free> free_blocks(const StateTable& table, const Level& level);

/// Passes over quarter blocks that the additions of one level cost: every block read or written counts one.
int passes(const Level& level);

/// One line a step, as in the papers.
std::string to_string(const Level& level);

}  // namespace blaslift::strassen
