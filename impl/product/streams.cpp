#include "impl/product/streams.hpp"

#include <algorithm>
#include <vector>

namespace blaslift {
namespace {

double elements(const Block& b) { return static_cast<double>(b.rows) * static_cast<double>(b.cols); }

bool is_product(const Step& step) { return step.kind == StepKind::leaf || step.kind == StepKind::multiply; }

/// Seconds of a step that has the device, or the bus, to itself.
double seconds(const GemmSchedule& s, const Step& step, double element, double flops, const Speeds& speeds) {
  switch (step.kind) {
    case StepKind::leaf: {
      const Leaf& leaf = s.leaves[static_cast<std::size_t>(step.number)];
      return speeds.step + flops * elements(leaf.target.block) * static_cast<double>(s.depth_of(leaf)) / speeds.flops;
    }
    case StepKind::multiply:
      return speeds.step + flops * elements(step.block) * static_cast<double>(step.kb) / speeds.flops;
    case StepKind::pass: {
      const Pass& pass = s.passes[static_cast<std::size_t>(step.number)];
      const auto blocks = static_cast<double>(pass.sources.size() + pass.targets.size());
      return speeds.step + blocks * elements(pass.targets.front().region.block) * element / speeds.bytes;
    }
    case StepKind::survey: return speeds.step + elements(step.block) * element / speeds.bytes;
    case StepKind::upload_a:
    case StepKind::upload_b:
    case StepKind::upload_c:
    case StepKind::begin:
    case StepKind::findings:
    case StepKind::download: break;
  }
  return elements(step.block) * element / speeds.bus;
}

}  // namespace

void spread(GemmSchedule& s, std::size_t element, bool complex, const Speeds& speeds) {
  constexpr int streams = 2;
  std::vector<double> end(s.steps.size());
  double stream_free[streams] = {}, passes_free = 0, bus_free = 0;
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    Step& step = s.steps[i];
    const double takes = seconds(s, step, static_cast<double>(element), complex ? 8 : 2, speeds);
    const bool passes = step.kind == StepKind::pass || step.kind == StepKind::survey;
    const bool computes = passes || is_product(step);
    double ready[streams] = {};
    for (const std::int32_t earlier : s.after[i]) {
      const auto at = static_cast<std::size_t>(earlier);
      for (int stream = 0; stream < streams; ++stream)
        ready[stream] =
            std::max(ready[stream], end[at] + (computes && s.steps[at].stream != stream ? speeds.waiting : 0));
    }
    if (!computes) {
      const bool upload = step.kind <= StepKind::upload_c;
      end[i] = std::max(ready[0], upload ? bus_free : 0) + takes;
      if (upload) bus_free = end[i];
      continue;
    }
    double begin[streams];
    for (int stream = 0; stream < streams; ++stream)
      begin[stream] = std::max({ready[stream], stream_free[stream], passes ? passes_free : 0});
    // Where both are as good, products keep to the first stream and leave the second to what goes beside them.
    const bool second = begin[1] < begin[0] || (begin[1] == begin[0] && passes);
    step.stream = second ? 1 : 0;
    end[i] = begin[step.stream] + takes;
    stream_free[step.stream] = end[i];
    if (passes) passes_free = end[i];
  }
  s.awaited = awaited_elsewhere(s);
}

}  // namespace blaslift
