// The host's memory for what an LU factorisation in parts keeps of L.
#pragma once
#include <cstddef>
#include <vector>

#include "impl/core/host_memory.hpp"
#include "impl/core/own_memory.hpp"
#include "impl/lu/getrf_plan.hpp"
#include "impl/plan/execute.hpp"

namespace blaslift {

template <class T>
class KeptMemory {
 public:
  /// Throws std::bad_alloc.
  KeptMemory(index m, index n, const GetrfCut& cut) : blocks_(kept_factors(m, n, cut)), memory_(bytes_of(blocks_)) {}

  /// Whether the host has so much, and for what the call overwrites besides, which is kept until it has ended.
  /// @param overwritten  elements
  static bool is_there(index m, index n, const GetrfCut& cut, double overwritten) {
    return has_memory_for(static_cast<double>(bytes_of(kept_factors(m, n, cut))) + overwritten * sizeof(T));
  }
  /// As the plan's last operands.
  void append_to(std::vector<CallOperand<T>>& operands) const {
    const T* at = reinterpret_cast<const T*>(memory_.at());
    for (const KeptFactors& x : blocks_) operands.push_back({at, x.rows}), at += x.rows * x.cols;
  }

 private:
  static std::size_t bytes_of(const std::vector<KeptFactors>& blocks) {
    std::size_t bytes = 0;
    for (const KeptFactors& x : blocks) bytes += static_cast<std::size_t>(x.rows * x.cols) * sizeof(T);
    return bytes;
  }

  const std::vector<KeptFactors> blocks_;
  OwnMemory memory_;
};

}  // namespace blaslift
