#include "tools/cli/doctor/diagnosis.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "compat/shown.hpp"
#include "tools/cli/launch/json_text.hpp"

namespace blaslift::cli {
namespace {

using Effect = Finding::Effect;

const char* text_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::intercepted: return "intercepted";
    case Verdict::not_intercepted: return "not intercepted";
    case Verdict::partly: return "partly intercepted";
    case Verdict::no_blas: return "nothing to intercept";
    case Verdict::unclear: return "unclear";
    case Verdict::not_executable: return "cannot be run";
    case Verdict::not_found: return "not found";
  }
  return "";
}

const char* word_of(Effect effect) {
  switch (effect) {
    case Effect::good: return "good";
    case Effect::bad: return "bad";
    case Effect::fatal: return "fatal";
    case Effect::maybe: return "maybe";
    case Effect::note: return "note";
  }
  return "";
}

std::string list_of(const Names& names) {
  constexpr std::size_t most = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) text += (i ? ", " : "") + names[i];
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

}  // namespace

std::string to_text(const Diagnosis& d) {
  std::string text = shown(d.program) + ": " + text_of(d.verdict);
  // Whoever has linked a program with blaslift expects more than that.
  const bool behind = std::ranges::any_of(
      d.findings, [](const Finding& f) { return std::string_view(f.kind) == Finding::relinked_behind; });
  text += behind && d.verdict == Verdict::intercepted ? " by blaslift run, but not by itself\n" : "\n";
  std::set<std::string> advised;
  // What decides comes first; files of which the same is to be said stand together.
  constexpr std::pair<Effect, const char*> order[] = {{Effect::fatal, "  - "},
                                                      {Effect::bad, "  - "},
                                                      {Effect::good, "  + "},
                                                      {Effect::maybe, "  ? "},
                                                      {Effect::note, "    "}};
  for (const auto& [effect, mark] : order) {
    std::vector<const Finding*> left;
    for (const Finding& f : d.findings)
      if (f.effect == effect) left.push_back(&f);
    while (!left.empty()) {
      const Finding& first = *left.front();
      const auto others =
          std::stable_partition(left.begin(), left.end(), [&](const Finding* f) { return f->what == first.what; });
      text += mark + shown(first.what) + "\n";
      constexpr std::ptrdiff_t most = 5;
      for (auto f = left.begin(); f != others && f - left.begin() < most; ++f)
        text += "      " + shown((*f)->object) + ((*f)->names.empty() ? "" : ": ") + shown(list_of((*f)->names)) + "\n";
      if (others - left.begin() > most)
        text += "      and " + std::to_string(others - left.begin() - most) + " more files\n";
      if (!first.advice.empty() && advised.insert(first.advice).second) text += "      > " + shown(first.advice) + "\n";
      left.erase(left.begin(), others);
    }
  }
  return text;
}

std::string to_json(const Diagnosis& d) {
  Json findings = Json::array();
  for (const Finding& f : d.findings)
    findings.push_back({{"kind", f.kind},
                        {"effect", word_of(f.effect)},
                        {"object", f.object},
                        {"names", f.names},
                        {"what", f.what},
                        {"advice", f.advice}});
  return json_text(Json{{"program", d.program},
                        {"path", d.path},
                        {"verdict", text_of(d.verdict)},
                        {"status", static_cast<int>(d.verdict)},
                        {"findings", findings},
                        {"run", d.ran ? Json::parse(to_json(d.summary)) : Json()}});
}

}  // namespace blaslift::cli
