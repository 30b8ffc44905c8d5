/* Stands in for NVIDIA's management library: it knows one device, which is as busy as NVML_STUB says; a word there that
 * is no number names what fails. */
#include <stdlib.h>
#include <string.h>

static const char* told(void) {
  const char* value = getenv("NVML_STUB");
  return value ? value : "";
}

int nvmlInit_v2(void) { return strcmp(told(), "init") == 0 ? 9 : 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  static int here;
  *device = &here;
  return strcmp(id, "0000:3b:00.0") == 0 ? 0 : 6;
}

int nvmlDeviceGetUtilizationRates(void* device, unsigned rates[2]) {
  char* end;
  rates[0] = (unsigned)strtoul(told(), &end, 10);
  rates[1] = 100;
  return device && end != told() ? 0 : 3;
}
