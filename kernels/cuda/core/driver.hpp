// Functions of the driver, asked for through the runtime: the module links no libcuda, so it opens on machines without
// one and can say what is missing.
#pragma once
#include <cuda_runtime_api.h>

namespace blaslift {

/// False, and `function` as it was, if the driver has none of that name.
template <class F>
bool find_in_driver(const char* name, F& function) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult result{};
  if (cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &result) != cudaSuccess ||
      result != cudaDriverEntryPointSuccess || !address)
    return false;
  function = reinterpret_cast<F>(address);
  return true;
}

}  // namespace blaslift
