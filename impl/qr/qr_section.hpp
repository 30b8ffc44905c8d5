// QR's lines of a profile.
//
//   dqr_widths 1 1449:128x64 any:512x64
//
// says how wide the blocks and panels of a QR are by its number of reflectors, and those of products with its Q; 1 is
// the form's version.
#pragma once
#include <vector>

#include "impl/qr/qr_widths.hpp"
#include "impl/route/profile.hpp"

namespace blaslift {

/// What was found about QR.
struct TunedQr {
  Precision precision;
  std::vector<QrRule> rules;  ///< none: what is built in
};

extern const ProfileSection qr_section;

SectionLine section_line(TunedQr tuned);

/// What a QR follows, or a product with the Q of k reflectors: the profile's rules or, where there are none, what is
/// built in.
QrWidths qr_widths(const Profile& profile, Precision precision, index k);

}  // namespace blaslift
