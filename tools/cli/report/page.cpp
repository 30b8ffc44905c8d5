#include "tools/cli/report/page.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <set>

#include "compat/shown.hpp"
#include "tools/cli/report/quantities.hpp"
#include "tools/cli/report/report_text.hpp"

namespace blaslift::cli {
namespace {

std::string escaped(std::string_view text) {
  std::string q;
  for (const char c : shown(text)) {
    switch (c) {
      case '&': q += "&amp;"; break;
      case '<': q += "&lt;"; break;
      case '>': q += "&gt;"; break;
      case '"': q += "&quot;"; break;
      default: q += c;
    }
  }
  return q;
}

// ---- pictures

constexpr double page_width = 900;

/// A picture in units of a pixel at full width.  What kind a shape is of (cpu, device, bus, line ...) the style sheet
/// colours.
class Svg {
 public:
  Svg(double height, const std::string& title) {
    text_ = format("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\">", page_width, height) + "<title>" + escaped(title) +
            "</title>\n";
  }

  void rect(const char* kind, double x, double y, double width, double height, const std::string& tip = {}) {
    if (width <= 0 || height <= 0) return;
    text_ +=
        format("<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", kind, x, y, width, height);
    text_ += tip.empty() ? "/>\n" : "><title>" + escaped(tip) + "</title></rect>\n";
  }
  void circle(const char* kind, double x, double y, double radius, const std::string& tip) {
    text_ += format("<circle class=\"%s\" cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\"><title>", kind, x, y, radius) +
             escaped(tip) + "</title></circle>\n";
  }
  void line(const char* kind, double x1, double y1, double x2, double y2) {
    text_ += format("<line class=\"%s\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>\n", kind, x1, y1, x2, y2);
  }
  /// @param anchor  "start", "middle" or "end": where x is in it
  void label(double x, double y, const std::string& words, const char* anchor = "start", const char* kind = "") {
    text_ += format("<text class=\"%s\" x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\">", kind, x, y, anchor) +
             escaped(words) + "</text>\n";
  }
  std::string end() const { return text_ + "</svg>\n"; }

 private:
  std::string text_;
};

struct BarPart {
  const char* kind;
  double value;
  std::string tip;
};
struct Bar {
  std::string name;
  std::vector<BarPart> parts;
  std::string note;  ///< behind it
  double length() const {
    double sum = 0;
    for (const BarPart& part : parts) sum += part.value;
    return sum;
  }
};

std::string horizontal_bars(const std::string& title, const std::vector<Bar>& bars, double left) {
  constexpr double row = 28, thick = 18, note_width = 210;
  const double room = page_width - left - note_width;
  double longest = 0;
  for (const Bar& bar : bars) longest = std::max(longest, bar.length());
  Svg svg(row * static_cast<double>(bars.size()) + 8, title);
  double y = 4;
  for (const Bar& bar : bars) {
    svg.label(left - 8, y + 14, bar.name, "end");
    double x = left;
    for (const BarPart& part : bar.parts) {
      const double width = longest > 0 ? room * part.value / longest : 0;
      svg.rect(part.kind, x, y, width, thick, part.tip);
      x += width;
    }
    svg.label(x + 6, y + 14, bar.note, "start", "dim");
    y += row;
  }
  return svg.end();
}

/// Of bars that are beside each other: at most so many, with what is under each.
std::string columns(const std::string& title, const std::vector<Bar>& bars,
                    const std::function<std::string(double)>& words) {
  constexpr double height = 220, top = 20, bottom = 44, left = 8;
  double highest = 0;
  for (const Bar& bar : bars) highest = std::max(highest, bar.length());
  Svg svg(height, title);
  const double room = (page_width - 2 * left) / static_cast<double>(std::max<std::size_t>(bars.size(), 10));
  const double base = height - bottom;
  svg.line("axis", left, base, page_width - left, base);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double x = left + room * static_cast<double>(i);
    double y = base;
    for (const BarPart& part : bars[i].parts) {
      const double h = highest > 0 ? (base - top) * part.value / highest : 0;
      y -= h;
      svg.rect(part.kind, x + 0.12 * room, y, 0.76 * room, h, part.tip);
    }
    svg.label(x + room / 2, y - 4, words(bars[i].length()), "middle", "dim small");
    svg.label(x + room / 2, base + (i % 2 ? 32 : 16), bars[i].name, "middle", "small");  // names are wider than bars
  }
  return svg.end();
}

std::string legend(std::initializer_list<std::pair<const char*, const char*>> entries) {
  std::string text = "<p class=\"legend\">";
  for (const auto& [kind, words] : entries)
    text += std::string("<span><i class=\"") + kind + "\"></i>" + escaped(words) + "</span> ";
  return text + "</p>\n";
}

std::string figure(const std::string& picture, const std::string& caption) {
  return "<figure>\n" + picture + "<figcaption>" + escaped(caption) + "</figcaption></figure>\n";
}

std::string table(std::initializer_list<const char*> head, const std::vector<std::vector<std::string>>& rows) {
  std::string text = "<div class=\"wide\"><table><thead><tr>";
  for (const char* cell : head) text += "<th scope=\"col\">" + escaped(cell) + "</th>";
  text += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      text += i == 0 ? "<th scope=\"row\">" + escaped(row[i]) + "</th>" : "<td>" + escaped(row[i]) + "</td>";
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string section(const char* id, const char* heading, const std::string& body) {
  return std::string("<section id=\"") + id + "\"><h2>" + heading + "</h2>\n" + body + "</section>\n";
}

std::string nothing(const char* why) { return std::string("<p class=\"dim\">") + why + "</p>\n"; }

// ---- what is in them

std::string time_by_routine(const Analysis& a) {
  std::vector<Bar> bars;
  std::vector<std::vector<std::string>> rows;
  for (const auto& [routine, x] : a.routines) {
    const char* name = routine_names[static_cast<int>(routine)];
    const double all = x.cpu_seconds + x.device_seconds;
    rows.push_back({name, in_digits(x.calls), in_digits(x.routed), in_seconds(x.cpu_seconds),
                    in_seconds(x.device_seconds), in_seconds(x.bus_seconds), in_bytes(x.bytes_in),
                    in_bytes(x.bytes_out), in_bytes(x.bytes_spared)});
    if (all == 0) continue;
    const auto tip = [&](const char* where, double seconds) {
      return std::string(name) + " " + where + ": " + in_seconds(seconds);
    };
    bars.push_back(
        {name,
         {{"cpu", x.cpu_seconds, tip("on the CPU", x.cpu_seconds)},
          {"device", x.device_alone_seconds(), tip("on the device, nothing moving", x.device_alone_seconds())},
          {"bus", x.bus_seconds, tip("on the device, bytes moving", x.bus_seconds)}},
         in_seconds(all) + ", " + in_calls(x.calls)});
  }
  if (rows.empty()) return nothing("No routine was called.");
  return (bars.empty()
              ? nothing("No call was large enough to be timed.")
              : legend(
                    {{"cpu", "on the CPU"}, {"device", "on the device"}, {"bus", "on the device, while bytes moved"}}) +
                    figure(
                        horizontal_bars("Time by routine", bars, 90),
                        "Time of the calls that were timed, without counted calls inside them. Moving: from the first "
                        "piece to the last, in each direction, as the threads see it that copy.")) +
         table({"routine", "calls", "on the device", "CPU time", "device time", "of it moving", "in", "out", "spared"},
               rows);
}

std::string sizes(const Analysis& a) {
  std::vector<Bar> calls, seconds;
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    const SizeAccount& x = a.sizes[i];
    if (x.cpu_calls + x.device_calls == 0 && calls.empty()) continue;
    const std::string name = i == 0 ? "less" : in_flops(std::pow(4.0, static_cast<double>(i) + 1));
    const std::string from = name_of_size(i);
    calls.push_back(
        {name,
         {{"cpu", static_cast<double>(x.cpu_calls), from + ": " + in_calls(x.cpu_calls) + " on the CPU"},
          {"device", static_cast<double>(x.device_calls), from + ": " + in_calls(x.device_calls) + " on the device"}},
         {}});
    seconds.push_back({name,
                       {{"cpu", x.cpu_seconds, from + ": " + in_seconds(x.cpu_seconds) + " on the CPU"},
                        {"device", x.device_seconds, from + ": " + in_seconds(x.device_seconds) + " on the device"}},
                       {}});
  }
  while (!calls.empty() && calls.back().length() == 0) calls.pop_back(), seconds.pop_back();
  if (calls.empty()) return nothing("No call was recorded.");
  return legend({{"cpu", "on the CPU"}, {"device", "on the device"}}) +
         figure(
             columns("Recorded calls by size", calls,
                     [](double x) { return x > 0 ? in_digits(static_cast<std::uint64_t>(x)) : ""; }),
             "Recorded calls by their floating-point operations: from the number below a bar to four times as many.") +
         figure(columns("Time of recorded calls by size", seconds, [](double x) { return x > 0 ? in_seconds(x) : ""; }),
                "The time that they took.");
}

/// Where words have been written, so that others are not written over them.
class Labels {
 public:
  /// As near above `y` as there is room, or else below; x is the left end.
  void write(Svg& svg, double x, double y, double top, double bottom, const std::string& words) {
    constexpr double height = 14, letter = 6.6, gap = 3;
    const double width = letter * static_cast<double>(words.size());
    x = std::min(x, page_width - width - gap);
    const auto is_free = [&](double at) {
      return std::none_of(taken_.begin(), taken_.end(), [&](const Box& b) {
        return x < b.right + gap && x + width + gap > b.left && std::fabs(at - b.y) < height;
      });
    };
    double at = std::clamp(y - 5, top + height, bottom);
    for (int i = 0; i < 40 && !is_free(at); ++i)
      at = std::clamp(y - 5 + (i % 2 ? -1 : 1) * height * (i / 2 + 1), top + height, bottom);
    taken_.push_back({x, x + width, at});
    svg.label(x, at, words, "start", "small");
  }

 private:
  struct Box {
    double left, right, y;
  };
  std::vector<Box> taken_;
};

/// Logarithmic axes.
struct Axes {
  double x0, x1, y0, y1;  ///< decades
  static constexpr double left = 90, right = 20, top = 14, bottom = 46, height = 420;
  double x(double value) const { return left + (page_width - left - right) * (std::log10(value) - x0) / (x1 - x0); }
  double y(double value) const {
    return height - bottom - (height - top - bottom) * (std::log10(value) - y0) / (y1 - y0);
  }
};

std::string roofline(const Analysis& a) {
  struct Spot {
    std::uint64_t calls = 0;
    double x = 0, y = 0, seconds = 0;
    const Span* one = nullptr;
  };
  constexpr double cells = 20;  // a decade
  std::map<std::tuple<bool, int, int>, Spot> spots;
  std::set<Precision> precisions;
  double fastest_on_cpu = 0, least_x = 1e300, most_x = 0, least_y = 1e300, most_y = 0;
  for (const RecordedProcess& process : a.run.processes)
    for (const Span& span : process.spans) {
      const double bytes = operand_bytes(span);
      if (span.what == Traced::opening || !span.computed || span.own_ns == 0 || !(bytes > 0)) continue;
      const double x = span.flops / bytes, y = span.flops / (1e-9 * static_cast<double>(span.own_ns));
      if (!(x > 0) || !(y > 0)) continue;
      const bool device = span.what == Traced::on_device;
      Spot& spot = spots[{device, static_cast<int>(std::floor(cells * std::log10(x))),
                          static_cast<int>(std::floor(cells * std::log10(y)))}];
      if (++spot.calls == 1) spot.x = x, spot.y = y, spot.one = &span;
      spot.seconds += 1e-9 * static_cast<double>(span.own_ns);
      if (!device) fastest_on_cpu = std::max(fastest_on_cpu, y);
      least_x = std::min(least_x, x), most_x = std::max(most_x, x);
      least_y = std::min(least_y, y), most_y = std::max(most_y, y);
      const std::string_view name = routine_names[static_cast<int>(span.routine)];
      constexpr std::string_view letters = "sdcz";
      if (const auto at = letters.find(name[0]); at != letters.npos && name.substr(1) == "gemm")
        precisions.insert(static_cast<Precision>(at));
    }
  if (spots.empty()) return nothing("No call was recorded.");
  double peak = 0;
  for (const Precision p : precisions) peak = std::max(peak, a.profile.gemm_rate[static_cast<int>(p)]);
  const Axes axes{std::floor(std::log10(least_x)) - 0.1, std::ceil(std::log10(most_x)) + 0.1,
                  std::floor(std::log10(least_y)), std::ceil(std::log10(std::max(most_y, peak)) + 0.1)};
  Svg svg(Axes::height, "Roofline of the recorded calls");
  const double right = page_width - Axes::right, low = Axes::height - Axes::bottom;
  for (double d = std::ceil(axes.x0); d <= axes.x1; ++d) {
    const double x = axes.x(std::pow(10, d));
    svg.line("grid", x, Axes::top, x, low);
    svg.label(x, low + 16, format("%g", std::pow(10, d)), "middle", "small");
  }
  for (double d = std::ceil(axes.y0); d <= axes.y1; ++d) {
    const double y = axes.y(std::pow(10, d));
    svg.line("grid", Axes::left, y, right, y);
    svg.label(Axes::left - 6, y + 4, in_flops(std::pow(10, d)) + "/s", "end", "small");
  }
  svg.label((Axes::left + right) / 2, Axes::height - 8, "flop per byte of the operands and the result", "middle");

  Labels labels;
  const double begin = std::pow(10, axes.x0), end = std::pow(10, axes.x1), floor = std::pow(10, axes.y0);
  const auto slope = [&](const char* kind, double rate, const std::string& words) {  // up to the peak, if there is one
    const double to = peak > 0 ? std::clamp(peak / rate, begin, end) : end, from = std::clamp(floor / rate, begin, to);
    const double ceiling = std::pow(10, axes.y1), stop = std::min(to, std::max(from, ceiling / rate));
    if (stop <= from) return;
    svg.line(kind, axes.x(from), axes.y(from * rate), axes.x(stop), axes.y(stop * rate));
    labels.write(svg, axes.x(from) + 8, axes.y(from * rate), Axes::top, low, words);
  };
  const auto flat = [&](const char* kind, double rate, const std::string& words) {
    if (!(rate > floor)) return;
    svg.line(kind, Axes::left, axes.y(rate), right, axes.y(rate));
    labels.write(svg, right, axes.y(rate), Axes::top, low, words);
  };
  slope("roof bus-line", a.profile.in_rate, "bus, " + in_bytes(a.profile.in_rate) + "/s");
  slope("roof device-line", a.profile.pass_rate, "device's memory, " + in_bytes(a.profile.pass_rate) + "/s");
  for (const Precision p : precisions) {
    const double rate = a.profile.gemm_rate[static_cast<int>(p)];
    flat("roof device-line", rate,
         std::string(1, "sdcz"[static_cast<int>(p)]) + "gemm on the device, " + in_flops(rate) + "/s");
  }
  if (fastest_on_cpu > 0)
    flat("roof cpu-line", fastest_on_cpu, "fastest here on the CPU, " + in_flops(fastest_on_cpu) + "/s");
  for (const auto& [key, spot] : spots) {
    const double radius = std::min(12.0, 3 + 1.5 * std::log10(static_cast<double>(spot.calls)));
    svg.circle(std::get<0>(key) ? "device spot" : "cpu spot", axes.x(spot.x), axes.y(spot.y), radius,
               in_calls(spot.calls) + ", " + in_seconds(spot.seconds) + ": " +
                   routine_names[static_cast<int>(spot.one->routine)] + " " + sizes_of(*spot.one));
  }
  return legend({{"cpu", "calls on the CPU"}, {"device", "calls on the device, transfers included"}}) +
         figure(svg.end(),
                "Each spot stands for calls of about the same intensity and speed. A call whose operands move stays "
                "under the bus's roof, one whose operands are on the device under that of its memory. Roofs: " +
                    a.profile_name + ".");
}

std::string reasons(const Analysis& a) {
  std::vector<Bar> bars;
  std::vector<std::vector<std::string>> rows;
  for (const auto& [reason, x] : a.reasons) {
    const auto gain = [](const ReasonAccount::Gain& g) {
      return g.calls ? in_calls(g.calls) + ", " + in_seconds(g.seconds) + " to " + in_seconds(g.device_seconds)
                     : std::string("-");
    };
    rows.push_back({text_of(reason), in_digits(x.calls), x.recorded ? in_seconds(x.seconds) : "-", gain(x.moving),
                    gain(x.resident)});
    bars.push_back({text_of(reason),
                    {{"cpu", x.seconds, in_seconds(x.seconds) + " on the CPU"}},
                    in_calls(x.calls) + (x.recorded ? ", " + in_seconds(x.seconds) : "")});
  }
  if (rows.empty()) return nothing("No call stayed on the CPU.");
  return figure(horizontal_bars("Time on the CPU by reason", bars, 260),
                "Time of the recorded calls that stayed, by the reason.") +
         table({"reason", "calls", "CPU time", "as they are, the device would take",
                "with operands there, it would take"},
               rows);
}

std::string levels(const Analysis& a) {
  std::array<std::uint64_t, most_levels + 1> calls{};
  std::uint64_t distrusted = 0;
  for (const auto& [routine, x] : a.routines) {
    std::uint64_t by_levels = 0;
    for (std::size_t i = 0; i < most_levels; ++i) calls[i + 1] += x.levels[i], by_levels += x.levels[i];
    if (std::string_view(routine_names[static_cast<int>(routine)]).ends_with("gemm"))
      calls[0] += x.spans_on_device - by_levels;
    distrusted += x.distrusted;
  }
  std::vector<Bar> bars;
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (calls[i])
      bars.push_back({i == 0 ? "none" : std::to_string(i),
                      {{"device", static_cast<double>(calls[i]), in_calls(calls[i])}},
                      in_calls(calls[i])});
  if (bars.empty()) return nothing("No recorded product ran on the device.");
  return figure(horizontal_bars("Products on the device by Strassen's levels", bars, 90),
                "Recorded products on the device by levels of Strassen's algorithm." +
                    (distrusted ? " " + in_calls(distrusted) + " had operands too badly scaled for levels or residues."
                                : std::string()));
}

/// What verification says; empty if it was off.
std::string verified(const Analysis& a) {
  const Summary& s = a.run.summary;
  std::vector<std::vector<std::string>> routines, calls;
  for (std::size_t r = 0; r < routine_count; ++r) {
    const Summary::PerRoutine& x = s.routines[r];
    if (!x.verified()) continue;
    const auto or_none = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
    routines.push_back({routine_names[r], in_digits(x.checked), in_digits(x.repeated), in_digits(x.wrong),
                        or_none(x.found_text()), or_none(x.unchecked_text())});
  }
  if (routines.empty() && s.problems.empty()) return {};
  for (const Summary::Noted& call : s.worst) {
    std::string verdict;
    for (const std::string& finding : call.finding_texts()) verdict += (verdict.empty() ? "" : ", ") + finding;
    char ratio[32], limit[32];
    std::snprintf(ratio, sizeof ratio, "%.3g", call.ratio);
    std::snprintf(limit, sizeof limit, "%.3g", call.limit);
    calls.push_back({call.routine + " " + call.arguments, verdict.empty() ? "right" : verdict, ratio, limit,
                     in_digits(call.calls), call.caller});
  }
  std::string text = table({"routine", "calls checked", "repeated", "wrong", "found", "not checked"}, routines);
  if (!calls.empty())
    text += "<p>The worst, by their errors beside the bound:</p>\n" +
            table({"call", "verdict", "ratio", "of at most", "calls like it", "called from"}, calls);
  for (const std::string& problem : s.problems) text += "<p class=\"note\">" + escaped(problem) + "</p>\n";
  return section("verified", s.wrong() ? "Verified: calls were wrong" : "Verified", text);
}

std::string moved(const Analysis& a) {
  double in = 0, out = 0, spared = 0;
  std::uint64_t reused = 0, reusing = 0;
  for (const auto& [routine, x] : a.routines) {
    in += x.bytes_in, out += x.bytes_out, spared += x.bytes_spared;
    reused += x.reused, reusing += x.reusing;
  }
  if (in + out + spared == 0) return nothing("Nothing went over the bus.");
  const std::string residency = a.run.summary.residency;
  return figure(
      horizontal_bars("Bytes over the bus",
                      {{"to the device", {{"bus", in, in_bytes(in)}}, in_bytes(in)},
                       {"back", {{"bus", out, in_bytes(out)}}, in_bytes(out)},
                       {"spared", {{"spared", spared, in_bytes(spared)}}, in_bytes(spared)}},
                      120),
      "Spared: a copy on the device was still good. " + in_digits(reused) + " operands of " + in_calls(reusing) +
          " were there already. Copies kept between calls: " + (residency.empty() ? "not known" : residency) + ".");
}

std::string share(const Analysis& a) {
  const auto bar = [&](const char* name, double seconds) {
    return Bar{
        name, {{"cpu", seconds, in_seconds(seconds)}}, in_seconds(seconds) + ", " + in_percent(seconds, a.seconds)};
  };
  std::string text;
  if (a.cpu_union_seconds > 0)
    text = figure(
        horizontal_bars(
            "The run, and what a bigger share would make of it",
            {bar("as it was", a.seconds), bar("calls as they are", a.seconds_with(&ReasonAccount::moving)),
             bar("operands there", a.seconds_with(&ReasonAccount::resident)), bar("Amdahl's bound", a.least_seconds())},
            140),
        "Predicted length of the run.");
  text += "<ul>\n";
  for (const std::string& line : share_of(a)) text += "<li>" + escaped(line) + "</li>\n";
  return text + "</ul>\n";
}

/// A thread's time in columns as wide as a pixel, each of what filled it most.
std::string lanes(const Analysis& a) {
  constexpr double left = 190, right = 10, row = 20, thick = 14;
  constexpr int slots = static_cast<int>(page_width - left - right);
  constexpr std::size_t most_rows = 32;
  constexpr const char* kinds[] = {"", "cpu", "device", "bus", "opening"};
  struct Row {
    std::string name;
    std::vector<std::array<double, 5>> filled;
  };
  std::vector<Row> rows;
  std::size_t others = 0;
  const double slot_ns = std::max(1.0, 1e9 * a.seconds / slots);
  for (const RecordedProcess& process : a.run.processes)
    for (std::size_t i = 0; i < process.spans.size(); ++i) {
      const Span& span = process.spans[i];
      if (i == 0 || process.spans[i - 1].thread != span.thread) {
        if (rows.size() == most_rows) {
          ++others;
          continue;
        }
        const std::string name =
            process.command + " " + std::to_string(process.pid) +
            (static_cast<std::int32_t>(span.thread) == process.pid ? "" : "/" + std::to_string(span.thread));
        rows.push_back({name, std::vector<std::array<double, 5>>(slots)});
      } else if (others) {
        continue;
      }
      const auto fill = [&](std::size_t kind, std::int64_t begin, std::int64_t end) {
        for (double at = static_cast<double>(begin); at < static_cast<double>(end);) {
          const int slot = static_cast<int>(std::clamp(at / slot_ns, 0.0, slots - 1.0));
          const double to =
              slot == slots - 1 ? static_cast<double>(end) : std::min(static_cast<double>(end), (slot + 1) * slot_ns);
          rows.back().filled[static_cast<std::size_t>(slot)][kind] += to - at;
          at = std::max(to, std::nextafter(at, 1e300));
        }
      };
      fill(span.what == Traced::opening ? 4 : span.what == Traced::on_cpu ? 1 : 2, span.begin, span.end);
      if (span.what == Traced::on_device) {
        fill(3, span.in_begin, span.in_end);
        fill(3, span.out_begin, span.out_end);
      }
    }
  if (rows.empty()) return nothing("No call was recorded.");
  Svg svg(row * static_cast<double>(rows.size()) + 34, "Calls by thread over time");
  double y = 4;
  for (const Row& r : rows) {
    svg.label(left - 8, y + 11, r.name.size() > 22 ? r.name.substr(0, 21) + "…" : r.name, "end", "small");
    svg.line("grid", left, y + thick, page_width - right, y + thick);
    const auto kind_of = [&](int slot) {
      const auto& filled = r.filled[static_cast<std::size_t>(slot)];
      if (filled[3] > 0.5 * filled[2] && filled[2] > 0) return 3;
      const auto largest = std::max_element(filled.begin(), filled.end());
      return *largest > 0 ? static_cast<int>(largest - filled.begin()) : 0;
    };
    for (int slot = 0; slot < slots;) {
      const int kind = kind_of(slot);
      int end = slot + 1;
      while (end < slots && kind_of(end) == kind) ++end;
      if (kind > 0) svg.rect(kinds[kind], left + slot, y, end - slot, thick);
      slot = end;
    }
    y += row;
  }
  for (int i = 0; i <= 4; ++i)
    svg.label(left + slots * i / 4.0, y + 16, in_seconds(a.seconds * i / 4),
              i == 0   ? "start"
              : i == 4 ? "end"
                       : "middle",
              "small");
  return legend({{"cpu", "on the CPU"},
                 {"device", "on the device"},
                 {"bus", "mostly moving"},
                 {"opening", "opening the device"}}) +
         figure(svg.end(),
                "Recorded calls by thread; a column shows what took most of its time." +
                    (others ? " " + std::to_string(others) + " more threads are not shown." : std::string()));
}

std::string cards(const Analysis& a) {
  double cpu = 0, device = 0, bus = 0, in = 0, out = 0;
  std::uint64_t routed = 0;
  for (const auto& [routine, x] : a.routines) {
    cpu += x.cpu_seconds, device += x.device_seconds, bus += x.bus_seconds;
    in += x.bytes_in, out += x.bytes_out;
    routed += x.routed;
  }
  std::string text = "<dl class=\"cards\">\n";
  const auto card = [&](const char* name, const std::string& value) {
    text += std::string("<div><dt>") + name + "</dt><dd>" + escaped(value) + "</dd></div>\n";
  };
  card("first call to last", in_seconds(a.seconds));
  card("calls", in_digits(a.calls));
  card("calls on the device", in_digits(routed));
  card("time on the CPU", in_seconds(cpu));
  card("time on the device", in_seconds(device));
  card("of it moving", in_seconds(bus));
  card("over the bus", in_bytes(in + out));
  return text + "</dl>\n";
}

std::string head(const Analysis& a) {
  const Summary& s = a.run.summary;
  const auto began = static_cast<std::time_t>(a.run.began_ns / 1000000000);
  char when[64] = "";
  std::tm local{};
  if (localtime_r(&began, &local)) std::strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
  std::set<std::string> hosts;
  for (const RecordedProcess& process : a.run.processes) hosts.insert(process.host);
  std::string where;
  for (const std::string& host : hosts) where += (where.empty() ? "" : ", ") + host;
  const std::size_t processes = a.run.processes.size();
  std::string text = "<header><h1>blaslift report</h1>\n<p class=\"command\"><code>" +
                     escaped(a.run.processes.front().arguments) + "</code></p>\n<p>" + escaped(when) + " on " +
                     escaped(where) + ", " + std::to_string(processes) + (processes == 1 ? " process" : " processes") +
                     "; " + escaped(s.device.empty() ? "no device was used" : s.device + " (" + s.backend + ")") +
                     "</p>\n";
  for (const std::string& detail : s.details) text += "<p class=\"note\">" + escaped(detail) + "</p>\n";
  for (const std::string& warning : s.warnings) text += "<p class=\"note\">Warning: " + escaped(warning) + "</p>\n";
  for (const std::string& gap : gaps_of(a)) text += "<p class=\"dim\">" + escaped(gap) + "</p>\n";
  return text + cards(a) + "</header>\n";
}

constexpr const char style[] = R"(
:root { color-scheme: light dark; --back: #fff; --ink: #1b1f24; --dim: #5c6670; --line: #d5dae0; --soft: #f3f5f7;
  --cpu: #3b6fb6; --device: #2c9a5f; --bus: #e08a1e; --spared: #8e6bbf; --opening: #9aa4ae; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14171a; --ink: #e6e9ec; --dim: #9aa5b0; --line: #343b42; --soft: #1d2226;
    --cpu: #6ea1ea; --device: #4cc488; --bus: #f0a847; --spared: #b394e6; --opening: #6b757f; }
}
body { margin: 0; background: var(--back); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { margin: 0; font-size: 1.6rem; } h2 { margin: 2.5rem 0 .5rem; font-size: 1.2rem; }
p { margin: .3rem 0; } .command { overflow-wrap: anywhere; } .note { border-left: 4px solid var(--bus); padding-left: .6rem; }
.dim, figcaption { color: var(--dim); } figcaption { font-size: .9rem; } figure { margin: .5rem 0 1rem; }
.cards { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0 0; }
.cards div { background: var(--soft); border-radius: .4rem; padding: .5rem .8rem; min-width: 6rem; }
.cards dt { color: var(--dim); font-size: .85rem; } .cards dd { margin: 0; font-size: 1.15rem; font-weight: 600; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child { text-align: left; } thead th { color: var(--dim); font-weight: 500; } tbody th { font-weight: 500; }
.legend span { margin-right: 1rem; white-space: nowrap; font-size: .9rem; }
.legend i { display: inline-block; width: .8rem; height: .8rem; margin-right: .35rem; border-radius: .15rem; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--ink); font-size: 14px;
  paint-order: stroke; stroke: var(--back); stroke-width: 3px; stroke-linejoin: round; }
svg text.dim { fill: var(--dim); } svg text.small { font-size: 12px; }
.cpu { fill: var(--cpu); background: var(--cpu); } .device { fill: var(--device); background: var(--device); }
.bus { fill: var(--bus); background: var(--bus); } .spared { fill: var(--spared); }
.opening { fill: var(--opening); background: var(--opening); } .spot { fill-opacity: .6; }
.axis { stroke: var(--dim); } .grid { stroke: var(--line); } .roof { stroke-width: 2; }
.bus-line { stroke: var(--bus); } .device-line { stroke: var(--device); } .cpu-line { stroke: var(--cpu); stroke-dasharray: 6 4; }
@media print { section { break-inside: avoid; } }
)";

}  // namespace

std::string report_page(const Analysis& a) {
  // The policy lets the page load nothing, whatever is in it.
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
         "img-src data:\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<link rel=\"icon\" href=\"data:,\">\n<title>blaslift: " +
         escaped(a.run.processes.front().command) + "</title>\n<style>" + style +
         "</style>\n</head>\n<body>\n<main>\n" + head(a) + verified(a) +
         section("time", "Where the time went", time_by_routine(a)) + section("timeline", "When", lanes(a)) +
         section("sizes", "How large calls were", sizes(a)) + section("roofline", "How fast they were", roofline(a)) +
         section("reasons", "Why calls stayed on the CPU", reasons(a)) +
         section("levels", "Strassen's levels", levels(a)) + section("moved", "Over the bus", moved(a)) +
         section("share", "What a bigger share would bring", share(a)) +
         "<footer class=\"dim\"><p>Written by blaslift " BLASLIFT_VERSION
         ". Times of calls are measured; what another route would take is "
         "predicted.</p></footer>\n</main>\n</body>\n</html>\n";
}

}  // namespace blaslift::cli
