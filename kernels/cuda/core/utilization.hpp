// How busy a GPU is, with whomever's work, as NVIDIA's management library (NVML) tells.
#pragma once

namespace blaslift {

class Utilization {
 public:
  /// NVML is opened here and never closed.  Where it cannot be, or does not know the device, nothing is known.
  /// @param pci_bus_id  "0000:3b:00.0"
  explicit Utilization(const char* pci_bus_id, const char* library = "libnvidia-ml.so.1");

  /// Percent of the last sixth of a second to second in which the device computed; -1: nobody knows.
  int percent() const;

 private:
  struct Rates {
    unsigned gpu, memory;
  };
  void* device_ = nullptr;
  int (*rates_)(void* device, Rates* rates) = nullptr;
};

}  // namespace blaslift
