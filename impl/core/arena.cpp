#include "impl/core/arena.hpp"

#include <algorithm>

namespace blaslift {

void Arena::open(Backend& backend, Reclaim reclaim) {
  backend_ = &backend;
  reclaim_ = reclaim;
  limit_ = backend.facts().memory;
}

Status Arena::take(std::size_t bytes, bool wait, void*& memory) {
  if (bytes > limit_) return Status::no_memory;
  for (;;) {
    unsigned long seen;
    {
      std::lock_guard lock(mutex_);
      if (taken_ + bytes <= limit_) {
        taken_ += bytes;
        most_ = std::max(most_, taken_);
        break;
      }
      seen = changes_;
    }
    if (reclaim_.one(reclaim_.context)) continue;
    if (!wait) return Status::no_memory;
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return changes_ != seen; });
  }
  // Others may share the device, so what is counted as free need not be there.
  Status status;
  do {
    status = backend_->allocate(bytes, memory);
  } while (status == Status::no_memory && reclaim_.one(reclaim_.context));
  if (status != Status::done) {
    std::lock_guard lock(mutex_);
    taken_ -= bytes;
    ++changes_;
    freed_.notify_all();
  }
  return status;
}

void Arena::give_back(void* memory, std::size_t bytes) {
  backend_->free(memory);
  std::lock_guard lock(mutex_);
  taken_ -= bytes;
  ++changes_;
  freed_.notify_all();
}

void Arena::changed() {
  std::lock_guard lock(mutex_);
  ++changes_;
  freed_.notify_all();
}

std::size_t Arena::taken() const {
  std::lock_guard lock(mutex_);
  return taken_;
}

std::size_t Arena::most_taken() const {
  std::lock_guard lock(mutex_);
  return most_;
}

void Arena::forget_most() {
  std::lock_guard lock(mutex_);
  most_ = taken_;
}

}  // namespace blaslift
