// libblaslift_host.so
#include "kernels/module.hpp"

#include "kernels/host/host.hpp"

namespace {
blaslift::Backend* open(const blaslift::OpenRequest& request, char*, std::size_t) {
  return blaslift::make_host_backend(request);
}
}  // namespace

BLASLIFT_MODULE(open)
