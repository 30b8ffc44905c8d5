// Counters of the routines that blaslift does not intercept, filled by libblaslift_measure.so only.
#pragma once
#include <atomic>
#include <cstdint>

namespace blaslift {

inline constexpr const char* other_names[] = {
#include "names.inc"
};
inline constexpr int other_count = sizeof other_names / sizeof *other_names;

struct OtherCounters {
  static constexpr std::uint64_t this_layout = 0x626c61736c6f7401;
  std::uint64_t layout;
  struct {
    std::atomic<std::uint64_t> calls, own_ns;  ///< own time: without what was called from inside and is counted itself
  } routines[other_count];
};

}  // namespace blaslift
