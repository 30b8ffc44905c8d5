#include "tools/cli/launch/backend.hpp"

#include <dlfcn.h>

#include <stdexcept>

#include "compat/library.hpp"
#include "impl/core/library_call.hpp"
#include "impl/route/device.hpp"
#include "tools/cli/launch/launch.hpp"

namespace blaslift::cli {

Opened open_backend(const Options& options) {
  const bool host = options.backend == BackendChoice::host;
  if (options.backend == BackendChoice::automatic && !gpu_visible()) return {nullptr, "no NVIDIA device node in /dev"};
  Opened opened;
  const LocalRank local = local_rank();
  opened.backend = open_module(library_directory(), host ? "host" : "cuda",
                               {options.memory, local.rank, local.size, nullptr, nullptr, nullptr}, opened.why);
  return opened;
}

Backend& backend_to_tune(const Options& options) {
  const Opened opened = open_backend(options);
  if (!opened.backend)
    throw std::runtime_error("no device: " + opened.why + "; --backend host measures the plans on the CPU");
  return *opened.backend;
}

BlasUnderneath::BlasUnderneath(const Options& options) {
  dlopen("libblas.so.3", RTLD_LAZY | RTLD_GLOBAL);
  constexpr Symbol symbols[precision_count] = {Symbol::sgemm_, Symbol::dgemm_, Symbol::cgemm_, Symbol::zgemm_};
  for (int p = 0; p < precision_count; ++p) {
    Target target;
    std::string looked;
    if (!find_target(symbols[p], nullptr, options.fallback.c_str(), target, looked))
      throw std::runtime_error("no BLAS for the host backend to compute with: looked for " + looked);
    sites_[p].symbol = symbols[p];
    sites_[p].wide = target.wide;
    sites_[p].function = target.function;
    library_ = target.library;
  }
}

UnderlyingBlas BlasUnderneath::gemm() const {
  return {[](const void* sites, const Operation& operation) {
            if (const Gemm* product = operation.get<Gemm>())
              call_product(static_cast<const Site*>(sites)[static_cast<int>(product->precision)], *product);
          },
          sites_};
}

}  // namespace blaslift::cli
