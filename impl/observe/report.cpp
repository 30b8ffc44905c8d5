#include "impl/observe/report.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <new>
#include <utility>

#include "compat/say.hpp"
#include "compat/shown.hpp"
#include "impl/core/json.hpp"

namespace blaslift {
namespace {

template <class... Args>
std::string format(const char* pattern, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

std::string in_bytes(double bytes) {
  constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  while (bytes >= 1000 && unit < 4) bytes /= 1000, ++unit;
  return format(unit ? "%.2f %s" : "%.0f %s", bytes, units[unit]);
}

/// "2026-11-28T23:45:35Z", of CLOCK_REALTIME.
std::string utc(std::uint64_t ns) {
  const auto seconds = static_cast<time_t>(ns / 1000000000u);
  tm parts{};
  char text[32] = {};
  if (gmtime_r(&seconds, &parts)) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::uint64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

/// When the library came into this process, as a rule with its program.
std::uint64_t loaded_ns;
pid_t loaded_into;
[[gnu::constructor]] void note_loading() {
  loaded_ns = monotonic_ns();
  loaded_into = getpid();
}

/// How long a process took: until now, of this one; of one that has gone, from its first call to its last large one,
/// since nobody has seen more.  A forked child begins with its first call.
double seconds_of(const Counters& c) {
  const bool mine = c.pid == getpid();
  const std::uint64_t began = mine && c.pid == loaded_into ? loaded_ns : c.now_ns,
                      end = mine ? monotonic_ns() : c.last_ns.load(std::memory_order_relaxed);
  return end > began ? 1e-9 * static_cast<double>(end - began) : 0;
}

void add_once(std::vector<std::string>& list, const char* text) {
  if (*text && std::find(list.begin(), list.end(), text) == list.end()) list.emplace_back(text);
}

constexpr const char* finding_texts[] = {
#define X(name, text) text,
    BLASLIFT_FINDINGS(X)
#undef X
};
constexpr const char* unchecked_texts[] = {
#define X(name, text) text,
    BLASLIFT_UNCHECKED(X)
#undef X
};

/// "3 over its bound, 1 not the same bits twice"
template <std::size_t size>
std::string listed(const std::array<std::uint64_t, size>& counts, const char* const (&texts)[size]) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i)
    if (counts[i])
      text += format("%s%llu %s", text.empty() ? "" : ", ", static_cast<unsigned long long>(counts[i]), texts[i]);
  return text;
}

template <std::size_t size>
JsonObject object_of(const std::array<std::uint64_t, size>& counts, const char* const (&texts)[size]) {
  JsonObject object;
  for (std::size_t i = 0; i < size; ++i)
    if (counts[i]) object.add(texts[i], counts[i]);
  return object;
}

/// What verification says, after the routines.
std::string verified_text(const Summary& s) {
  constexpr std::size_t most_named = 4;
  std::string text;
  for (std::size_t r = 0; r < routine_count; ++r) {
    const auto& x = s.routines[r];
    if (!x.verified()) continue;
    text += format("blaslift: %-7s %llu call%s checked, %llu repeated: ", routine_names[r],
                   static_cast<unsigned long long>(x.checked), x.checked == 1 ? "" : "s",
                   static_cast<unsigned long long>(x.repeated));
    text += x.wrong ? format("%llu wrong: ", static_cast<unsigned long long>(x.wrong)) + x.found_text()
                    : std::string("none wrong");
    if (const std::string unchecked = x.unchecked_text(); !unchecked.empty()) text += "; not checked: " + unchecked;
    text += '\n';
  }
  std::size_t named = 0;
  for (const Summary::Noted& call : s.worst) {
    if (named++ == most_named) break;
    text += call.findings ? "blaslift: wrong: " : "blaslift: worst: ";
    text += call.routine + " " + shown(call.arguments) + format(": ratio %.3g of at most %.3g", call.ratio, call.limit);
    for (const std::string& finding : call.finding_texts()) text += ", " + finding;
    if (!call.caller.empty()) text += ", called from " + shown(call.caller);
    if (call.calls > 1) text += format(", with %llu others like it", static_cast<unsigned long long>(call.calls - 1));
    if (!call.dump.empty()) text += ", kept in " + shown(call.dump);
    text += '\n';
  }
  for (const std::string& problem : s.problems) text += "blaslift: verification: " + shown(problem) + '\n';
  return text;
}

JsonObject object_of(const Summary::PerRoutine& x) {
  JsonObject levels, stayed, seconds, routine;
  for (std::size_t i = 0; i < most_levels; ++i)
    if (x.levels[i]) levels.add(std::to_string(i + 1), x.levels[i]);
  constexpr int digits = 9;
  for (std::size_t i = 0; i < reason_count; ++i) {
    const char* reason = text_of(static_cast<Reason>(i));
    if (x.stayed[i]) stayed.add(reason, x.stayed[i]);
    if (x.stayed_seconds[i] > 0) seconds.add(reason, JsonNumber{x.stayed_seconds[i], digits});
  }
  routine.add("calls", x.calls())
      .add("routed", x.routed)
      .add("cpu_seconds", JsonNumber{x.cpu_seconds, digits})
      .add("device_seconds", JsonNumber{x.device_seconds, digits})
      .add("saved_seconds", JsonNumber{x.saved_seconds, digits})
      .add("bytes_in", JsonNumber{x.bytes_in})
      .add("bytes_out", JsonNumber{x.bytes_out})
      .add("bytes_spared", JsonNumber{x.bytes_spared})
      .add("bytes_exchanged", JsonNumber{x.bytes_exchanged})
      .add("levels", levels)
      .add("dealt", x.dealt)
      .add("residues", x.residues)
      .add("systolic", x.systolic)
      .add("distrusted", x.distrusted)
      .add("stayed", stayed)
      .add("stayed_seconds", seconds);
  if (x.verified())
    routine.add("verified", JsonObject()
                                .add("checked", x.checked)
                                .add("repeated", x.repeated)
                                .add("wrong", x.wrong)
                                .add("found", object_of(x.found, finding_texts))
                                .add("unchecked", object_of(x.unchecked, unchecked_texts)));
  return routine;
}

JsonObject object_of(const Summary::Noted& call) {
  constexpr int digits = 6;
  return JsonObject()
      .add("routine", call.routine)
      .add("arguments", call.arguments)
      .add("caller", call.caller)
      .add("calls", call.calls)
      .add("ratio", JsonNumber{call.ratio, digits})
      .add("limit", JsonNumber{call.limit, digits})
      .add("found", JsonArray(call.finding_texts()))
      .add("dump", call.dump)
      .add("way", call.way);
}

}  // namespace

std::uint64_t Summary::PerRoutine::stayed_calls() const {
  std::uint64_t sum = 0;
  for (const auto calls : stayed) sum += calls;
  return sum;
}

bool Summary::PerRoutine::verified() const {
  return checked || std::any_of(unchecked.begin(), unchecked.end(), [](auto calls) { return calls > 0; });
}
std::string Summary::PerRoutine::found_text() const { return listed(found, blaslift::finding_texts); }
std::string Summary::PerRoutine::unchecked_text() const { return listed(unchecked, unchecked_texts); }

std::vector<std::string> Summary::Noted::finding_texts() const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < finding_count; ++i)
    if (findings >> i & 1) texts.emplace_back(blaslift::finding_texts[i]);
  return texts;
}

std::uint64_t Summary::checked() const {
  std::uint64_t sum = 0;
  for (const auto& r : routines) sum += r.checked;
  return sum;
}

std::uint64_t Summary::wrong() const {
  std::uint64_t sum = 0;
  for (const auto& r : routines) sum += r.wrong;
  return sum;
}

std::uint64_t Summary::calls() const {
  std::uint64_t sum = 0;
  for (const auto& r : routines) sum += r.calls();
  return sum;
}

void Summary::add(const Counters& c) {
  const std::uint64_t before = calls();
  auto get = [](const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
  for (int r = 0; r < routine_count; ++r) {
    const RoutineCounters& from = c.routines[r];
    PerRoutine& to = routines[static_cast<std::size_t>(r)];
    to.routed += get(from.routed);
    for (int reason = 0; reason < reason_count; ++reason)
      to.stayed[static_cast<std::size_t>(reason)] += get(from.stayed[reason]);
    to.stayed[static_cast<std::size_t>(c.forwarded_reason)] += forwarded_calls(c, static_cast<Routine>(r));
    for (std::size_t i = 0; i < reason_count; ++i) {
      const double seconds = 1e-9 * static_cast<double>(get(from.stayed_ns[i]));
      to.stayed_seconds[i] += seconds;
      to.cpu_seconds += seconds;
    }
    to.device_seconds += 1e-9 * static_cast<double>(get(from.device_ns));
    to.saved_seconds += 1e-9 * static_cast<double>(from.saved_ns.load(std::memory_order_relaxed));
    to.bytes_in += static_cast<double>(get(from.bytes_in));
    to.bytes_out += static_cast<double>(get(from.bytes_out));
    to.bytes_spared += static_cast<double>(get(from.bytes_spared));
    to.bytes_exchanged += static_cast<double>(get(from.bytes_exchanged));
    for (std::size_t i = 0; i < most_levels; ++i) to.levels[i] += get(from.levels[i]);
    to.dealt += get(from.dealt);
    to.residues += get(from.residues);
    to.systolic += get(from.systolic);
    to.distrusted += get(from.distrusted);
  }
  if (calls() == before) return;  // made no call of ours
  for (std::size_t r = 0; r < routine_count; ++r) {
    const CheckCounters& from = c.checks[r];
    PerRoutine& to = routines[r];
    to.checked += get(from.checked);
    to.repeated += get(from.repeated);
    to.wrong += get(from.wrong);
    for (std::size_t i = 0; i < finding_count; ++i) to.found[i] += get(from.found[i]);
    for (std::size_t i = 0; i < unchecked_count; ++i) to.unchecked[i] += get(from.unchecked[i]);
  }
  for (const NotedCall& call : c.worst)
    if (call.complete.load(std::memory_order_acquire))
      worst.push_back({name_of(call.routine), call.arguments, call.caller, call.dump, call.way, call.findings,
                       call.ratio, call.limit, call.rank(), get(call.calls)});
  std::stable_sort(worst.begin(), worst.end(), [](const Noted& a, const Noted& b) { return a.rank > b.rank; });
  if (worst.size() > most_noted_calls) worst.resize(most_noted_calls);
  add_once(problems, c.verify_problem.get());
  ++processes;
  threads = std::max(threads, c.threads.load(std::memory_order_relaxed));
  opening_seconds += 1e-9 * static_cast<double>(get(c.opening_ns));
  gathered += get(c.gathered);
  ungathered += get(c.ungathered);
  if (backend.empty()) backend = c.backend.get(), device = c.device.get(), driver = c.driver.get();
  if (residency.empty()) residency = c.residency.get();
  if (blind.empty()) blind = c.blind.get();
  add_once(details, c.detail.get());
  add_once(details, c.incomplete.get());
  add_once(warnings, c.warning.get());
}

std::string to_text(const Summary& s) {
  std::string text = "blaslift: ";
  std::string uncounted;
  for (const std::string& what : s.uncounted) uncounted += "blaslift: " + shown(what) + '\n';
  if (s.calls() == 0 && !uncounted.empty()) return uncounted;
  if (s.calls() == 0) return text + "no call to a routine that blaslift intercepts; blaslift doctor may say why\n";
  text += s.device.empty() ? std::string("no device used") : shown(s.device) + " (" + shown(s.backend) + ")";
  if (s.processes > 1) text += format(", %d processes", s.processes);
  text += '\n';
  text += uncounted;
  for (const std::string& detail : s.details) text += "blaslift: " + shown(detail) + '\n';
  if (s.residency.starts_with("off: ") && s.residency != "off: switched off")
    text += "blaslift: operands are sent again in every call: " + shown(s.residency.substr(5)) + '\n';
  if (!s.blind.empty())
    text += "blaslift: no copies were kept for a while, since what writes to operands could not be seen: " +
            shown(s.blind) + '\n';
  for (const std::string& warning : s.warnings) text += "blaslift: warning: " + shown(warning) + '\n';
  if (s.gathered + s.ungathered > 0)
    text += format("blaslift: ScaLAPACK: %llu calls computed for all processes of a grid, %llu left to ScaLAPACK\n",
                   static_cast<unsigned long long>(s.gathered), static_cast<unsigned long long>(s.ungathered));
  for (int r = 0; r < routine_count; ++r) {
    const auto& x = s.routines[static_cast<std::size_t>(r)];
    if (x.calls() == 0) continue;
    text += format("blaslift: %-7s %llu call%s", routine_names[r], static_cast<unsigned long long>(x.calls()),
                   x.calls() == 1 ? "" : "s");
    if (x.routed)
      text += format("; %llu on the %s: %.3f s, %s in%s, %s out", static_cast<unsigned long long>(x.routed),
                     s.backend == "host" ? "host backend" : "device", x.device_seconds, in_bytes(x.bytes_in).c_str(),
                     x.bytes_spared > 0 ? (" (" + in_bytes(x.bytes_spared) + " spared)").c_str() : "",
                     in_bytes(x.bytes_out).c_str());
    for (std::size_t i = 0; i < most_levels; ++i)
      if (x.levels[i])
        text += format(", %llu by %zu level%s", static_cast<unsigned long long>(x.levels[i]), i + 1, i ? "s" : "");
    if (x.dealt) text += format(", %llu by several devices", static_cast<unsigned long long>(x.dealt));
    if (x.bytes_exchanged > 0) text += ", " + in_bytes(x.bytes_exchanged) + " from one to another";
    if (x.residues) text += format(", %llu by residues", static_cast<unsigned long long>(x.residues));
    if (x.systolic) text += format(", %llu by systolic arrays", static_cast<unsigned long long>(x.systolic));
    if (x.distrusted) text += format(", %llu badly scaled", static_cast<unsigned long long>(x.distrusted));
    if (x.stayed_calls()) {
      text += format("; %llu on the CPU: ", static_cast<unsigned long long>(x.stayed_calls()));
      if (x.cpu_seconds > 0) text += format("%.3f s, ", x.cpu_seconds);
      bool first = true;
      for (int reason = 0; reason < reason_count; ++reason)
        if (const auto calls = x.stayed[static_cast<std::size_t>(reason)]) {
          text += format("%s%s %llu", first ? "" : ", ", text_of(static_cast<Reason>(reason)),
                         static_cast<unsigned long long>(calls));
          first = false;
        }
    }
    text += '\n';
  }
  return text + verified_text(s);
}

std::string to_json(const Summary& s, const Counters* one) {
  JsonObject summary;
  if (one) {
    summary.add("pid", one->pid)
        .add("host", one->host.get())
        .add("uid", one->user)
        .add("first_call", utc(one->started_ns))
        .add("seconds", JsonNumber{seconds_of(*one), 6});
    for (const auto& [key, text] : {std::pair("job", one->job.get()), std::pair("rank", one->rank.get())})
      if (*text) summary.add(key, text);
    if (!one->reported.load(std::memory_order_relaxed)) summary.add("cut_short", true);
    summary.add("command", one->command)
        .add("library", one->library.get())
        .add("found_by", one->library_found_by.get())
        .add("integers", one->library_wide.load(std::memory_order_relaxed) ? 64 : 32);
  }
  JsonObject routines;
  for (std::size_t r = 0; r < routine_count; ++r)
    if (s.routines[r].calls() > 0) routines.add(routine_names[r], object_of(s.routines[r]));
  summary.add("processes", s.processes)
      .add("backend", s.backend)
      .add("device", s.device)
      .add("driver", s.driver)
      .add("detail", s.details.empty() ? std::string() : s.details.front())
      .add("residency", s.residency)
      .add("blind", s.blind)
      .add("warning", s.warnings.empty() ? std::string() : s.warnings.front())
      .add("opening_seconds", JsonNumber{s.opening_seconds, 9});
  if (s.gathered + s.ungathered > 0)
    summary.add("scalapack", JsonObject().add("computed", s.gathered).add("left", s.ungathered));
  summary.add("routines", routines);
  if (!s.uncounted.empty()) summary.add("uncounted", JsonArray(s.uncounted));
  if (!s.worst.empty() || !s.problems.empty()) {
    JsonArray worst;
    for (const Summary::Noted& call : s.worst) worst.add(object_of(call));
    summary.add("worst", worst).add("problems", JsonArray(s.problems));
  }
  return json_of(summary);
}

void write_report(const Counters& c, const std::string& target) {
  // Too large for a stack that cannot grow any more.
  alignas(Summary) static std::byte memory[sizeof(Summary)];
  const std::unique_ptr<Summary, void (*)(Summary*)> made(new (memory) Summary, [](Summary* x) { x->~Summary(); });
  Summary& summary = *made;
  summary.add(c);
  const bool to_stderr = target == "stderr";
  const std::string text = to_stderr ? to_text(summary) : to_json(summary, &c) + "\n";
  if (to_stderr) return say(text);
  const int fd = open(target.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
  if (fd < 0)
    return say("blaslift: BLASLIFT_REPORT=", shown(target), " cannot be written: ", std::strerror(errno), "\n");
  const std::size_t written = write_all(fd, text);
  const char* why = std::strerror(errno);
  // Half a line is no report: it is taken back, unless somebody has written behind it.
  struct stat file {};
  const off_t end = lseek(fd, 0, SEEK_CUR);
  const bool cut = written < text.size() && written > 0 &&
                   !(fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size == end &&
                     ftruncate(fd, end - static_cast<off_t>(written)) == 0);
  // Some filesystems find out only now that there is no room.
  const bool closed = close(fd) == 0;
  if (written < text.size())
    say("blaslift: BLASLIFT_REPORT=", shown(target),
        cut ? " has only a part of this process's line: " : " lacks this process: ", why, "\n");
  else if (!closed)
    say("blaslift: BLASLIFT_REPORT=", shown(target), " may lack this process: ", std::strerror(errno), "\n");
}

}  // namespace blaslift
