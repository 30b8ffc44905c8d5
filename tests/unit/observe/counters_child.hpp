// What this program does when a test in counters.cpp executes it again.
#pragma once

namespace blaslift {

/// Makes this process's counters in `directory` and notes two forwarded calls; returns an exit status.
int make_counters(const char* directory);

}  // namespace blaslift
