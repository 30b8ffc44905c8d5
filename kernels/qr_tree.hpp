// QR of a matrix of tiles (Takayanagi, Tile CAQR, 2021, chapters 4 and 5): which tile is annihilated by which, and what
// follows from it, as data that can be printed, checked and executed.
//
// All backends follow the same trees, so their results differ by nothing but how a tile is computed.  A tree is fixed
// by the numbers of tiles alone; how many threads or streams there are changes when tasks run, not what they compute.
#pragma once
#include <string>
#include <vector>

#include "kernels/types.hpp"

namespace blaslift {

/// How the tiles of a column become one triangle: the tile rows are cut into domains; in each the first tile
/// annihilates the others one by one, then the domains' triangles are merged in pairs, pairs of pairs, and so on.
/// Domains begin at multiples of their size, whatever the step: a later step finds the same ones, the first of them
/// shortened.  Or they are dealt out, as tile rows are to processes (chapter 8.3 of the thesis).
///
/// Greedy knows no domains (Cosnard and Robert, Complexity of parallel QR factorization, 1986; for tiles Bouwmeester et
/// al., Tiled QR factorization algorithms, 2011): in each round half of the rows that have come as far as a column, the
/// lower ones, are annihilated by the others, in all columns at once.  A round is an elimination with its updates.  No
/// other tree needs fewer of them for a whole matrix.
struct QrTree {
  enum class Shape : std::uint8_t {
    blocks,  ///< a domain is tile rows one below the other
    cyclic,  ///< row i is in domain i modulo their number
    greedy
  };
  index domain = 0;  ///< blocks: tile rows of one, 0: all of them; cyclic: how many domains
  Shape shape = Shape::blocks;

  static constexpr QrTree flat() { return {}; }     ///< nothing to merge: one after the other
  static constexpr QrTree binary() { return {1}; }  ///< nothing but merging: fewest in a row
  static constexpr QrTree domains(index rows) { return {rows}; }
  static constexpr QrTree cyclic(index count) { return {count, Shape::cyclic}; }  ///< count > 0
  static constexpr QrTree greedy() { return {0, Shape::greedy}; }
};

/// "domains of 3", "domains of all", "3 cyclic domains", "greedy".
std::string to_string(QrTree tree);

/// A tile of a column annihilated by one above it, which holds a triangle and keeps one.
struct Elimination {
  index row, by;
  bool triangle;  ///< `row` holds a triangle by then; otherwise a square
  friend bool operator==(const Elimination&, const Elimination&) = default;
};

/// In an order in which they can be done, for column k of a matrix of p rows of tiles, k < p.
std::vector<Elimination> eliminations(QrTree tree, index p, index k);

/// Proves that the list leaves one triangle, in row k: every row below is annihilated exactly once, by one that is
/// still there and above it, and says rightly whether it holds a triangle.  Only squares that annihilate or are merged
/// become triangles.  Returns the first fault, or an empty string.
std::string check(const std::vector<Elimination>& list, index p, index k);

/// "2<1 3<1 4<5" and the like: 2 is annihilated by 1 as a square; "<<" as a triangle.
std::string to_string(const std::vector<Elimination>& list);

enum class QrTaskKind : std::uint8_t {
  geqrt,  ///< a tile becomes a triangle
  larfb,  ///< geqrt's reflectors, on a tile of the same row
  tsqrt,  ///< a square is annihilated by a triangle
  ssrfb,  ///< tsqrt's reflectors, on a pair of tiles
  ttqrt,  ///< a triangle is annihilated by a triangle
  ttmqr   ///< ttqrt's reflectors, on a pair of tiles
};

struct QrTask {
  QrTaskKind kind;
  index k;         ///< the column that is annihilated
  index row;       ///< geqrt, larfb: the tile's; else the annihilated one
  index by = -1;   ///< of the tile above; geqrt, larfb: none
  index col = -1;  ///< larfb, ssrfb, ttmqr: where the reflectors are applied
  friend bool operator==(const QrTask&, const QrTask&) = default;
};

/// Why a task waits for another one (the paper's letters).
enum class QrWait : char {
  down = 'i',   ///< the one before it in the same column of tiles and the same step
  right = 'j',  ///< what makes the reflectors that it applies, or uses them before they are gone
  step = 'k'    ///< an earlier step, on a tile of both
};

struct QrEdge {
  std::int32_t task;  ///< that must have ended
  QrWait why;
  friend bool operator==(const QrEdge&, const QrEdge&) = default;
};

/// What the tasks do.
enum class QrJob : std::uint8_t {
  factor,         ///< A = Q R, of p x q tiles
  apply_adjoint,  ///< C := Q^H C, with another matrix's reflectors; C is p x q tiles
  apply           ///< C := Q C
};

struct QrGraph {
  QrJob job;
  index p, q;   ///< rows and columns of tiles that are worked on
  index steps;  ///< columns of tiles that hold reflectors
  QrTree tree;
  std::vector<QrTask> tasks;               ///< in an order in which they can run one by one
  std::vector<std::vector<QrEdge>> after;  ///< by task
};

/// A = Q R of a matrix of p x q tiles.
QrGraph factor_graph(index p, index q, QrTree tree);

/// Q, as the factors of p x steps tiles (steps <= p) hold it, or its adjoint, to p x q tiles.
QrGraph apply_graph(index p, index steps, index q, QrTree tree, bool adjoint);

/// For each task the earlier ones that it must wait for, by what they read and write: the triangle of a tile with its
/// diagonal, what is below it, and the triangular factors T.  Those that others waited for already may be left out.
std::vector<std::vector<QrEdge>> depend(const QrGraph& graph);

/// Proves that the tasks do the job in every order that `after` allows: each tile gets exactly the reflectors that the
/// tree says, in its order (for Q in the reverse), and of two tasks of which one writes what the other reads or writes,
/// the later one waits, directly or not.  Takes the square of the number of tasks in bits.  Returns the first fault, or
/// an empty string.
std::string check(const QrGraph& graph);

/// One line a task: "4: ssrfb k=0 row=1 by=0 col=2 after 2j 3i".
std::string to_string(const QrGraph& graph);

}  // namespace blaslift
