#include "impl/route/profile.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "compat/environment.hpp"
#include "compat/shown.hpp"
#include "impl/core/hash.hpp"
#include "impl/core/regular_file.hpp"
#include "impl/core/text.hpp"
#include "impl/route/built_in_profiles.hpp"

namespace blaslift {
namespace {

struct Key {
  const char* name;
  double& (*field)(Profile&);
};

template <double (Profile::*rates)[precision_count], int p>
double& rate(Profile& profile) {
  return (profile.*rates)[p];
}

constexpr Key keys[] = {
    {"in_rate", [](Profile& p) -> double& { return p.in_rate; }},
    {"out_rate", [](Profile& p) -> double& { return p.out_rate; }},
    {"host_rate", [](Profile& p) -> double& { return p.host_rate; }},
    {"latency_seconds", [](Profile& p) -> double& { return p.latency_seconds; }},
    {"startup_seconds", [](Profile& p) -> double& { return p.startup_seconds; }},
    {"sgemm_rate", rate<&Profile::gemm_rate, 0>},
    {"dgemm_rate", rate<&Profile::gemm_rate, 1>},
    {"cgemm_rate", rate<&Profile::gemm_rate, 2>},
    {"zgemm_rate", rate<&Profile::gemm_rate, 3>},
    {"cpu_sgemm_rate", rate<&Profile::cpu_rate, 0>},
    {"cpu_dgemm_rate", rate<&Profile::cpu_rate, 1>},
    {"cpu_cgemm_rate", rate<&Profile::cpu_rate, 2>},
    {"cpu_zgemm_rate", rate<&Profile::cpu_rate, 3>},
    {"int8_rate", [](Profile& p) -> double& { return p.int8_rate; }},
    {"pass_rate", [](Profile& p) -> double& { return p.pass_rate; }},
    {"step_seconds", [](Profile& p) -> double& { return p.step_seconds; }},
    {"symv_latency_seconds", [](Profile& p) -> double& { return p.symv_latency_seconds; }},
    {"panel_rate", [](Profile& p) -> double& { return p.panel_rate; }},
    {"panel_seconds", [](Profile& p) -> double& { return p.panel_seconds; }},
};

constexpr const char* leaf_keys[] = {"sgemm_leaf_rate", "dgemm_leaf_rate", "cgemm_leaf_rate", "zgemm_leaf_rate"};
/// After it, as Transposes are numbered.
constexpr std::string_view transposes_words[] = {"", "NT", "TN", "TT"};

/// The form of the file as a whole; lines of rules have their own.
constexpr std::string_view profile_key = "profile", profile_version = "1";

/// Takes the first line off `text`, without its end.
std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

bool is_rate(std::string_view line) {
  const std::string_view name = next_word(line);
  return !name.empty() && name.front() != '#';
}

bool is_version(std::string_view line) { return next_word(line) == profile_key; }

/// Where a line stands in the file by the name that it begins with, which is taken off: `keys`, then `leaf_keys`, each
/// by its transposes; -1 if it is none of them.
constexpr int key_count = std::size(keys);
int take_place(std::string_view& line) {
  const std::string_view name = next_word(line);
  for (int i = 0; i < key_count; ++i)
    if (name == keys[i].name) return i;
  for (int p = 0; p < precision_count; ++p) {
    if (name != leaf_keys[p]) continue;
    std::string_view rest = line;
    const std::string_view word = next_word(rest);
    for (int t = 1; t < transposes_count; ++t)
      if (word == transposes_words[t]) return line = rest, key_count + p * transposes_count + t;
    return key_count + p * transposes_count;
  }
  return -1;
}

/// A line's name, by its place, its size or 0, and its value.
struct Rate {
  int place;
  double size, value;
};

std::optional<Rate> read_rate(std::string_view line) {
  const auto positive = [](std::string_view word, double& number) {
    constexpr double most = 1e30;  // of anything; what follows from such numbers is finite, too
    return read_number(word, number) && number <= most && number >= 1 / most;
  };
  Rate rate{.place = take_place(line), .size = 0, .value = 0};
  const bool understood = rate.place >= 0 && (rate.place < key_count || positive(next_word(line), rate.size)) &&
                          positive(next_word(line), rate.value) && next_word(line).empty();
  return understood ? std::optional(rate) : std::nullopt;
}

// ---- algorithms

constexpr const char* algorithm_keys[] = {"sgemm_algorithm", "dgemm_algorithm", "cgemm_algorithm", "zgemm_algorithm"};
constexpr const char* kinds[] = {"plain", "plus_e"};

/// Of two lines with the same, one holds.
auto subject(const TunedProduct& x) {
  const SquareProduct& p = x.preference.product;
  return std::tuple(p.precision, x.library, p.transa, p.transb, p.adds_e, p.n);
}

/// A line that was cut or touched must not reach the library, which believes what it is given.
std::uint32_t sum_of(const Algorithm& algorithm) {
  return Fnv1a<std::uint32_t>()
      .add({reinterpret_cast<const char*>(algorithm.words), sizeof algorithm.words})
      .add_number(algorithm.workspace)
      .add_number(algorithm.alignment)
      .value();
}

template <class Number>
bool read_hexadecimal(std::string_view word, Number& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, 16);
  return error == std::errc() && end == word.data() + word.size();
}

std::string to_word(const Algorithm& algorithm) {
  std::string word = hexadecimal(algorithm.alignment) + ":" + hexadecimal(algorithm.workspace) + ":";
  for (const unsigned char byte : algorithm.words) word += hexadecimal(byte, 2);
  return word + ":" + hexadecimal(sum_of(algorithm), 8);
}

bool read_algorithm(std::string_view word, Algorithm& algorithm) {
  const auto part = [&] {
    const std::string_view first = word.substr(0, word.find(':'));
    word.remove_prefix(std::min(word.size(), first.size() + 1));
    return first;
  };
  if (!read_hexadecimal(part(), algorithm.alignment) || !read_hexadecimal(part(), algorithm.workspace)) return false;
  const std::string_view words = part();
  if (words.size() != 2 * sizeof algorithm.words) return false;
  for (std::size_t i = 0; i < sizeof algorithm.words; ++i)
    if (!read_hexadecimal(words.substr(2 * i, 2), algorithm.words[i])) return false;
  std::uint32_t sum = 0;
  return read_hexadecimal(part(), sum) && word.empty() && sum == sum_of(algorithm);
}

std::string to_line(const TunedProduct& x) {
  const SquareProduct& p = x.preference.product;
  const char ops[] = {static_cast<char>(p.transa), static_cast<char>(p.transb), 0};
  return std::string(algorithm_keys[static_cast<int>(p.precision)]) + " " + x.library + " " + ops + " " +
         kinds[p.adds_e] + " " + std::to_string(p.n) + " " +
         (x.preference.own ? std::string("own") : to_word(x.preference.algorithm));
}

std::optional<TunedProduct> read_tuned(std::string_view line) {
  TunedProduct x{};
  SquareProduct& p = x.preference.product;
  const auto key = std::find(std::begin(algorithm_keys), std::end(algorithm_keys), next_word(line));
  if (key == std::end(algorithm_keys)) return std::nullopt;
  p.precision = static_cast<Precision>(key - algorithm_keys);
  x.library = next_word(line);
  const std::string_view ops = next_word(line);
  if (ops.size() != 2 || ops.find_first_not_of("NTC") != ops.npos) return std::nullopt;
  p.transa = static_cast<Op>(ops[0]);
  p.transb = static_cast<Op>(ops[1]);
  const std::string_view kind = next_word(line);
  p.adds_e = kind == kinds[1];
  if (!p.adds_e && kind != kinds[0]) return std::nullopt;
  if (!read_number(next_word(line), p.n) || p.n < 1) return std::nullopt;
  const std::string_view algorithm = next_word(line);
  x.preference.own = algorithm == "own";
  if (!x.preference.own && !read_algorithm(algorithm, x.preference.algorithm)) return std::nullopt;
  return next_word(line).empty() ? std::optional(x) : std::nullopt;
}

// ---- families' lines

std::pair<const ProfileSection*, int> subject(const SectionLine& x) { return {x.section, x.subject}; }

std::string to_line(const SectionLine& x) { return x.section->to_line(x.data); }

std::optional<SectionLine> read_section(std::string_view line) {
  for (const ProfileSection* section : profile_sections())
    if (SectionLine x{}; section->read(line, x)) return x;
  return std::nullopt;
}

/// In place of what was found about the same before.
template <class Tuned>
void take(std::vector<Tuned>& into, const Tuned& x) {
  const auto before =
      std::find_if(into.begin(), into.end(), [&](const Tuned& there) { return subject(there) == subject(x); });
  before == into.end() ? into.push_back(x) : void(*before = x);
}

}  // namespace

Profile built_in_profile(const char* device_class) {
  const auto text_of = [](std::string_view name) -> std::string_view {
    for (const BuiltInProfile& known : built_in_profiles())
      if (known.device_class == name) return known.text;
    return {};
  };
  std::string_view text = text_of(device_class);
  if (text.empty()) text = text_of("unknown");
  // Read anew each time, which takes microseconds and no memory: a process asks twice.
  Profile profile{};
  // These are no device's, and no file's: they follow from the machine.  The CPU is taken for fast until calls that
  // stay on it have been timed: a wrong guess this way costs one slow call, the other way it would never be found out.
  const double cores = std::thread::hardware_concurrency() ? std::thread::hardware_concurrency() : 1;
  const double rates[precision_count] = {80e9 * cores, 40e9 * cores, 80e9 * cores, 40e9 * cores};
  std::copy(std::begin(rates), std::end(rates), profile.cpu_rate);
  std::string problem;  // none: a test reads them all
  read_profile_text(text, profile, problem);
  return profile;
}

ProfileRead read_profile(const std::string& path, Profile& profile, std::string& problem) {
  const RegularFile file(path);
  if (!file || file.size() > most_profile_bytes) return ProfileRead::failed;
  const bool used = read_profile_text(file.text(most_profile_bytes), profile, problem);
  return used ? ProfileRead::used : ProfileRead::unused;
}

bool read_profile_text(std::string_view text, Profile& profile, std::string& problem) {
  bool used = false;
  int leaf_rates[precision_count][transposes_count] = {};
  const auto take_rate = [&](const Rate& rate) {
    if (rate.place < key_count) {
      keys[rate.place].field(profile) = rate.value;
      return true;
    }
    const int p = (rate.place - key_count) / transposes_count, t = (rate.place - key_count) % transposes_count;
    // With those that were there the file's would make no one machine's.
    if (std::all_of(std::begin(leaf_rates[p]), std::end(leaf_rates[p]), [](int count) { return count == 0; }))
      for (auto& rates : profile.leaf_rate[p]) rates[0] = {};
    auto& rates = profile.leaf_rate[p][t];
    int& count = leaf_rates[p][t];
    if (count == Profile::most_leaf_rates || (count > 0 && rate.size <= rates[count - 1].size)) return false;
    rates[count++] = {rate.size, rate.value};
    rates[count] = {};
    return true;
  };
  const auto not_understood = [&problem](std::string_view line) {
    if (!problem.empty()) return;
    while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
    constexpr std::size_t enough = 4096;  // it may be no profile at all
    problem = line.substr(0, enough);
  };
  if (const std::string_view version = other_version(text); !version.empty()) {
    not_understood(version);
    problem += " (another version's form: nothing in the file is used)";
    return false;
  }
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (!is_rate(line) || is_version(line)) continue;
    if (const std::optional<Rate> rate = read_rate(line); rate && take_rate(*rate)) {
      used = true;
      continue;
    }
    constexpr std::size_t most_algorithms = 4096;
    if (const std::optional<TunedProduct> tuned = read_tuned(line);
        tuned && profile.algorithms.size() < most_algorithms) {
      take(profile.algorithms, *tuned);
      used = true;
      continue;
    }
    if (const std::optional<SectionLine> understood = read_section(line)) {
      take(profile.sections, *understood);
      used = true;
      continue;
    }
    not_understood(line);
  }
  return used;
}

std::string to_text(const Profile& profile) {
  Profile copy = profile;
  std::string text;
  for (const Key& key : keys)
    if (key.field(copy) > 0) text += std::string(key.name) + " " + number(key.field(copy), 6) + "\n";
  for (int p = 0; p < precision_count; ++p)
    for (int t = 0; t < transposes_count; ++t)
      for (const Profile::LeafRate* leaf = profile.leaf_rate[p][t]; leaf->size > 0; ++leaf)
        text += leaf_rate_name(static_cast<Precision>(p), static_cast<Transposes>(t)) + " " + number(leaf->size, 6) +
                " " + number(leaf->rate, 6) + "\n";
  for (const TunedProduct& x : profile.algorithms) text += to_line(x) + "\n";
  for (const ProfileSection* section : profile_sections())
    for (const SectionLine& x : profile.sections)
      if (x.section == section) text += to_line(x) + "\n";
  return text;
}

std::string_view other_version(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    std::string_view words = line;
    if (next_word(words) == profile_key && (next_word(words) != profile_version || !next_word(words).empty()))
      return line;
  }
  return {};
}

std::string leaf_rate_name(Precision precision, Transposes transposes) {
  const std::string_view word = transposes_words[static_cast<int>(transposes)];
  return leaf_keys[static_cast<int>(precision)] + (word.empty() ? "" : " " + std::string(word));
}

std::string version_line() { return std::string(profile_key) + " " + std::string(profile_version) + "\n"; }

std::string with_lines(std::string_view text, const std::vector<ProfileLine>& lines,
                       const std::vector<TunedProduct>& algorithms, const std::vector<SectionLine>& sections) {
  std::string merged;
  std::vector<TunedProduct> tuned;
  std::vector<SectionLine> understood;
  std::map<std::pair<int, double>, std::string> rates;  // in the file's order, leaf rates ascending
  if (!other_version(text).empty()) text = {};
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (const std::optional<Rate> rate = read_rate(line))
      rates[{rate->place, rate->size}] = line;
    else if (const std::optional<TunedProduct> x = read_tuned(line))
      take(tuned, *x);
    else if (const std::optional<SectionLine> s = read_section(line))
      take(understood, *s);
    else if (!is_rate(line))
      merged += std::string(line) + "\n";
  }
  for (const ProfileLine& line : lines) {
    std::string_view name = line.name;
    rates[{take_place(name), line.size}] =
        line.name + (line.size > 0 ? " " + number(line.size, 6) : "") + " " + number(line.value, 6);
  }
  for (const auto& [at, line] : rates) merged += line + "\n";
  for (const TunedProduct& x : algorithms) take(tuned, x);
  for (const SectionLine& x : sections) take(understood, x);
  std::stable_sort(tuned.begin(), tuned.end(),
                   [](const TunedProduct& x, const TunedProduct& y) { return subject(x) < subject(y); });
  for (const TunedProduct& x : tuned) merged += to_line(x) + "\n";
  std::stable_sort(understood.begin(), understood.end(),
                   [](const SectionLine& x, const SectionLine& y) { return x.subject < y.subject; });
  for (const ProfileSection* section : profile_sections())
    for (const SectionLine& x : understood)
      if (x.section == section) merged += to_line(x) + "\n";
  return merged;
}

std::vector<Preference> preferences_for(const Profile& profile, std::string_view library) {
  std::vector<Preference> preferences;
  for (const TunedProduct& x : profile.algorithms)
    if (!library.empty() && x.library == library) preferences.push_back(x.preference);
  return preferences;
}

std::string profile_name(const char* device_name, const char* library) {
  std::string name;
  const auto add = [&name](const char* word) {
    for (const char* c = word; *c; ++c) name += std::isalnum(static_cast<unsigned char>(*c)) ? *c : '-';
    name += '.';
  };
  add(device_name);
  if (*library) add(library);
  return name + "profile";
}

std::string default_profile_path(const char* device_name, const char* library) {
  const char* cache = variable("XDG_CACHE_HOME");
  const char* home = variable("HOME");
  std::string path = cache && *cache == '/' ? cache : home && *home ? std::string(home) + "/.cache" : "";
  if (path.empty()) return path;
  return path + "/blaslift/" + profile_name(device_name, library);
}

std::string site_profiles(const std::string& libraries) {
  const std::string_view from_there = site_profiles_from_libraries();
  return (from_there.starts_with('/') ? std::string() : libraries + "/") + std::string(from_there);
}

RatesFile find_rates(const std::string& named, const std::string& libraries, const char* device_name,
                     const char* library, Profile& profile, std::string& warnings) {
  RatesFile found;
  const auto read = [&](const std::string& path) {
    std::string problem;
    const ProfileRead result = read_profile(path, profile, problem);
    if (!problem.empty())
      warnings += "blaslift: " + shown(path) + ": not understood and ignored: " + shown(problem) + "\n";
    if (result == ProfileRead::used) found.used = path;
    if (result == ProfileRead::unused && found.unused.empty()) {
      found.unused = path;
      found.why = problem.empty() ? "there is nothing in it" : "nothing in it is understood";
    }
    return result;
  };
  if (!named.empty()) {
    if (read(named) == ProfileRead::failed) {
      warnings += "blaslift: BLASLIFT_PROFILE=" + shown(named) + " cannot be read: ignored\n";
      found.unused = named;
      found.why = "it cannot be read";
    }
    return found;
  }
  const std::string own = default_profile_path(device_name, library);
  if ((own.empty() || read(own) != ProfileRead::used) && !libraries.empty())
    read(site_profiles(libraries) + "/" + profile_name(device_name, library));
  return found;
}

}  // namespace blaslift
