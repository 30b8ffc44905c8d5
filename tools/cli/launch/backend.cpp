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
                               {.memory_limit = options.memory,
                                .local_rank = local.rank,
                                .local_size = local.size,
                                .number = 0,
                                .most_used = 1,
                                .named = options.named_devices.data(),
                                .named_count = static_cast<int>(options.named_devices.size()),
                                .idle = nullptr,
                                .idle_context = nullptr,
                                .adopt = nullptr},
                               opened.why);
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
  // By HostBlas::Kind.
  constexpr Symbol symbols[HostBlas::kinds][precision_count] = {
      {Symbol::sgemm_, Symbol::dgemm_, Symbol::cgemm_, Symbol::zgemm_},
      {Symbol::ssyrk_, Symbol::dsyrk_, Symbol::csyrk_, Symbol::zsyrk_},
      {Symbol::ssyrk_, Symbol::dsyrk_, Symbol::cherk_, Symbol::zherk_},
      {Symbol::ssyr2k_, Symbol::dsyr2k_, Symbol::csyr2k_, Symbol::zsyr2k_},
      {Symbol::ssyr2k_, Symbol::dsyr2k_, Symbol::cher2k_, Symbol::zher2k_}};
  for (int kind = 0; kind < HostBlas::kinds; ++kind)
    for (int p = 0; p < precision_count; ++p) {
      Target target;
      std::string looked;
      if (!find_target(symbols[kind][p], nullptr, options.fallback.c_str(), target, looked))
        throw std::runtime_error("no BLAS for the host backend to compute with: looked for " + looked);
      Site& site = sites_[kind][p];
      site.symbol = symbols[kind][p];
      site.wide = target.wide;
      site.function = target.function;
      library_ = target.library;
    }
}

UnderlyingBlas BlasUnderneath::products() const {
  return {[](const void* self, const Operation& operation) {
            if (const Gemm* product = operation.get<Gemm>())
              call_product(
                  static_cast<const BlasUnderneath*>(self)
                      ->sites_[static_cast<int>(HostBlas::kind_of(*product))][static_cast<int>(product->precision)],
                  *product);
          },
          this};
}

}  // namespace blaslift::cli
