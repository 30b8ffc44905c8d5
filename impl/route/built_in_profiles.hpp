// The files of profiles/, which CMake makes a source of (cmake/BlasliftProfiles.cmake).
#pragma once
#include <span>
#include <string_view>

namespace blaslift {

struct BuiltInProfile {
  std::string_view device_class;  ///< the file's name: "sm_90"
  std::string_view text;          ///< as a user's profile
};

std::span<const BuiltInProfile> built_in_profiles();

/// The folder of profiles for all users of an installation, as seen from that of its libraries: "../share/...".
std::string_view site_profiles_from_libraries();

}  // namespace blaslift
