// Systolic products on the CPU: an interpreter of the schedule in kernels/systolic.hpp.
#pragma once
#include "kernels/systolic.hpp"

namespace blaslift::systolic {

/// Of all blocks, in elements.  `turns` are those of the cost model: an idle cell's turn counts as an access.
struct Counts {
  index steps = 0;  ///< of all blocks together
  index global_turns = 0, shared_turns = 0;
  index global = 0, shared = 0;  ///< made
};

/// Runs all products of one array, block by block and, within one, phase by phase: the cells of a phase in an order
/// that `seed` decides, since on a device chance does. G1, Gt and L1 want `from_c`.
/// @param slots  of rings; 0: the shortest ones.  Shorter ones give wrong results.
template <class T>
Counts interpret(Variant variant, const Schedule& schedule, const Operands<T>& operands, unsigned seed = 0,
                 int slots = 0);

/// A batch that is to be computed so (GemmBatch::systolic), with the device's bits.
void multiply(const GemmBatch& products);

}  // namespace blaslift::systolic
