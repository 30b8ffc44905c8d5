#include "impl/plan/gang.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace blaslift {

void Gang::publish(int piece, std::vector<Shared> parts, Flags there) {
  const std::lock_guard lock(mutex_);
  pieces_[piece] = {std::move(parts), std::move(there)};
  changed_.notify_all();
}

const std::vector<Gang::Shared>* Gang::await(int piece, bool (*keep_going)()) {
  using namespace std::chrono_literals;
  const Piece* awaited = nullptr;
  for (std::unique_lock lock(mutex_); !awaited;) {
    if (const auto found = pieces_.find(piece); found != pieces_.end())
      awaited = &found->second;
    else if (failed() || !keep_going())
      return nullptr;
    else
      changed_.wait_for(lock, 10ms);
  }
  // Nobody is told when it lands: it takes the time of a panel, or if a handler of the program's has left the owner's
  // call by a jump, for ever.
  for (auto pause = 5us; !std::all_of(awaited->there.begin(), awaited->there.end(),
                                      [](const auto* flag) { return flag->load(std::memory_order_acquire); });) {
    if (failed() || !keep_going()) return nullptr;
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(pause + pause / 4 + 1us, 10ms);
  }
  return &awaited->parts;
}

void Gang::fail() {
  const std::lock_guard lock(mutex_);
  failed_.store(true, std::memory_order_release);
  changed_.notify_all();
}

void Gang::arrive(bool well) {
  const std::lock_guard lock(mutex_);
  if (!well) failed_.store(true, std::memory_order_release);
  ++arrived_;
  changed_.notify_all();
}

bool Gang::agree(bool well) {
  arrive(well);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return arrived_ == places_; });
  return !failed();
}

}  // namespace blaslift
