// ProfileSection: the lines of a profile that only one family of routines understands.  The profile reads, keeps, sorts
// and writes them without knowing what they say; impl/families.cpp lists all sections.
#pragma once
#include <any>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impl/core/text.hpp"
#include "kernels/types.hpp"

namespace blaslift {

struct ProfileSection;

/// A line that a family has understood.
struct SectionLine {
  const ProfileSection* section;
  int subject;    ///< what it is about: of two with the same, the later one holds; lines are written in this order
  std::any data;  ///< of the one type that the family keeps its lines in
};

/// A family's lines.  Its source defines one, impl/families.cpp names it.
struct ProfileSection {
  /// Fills in subject and data; false if the line is not the family's, or is damaged.
  bool (*read)(std::string_view line, SectionLine& into);
  /// The line without its end, which is read again as the same.
  std::string (*to_line)(const std::any& data);
  /// Whether decisions depend on it: recordings keep what does.
  bool decides;
};

/// In the order in which a file has them.
std::span<const ProfileSection* const> profile_sections();

// ---- lines of rules: "built-in", or what to take below some size, "97:32x16 1449:128x64 any:512x64"

inline constexpr std::string_view rules_built_in = "built-in", rules_any = "any";
inline constexpr std::size_t most_rules = 64;

/// Rules that are not whole, ascending and for every size are none.
/// @param rules        Rule::below is a size, or the largest index for "any"; none if the line says "built-in"
/// @param read_choice  reads what follows the colon into a rule; false if nothing can follow it
template <class Rule, class ReadChoice>
bool read_rules(std::string_view words, std::vector<Rule>& rules, const ReadChoice& read_choice) {
  constexpr index any = std::numeric_limits<index>::max();
  std::string_view word = next_word(words);
  if (word == rules_built_in) return next_word(words).empty();
  for (; !word.empty(); word = next_word(words)) {
    const std::size_t colon = word.find(':');
    if (colon == word.npos || rules.size() == most_rules) return false;
    Rule rule{any, {}};
    const std::string_view below = word.substr(0, colon);
    if (below != rules_any && (!read_number(below, rule.below) || rule.below == any)) return false;
    if (rule.below <= (rules.empty() ? 1 : rules.back().below)) return false;
    if (!read_choice(word.substr(colon + 1), rule)) return false;
    rules.push_back(rule);
  }
  return !rules.empty() && rules.back().below == any;
}

/// The same in words, with a space before each.
template <class Rule, class ChoiceText>
std::string rules_text(const std::vector<Rule>& rules, const ChoiceText& choice_text) {
  if (rules.empty()) return " " + std::string(rules_built_in);
  std::string text;
  for (const Rule& rule : rules)
    text += " " +
            (rule.below == std::numeric_limits<index>::max() ? std::string(rules_any) : std::to_string(rule.below)) +
            ":" + choice_text(rule);
  return text;
}

}  // namespace blaslift
