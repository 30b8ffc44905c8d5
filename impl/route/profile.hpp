// Profile: the rates that a decision is made from, and the algorithms that products are computed by.  Built in by
// device class, overridden by a readable file of "key value" lines, of rates of products by their size,
//
//   dgemm_leaf_rate 4096 5.4e13
//   dgemm_leaf_rate NT 4096 5.6e13
//
// the latter where B is transposed (TN: A, TT: both; conjugated is as transposed), and
//
//   dgemm_algorithm LIBRARY OPS plain|plus_e SIZE own|ALGORITHM
//
// for the fastest algorithm of square products C := op(A) op(B), OPS being two of N, T, C, or C := op(A) op(B) + E: the
// library's own choice, or an Algorithm as ALIGNMENT:WORKSPACE:WORDS:SUM, in hexadecimal digits.  Those of another
// LIBRARY than the device's (DeviceFacts::algorithms) say nothing to it.  Families have lines of their own, whose form
// their sections know (profile_section.hpp).  A file that `blaslift tune` has written says "profile 1": in the form of
// another number, nothing in it holds.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "impl/route/profile_section.hpp"
#include "kernels/backend.hpp"

namespace blaslift {

/// What was found about one library, as the file has it.
struct TunedProduct {
  std::string library;  ///< DeviceFacts::algorithms: one word
  Preference preference;
};

struct Profile {
  double in_rate;                     ///< bytes/s, program's memory to device, as our lanes move it
  double out_rate;                    ///< bytes/s, device to program's memory
  double host_rate = 0;               ///< bytes/s of all devices together, both ways; 0: what two of them move one way
  double latency_seconds;             ///< per routed call, whatever its size
  double startup_seconds;             ///< opening the device
  double gemm_rate[precision_count];  ///< flop/s of a large product on the device
  double cpu_rate[precision_count];   ///< flop/s of a large product on this machine's CPU, until measured
  double int8_rate = 0;               ///< operations/s of a large product of INT8; 0: not known
  double pass_rate;                   ///< bytes/s that sums of blocks read and write on the device
  double step_seconds;                ///< what any operation on the device takes besides
  double symv_latency_seconds;        ///< per SYMV or GEMV of which nothing moves but vectors
  double panel_rate;                  ///< bytes/s of a QR's panels, each counted once
  double panel_seconds;               ///< what a panel takes besides
  /// flop/s of a square product on the device by its size, ascending; ends with size 0.  Without any of products that
  /// transpose nothing levels are not considered; without any of others these are taken for as fast.
  struct LeafRate {
    double size, rate;
  };
  static constexpr int most_leaf_rates = 24;
  LeafRate leaf_rate[precision_count][transposes_count][most_leaf_rates + 1] = {};
  /// One for each library and product at most.
  std::vector<TunedProduct> algorithms = {};
  /// Families' lines: one for each section and subject at most.
  std::vector<SectionLine> sections = {};
};

/// Rates of a device class by its file in profiles/, "sm_90" or "host"; any other class gets those of "unknown".
Profile built_in_profile(const char* device_class);

/// A file that is larger is none.
inline constexpr std::size_t most_profile_bytes = std::size_t{1} << 20;

/// Overrides rates from a file of lines "in_rate 5e10" (see to_text for the keys; # starts a comment).  A file that has
/// leaf rates of a precision has all of them; algorithms and families' lines are added to those that are there, or
/// replace them.
/// @return what became of the file; `problem` names the first line not understood, which is ignored.
enum class ProfileRead { failed, unused, used };
ProfileRead read_profile(const std::string& path, Profile& profile, std::string& problem);

/// The same from a file's text.
/// @return whether anything of it holds
bool read_profile_text(std::string_view text, Profile& profile, std::string& problem);

/// The profile in the file's own format.
std::string to_text(const Profile& profile);

/// A line of a file: "in_rate", or "dgemm_leaf_rate" or "dgemm_leaf_rate NT" with a size.
struct ProfileLine {
  std::string name;
  double size;  ///< 0: the name has none
  double value;
};

/// "dgemm_leaf_rate", "dgemm_leaf_rate NT"
std::string leaf_rate_name(Precision precision, Transposes transposes);

/// "profile 1" and the line's end.
std::string version_line();

/// The line that says that a file is in another version's form; empty if none does.
std::string_view other_version(std::string_view text);

/// A file's text with these lines in place of those of the same name and size, or beside them: comments first, rates in
/// order, algorithms, families' lines.  Lines that are not understood are left out, and the one that says its version.
std::string with_lines(std::string_view text, const std::vector<ProfileLine>& lines,
                       const std::vector<TunedProduct>& algorithms = {}, const std::vector<SectionLine>& sections = {});

/// What a device with this library is to be told.
std::vector<Preference> preferences_for(const Profile& profile, std::string_view library);

/// A device's profile by its name, NAME.LIBRARY.profile: rates and algorithms are a library's as much as a device's.
/// @param library  DeviceFacts::algorithms: empty if the device has none that matters, which leaves it out
std::string profile_name(const char* device_name, const char* library);

/// Where it is kept: in $XDG_CACHE_HOME/blaslift, or under ~/.cache.  Empty without a home.
std::string default_profile_path(const char* device_name, const char* library);

/// Where the profiles are that hold for all users of an installation: share/blaslift/profiles beside its libraries'
/// folder; under the same names.
std::string site_profiles(const std::string& libraries);

/// Where rates come from.
struct RatesFile {
  std::string used;         ///< empty: they are built in
  std::string unused, why;  ///< a file that was to be read, and of which nothing holds
};

/// Overrides a device's rates from the file that is named, whatever it holds; if none is, from the device's profile as
/// above, or else, if nothing of that holds, from that of all users.
/// @param named      may be empty
/// @param libraries  folder of the installation's libraries; empty: does not look for a profile of all users
/// @param warnings   sentences for the user, a line each
RatesFile find_rates(const std::string& named, const std::string& libraries, const char* device_name,
                     const char* library, Profile& profile, std::string& warnings);

}  // namespace blaslift
