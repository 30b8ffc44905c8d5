// The kernel's write tracking: userfaultfd's asynchronous write protection and PAGEMAP_SCAN, Linux 6.7 or newer.
#pragma once
#include <string>

#include "impl/residency/pages.hpp"

namespace blaslift {

/// This process's tracker, made and tested by the first call; null with the reason in `why` if this kernel has none,
/// the process may not use it, or it failed its self-test.  The descriptors it opens are never closed: closing them
/// would end the protection.
Tracker* open_tracker(std::string& why);

}  // namespace blaslift
