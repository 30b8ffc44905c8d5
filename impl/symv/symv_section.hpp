// SYMV's lines of a profile.
//
//   dsymv_rules 1 L 897:strips 1281:32x32x4x64 7169:64x32x8x128:tickets any:128x32x8x512
//   dsymv_rules 1 U built-in
//
// say how SYMV, and HEMV of c and z, is cut up (kernels/symv.hpp): 1 is the form's version; of one triangle, strips
// below n = 897, and so on, as UxTxTyxH; or as is built in.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "impl/route/profile.hpp"
#include "kernels/symv.hpp"

namespace blaslift {

/// What was found about SYMV of one triangle.
struct TunedSymv {
  Element precision;
  Uplo uplo;
  std::vector<SymvRule> rules;  ///< none: those built in
};

extern const ProfileSection symv_section;

SectionLine section_line(TunedSymv tuned);

/// What a SYMV follows: the profile's rules of its precision and triangle or, where there are none, the built-in ones.
const SymvRule& symv_rule(const Profile& profile, Element precision, Uplo uplo, index n);

/// "strips", "32x32x4x64", "32x32x4x64:tickets"
std::string to_text(const SymvBlocking& blocking, SymvWay way);
/// False if it is none that the device can do.
bool read_blocking(std::string_view word, Element precision, SymvBlocking& blocking, SymvWay& way);

}  // namespace blaslift
