// Calls whose operations are recorded where they reach a lane.
#pragma once

namespace blaslift::golden {

inline constexpr int no_copies = 77;  ///< the kernel does not tell what is written: nothing is kept on the device

/// A process of its own, since a runtime reads the environment once: makes the calls of this set and prints what they
/// ask of a lane.  The module that records stands where the process believes that it has been started.
int record_lanes(const char* set);

}  // namespace blaslift::golden
