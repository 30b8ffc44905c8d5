// break_trace TRACE DIRECTORY: of a valid trace a folder for each fault, with that fault.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "impl/observe/trace.hpp"

using namespace blaslift;

int main(int, char** words) {
  std::ifstream file(words[1], std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(file), {}};
  const auto write = [&](const std::string& name, auto change) {
    std::string bytes = good;
    change(bytes);
    const std::filesystem::path folder = std::filesystem::path(words[2]) / name;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "1.0", std::ios::binary) << bytes;
  };
  const auto put = [](std::string& bytes, std::size_t at, auto value) {
    std::memcpy(&bytes[at], &value, sizeof value);
  };
  constexpr std::size_t worst = offsetof(Counters, worst);
  constexpr std::uint64_t odd[] = {1, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff};
  write("reason", [&](std::string& b) {
    b[offsetof(Counters, forwarded_reason)] = '\xff';
    std::memset(&b[offsetof(Counters, slots)], 'A', sizeof(ThreadCounters::forwarded));
  });
  write("routine", [&](std::string& b) {
    b[worst + offsetof(NotedCall, complete)] = 1;
    b[worst + offsetof(NotedCall, routine)] = '\xff';
  });
  write("unterminated", [&](std::string& b) {
    b[worst + offsetof(NotedCall, complete)] = 1;
    constexpr std::size_t from = worst + offsetof(NotedCall, arguments);
    std::memset(&b[from], 'A', Recording::events_at() - from);
    put(b, offsetof(Recording, layout), Recording::this_layout);
  });
  write("ratio", [&](std::string& b) {
    for (int i = 0; i < most_noted_calls; ++i) {
      const std::size_t at = worst + static_cast<std::size_t>(i) * sizeof(NotedCall);
      b[at + offsetof(NotedCall, complete)] = 1;
      put(b, at + offsetof(NotedCall, ratio), i % 2 ? -INFINITY : NAN);
      put(b, at + offsetof(NotedCall, limit), i % 3 ? INFINITY : NAN);
    }
  });
  write("escapes", [&](std::string& b) {
    const char text[] = "\x1b]0;title\a\nblaslift: all is well\xc2\x9b\xe2\x80\xae";
    std::memcpy(&b[offsetof(Counters, command)], text, sizeof text);
    std::memcpy(&b[offsetof(Recording, arguments)], text, sizeof text);
    std::memcpy(&b[offsetof(Recording, host)], text, sizeof text);
    for (const std::size_t note :
         {offsetof(Counters, device), offsetof(Counters, detail), offsetof(Counters, warning)}) {
      put(b, note, std::uint32_t{2});
      std::memcpy(&b[note + 4], text, sizeof text);
    }
  });
  const auto of_events = [&](const std::string& name, std::size_t field, auto value) {
    write(name, [&](std::string& b) {
      for (std::size_t at = Recording::events_at() + field; at + sizeof value <= b.size() && at < good.size();
           at += sizeof(TraceEvent))
        put(b, at, value);
    });
  };
  of_events("infinite", offsetof(TraceEvent, flops), static_cast<double>(INFINITY));
  of_events("none", offsetof(TraceEvent, flops), std::numeric_limits<double>::quiet_NaN());
  of_events("largest", offsetof(TraceEvent, flops), std::numeric_limits<double>::max());
  of_events("least", offsetof(TraceEvent, flops), std::numeric_limits<double>::denorm_min());
  of_events("bool", offsetof(TraceEvent, computed), '\x7f');
  for (const std::uint64_t value : odd) {
    const std::string end = "-" + std::to_string(value);
    of_events("m" + end, offsetof(TraceEvent, m), value);
    of_events("count" + end, offsetof(TraceEvent, count), value);
    of_events("begin" + end, offsetof(TraceEvent, begin_ns), value);
    of_events("end" + end, offsetof(TraceEvent, end_ns), value);
    of_events("own" + end, offsetof(TraceEvent, own_ns), value);
    of_events("in" + end, offsetof(TraceEvent, transfers), value);
    for (const std::size_t field : {offsetof(Counters, started_ns), offsetof(Counters, now_ns),
                                    offsetof(Counters, last_ns), offsetof(Recording, claimed)})
      write("head-" + std::to_string(field) + end, [&](std::string& b) { put(b, field, value); });
  }
  // Each in the one before: as deep as there are events.
  write("deep", [&](std::string& b) {
    TraceEvent event{};
    std::memcpy(static_cast<void*>(&event), &good[Recording::events_at()], sizeof event);
    event.complete = 1;
    event.what = Traced::on_cpu;
    event.reason = Reason::transfers;
    event.computed = true;
    b.resize(Recording::events_at() + most_trace_events * sizeof event);
    for (std::size_t i = 0; i < most_trace_events; ++i) {
      event.begin_ns += 1;
      event.end_ns = event.begin_ns + 2 * (most_trace_events - i);
      std::memcpy(&b[Recording::events_at() + i * sizeof event], static_cast<void*>(&event), sizeof event);
    }
    put(b, offsetof(Recording, claimed), most_trace_events);
  });
}
