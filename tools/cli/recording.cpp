#include "tools/cli/recording.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <tuple>

namespace blaslift::cli {
namespace {

namespace fs = std::filesystem;

/// A file mapped for reading.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
      size_ = static_cast<std::size_t>(status.st_size);
      memory_ = mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
    }
    if (fd >= 0) close(fd);
  }
  ~MappedFile() {
    if (memory_ != MAP_FAILED) munmap(memory_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Null: the file is too short for it.
  template <class T>
  const T* at(std::size_t offset, std::size_t count = 1) const {
    if (memory_ == MAP_FAILED || offset > size_ || (size_ - offset) / sizeof(T) < count) return nullptr;
    return reinterpret_cast<const T*>(static_cast<const char*>(memory_) + offset);
  }
  std::size_t size() const { return memory_ == MAP_FAILED ? 0 : size_; }

 private:
  void* memory_ = MAP_FAILED;
  std::size_t size_ = 0;
};

template <std::size_t size>
std::string text_of(const char (&text)[size]) {
  return {text, strnlen(text, size)};
}

bool plausible(const TraceEvent& e) {
  return static_cast<int>(e.routine) < routine_count && static_cast<int>(e.reason) < reason_count &&
         e.what <= Traced::opening && e.begin_ns <= e.end_ns && e.levels <= most_levels;
}

/// A stretch of a span; empty where nothing moved.
std::pair<std::int64_t, std::int64_t> within(const Span& s, std::uint64_t begin, std::uint64_t end,
                                             std::int64_t shift) {
  if (begin == 0 || end < begin) return {s.begin, s.begin};
  const auto inside = [&](std::uint64_t t) { return std::clamp(static_cast<std::int64_t>(t) - shift, s.begin, s.end); };
  return {inside(begin), inside(end)};
}

/// @param shift  from CLOCK_MONOTONIC to the recording's time
Span span_of(const TraceEvent& e, std::int64_t shift) {
  Span s{.begin = static_cast<std::int64_t>(e.begin_ns) - shift,
         .end = static_cast<std::int64_t>(e.end_ns) - shift,
         .own_ns = e.own_ns,
         .thread = e.thread,
         .m = e.m,
         .n = e.n,
         .k = e.k,
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
         .beta_zero = e.beta_zero,
         .left = e.left};
  std::tie(s.in_begin, s.in_end) = within(s, e.transfers.in_begin, e.transfers.in_end, shift);
  std::tie(s.out_begin, s.out_end) = within(s, e.transfers.out_begin, e.transfers.out_end, shift);
  return s;
}

/// CLOCK_REALTIME less CLOCK_MONOTONIC where and while the process ran.
std::int64_t clock_distance(const Counters& c) {
  return static_cast<std::int64_t>(c.started_ns) - static_cast<std::int64_t>(c.now_ns);
}

RecordedProcess read_process(const MappedFile& file, const Recording& r, std::int64_t began) {
  const Counters& c = r.counters;
  const std::int64_t shift = began - clock_distance(c);
  RecordedProcess process{.pid = c.pid,
                          .parent = c.parent,
                          .command = text_of(c.command),
                          .arguments = text_of(r.arguments),
                          .host = text_of(r.host),
                          .begin = static_cast<std::int64_t>(c.now_ns) - shift,
                          .end = 0,
                          .spans = {},
                          .dropped = r.dropped.load(),
                          .unfinished = 0,
                          .profile = r.profile.get(),
                          .guessed_profile = r.guessed_profile.get()};
  process.end = process.begin;
  if (const std::uint64_t last = c.last_ns.load()) process.end = static_cast<std::int64_t>(last) - shift;
  const std::uint64_t claimed = std::min(r.claimed.load(), most_trace_events);
  const std::size_t there =
      file.size() <= Recording::events_at() ? 0 : (file.size() - Recording::events_at()) / sizeof(TraceEvent);
  for (std::size_t i = 0; i < std::min<std::size_t>(claimed, there); ++i) {
    const TraceEvent& event = *file.at<TraceEvent>(Recording::events_at() + i * sizeof(TraceEvent));
    if (event.complete.load(std::memory_order_acquire) == 1 && plausible(event))
      process.spans.push_back(span_of(event, shift));
  }
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
  std::vector<std::unique_ptr<MappedFile>> files;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (!entry.is_regular_file()) continue;
    auto file = std::make_unique<MappedFile>(entry.path().string());
    const auto* recording = file->at<Recording>(0);
    if (recording && recording->counters.layout == Counters::this_layout && recording->layout == Recording::this_layout)
      files.push_back(std::move(file));
    else
      read.problems.push_back(entry.path().string() + ": no trace, or another version's");
  }
  if (error == std::errc::not_a_directory)
    throw std::runtime_error(directory + " is no recording; to run a program: blaslift report -- " + directory);
  if (error) throw std::runtime_error(directory + ": " + error.message());
  const auto recording = [](const std::unique_ptr<MappedFile>& file) { return file->at<Recording>(0); };
  std::sort(files.begin(), files.end(), [&](const auto& a, const auto& b) {
    return recording(a)->counters.started_ns < recording(b)->counters.started_ns;
  });
  for (const auto& file : files) {
    const Recording& r = *recording(file);
    Summary one;
    one.add(r.counters);
    if (one.calls() == 0) continue;
    if (read.processes.empty()) read.began_ns = r.counters.started_ns;
    read.processes.push_back(read_process(*file, r, static_cast<std::int64_t>(read.began_ns)));
    read.summary.add(r.counters);
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
  return text;
}

}  // namespace blaslift::cli
