// Arena: the device memory of this process, shared by what calls lease and what residency keeps.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "kernels/backend.hpp"

namespace blaslift {

/// Counts bytes out and in.  Whoever waits for room holds nothing that another waits for: a call takes its whole lease
/// at once, and takes it without waiting while it holds device copies.
class Arena {
 public:
  /// Gives back something that no call is using, to make room; false if there is nothing left.
  struct Reclaim {
    bool (*one)(void* context);
    void* context;
  };

  /// Once, before anything else.
  void open(Backend& backend, Reclaim reclaim);

  /// A lease of `bytes`, uninitialised.
  /// @param wait  until others give enough back; otherwise no_memory at once
  Status take(std::size_t bytes, bool wait, void*& memory);

  void give_back(void* memory, std::size_t bytes);

  /// Something that could not be reclaimed now can be.
  void changed();

  std::size_t limit() const { return limit_; }
  std::size_t taken() const;
  /// The most that has been taken at one time, since it was last forgotten.
  std::size_t most_taken() const;
  void forget_most();

 private:
  Backend* backend_ = nullptr;
  Reclaim reclaim_{};
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::size_t limit_ = 0, taken_ = 0, most_ = 0;
  unsigned long changes_ = 0;
};

}  // namespace blaslift
