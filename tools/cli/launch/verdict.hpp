// What a run came to, in plain words, from what its processes have counted.
#pragma once
#include <string>

#include "impl/observe/report.hpp"

namespace blaslift::cli {

/// One of
///
///   about 2.1 times as fast as on the CPU alone, by estimate: 3.2 s instead of 6.7 s
///   slower than on the CPU alone, by estimate: 3.2 s instead of 2.9 s
///   nothing ran on the GPU: the calls were too small
///   4 calls ran on the GPU; their gain cannot be estimated, as several threads made calls
///
/// The estimate is the run's time, less what the program has waited for the device to open, with what each call there
/// was predicted to take on the CPU in place of what it took.  Empty if there was no call.
std::string verdict(const Summary& run, double wall_seconds);

/// What the user might do about the calls that took most time on the CPU, if that was a tenth of the run's time or
/// more: "dgemm took 2.1 s on the CPU, since ...: --level 4 ...".  Empty if there is nothing to be said.
std::string advice(const Summary& run, double wall_seconds);

}  // namespace blaslift::cli
