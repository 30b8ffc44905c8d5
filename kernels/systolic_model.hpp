// The cost model of systolic products: Motegi's formulas 1 to 6 (kernels/systolic.hpp), and what is corrected in them.
//
// A multiprocessor's shared memory has w banks of k words.  Global memory serves blocks of w k words' threads one after
// the other.  Shared memory works in all multiprocessors at once.
#pragma once
#include <algorithm>

#include "kernels/systolic.hpp"

namespace blaslift::systolic {

struct Machine {
  double lgm, lsm;                ///< seconds of one access to global memory by w k threads, to shared memory by w
  double w = 16, k = 16;          ///< threads of a half warp; words of a bank
  double multiprocessors = 1e99;  ///< the formulas take it that there are as many as blocks
};
/// As the thesis has it: table 2.
inline constexpr Machine thesis_machine{.lgm = 0.000000597372, .lsm = 0.0000000477897};

/// Of `count` products of order N in a row.
struct Work {
  double N, count, steps, t = 1;
};
constexpr double steps_of(double N, double count, double g) { return 3 * N - 2 + (count - 1) * g; }

/// Words read or written: in global memory by all, in shared memory by each block.
struct Accesses {
  double global, shared;
};

/// The first lines of the formulas.
/// @param corrected  3, 4 and 6 move C once for each product; 6 counts all that a block reads and writes in shared
///                   memory by the rules of 3.  Of a loop with its sum in a register (Lr) there is nothing in print.
constexpr Accesses accesses(Variant variant, const Work& x, bool corrected) {
  const double root = edge, p = root * root, cells = x.N * x.N, moves_c = 2 * cells * (corrected ? x.count : 1),
               all = x.count * x.N;
  switch (variant) {
    case Variant::g1: return {4 * cells * x.steps, 0};
    case Variant::gt: return {(2 * x.t * cells + 2 * cells) * x.steps / x.t, 0};
    case Variant::s1: return {2 * cells / root * x.steps + moves_c, (2 * root + 2 * p + 2 * p) * x.steps};
    case Variant::st:
      return {2 * x.t * cells / root * x.steps / x.t + moves_c, (2 * x.t * root + 2 * x.t * p + 2 * p) * x.steps / x.t};
    case Variant::l1: return {4 * cells * all, 0};
    case Variant::lr: return {2 * cells * all + 2 * cells * x.count, 0};
    case Variant::ls: return {2 * cells / root * all + moves_c, corrected ? (2 * root + 4 * p) * all : 6 * root * all};
    case Variant::shuffled: break;  // no formula: what enters at the edges of a warp's cells
  }
  return {(cells / warp_columns + cells / warp) * x.steps + 2 * cells * x.count, 0};
}

/// @param corrected  also: blocks share the multiprocessors that there are
constexpr double seconds(const Accesses& x, const Work& work, const Machine& machine, bool corrected) {
  const double blocks = work.N * work.N / (edge * edge);
  const double share = corrected ? std::max(1.0, blocks / machine.multiprocessors) : 1;
  return x.global / (machine.w * machine.k) * machine.lgm + x.shared / machine.w * machine.lsm * share;
}

}  // namespace blaslift::systolic
