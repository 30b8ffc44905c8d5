// What a measurement holds of the device.
#pragma once
#include <chrono>
#include <stdexcept>

#include "kernels/backend.hpp"

namespace blaslift::cli {

/// The device has less memory left than a measurement needs.
class NoRoom : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline void require(Status status) {
  if (status == Status::no_memory) throw NoRoom("the device has no memory left");
  if (status != Status::done) throw std::runtime_error("the device was lost: an operation failed");
}

/// Device memory.
class Memory {
 public:
  Memory(Backend& backend, std::size_t bytes) : backend_(backend) { require(backend.allocate(bytes, at_)); }
  ~Memory() { backend_.free(at_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* at() const { return static_cast<char*>(at_); }

 private:
  Backend& backend_;
  void* at_ = nullptr;
};

/// A lane, as one call has it.
class Lease {
 public:
  /// What a call moves that the backend's threads serve.
  static constexpr std::size_t much = std::size_t{64} << 20;

  Lease(Backend& backend, const UnderlyingBlas& underlying, std::size_t bytes = much) : backend_(backend) {
    Status status = Status::lost;
    lane_ = backend_.acquire(underlying, bytes, status);
    require(status);
  }
  ~Lease() { backend_.release(lane_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Lane& lane() const { return *lane_; }

 private:
  Backend& backend_;
  Lane* lane_ = nullptr;
};

}  // namespace blaslift::cli
