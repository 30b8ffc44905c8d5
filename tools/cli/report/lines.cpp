#include "tools/cli/report/lines.hpp"

#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include "compat/shown.hpp"
#include "tools/cli/launch/json_text.hpp"
#include "tools/cli/report/quantities.hpp"

namespace blaslift::cli {
namespace {

double number_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::uint64_t count_of(const Json& value) { return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0; }

/// Of an object's members that are objects or numbers; of anything else none.
const Json& object_in(const Json& object, const char* name) {
  static const Json none = Json::object();
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? *found : none;
}

/// A longer line is none: files may have no end.
constexpr std::size_t most_line = std::size_t{1} << 20;

/// Asked once for each.
std::string name_of_user(std::uint64_t uid) {
  static std::map<std::uint64_t, std::string> known;
  const auto [at, is_new] = known.try_emplace(uid);
  if (is_new) {
    const passwd* user = getpwuid(static_cast<uid_t>(uid));
    at->second = user && user->pw_name ? user->pw_name : std::to_string(uid);
  }
  return at->second;
}

void add_line(ProgramAccount& account, const Json& line) {
  ++account.processes;
  account.cut_short += line.contains("cut_short");
  account.seconds += number_of(line, "seconds");
  account.saved_seconds -= number_of(line, "opening_seconds");
  for (const auto& [name, routine] : line["routines"].items()) {
    if (!routine.is_object()) continue;
    if (const auto routed = routine.find("routed"); routed != routine.end()) account.routed += count_of(*routed);
    account.device_seconds += number_of(routine, "device_seconds");
    account.saved_seconds += number_of(routine, "saved_seconds");
    account.cpu_seconds += number_of(routine, "cpu_seconds");
    for (const auto& [reason, calls] : object_in(routine, "stayed").items()) {
      account.reasons[reason].calls += count_of(calls);
      account.stayed += count_of(calls);
    }
    for (const auto& [reason, seconds] : object_in(routine, "stayed_seconds").items())
      if (seconds.is_number()) account.reasons[reason].seconds += seconds.get<double>();
  }
}

using Row = std::pair<const std::pair<std::string, std::string>*, const ProgramAccount*>;

std::vector<Row> rows_of(const ReportLines& lines) {
  std::vector<Row> rows;
  for (const auto& [whose, account] : lines.programs) rows.emplace_back(&whose, &account);
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tuple(a.second->saved_seconds, a.second->cpu_seconds) >
           std::tuple(b.second->saved_seconds, b.second->cpu_seconds);
  });
  return rows;
}

}  // namespace

std::string ProgramAccount::first_reason() const {
  const auto rank = [](const auto& reason) {
    return std::tuple(reason.first != "workspace query", reason.second.seconds, reason.second.calls);
  };
  const auto first = std::max_element(reasons.begin(), reasons.end(),
                                      [&rank](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return first == reasons.end() ? std::string() : first->first;
}

ReportLines read_lines(const std::vector<std::string>& files) {
  ReportLines read;
  std::vector<char> buffer(most_line);
  for (const std::string& path : files) {
    std::ifstream file(path, std::ios::binary);
    struct stat status {};
    if (!file || stat(path.c_str(), &status) != 0) throw std::runtime_error(path + ": " + std::strerror(errno));
    std::uint64_t good = 0, bad = 0;
    while (file.getline(buffer.data(), static_cast<std::streamsize>(buffer.size()))) {
      const std::string_view text = buffer.data();
      if (text.find_first_not_of(" \t\r") == text.npos) continue;
      Json line;
      if (text.front() == '{') line = Json::parse(text, nullptr, false);
      if (!line.is_object() || !line.contains("routines") || !line["routines"].is_object()) {
        ++bad;
        continue;
      }
      ++good;
      const auto command = line.find("command"), uid = line.find("uid");
      const bool named = command != line.end() && command->is_string(),
                 owned = uid != line.end() && count_of(*uid) == static_cast<uid_t>(count_of(*uid)) &&
                         uid->is_number_unsigned();
      add_line(read.programs[{named ? command->get<std::string>() : "(unknown)",
                              name_of_user(owned ? uid->get<std::uint64_t>() : status.st_uid)}],
               line);
    }
    if (!file.eof()) ++bad;  // a line without end: what follows is no report
    if (good == 0 && (bad > 0 || files.size() == 1))
      throw std::runtime_error(path +
                               ": no recording, and no lines of BLASLIFT_REPORT or run --json; to run a program: "
                               "blaslift report -- " +
                               path);
    if (bad > 0)
      read.problems.push_back(path + ": left out " + in_digits(bad) + (bad == 1 ? " line" : " lines") +
                              ": not understood");
  }
  return read;
}

std::string lines_text(const ReportLines& lines) {
  std::size_t commands = 7, users = 4;
  for (const auto& [whose, account] : lines.programs) {
    commands = std::max(commands, shown(whose.first).size());
    users = std::max(users, shown(whose.second).size());
  }
  const auto line = [&](const std::string& command, const std::string& user, const std::string& processes,
                        const std::string& seconds, const std::string& device, const std::string& saved,
                        const std::string& cpu, const std::string& reason) {
    std::string text = command;
    text.resize(std::max(text.size(), commands), ' ');
    text += "  " + user;
    text.resize(std::max(text.size(), commands + 2 + users), ' ');
    text += format("  %9s  %9s  %9s  %9s  %9s  ", processes.c_str(), seconds.c_str(), device.c_str(), saved.c_str(),
                   cpu.c_str());
    return text + reason + "\n";
  };
  std::string text = line("command", "user", "processes", "ran", "on GPU", "saved", "on CPU", "why on the CPU");
  ProgramAccount all;
  for (const auto& [whose, account] : rows_of(lines)) {
    const std::string reason = account->first_reason();
    text += line(shown(whose->first), shown(whose->second), in_digits(account->processes), in_seconds(account->seconds),
                 in_seconds(account->device_seconds), in_seconds(account->saved_seconds),
                 in_seconds(account->cpu_seconds), reason.empty() ? "-" : shown(reason));
    all.processes += account->processes, all.cut_short += account->cut_short, all.seconds += account->seconds;
    all.device_seconds += account->device_seconds, all.saved_seconds += account->saved_seconds;
    all.cpu_seconds += account->cpu_seconds;
  }
  if (lines.programs.size() > 1)
    text += line("all", "", in_digits(all.processes), in_seconds(all.seconds), in_seconds(all.device_seconds),
                 in_seconds(all.saved_seconds), in_seconds(all.cpu_seconds), "");
  while (text.ends_with(" \n")) text.erase(text.find_last_not_of(" \n") + 1), text += '\n';
  text +=
      "\non GPU, on CPU: in calls of BLAS and LAPACK; saved: by estimate, less the GPU's start;"
      " why: the reason of most of the time\n";
  if (all.cut_short > 0)
    text += in_digits(all.cut_short) + (all.cut_short == 1 ? " process was" : " processes were") +
            " cut short: \"ran\" has them from their first call to their last large one\n";
  for (const std::string& problem : lines.problems) text += shown(problem) + "\n";
  return text;
}

std::string to_json(const ReportLines& lines) {
  Json programs = Json::array();
  for (const auto& [whose, account] : rows_of(lines)) {
    Json reasons = Json::object();
    for (const auto& [reason, stayed] : account->reasons)
      reasons[reason] = {{"calls", stayed.calls}, {"seconds", stayed.seconds}};
    programs.push_back({{"command", whose->first},
                        {"user", whose->second},
                        {"processes", account->processes},
                        {"cut_short", account->cut_short},
                        {"seconds", account->seconds},
                        {"routed", account->routed},
                        {"device_seconds", account->device_seconds},
                        {"saved_seconds", account->saved_seconds},
                        {"stayed", account->stayed},
                        {"cpu_seconds", account->cpu_seconds},
                        {"first_reason", account->first_reason()},
                        {"reasons", reasons}});
  }
  return json_text({{"programs", programs}, {"problems", lines.problems}}) + "\n";
}

}  // namespace blaslift::cli
