#include "tools/cli/report/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "impl/route/device.hpp"
#include "impl/route/family.hpp"
#include "impl/route/runtime.hpp"
#include "kernels/symv.hpp"

namespace blaslift::cli {
namespace {

/// The call as decisions know it.
Problem problem_of(const Span& s) {
  Problem p{.routine = s.routine,
            .element = Element::d,
            .m = s.m,
            .n = s.n,
            .k = s.k,
            .beta_zero = s.beta_zero,
            .left = s.left,
            .count = s.count};
  switch (s.routine) {
#define ROUTINE(kind, name, type) \
  case Routine::name: p.element = element_of<type>; break;
// The largest of several groups, as often as makes the flops of all.
#define GEMM_BATCH(name, type)                                                                       \
  case Routine::name:                                                                                \
    p.element = element_of<type>;                                                                    \
    if (const double one = (std::is_floating_point_v<type> ? 2.0 : 8.0) * static_cast<double>(s.m) * \
                           static_cast<double>(s.n) * static_cast<double>(s.k);                      \
        one > 0)                                                                                     \
      p.count = std::max<index>(1, std::llround(s.flops / one));                                     \
    break;
#define OF_TRIANGLE(name, type, of)                                    \
  case Routine::name:                                                  \
    p.element = element_of<type>, p.part = Part::lower, p.update = of; \
    break;
#define SYRK(name, type) OF_TRIANGLE(name, type, Update::rank_k)
#define HERK(name, type) OF_TRIANGLE(name, type, Update::rank_k)
#define GEMMT(name, type) OF_TRIANGLE(name, type, Update::product)
#define SYR2K(name, type) OF_TRIANGLE(name, type, Update::rank_2k)
#define HER2K(name, type) OF_TRIANGLE(name, type, Update::rank_2k)
#define OF_IDENTITY(name, type)                         \
  case Routine::name:                                   \
    p.element = element_of<type>, p.of_identity = true; \
    break;
#define ORGQR(name, type) OF_IDENTITY(name, type)
#define ORGLQ(name, type) OF_IDENTITY(name, type)
#define ORGTR(name, type) OF_IDENTITY(name, type)
#define ORGHR(name, type) OF_IDENTITY(name, type)
#define ORGBR(name, type) OF_IDENTITY(name, type)
// Of V's side as many as there are of U's, as a rule.
#define OF_VECTORS(name, type)                                                 \
  case Routine::name:                                                          \
    p.element = element_of<type>, p.right_vectors = std::min({s.k, s.m, s.n}); \
    break;
#define GESDD(name, type) OF_VECTORS(name, type)
#define GESVD(name, type) OF_VECTORS(name, type)
#include "api/routines.def"
    default: break;
  }
  return counted(p);
}

/// Runs make the same calls again and again: each is predicted once.
class Predictions {
 public:
  explicit Predictions(const Profile& profile) : profile_(profile) {
    for (int p = 0; p < precision_count; ++p) estimators_[p] = make_estimator(profile, static_cast<Precision>(p));
  }

  std::optional<WhatIf> of(const Span& s) {
    const auto [there, is_new] = made_.try_emplace({s.routine, s.m, s.n, s.k, s.count, s.beta_zero, s.left});
    if (is_new) there->second = predict(s);
    return there->second;
  }

 private:
  std::optional<WhatIf> predict(const Span& span) const {
    const Problem problem = problem_of(span);
    if (!(problem.flops > 0)) return std::nullopt;
    Facts facts{.device = DeviceState::ready, .profile = &profile_, .cpu_rate = 1, .slowdown = 1};
    if (problem.element != Element::w)
      if (const auto& estimator = estimators_[static_cast<int>(problem.precision())]) facts.estimator = &*estimator;
    const Policy policy{.on = true, .measuring = true, .forced = false, .fixed = false, .levels = -1};
    const double moving = decide(problem, facts, policy).device_seconds;
    facts.spared = problem.bytes_in;
    facts.result_stays = true;
    const double resident = decide(problem, facts, policy).device_seconds;
    return WhatIf{moving, resident};
  }

  const Profile& profile_;
  std::optional<strassen::Estimator> estimators_[precision_count];
  std::map<std::tuple<Routine, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, bool>,
           std::optional<WhatIf>>
      made_{};
};

/// Whether a call with this reason might have gone to the device.
bool might_go(Reason reason) {
  switch (reason) {
    case Reason::invalid:
    case Reason::query:
    case Reason::nothing:
    case Reason::overlap:
    case Reason::helped:
    case Reason::of_library:
    case Reason::of_interval:
    case Reason::of_left:
    case Reason::of_columns:
    case Reason::of_batch:
    case Reason::scaled:
    case Reason::rounding:
    case Reason::alpha:
    case Reason::in_handler:
    case Reason::exiting:
    case Reason::not_definite:
    case Reason::singular:
    case Reason::not_converged:
    case Reason::not_finite: return false;
    default: return true;
  }
}

/// Of a thread's spans on the CPU, in their order, the best choice of calls of which none contains another; with their
/// seconds on the device.
std::vector<std::pair<const Span*, double>> best_choice(const std::vector<const Span*>& spans, Predictions& predictions,
                                                        double WhatIf::*how) {
  struct Node {
    const Node* around;  ///< the call that contains it, or null; it comes before it
    double inside;       ///< what calls in it would save
    double seconds;      ///< of itself on the device
    bool chosen, covered;
  };
  std::vector<Node> nodes(spans.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    while (!open.empty() && spans[open.back()]->end <= spans[i]->begin) open.pop_back();
    nodes[i].around = open.empty() ? nullptr : &nodes[open.back()];
    open.push_back(i);
  }
  for (std::size_t i = spans.size(); i-- > 0;) {
    Node& node = nodes[i];
    double saved = node.inside;
    if (const auto there = might_go(spans[i]->reason) ? predictions.of(*spans[i]) : std::nullopt) {
      node.seconds = (*there).*how;
      const double own = spans[i]->seconds() - node.seconds;
      node.chosen = own > node.inside;
      saved = std::max(own, node.inside);
    }
    if (node.around) nodes[static_cast<std::size_t>(node.around - nodes.data())].inside += saved;
  }
  std::vector<std::pair<const Span*, double>> calls;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    Node& node = nodes[i];
    node.covered = node.around && (node.around->covered || node.around->chosen);
    if (node.chosen && !node.covered) calls.emplace_back(spans[i], node.seconds);
  }
  return calls;
}

void add_gains(const std::vector<const Span*>& spans, Predictions& predictions, Analysis& a, double WhatIf::*how,
               ReasonAccount::Gain ReasonAccount::*gain) {
  for (const auto& [span, seconds] : best_choice(spans, predictions, how)) {
    ReasonAccount::Gain& g = a.reasons[span->reason].*gain;
    ++g.calls;
    g.seconds += span->seconds();
    g.device_seconds += seconds;
  }
}

void add(const Span& span, Analysis& a) {
  if (span.what == Traced::opening) {
    a.opening_seconds += span.seconds();
    return;
  }
  RoutineAccount& r = a.routines[span.routine];
  r.span_bytes_in += static_cast<double>(span.bytes_in);
  r.span_bytes_out += static_cast<double>(span.bytes_out);
  r.span_bytes_spared += static_cast<double>(span.bytes_spared);
  r.distrusted += span.distrusted;
  if (!span.computed) {  // its call comes after it, on the CPU
    r.failed_seconds += span.seconds();
    return;
  }
  ++a.spans;
  SizeAccount& size = a.sizes[static_cast<std::size_t>(size_class(span.flops))];
  const double own = 1e-9 * static_cast<double>(span.own_ns);
  if (span.what == Traced::on_device) {
    ++r.spans_on_device;
    r.span_device_seconds += own;
    r.bus_seconds += 1e-9 * static_cast<double>(span.moving());
    r.reused += static_cast<std::uint64_t>(span.reused);
    r.reusing += span.reused > 0;
    if (span.levels > 0) ++r.levels[static_cast<std::size_t>(span.levels - 1)];
    ++size.device_calls;
    size.device_seconds += own;
  } else {
    ++r.spans_on_cpu;
    r.span_cpu_seconds += own;
    ++size.cpu_calls;
    size.cpu_seconds += own;
    ReasonAccount& reason = a.reasons[span.reason];
    ++reason.recorded;
    reason.seconds += own;
  }
}

/// Seconds covered by any of these stretches.
double union_seconds(std::vector<std::pair<std::int64_t, std::int64_t>> stretches) {
  std::sort(stretches.begin(), stretches.end());
  std::int64_t covered = 0, end = INT64_MIN;
  for (const auto& [from, to] : stretches) {
    const std::int64_t begin = std::max(from, end);
    if (to > begin) covered += to - begin;
    end = std::max(end, to);
  }
  return 1e-9 * static_cast<double>(covered);
}

/// Rates of the first device that was opened, else of the one that was expected.
void choose_profile(Analysis& a) {
  a.profile = built_in_profile("sm_90");
  a.profile_name = "an H100's built-in rates";
  for (const bool opened : {false, true})
    for (auto process = a.run.processes.rbegin(); process != a.run.processes.rend(); ++process) {
      const std::string& text = opened ? process->profile : process->guessed_profile;
      if (text.empty()) continue;
      std::string problem;
      read_profile_text(text, a.profile, problem);
      a.profile_name = opened ? "the rates of " + a.run.summary.device : "the rates expected of the device";
    }
}

}  // namespace

std::optional<WhatIf> what_if(const Span& span, const Profile& profile) { return Predictions(profile).of(span); }

double operand_bytes(const Span& span) {
  const Problem problem = problem_of(span);
  return problem.bytes_in + problem.bytes_out;
}

double Analysis::seconds_with(ReasonAccount::Gain ReasonAccount::*gain) const {
  double saved = 0;
  for (const auto& [reason, account] : reasons) saved += (account.*gain).saved();
  return outermost_seconds > 0 ? seconds - cpu_union_seconds * std::min(1.0, saved / outermost_seconds) : seconds;
}

Analysis analyse(ReadRecording run) {
  Analysis a;
  a.run = std::move(run);
  a.seconds = 1e-9 * static_cast<double>(a.run.length());
  choose_profile(a);
  for (int i = 0; i < routine_count; ++i) {
    const auto& x = a.run.summary.routines[static_cast<std::size_t>(i)];
    if (x.calls() == 0) continue;
    RoutineAccount& r = a.routines[static_cast<Routine>(i)];
    r.calls = x.calls();
    r.routed = x.routed;
    r.cpu_seconds = x.cpu_seconds;
    r.device_seconds = x.device_seconds;
    r.bytes_in = x.bytes_in;
    r.bytes_out = x.bytes_out;
    r.bytes_spared = x.bytes_spared;
    a.calls += r.calls;
    for (std::size_t reason = 0; reason < reason_count; ++reason)
      if (x.stayed[reason]) a.reasons[static_cast<Reason>(reason)].calls += x.stayed[reason];
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> on_cpu;
  Predictions predictions(a.profile);
  for (const RecordedProcess& process : a.run.processes) {
    a.dropped += process.dropped;
    a.unfinished += process.unfinished;
    for (auto first = process.spans.begin(); first != process.spans.end();) {
      const auto end =
          std::find_if(first, process.spans.end(), [&](const Span& s) { return s.thread != first->thread; });
      std::vector<const Span*> stayed;
      std::int64_t outermost_end = INT64_MIN;
      for (; first != end; ++first) {
        add(*first, a);
        if (first->what != Traced::on_cpu) continue;
        stayed.push_back(&*first);
        if (first->begin < outermost_end) continue;
        outermost_end = first->end;
        a.outermost_seconds += first->seconds();
        on_cpu.emplace_back(first->begin, first->end);
      }
      add_gains(stayed, predictions, a, &WhatIf::moving, &ReasonAccount::moving);
      add_gains(stayed, predictions, a, &WhatIf::resident, &ReasonAccount::resident);
    }
  }
  a.cpu_union_seconds = union_seconds(std::move(on_cpu));
  return a;
}

}  // namespace blaslift::cli
