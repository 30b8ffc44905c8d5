// Costs as they are estimated where a profile has no times of LAPACK's routines.
#pragma once
#include "impl/route/built_in_profiles.hpp"
#include "impl/route/lapack_section.hpp"

namespace blaslift {

/// An H100's rates alone.
inline Profile without_lapack_times() {
  Profile profile = built_in_profile("sm_90");
  std::erase_if(profile.sections, [](const SectionLine& line) { return line.section == &lapack_section; });
  return profile;
}

}  // namespace blaslift
