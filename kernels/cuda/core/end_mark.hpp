// The end of what a stream does, seen sooner than by cudaStreamSynchronize.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

namespace blaslift {

/// A number in the host's memory that a stream writes once it has done everything before, while the caller watches:
/// that is nearly a microsecond sooner than cudaStreamSynchronize returns (H100; docs/measurements/lab-notes.md), which
/// counts after a product of fifty.  For one thread at a time.
class EndMark {
 public:
  /// Without memory for it, or on a device that cannot do it, await() is cudaStreamSynchronize.
  void create();
  void destroy();

  /// Until nothing is under way in the stream, whatever has failed.
  cudaError_t await(cudaStream_t stream);

 private:
  volatile std::uint32_t* memory_ = nullptr;
  void* on_device_ = nullptr;
  std::uint32_t last_ = 0;
  bool soon_ = true;  ///< whether what was awaited last came soon; the driver alone sees late ends 5 us sooner
};

}  // namespace blaslift
