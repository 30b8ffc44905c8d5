// Where a matrix of a call is for a plan.
#pragma once
#include <vector>

#include "impl/core/blocks.hpp"
#include "kernels/types.hpp"

namespace blaslift {

/// Matrices of a call that lie apart in the host's memory, and have the same leading dimension: a plan knows them as
/// one matrix, in which they are side by side.
template <class T>
struct Scattered {
  const T* const* each = nullptr;  ///< where they begin; null: from `first` on, `stride` elements apart
  const T* first = nullptr;
  index stride = 0;
  index cols = 0;  ///< of each; 0: there is but one

  explicit operator bool() const { return cols > 0; }
  const T* operator[](index i) const { return each ? each[i] : first + i * stride; }
};

/// A matrix of a call that has device memory of its own: a copy that outlives the call, or the program's.
struct Placed {
  void* device = nullptr;        ///< null: it has a part of the lease
  index ld = 0;                  ///< there
  std::vector<Block> missing{};  ///< of it: what has to be uploaded
  bool in_place = false;         ///< the program's own: nothing moves
  bool direct = false;           ///< the device reaches it where the program has it, if nothing of this holds
};

}  // namespace blaslift
