// NVTX ranges around calls, by which Nsight Systems and other tools name what they see on the device.
#pragma once
#include <cstdio>

#include "kernels/types.hpp"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#endif

namespace blaslift {

/// Nested ranges of the calling thread in a domain of their own.  Without a tool attached there is no domain, and
/// nothing is done.
class Ranges {
 public:
#ifdef NVTX_VERSION
  void begin(const char* routine, index m, index n, index k) const {
    if (!domain_) return;
    char text[112];
    std::snprintf(text, sizeof text, "%s m=%lld n=%lld k=%lld", routine, static_cast<long long>(m),
                  static_cast<long long>(n), static_cast<long long>(k));
    nvtxEventAttributes_t range{};
    range.version = NVTX_VERSION;
    range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    range.messageType = NVTX_MESSAGE_TYPE_ASCII;
    range.message.ascii = text;
    nvtxDomainRangePushEx(domain_, &range);
  }
  void end() const {
    if (domain_) nvtxDomainRangePop(domain_);
  }

 private:
  const nvtxDomainHandle_t domain_ = nvtxDomainCreateA("blaslift");
#else
  void begin(const char*, index, index, index) const {}
  void end() const {}
#endif
};

}  // namespace blaslift
