#include "kernels/cuda/core/utilization.hpp"

#include <dlfcn.h>

namespace blaslift {

Utilization::Utilization(const char* pci_bus_id, const char* library) {
  void* nvml = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!nvml) return;
  const auto init = reinterpret_cast<int (*)()>(dlsym(nvml, "nvmlInit_v2"));
  const auto find = reinterpret_cast<int (*)(const char*, void**)>(dlsym(nvml, "nvmlDeviceGetHandleByPciBusId_v2"));
  const auto rates = reinterpret_cast<decltype(rates_)>(dlsym(nvml, "nvmlDeviceGetUtilizationRates"));
  // Of a device of which a part is rented (MIG), NVML knows no utilization: then rates fail, call by call.
  if (init && find && rates && init() == 0 && find(pci_bus_id, &device_) == 0) rates_ = rates;
}

int Utilization::percent() const {
  Rates rates{};
  return rates_ && rates_(device_, &rates) == 0 && rates.gpu <= 100 ? static_cast<int>(rates.gpu) : -1;
}

}  // namespace blaslift
