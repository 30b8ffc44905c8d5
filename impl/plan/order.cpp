#include "impl/plan/order.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

namespace blaslift {
namespace {

/// Who has used something: for each of its parts, the last one that wrote it, and those that have read it since.
/// Whoever used it before these is waited for by one of them.
class Uses {
 public:
  /// Adds those that have to have ended before it is touched like this.
  void conflicts(const Touched& t, std::vector<std::int32_t>& steps) const {
    for (auto at = covering(t.first); at != parts_.end() && at->first < t.first + t.count; ++at) {
      const Part& part = at->second;
      if (part.writer >= 0) steps.push_back(part.writer);
      if (t.written) steps.insert(steps.end(), part.readers.begin(), part.readers.end());
    }
  }
  void note(const Touched& t, std::int32_t step) {
    const index end = t.first + t.count;
    cut(t.first);
    cut(end);
    const auto from = parts_.lower_bound(t.first), to = parts_.lower_bound(end);
    if (t.written) {
      parts_.erase(from, to);
      parts_.emplace(t.first, Part{step, {}});
    } else {
      for (auto at = from; at != to; ++at) at->second.readers.push_back(step);
    }
  }

 private:
  struct Part {
    std::int32_t writer = -1;
    std::vector<std::int32_t> readers{};
  };
  using Parts = std::map<index, Part>;  ///< by where they begin; each ends where the next one begins

  Parts::const_iterator covering(index at) const { return std::prev(parts_.upper_bound(at)); }
  void cut(index at) { parts_.emplace(at, std::as_const(*this).covering(at)->second); }

  Parts parts_{{std::numeric_limits<index>::min(), {}}};
};

}  // namespace

Order order_of(const std::vector<std::vector<Touched>>& parts) {
  std::map<int, Uses> uses;
  Order conflicts(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const Touched& t : parts[i]) uses[t.what].conflicts(t, conflicts[i]);
    for (const Touched& t : parts[i]) uses[t.what].note(t, static_cast<std::int32_t>(i));
  }
  return order_of(std::move(conflicts));
}

Order order_of(Order conflicts) {
  // Who comes after whom is known within so many steps: of a longer list some waits are more than are needed.
  constexpr std::size_t known = 8192;
  const std::size_t count = conflicts.size(), words = (std::min(count, known) + 63) / 64;
  std::vector<std::uint64_t> before;  // by step from `start` on: a bit for each of these that it comes after
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t start = i / known * known;
    if (i == start) before.assign(std::min(count - start, known) * words, 0);
    std::vector<std::int32_t>& after = conflicts[i];
    std::sort(after.begin(), after.end(), std::greater<>());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    std::uint64_t* const own = &before[(i - start) * words];
    std::size_t kept = 0;
    for (const std::int32_t c : after) {
      if (static_cast<std::size_t>(c) >= start) {
        const std::size_t e = static_cast<std::size_t>(c) - start;
        if (own[e / 64] >> (e % 64) & 1) continue;
        own[e / 64] |= std::uint64_t{1} << (e % 64);
        for (std::size_t w = 0; w <= e / 64; ++w) own[w] |= before[e * words + w];
      }
      after[kept++] = c;
    }
    after.resize(kept);
  }
  return conflicts;
}

}  // namespace blaslift
