// Backend: the device as the schedules see it.  One interface, two implementations (cuda, host) in modules of their
// own, opened at the first call that could use them, and a fault-injecting decorator for the tests.  tests/unit/
// conformance.cpp says what each operation must do.
//
// No exception and no standard-library type crosses this boundary: a module may carry its own C++ runtime.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/types.hpp"

namespace blaslift {

/// Outcome of a device operation.  Anything but `done` sends the rest of the call to the library underneath.
enum class Status : std::uint8_t {
  done,
  no_memory,  ///< this call did not fit; the device stays usable
  lost        ///< the device or its context is gone or in doubt; no further call uses it
};

/// The library underneath, as the host backend computes with it.
struct UnderlyingGemm {
  void (*call)(const void* context, const Gemm& product);
  const void* context;
};

struct DeviceFacts {
  char name[96];       ///< e.g. "NVIDIA H100 80GB HBM3"
  char driver[80];     ///< driver and library versions, for reports
  char profile[16];    ///< which built-in rates fit: "sm_90", "host" ...
  std::size_t memory;  ///< bytes that all calls together may lease
};

/// A stream of operations for one call: they run in the order given.  Used by one thread at a time.
class Lane {
 public:
  /// Device memory for the call, uninitialised, `bytes` large; all of it is given back by Backend::release.
  virtual Status lease(std::size_t bytes, void*& memory) = 0;

  /// Copies rows x cols elements, column-major, from host memory (lds) to the device (ldd).  When it returns the source
  /// may change.
  virtual Status upload(void* to, index ldd, const void* from, index lds, index rows, index cols,
                        std::size_t element) = 0;

  virtual Status gemm(const Gemm& product) = 0;

  /// Starts copying rows x cols elements from the device into ring slot `slot`, packed (ld = rows).
  /// rows * cols * element is at most ring_bytes().
  virtual Status fetch(int slot, const void* from, index lds, index rows, index cols, std::size_t element) = 0;

  /// Waits for the fetch into `slot` and everything before it; on `done`, ring(slot) holds the block.
  virtual Status arrived(int slot) = 0;

  virtual const void* ring(int slot) const = 0;
  virtual std::size_t ring_bytes() const = 0;

 protected:
  ~Lane() = default;
};
inline constexpr int ring_slots = 2;

class Backend {
 public:
  virtual const DeviceFacts& facts() const = 0;

  /// A lane for one call on this thread, waiting for one to be given back if all are in use; null if none can be had,
  /// with the reason in `status`.  The host backend computes products with `underlying`; others ignore it.
  virtual Lane* acquire(const UnderlyingGemm& underlying, Status& status) = 0;

  /// Gives the lane and its leases back, after everything on it has ended or failed.  The caller's current device is
  /// again what it was before acquire.
  virtual void release(Lane* lane) = 0;

 protected:
  ~Backend() = default;
};

struct OpenRequest {
  std::size_t memory_limit;    ///< bytes of device memory at most; 0: a polite share
  int local_rank, local_size;  ///< this process among those of its job on this node
};

/// Must be raised with every change of this header.
inline constexpr int backend_version = 1;

/// A module's only export: opens the device.  Returns null and a sentence in `why` if it cannot be used.  Called once
/// per process; the backend lives until the process ends.
using OpenBackend = Backend* (*)(int version, const OpenRequest* request, char* why, std::size_t why_size);
inline constexpr char open_backend_name[] = "blaslift_open_backend";

}  // namespace blaslift
