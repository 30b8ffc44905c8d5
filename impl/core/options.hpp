// The environment: one table, read once.  A value that is not understood warns and leaves the default.
#pragma once
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compat/symbols.hpp"
#include "impl/strassen/estimator.hpp"

namespace blaslift {

enum class BackendChoice : std::uint8_t { automatic, cuda, host };

enum class ResidencyMode : std::uint8_t { off, automatic, always };

/// How products may be computed besides classically.
enum class Products : std::uint8_t {
  automatic,  ///< by levels or residues where that is estimated to be faster
  classical,
  levels,   ///< or by those, as Options::levels says
  residues  ///< wherever that can be
};

/// Some of them, by Routine.
using Routines = std::bitset<routine_count>;

/// BLASLIFT_LEVEL's default: the cost model's predictions as they are.
inline constexpr int usual_eagerness = 3;

/// How a product was cut up.
struct Cutting {
  int levels = 0;
  index tile = 0;  ///< with levels: their tiles' edge
  index head = 0;  ///< of k, in front of the rest
  bool residues = false;
};

struct Options {
  bool on = true;
  BackendChoice backend = BackendChoice::automatic;
  Routines forced{};                ///< routed whatever the size
  int eagerness = usual_eagerness;  ///< of decisions, 1 to 5
  bool yields = false;              ///< calls stay while other processes keep the device busy
  bool fixed = false;               ///< routes depend on the arguments and the profile alone
  ResidencyMode residency = ResidencyMode::automatic;
  Products products = Products::automatic;
  bool systolic = false;  ///< products of a batch, where systolic arrays can compute them
  int levels = -1;        ///< Strassen-like ones: so many; -1: as many as are estimated to be best
  strassen::Model estimator = strassen::Model::ours;
  const strassen::Level* level_list = nullptr;  ///< null: fused
  bool two_streams = true;                      ///< steps overlap: as their list says, or else wherever they may
  bool at_all_levels = false;                   ///< as their list says: of all levels, in place of the outermost
  bool qr_stream = true;                        ///< a QR's updates follow its columns as they arrive
  int devices = 0;                              ///< that calls may be dealt out over; 0: all there are
  std::vector<int> named_devices{};             ///< these of the visible ones alone, in this order; empty: all
  std::size_t memory = 0;                       ///< bytes of device memory at most; 0: a share of the card
  std::string report = "off";                   ///< "off", "stderr" or a path that gets a line of JSON per process
  std::string trace;                            ///< directory for traces; empty: none are left
  std::string fallback;                         ///< library for callers that bring none
  std::string profile;             ///< rates file; empty: the one of this device under the XDG cache, if there is one
  std::string counters;            ///< directory for counter files, set by `blaslift run`; empty: counters stay private
  bool measure = false;            ///< time every call, set by `blaslift measure`
  std::uint32_t verify = 0;        ///< of so many calls of a routine and size one is checked; 0: none
  std::string oracle;              ///< library that checked calls are compared with; empty: the one underneath
  std::string verify_dump;         ///< directory for calls that were found wrong; empty: they are not kept
  std::optional<Cutting> cutting;  ///< of every product that it fits, whatever is estimated; set by `blaslift replay`
  /// Variables that were given and understood of those that a call's way on the device depends on, with their values.
  std::vector<std::pair<const char*, std::string>> of_ways;
};

struct OptionInfo {
  const char* variable;
  const char* values;
  const char* fallback;  ///< the default, in words
  const char* help;
  bool (*parse)(Options& options, const char* value);  ///< false: not understood
  bool of_ways = false;                                ///< a call's way on the device depends on it
};

/// Every variable that the library reads: those of docs/user/commands.md's table in its order, then the internal ones.
std::span<const OptionInfo> option_table();

/// For the command's and the tests' use: no option of the command, and in no list that a user is shown.
bool is_internal(const OptionInfo& option);

/// Reads `environment` (environ's form).  `warnings` gets a line for each value not understood and each unknown
/// variable that begins with BLASLIFT_.
Options read_options(char** environment, std::string& warnings);

/// BLASLIFT_START, which is looked at before there are Options.
struct Start {
  bool early = false;  ///< this process is to open the device as soon as it has loaded a BLAS
  Routines routines;   ///< and to make it ready for these
};
/// Of "needed", "early" and "early:dgesv,dgemm"; with a number behind early, as `blaslift run` has it ("early:PID" and
/// "early:PID:dgesv"), for that process alone.  Null for any other value.
std::optional<Start> start_of(const char* value);

}  // namespace blaslift
