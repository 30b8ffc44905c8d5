// Profile: the rates that a decision is made from.  Built in by device class, overridden by a readable file of
// "key value" lines, and "dgemm_leaf_rate size value" ones.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kernels/types.hpp"

namespace blaslift {

struct Profile {
  double in_rate;                     ///< bytes/s, program's memory to device, as our lanes move it
  double out_rate;                    ///< bytes/s, device to program's memory
  double latency_seconds;             ///< per routed call, whatever its size
  double startup_seconds;             ///< opening the device
  double gemm_rate[precision_count];  ///< flop/s of a large product on the device
  double cpu_rate[precision_count];   ///< flop/s of a large product on this machine's CPU, until measured
  double pass_rate;                   ///< bytes/s that sums of blocks read and write on the device
  double step_seconds;                ///< what any operation on the device takes besides
  /// flop/s of a square product on the device by its size, ascending; ends with size 0.  Without any, levels are not
  /// considered.
  struct LeafRate {
    double size, rate;
  };
  static constexpr int most_leaf_rates = 24;
  LeafRate leaf_rate[precision_count][most_leaf_rates + 1] = {};
};

/// Built-in rates for a device class: "sm_80", "sm_90", "sm_100", "host"; anything else gets cautious ones.
Profile built_in_profile(const char* device_class);

/// Overrides rates from a file of lines "in_rate 5e10" (see to_text for the keys; # starts a comment).  A file that has
/// leaf rates of a precision has all of them.
/// @return whether the file could be read; `problem` names the first line not understood, which is ignored.
bool read_profile(const std::string& path, Profile& profile, std::string& problem);

/// The same from a file's text.
void read_profile_text(std::string_view text, Profile& profile, std::string& problem);

/// The profile in the file's own format.
std::string to_text(const Profile& profile);

/// A line of a file: "in_rate", or "dgemm_leaf_rate" with a size.
struct ProfileLine {
  std::string name;
  double size;  ///< 0: the name has none
  double value;
};

/// A file's text with these lines in place of those of the same name and size, or beside them: comments first, rates in
/// order.  Lines that are not understood are left out.
std::string with_lines(std::string_view text, const std::vector<ProfileLine>& lines);

/// Where a device's profile is kept: $XDG_CACHE_HOME/blaslift/NAME.profile, or under ~/.cache.  Empty without a home.
std::string default_profile_path(const char* device_name);

}  // namespace blaslift
