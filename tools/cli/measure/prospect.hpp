// What a measured run would take with a GPU.
#pragma once
#include <string>

namespace blaslift::cli {

/// Sentences for people, a line each.
/// @param run    seconds of the run
/// @param cpu    of it, in calls that a GPU would do faster; of several threads and processes together
/// @param gpu    what it would take for these
/// @param start  of the GPU
/// @param rates  "an H100's built-in rates"
std::string prospect(double run, double cpu, double gpu, double start, const std::string& rates);

}  // namespace blaslift::cli
