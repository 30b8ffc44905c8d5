// The device memory that all lanes of a backend share.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace blaslift {

/// Counts bytes out and in.  A lane takes once a call, so whoever waits holds nothing that another waits for.
class Share {
 public:
  void set_limit(std::size_t bytes) { limit_ = bytes; }

  /// Waits until `bytes` are free and takes them; false, at once, if that can never be.
  bool take(std::size_t bytes) {
    std::unique_lock lock(mutex_);
    if (bytes > limit_) return false;
    freed_.wait(lock, [&] { return taken_ + bytes <= limit_; });
    taken_ += bytes;
    return true;
  }

  void give_back(std::size_t bytes) {
    {
      std::lock_guard lock(mutex_);
      taken_ -= bytes;
    }
    freed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  std::size_t limit_ = 0, taken_ = 0;
};

}  // namespace blaslift
