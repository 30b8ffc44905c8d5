#include "impl/plan/gang.hpp"

#include <chrono>
#include <utility>

namespace blaslift {

void Gang::publish(int piece, std::vector<OnDevice> parts) {
  const std::lock_guard lock(mutex_);
  pieces_[piece] = std::move(parts);
  changed_.notify_all();
}

const std::vector<OnDevice>* Gang::await(int piece, bool (*keep_going)()) {
  constexpr std::chrono::milliseconds now_and_then{10};
  std::unique_lock lock(mutex_);
  for (;;) {
    if (const auto found = pieces_.find(piece); found != pieces_.end()) return &found->second;
    if (arrived_[static_cast<std::size_t>(owner_of(piece, places_))]) failed_ = true;  // it makes no more of them
    if (failed_ || !keep_going()) return nullptr;
    changed_.wait_for(lock, now_and_then);
  }
}

bool Gang::failed() {
  const std::lock_guard lock(mutex_);
  return failed_;
}

void Gang::fail() {
  const std::lock_guard lock(mutex_);
  failed_ = true;
  changed_.notify_all();
}

bool Gang::same(std::uint64_t way) {
  const std::lock_guard lock(mutex_);
  if (way_.value_or(way) != way) failed_ = true;
  way_ = way_.value_or(way);
  changed_.notify_all();
  return !failed_;
}

void Gang::arrive(int place, bool well) {
  const std::lock_guard lock(mutex_);
  if (!well) failed_ = true;
  arrived_[static_cast<std::size_t>(place)] = true;
  --still_there_;
  changed_.notify_all();
}

bool Gang::agree(int place, bool well) {
  arrive(place, well);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return still_there_ == 0; });
  return !failed_;
}

}  // namespace blaslift
