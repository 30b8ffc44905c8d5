#include "tools/cli/report/trace_reader.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <tuple>

#include "impl/core/regular_file.hpp"

namespace blaslift::cli {
namespace {

namespace fs = std::filesystem;

/// No run is longer.
constexpr std::int64_t most_ns = 1000000000000000000;

/// What begins a file, fit to be read: of a trace of this version, or null.
std::unique_ptr<Recording> recording_in(const RegularFile& file) {
  // As bytes: constructors would write what is read over once more.
  std::unique_ptr<Recording> r(new Recording);
  if (file.read(0, static_cast<void*>(r.get()), sizeof *r) < sizeof *r) return nullptr;
  if (r->counters.layout != Counters::this_layout || r->layout != Recording::this_layout) return nullptr;
  check_counters(r->counters);
  r->profile.end(), r->guessed_profile.end();
  return r;
}

template <std::size_t size>
std::string text_of(const char (&text)[size]) {
  return {text, strnlen(text, size)};
}

/// An event out of a file, which may hold anything.
bool plausible(const TraceEvent& e) {
  const auto byte = [&e](const bool& field) {  // a bool that is neither must not be looked at as one
    return reinterpret_cast<const unsigned char*>(
        &e)[reinterpret_cast<const char*>(&field) - reinterpret_cast<const char*>(&e)];
  };
  for (const bool* field : {&e.computed, &e.distrusted, &e.residues, &e.beta_zero, &e.left})
    if (byte(*field) > 1) return false;
  constexpr std::int64_t most_size = std::int64_t{1} << 40;
  for (const std::int64_t size : {e.m, e.n, e.k, e.count})
    if (size < 0 || size > most_size) return false;
  const auto is_one = [](double number, double most) { return number >= 0 && number <= most; };
  constexpr double most_flops = 1e40, most_seconds = 1e30;
  return static_cast<int>(e.routine) < routine_count && static_cast<int>(e.reason) < reason_count &&
         e.what <= Traced::opening && e.begin_ns <= e.end_ns && e.levels <= most_levels &&
         is_one(e.flops, most_flops) && is_one(e.cpu_seconds, most_seconds) && is_one(e.device_seconds, most_seconds);
}

/// CLOCK_MONOTONIC of one process as nanoseconds since the recording began.
class Clock {
 public:
  /// @param began  CLOCK_REALTIME then
  Clock(const Counters& c, std::uint64_t began) : shift_(c.started_ns - c.now_ns - began) {}
  std::int64_t operator()(std::uint64_t t) const {
    return std::clamp(static_cast<std::int64_t>(t + shift_), -most_ns, most_ns);
  }

 private:
  const std::uint64_t shift_;  ///< modulo 2^64, as sums with it
};

/// A stretch of a span; empty where nothing moved.
std::pair<std::int64_t, std::int64_t> within(const Span& s, std::uint64_t begin, std::uint64_t end,
                                             const Clock& clock) {
  if (begin == 0 || end < begin) return {s.begin, s.begin};
  const auto inside = [&](std::uint64_t t) { return std::clamp(clock(t), s.begin, s.end); };
  const std::int64_t first = inside(begin);
  return {first, std::max(first, inside(end))};
}

Span span_of(const TraceEvent& e, const Clock& clock) {
  const std::int64_t begin = clock(e.begin_ns);
  Span s{.begin = begin,
         .end = std::max(begin, clock(e.end_ns)),
         .own_ns = e.own_ns,
         .thread = e.thread,
         .m = e.m,
         .n = e.n,
         .k = e.k,
         .count = e.count,
         .flops = e.flops,
         .bytes_in = e.bytes_in,
         .bytes_out = e.bytes_out,
         .bytes_spared = e.bytes_spared,
         .cpu_seconds = e.cpu_seconds,
         .device_seconds = e.device_seconds,
         .routine = e.routine,
         .what = e.what,
         .reason = e.reason,
         .levels = e.levels,
         .reused = e.reused,
         .computed = e.computed,
         .distrusted = e.distrusted,
         .residues = e.residues,
         .beta_zero = e.beta_zero,
         .left = e.left};
  std::tie(s.in_begin, s.in_end) = within(s, e.transfers.in_begin, e.transfers.in_end, clock);
  std::tie(s.out_begin, s.out_end) = within(s, e.transfers.out_begin, e.transfers.out_end, clock);
  return s;
}

/// All events that are whole, by so many at a time.
void read_events(const RegularFile& file, std::uint64_t claimed, const Clock& clock, std::vector<Span>& spans) {
  constexpr std::size_t most = 1024;
  const auto events = std::make_unique<TraceEvent[]>(most);
  for (std::uint64_t first = 0, got = most; first < claimed && got == most; first += got) {
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(most, claimed - first));
    got = file.read(Recording::events_at() + first * sizeof(TraceEvent), static_cast<void*>(events.get()),
                    wanted * sizeof(TraceEvent)) /
          sizeof(TraceEvent);
    for (std::size_t i = 0; i < got; ++i)
      if (events[i].complete.load() == 1 && plausible(events[i])) spans.push_back(span_of(events[i], clock));
  }
}

RecordedProcess read_process(const RegularFile& file, const Recording& r, std::uint64_t began) {
  const Counters& c = r.counters;
  const Clock clock(c, began);
  RecordedProcess process{.pid = c.pid,
                          .parent = c.parent,
                          .command = text_of(c.command),
                          .arguments = text_of(r.arguments),
                          .host = text_of(r.host),
                          .begin = clock(c.now_ns),
                          .end = 0,
                          .spans = {},
                          .dropped = r.dropped.load(),
                          .unfinished = 0,
                          .profile = r.profile.get(),
                          .guessed_profile = r.guessed_profile.get()};
  process.end = process.begin;
  if (const std::uint64_t last = c.last_ns.load()) process.end = clock(last);
  read_events(file, std::min(r.claimed.load(), most_trace_events), clock, process.spans);
  const std::uint64_t whole = process.spans.size() + process.dropped;
  process.unfinished = r.claimed.load() > whole ? r.claimed.load() - whole : 0;
  std::sort(process.spans.begin(), process.spans.end(), [](const Span& a, const Span& b) {
    return std::tuple(a.thread, a.begin, -a.end) < std::tuple(b.thread, b.begin, -b.end);
  });
  for (const Span& span : process.spans) process.end = std::max(process.end, span.end);
  return process;
}

}  // namespace

std::int64_t Span::moving() const {
  const std::int64_t both = (in_end - in_begin) + (out_end - out_begin);
  return both - std::max<std::int64_t>(0, std::min(in_end, out_end) - std::max(in_begin, out_begin));
}

std::int64_t ReadRecording::length() const {
  std::int64_t end = 0;
  for (const RecordedProcess& process : processes) end = std::max(end, process.end);
  return end;
}

ReadRecording read_recording(const std::string& directory) {
  ReadRecording read;
  std::error_code error;
  std::vector<std::pair<std::uint64_t, std::string>> files;  // by their first calls
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    std::error_code unknown;
    if (!entry.is_regular_file(unknown)) continue;
    const std::string path = entry.path().string();
    if (const auto recording = recording_in(RegularFile(path)))
      files.emplace_back(recording->counters.started_ns, path);
    else
      read.problems.push_back(path + ": no trace, or another version's");
  }
  if (error == std::errc::not_a_directory)
    throw std::runtime_error(directory + " is no recording; to run a program: blaslift report -- " + directory);
  if (error) throw std::runtime_error(directory + ": " + error.message());
  std::sort(files.begin(), files.end());
  for (const auto& [started, path] : files) {
    const RegularFile file(path);
    const auto recording = recording_in(file);
    if (!recording) continue;
    Summary one;
    one.add(recording->counters);
    if (one.calls() == 0) continue;
    if (read.processes.empty()) read.began_ns = started;
    read.processes.push_back(read_process(file, *recording, read.began_ns));
    read.summary.add(recording->counters);
  }
  if (read.processes.empty())
    throw std::runtime_error(directory + ": no call was recorded there" +
                             (read.problems.empty() ? "" : "; " + read.problems.front()));
  return read;
}

std::string sizes_of(const Span& s) {
  std::string text;
  for (const auto& [name, value] : {std::pair("m", s.m), std::pair("n", s.n), std::pair("k", s.k)})
    if (value > 0) text += std::string(text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  if (s.count > 1) text += " batch=" + std::to_string(s.count);
  return text;
}

}  // namespace blaslift::cli
