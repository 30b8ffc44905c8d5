# The rates that are known of a class of devices, a file each, as text in the library: nothing is opened for them.  Made
# anew when a file changes.
set(profiles host sm_80 sm_90 sm_100 unknown)
set(built_in "// Made of profiles/ by cmake/BlasliftProfiles.cmake.\n#include \"impl/route/built_in_profiles.hpp\"\n
namespace blaslift {\n
std::span<const BuiltInProfile> built_in_profiles() {\n  static constexpr BuiltInProfile profiles[] = {\n")
foreach(profile ${profiles})
  set(file ${PROJECT_SOURCE_DIR}/profiles/${profile}.profile)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(APPEND built_in "      {\"${profile}\", R\"profile(${text})profile\"},\n")
endforeach()
# A site's own are found from the libraries' folder: an installation can be moved.
set(site_profiles ${CMAKE_INSTALL_FULL_DATADIR}/blaslift/profiles)
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} AND NOT IS_ABSOLUTE ${CMAKE_INSTALL_DATADIR})
  file(RELATIVE_PATH site_profiles /${CMAKE_INSTALL_LIBDIR} /${CMAKE_INSTALL_DATADIR}/blaslift/profiles)
endif()
string(APPEND built_in "  };\n  return profiles;\n}\n
std::string_view site_profiles_from_libraries() { return R\"profile(${site_profiles})profile\"; }\n
}  // namespace blaslift\n")
file(CONFIGURE OUTPUT built_in_profiles.cpp CONTENT "@built_in@" @ONLY)
target_sources(blaslift_core PRIVATE ${PROJECT_BINARY_DIR}/built_in_profiles.cpp)
