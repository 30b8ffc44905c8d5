#include "impl/symv/symv_section.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace blaslift {
namespace {

constexpr const char* keys[] = {"ssymv_rules", "dsymv_rules", "csymv_rules", "zsymv_rules", "wsymv_rules"};
constexpr std::string_view version = "1";
constexpr std::string_view strips_word = "strips", tickets_suffix = ":tickets";

/// Rules that are not whole, or that the device has no kernels for, are none.
bool read(std::string_view line, SectionLine& into) {
  const auto key = std::find(std::begin(keys), std::end(keys), next_word(line));
  if (key == std::end(keys) || next_word(line) != version) return false;
  TunedSymv x{static_cast<Element::Name>(key - keys), Uplo::lower, {}};
  const std::string_view uplo = next_word(line);
  if (uplo != "L" && uplo != "U") return false;
  x.uplo = static_cast<Uplo>(uplo.front());
  if (!read_rules(line, x.rules, [&x](std::string_view choice, SymvRule& rule) {
        return read_blocking(choice, x.precision, rule.blocking, rule.way);
      }))
    return false;
  into = section_line(std::move(x));
  return true;
}

std::string to_line(const std::any& data) {
  const auto& x = *std::any_cast<TunedSymv>(&data);
  return std::string(keys[x.precision]) + " " + std::string(version) + " " + static_cast<char>(x.uplo) +
         rules_text(x.rules, [](const SymvRule& rule) { return to_text(rule.blocking, rule.way); });
}

}  // namespace

constinit const ProfileSection symv_section{read, to_line, /*decides=*/false};

SectionLine section_line(TunedSymv tuned) {
  const int subject = 2 * static_cast<int>(tuned.precision.name) + (tuned.uplo == Uplo::upper);
  return {&symv_section, subject, std::move(tuned)};
}

const SymvRule& symv_rule(const Profile& profile, Element precision, Uplo uplo, index n) {
  for (const SectionLine& line : profile.sections)
    if (const auto* x = std::any_cast<TunedSymv>(&line.data);
        x && x->precision == precision && x->uplo == uplo && !x->rules.empty())
      return symv_rule(x->rules, n);
  return symv_rule(symv_rules(precision, uplo), n);
}

std::string to_text(const SymvBlocking& b, SymvWay way) {
  if (b.U == 0) return std::string(strips_word);
  std::string text;
  for (const int part : {b.U, b.Tx, b.Ty, b.H}) text += (text.empty() ? "" : "x") + std::to_string(part);
  return way == SymvWay::tickets ? text + std::string(tickets_suffix) : text;
}

bool read_blocking(std::string_view word, Element precision, SymvBlocking& blocking, SymvWay& way) {
  blocking = {};
  way = SymvWay::parts;
  if (word == strips_word) return true;
  if (word.ends_with(tickets_suffix)) {
    way = SymvWay::tickets;
    word.remove_suffix(tickets_suffix.size());
  }
  for (int* part : {&blocking.U, &blocking.Tx, &blocking.Ty, &blocking.H}) {
    const std::string_view text = word.substr(0, part == &blocking.H ? word.npos : word.find('x'));
    if (!read_number(text, *part) || *part < 1) return false;
    word.remove_prefix(std::min(word.size(), text.size() + 1));
  }
  return symv_fits(blocking, precision);
}

}  // namespace blaslift
