#include "impl/qr/qr_section.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace blaslift {
namespace {

constexpr const char* keys[] = {"sqr_widths", "dqr_widths", "cqr_widths", "zqr_widths"};
constexpr std::string_view version = "1";

bool read_widths(std::string_view choice, QrRule& rule) {
  auto& [block, panel] = rule.widths;
  const std::size_t cross = choice.find('x');
  return cross != choice.npos && read_number(choice.substr(0, cross), block) &&
         read_number(choice.substr(cross + 1), panel) && panel >= 1 && panel <= most_panel_columns && block >= panel &&
         block <= widest_qr_block && block % panel == 0;
}

/// Rules that are not whole, or that no plan can follow, are none.
bool read(std::string_view line, SectionLine& into) {
  const auto key = std::find(std::begin(keys), std::end(keys), next_word(line));
  if (key == std::end(keys) || next_word(line) != version) return false;
  TunedQr x{static_cast<Precision>(key - keys), {}};
  if (!read_rules(line, x.rules, read_widths)) return false;
  into = section_line(std::move(x));
  return true;
}

std::string to_line(const std::any& data) {
  const auto& x = *std::any_cast<TunedQr>(&data);
  return std::string(keys[static_cast<int>(x.precision)]) + " " + std::string(version) +
         rules_text(x.rules, [](const QrRule& rule) {
           return std::to_string(rule.widths.block) + "x" + std::to_string(rule.widths.panel);
         });
}

}  // namespace

constinit const ProfileSection qr_section{read, to_line, /*decides=*/true};

SectionLine section_line(TunedQr tuned) {
  const int subject = static_cast<int>(tuned.precision);
  return {&qr_section, subject, std::move(tuned)};
}

QrWidths qr_widths(const Profile& profile, Precision precision, index k) {
  for (const SectionLine& line : profile.sections)
    if (const auto* x = std::any_cast<TunedQr>(&line.data); x && x->precision == precision)
      return qr_widths(x->rules, k);
  return qr_widths(k);
}

}  // namespace blaslift
