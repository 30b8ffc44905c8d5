#include "impl/product/plan_cache.hpp"

#include <algorithm>
#include <utility>

namespace blaslift {

Plans::Plan Plans::get(const PlanKey& key, const std::function<Plan()>& make) {
  constexpr std::size_t most = 8, most_steps = 10000;
  const auto find = [&] {
    return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& x) { return x.key == key; });
  };
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = find(); found != entries_.end()) {
      std::rotate(found, found + 1, entries_.end());
      return entries_.back().plan;
    }
  }
  Plan plan = make();  // not under the lock: others need not wait for it
  if (!plan || plan->steps.size() > most_steps) return plan;
  const std::lock_guard lock(mutex_);
  if (find() != entries_.end()) return plan;
  if (entries_.size() == most) entries_.erase(entries_.begin());
  entries_.push_back({key, plan});
  return plan;
}

}  // namespace blaslift
