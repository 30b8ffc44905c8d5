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

void Gang::arrive(bool well) {
  const std::lock_guard lock(mutex_);
  if (!well) failed_ = true;
  ++arrived_;
  changed_.notify_all();
}

bool Gang::agree(bool well) {
  arrive(well);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return arrived_ == places_; });
  return !failed_;
}

}  // namespace blaslift
