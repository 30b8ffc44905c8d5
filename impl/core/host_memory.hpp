// How much memory the host has left for us.
#pragma once
#include <cstddef>
#include <string>

namespace blaslift {

/// Bytes of memory that are free for more, as far as can be told: what the system has available, or less where a
/// control group of this process, or one above it, has a limit (a batch system's, a container's; versions 1 and 2 of
/// the interface).  What files have in caches counts as free.
/// @param root  in front of /proc and /sys, for tests
std::size_t available_memory(const std::string& root = "");

/// Whether there is so much, and a tenth more.  Of little it is taken for granted, which is not worth a look.
bool has_memory_for(double bytes);

}  // namespace blaslift
