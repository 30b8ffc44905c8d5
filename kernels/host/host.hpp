// The host backend: "device memory" is memory of its own, products go to the library underneath, on copies.  It runs
// the same schedules as the GPU, which is how everything but the kernels is tested without one.
#pragma once
#include "kernels/backend.hpp"

namespace blaslift {

/// @param memory_limit  bytes that all calls together may lease; 0: a quarter of the machine's memory.
/// Never fails; the backend is never destroyed.
Backend* make_host_backend(std::size_t memory_limit);

}  // namespace blaslift
