// A stand-in for libblaslift_host.so in the tests: the host backend, failing as INJECTED_FAULT says:
// "K", "K:no_memory", "K:lost", with ":torn" behind it for garbage in a slot, or "never" for a device that does not
// open. Writes the number of operations seen to the file INJECTED_FAULT_COUNT at exit.
#include <cstdlib>
#include <string_view>

#include "kernels/host/host.hpp"
#include "kernels/module.hpp"

namespace {

blaslift::FaultPlan plan;

void write_count() {
  const char* path = std::getenv("INJECTED_FAULT_COUNT");
  if (std::FILE* file = path ? std::fopen(path, "we") : nullptr) {
    std::fprintf(file, "%ld\n", plan.seen.load());
    std::fclose(file);
  }
}

blaslift::Backend* open(const blaslift::OpenRequest& request, char* why, std::size_t why_size) {
  const char* value = std::getenv("INJECTED_FAULT");
  const std::string_view text = value ? value : "0";
  if (text == "never") {
    std::snprintf(why, why_size, "the test's device does not open");
    return nullptr;
  }
  plan.at = std::atol(text.data());
  plan.status = text.find(":no_memory") != text.npos ? blaslift::Status::no_memory : blaslift::Status::lost;
  plan.scribble = text.find(":torn") != text.npos;
  std::atexit(write_count);
  return blaslift::make_host_backend(request, &plan);
}

}  // namespace

BLASLIFT_MODULE(open)
