#include "tools/cli/report/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/cli/launch/json_text.hpp"

namespace blaslift::cli {
namespace {

double microseconds(std::int64_t ns) { return 1e-3 * static_cast<double>(ns); }

/// An event of any track.
struct Track {
  std::int64_t process, thread;
};
struct Entry {
  std::int64_t begin, end;
  Track track;
  const Span* span;
  enum What { call, in, out } what;
};

Json event_of(const Entry& e) {
  const Span& s = *e.span;
  Json args;
  std::string name, category;
  if (e.what != Entry::call) {
    name = e.what == Entry::in ? "to the device" : "from the device";
    category = "bus";
    args["bytes"] = e.what == Entry::in ? s.bytes_in : s.bytes_out;
  } else if (s.what == Traced::opening) {
    name = s.computed ? "opening the device" : "no device could be opened";
    category = "device";
  } else {
    name = std::string(routine_names[static_cast<int>(s.routine)]) + (s.computed ? "" : " (attempt)");
    category = s.what == Traced::on_cpu ? "cpu" : "device";
    for (const auto& [letter, size] : {std::pair("m", s.m), std::pair("n", s.n), std::pair("k", s.k)})
      if (size > 0) args[letter] = size;
    if (s.count > 1) args["batch"] = s.count;
    args["reason"] = text_of(s.reason);
    if (s.elapsed() > 0 && s.computed) args["Gflop/s"] = s.flops / static_cast<double>(s.elapsed());
    if (s.cpu_seconds > 0) args["predicted CPU ms"] = 1e3 * s.cpu_seconds;
    if (s.device_seconds > 0) args["predicted device ms"] = 1e3 * s.device_seconds;
    if (s.what == Traced::on_device) {
      args["bytes in"] = s.bytes_in;
      args["bytes out"] = s.bytes_out;
      args["bytes spared"] = s.bytes_spared;
      if (s.reused) args["operands there already"] = s.reused;
      if (s.levels) args["levels"] = s.levels;
      if (s.residues) args["residues"] = true;
      if (s.distrusted) args["badly scaled"] = true;
    }
  }
  Json event{{"ph", "X"},
             {"name", name},
             {"cat", category},
             {"ts", microseconds(e.begin)},
             {"dur", microseconds(e.end - e.begin)},
             {"pid", e.track.process},
             {"tid", e.track.thread}};
  if (!args.empty()) event["args"] = std::move(args);
  return event;
}

Json metadata(const char* what, const Track& track, Json args) {
  return {{"ph", "M"}, {"name", what}, {"ts", 0}, {"pid", track.process}, {"tid", track.thread}, {"args", args}};
}

/// Tracks of bytes have numbers that no thread has.
constexpr std::int64_t no_thread = std::int64_t{1} << 23;
Track beside(const Track& thread, Entry::What what) {
  return {thread.process, no_thread + 2 * thread.thread + (what == Entry::out)};
}

}  // namespace

void write_timeline(const ReadRecording& run, std::ostream& out) {
  std::vector<Json> names;
  std::vector<Entry> entries;
  std::set<std::int64_t> taken;
  std::int64_t next_number = std::int64_t{1} << 23;
  for (const RecordedProcess& process : run.processes) {
    // An executed program has its process's number, and two nodes may give the same one.
    const std::int64_t number = taken.insert(process.pid).second ? process.pid : next_number++;
    const Track main{number, process.pid};
    names.push_back(
        metadata("process_name", main,
                 {{"name", process.command + " (" + std::to_string(process.pid) + " on " + process.host + ")"}}));
    names.push_back(metadata("process_labels", main, {{"labels", process.arguments}}));
    std::set<std::int64_t> named;
    for (const Span& span : process.spans) {
      const Track track{number, span.thread};
      if (named.insert(track.thread).second)
        names.push_back(metadata("thread_name", track, {{"name", "thread " + std::to_string(span.thread)}}));
      entries.push_back({span.begin, span.end, track, &span, Entry::call});
      const auto moved = [&](std::int64_t begin, std::int64_t end, Entry::What what) {
        if (begin == end) return;
        const Track bus = beside(track, what);
        if (named.insert(bus.thread).second)
          names.push_back(metadata("thread_name", bus,
                                   {{"name", "thread " + std::to_string(span.thread) +
                                                 (what == Entry::in ? ", to the device" : ", from the device")}}));
        entries.push_back({begin, end, bus, &span, what});
      };
      moved(span.in_begin, span.in_end, Entry::in);
      moved(span.out_begin, span.out_end, Entry::out);
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::tuple(a.begin, -a.end) < std::tuple(b.begin, -b.end); });
  // Event by event, a line each: a recording may hold millions.
  const std::string all = json_text(
      Json{{"displayTimeUnit", "ms"},
           {"otherData",
            {{"writer", "blaslift " BLASLIFT_VERSION}, {"began_ns", run.began_ns}, {"device", run.summary.device}}},
           {"traceEvents", Json::array()}});
  constexpr std::string_view end = "]}";
  out << all.substr(0, all.size() - end.size());
  const char* separator = "\n";
  for (const Json& name : names) out << std::exchange(separator, ",\n") << json_text(name);
  for (const Entry& entry : entries) out << std::exchange(separator, ",\n") << json_text(event_of(entry));
  out << '\n' << end << '\n';
}

std::string to_json(const Analysis& a) {
  Json routines = Json::object();
  for (const auto& [routine, x] : a.routines) {
    Json levels = Json::object();
    for (std::size_t i = 0; i < most_levels; ++i)
      if (x.levels[i]) levels[std::to_string(i + 1)] = x.levels[i];
    routines[routine_names[static_cast<int>(routine)]] = {
        {"calls", x.calls},
        {"routed", x.routed},
        {"recorded", {{"cpu", x.spans_on_cpu}, {"device", x.spans_on_device}}},
        {"cpu_seconds", x.cpu_seconds},
        {"device_seconds", x.device_seconds},
        {"bus_seconds", x.bus_seconds},
        {"recorded_cpu_seconds", x.span_cpu_seconds},
        {"recorded_device_seconds", x.span_device_seconds},
        {"failed_seconds", x.failed_seconds},
        {"bytes_in", x.bytes_in},
        {"bytes_out", x.bytes_out},
        {"bytes_spared", x.bytes_spared},
        {"recorded_bytes_in", x.span_bytes_in},
        {"recorded_bytes_out", x.span_bytes_out},
        {"recorded_bytes_spared", x.span_bytes_spared},
        {"reused", x.reused},
        {"levels", levels},
    };
  }
  Json sizes = Json::array();
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    const SizeAccount& x = a.sizes[i];
    if (x.cpu_calls + x.device_calls == 0) continue;
    sizes.push_back({{"from_flops", i == 0 ? 0.0 : std::pow(4.0, static_cast<double>(i) + 1)},
                     {"cpu_calls", x.cpu_calls},
                     {"device_calls", x.device_calls},
                     {"cpu_seconds", x.cpu_seconds},
                     {"device_seconds", x.device_seconds}});
  }
  Json stayed = Json::object();
  for (const auto& [reason, x] : a.reasons) {
    const auto gain = [](const ReasonAccount::Gain& g) {
      return Json{{"calls", g.calls}, {"seconds", g.seconds}, {"device_seconds", g.device_seconds}};
    };
    stayed[text_of(reason)] = {{"calls", x.calls},
                               {"recorded", x.recorded},
                               {"seconds", x.seconds},
                               {"moving", gain(x.moving)},
                               {"resident", gain(x.resident)}};
  }
  return json_text({{"seconds", a.seconds},
                    {"processes", a.run.processes.size()},
                    {"calls", a.calls},
                    {"recorded", a.spans},
                    {"dropped", a.dropped},
                    {"unfinished", a.unfinished},
                    {"opening_seconds", a.opening_seconds},
                    {"profile", a.profile_name},
                    {"routines", routines},
                    {"sizes", sizes},
                    {"stayed", stayed},
                    {"share",
                     {{"cpu_seconds", a.cpu_union_seconds},
                      {"least_seconds", a.least_seconds()},
                      {"moving_seconds", a.seconds_with(&ReasonAccount::moving)},
                      {"resident_seconds", a.seconds_with(&ReasonAccount::resident)}}}}) +
         "\n";
}

}  // namespace blaslift::cli
