// Where a matrix of a call is for a plan.
#pragma once
#include <vector>

#include "impl/core/blocks.hpp"
#include "kernels/types.hpp"

namespace blaslift {

/// A matrix of a call that has device memory of its own: a copy that outlives the call, or the program's.
struct Placed {
  void* device = nullptr;        ///< null: it has a part of the lease
  index ld = 0;                  ///< there
  std::vector<Block> missing{};  ///< of it: what has to be uploaded
  bool in_place = false;         ///< the program's own: nothing moves
  bool direct = false;           ///< the device reaches it where the program has it, if nothing of this holds
};

}  // namespace blaslift
