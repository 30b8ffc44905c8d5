#include "impl/report.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "impl/text.hpp"

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

void add_once(std::vector<std::string>& list, const char* text) {
  if (*text && std::find(list.begin(), list.end(), text) == list.end()) list.emplace_back(text);
}

}  // namespace

std::uint64_t Summary::PerRoutine::stayed_calls() const {
  std::uint64_t sum = 0;
  for (const auto calls : stayed) sum += calls;
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
    to.cpu_seconds += 1e-9 * static_cast<double>(get(from.cpu_ns));
    to.device_seconds += 1e-9 * static_cast<double>(get(from.device_ns));
    to.bytes_in += static_cast<double>(get(from.bytes_in));
    to.bytes_out += static_cast<double>(get(from.bytes_out));
    to.bytes_spared += static_cast<double>(get(from.bytes_spared));
    for (std::size_t i = 0; i < most_levels; ++i) to.levels[i] += get(from.levels[i]);
    to.distrusted += get(from.distrusted);
  }
  if (calls() == before) return;  // made no call of ours
  ++processes;
  if (backend.empty()) backend = c.backend.get(), device = c.device.get();
  if (residency.empty()) residency = c.residency.get();
  add_once(details, c.detail.get());
  add_once(warnings, c.warning.get());
}

std::string to_text(const Summary& s) {
  std::string text = "blaslift: ";
  if (s.calls() == 0) return text + "no call to a routine that blaslift intercepts\n";
  text += s.device.empty() ? std::string("no device used") : s.device + " (" + s.backend + ")";
  if (s.processes > 1) text += format(", %d processes", s.processes);
  text += '\n';
  for (const std::string& detail : s.details) text += "blaslift: " + detail + '\n';
  if (s.residency.starts_with("off: ") && s.residency != "off: switched off")
    text += "blaslift: operands are sent anew in every call: " + s.residency.substr(5) + '\n';
  for (const std::string& warning : s.warnings) text += "blaslift: warning: " + warning + '\n';
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
    if (x.distrusted) text += format(", %llu badly scaled for levels", static_cast<unsigned long long>(x.distrusted));
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
  return text;
}

std::string to_json(const Summary& s, const Counters* one) {
  std::string text = "{";
  if (one)
    text += format("\"pid\": %d, \"command\": ", one->pid) + quoted(one->command) +
            ", \"library\": " + quoted(one->library.get()) + ", \"found_by\": " + quoted(one->library_found_by.get()) +
            format(", \"integers\": %d, ", one->library_wide.load(std::memory_order_relaxed) ? 64 : 32);
  text +=
      format("\"processes\": %d, \"backend\": ", s.processes) + quoted(s.backend) + ", \"device\": " + quoted(s.device);
  text += ", \"detail\": " + quoted(s.details.empty() ? "" : s.details.front());
  text += ", \"residency\": " + quoted(s.residency);
  text += ", \"warning\": " + quoted(s.warnings.empty() ? "" : s.warnings.front());
  text += ", \"routines\": {";
  bool first = true;
  for (int r = 0; r < routine_count; ++r) {
    const auto& x = s.routines[static_cast<std::size_t>(r)];
    if (x.calls() == 0) continue;
    text += std::string(first ? "" : ", ") + quoted(routine_names[r]) + ": {\"calls\": " + std::to_string(x.calls()) +
            ", \"routed\": " + std::to_string(x.routed) + ", \"cpu_seconds\": " + number(x.cpu_seconds, 9) +
            ", \"device_seconds\": " + number(x.device_seconds, 9) + ", \"bytes_in\": " + number(x.bytes_in) +
            ", \"bytes_out\": " + number(x.bytes_out) + ", \"bytes_spared\": " + number(x.bytes_spared);
    std::string levels;
    for (std::size_t i = 0; i < most_levels; ++i)
      if (x.levels[i])
        levels +=
            format("%s\"%zu\": %llu", levels.empty() ? "" : ", ", i + 1, static_cast<unsigned long long>(x.levels[i]));
    text += ", \"levels\": {" + levels + "}, \"distrusted\": " + std::to_string(x.distrusted) + ", \"stayed\": {";
    first = false;
    bool first_reason = true;
    for (int reason = 0; reason < reason_count; ++reason)
      if (const auto calls = x.stayed[static_cast<std::size_t>(reason)]) {
        text += format("%s\"%s\": %llu", first_reason ? "" : ", ", text_of(static_cast<Reason>(reason)),
                       static_cast<unsigned long long>(calls));
        first_reason = false;
      }
    text += "}}";
  }
  return text + "}}";
}

void write_report(const Counters& c, const std::string& target) {
  Summary summary;
  summary.add(c);
  const bool to_stderr = target == "stderr";
  const std::string text = to_stderr ? to_text(summary) : to_json(summary, &c) + "\n";
  const int fd = to_stderr ? STDERR_FILENO : open(target.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) {
    std::fprintf(stderr, "blaslift: BLASLIFT_REPORT=%s cannot be written: %s\n", target.c_str(), std::strerror(errno));
    return;
  }
  if (write(fd, text.data(), text.size()) < 0)
    std::fprintf(stderr, "blaslift: the report could not be written: %s\n", std::strerror(errno));
  if (!to_stderr) close(fd);
}

}  // namespace blaslift
