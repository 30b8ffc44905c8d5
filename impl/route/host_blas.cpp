#include "impl/route/host_blas.hpp"

#include <string_view>

#include "compat/call.hpp"
#include "impl/route/runtime.hpp"

namespace blaslift {
namespace {

bool is(Routine routine, char element, std::string_view kind) {
  const std::string_view name = name_of(routine);
  return name[0] == element && name.substr(1) == kind;
}

void call(HostBlas& blas, const Gemm& product) {
  if (product.part == Part::whole) return call_gemm(blas.routine("gemm"), product);
  call_syrk(blas.routine(product.hermitian() ? "herk" : "syrk"), product);
}
/// BLAS has nothing of the kind: no backend asks for it.
template <class Other>
void call(HostBlas&, const Other&) {}

}  // namespace

const Site& HostBlas::routine(std::string_view kind) {
  const Routine own = info(site_.symbol).routine;
  const char element = name_of(own)[0];
  if (is(own, element, kind)) return site_;
  for (const Site* site : found_)
    if (is(info(site->symbol).routine, element, kind)) return *site;
  int r = 0;
  while (r + 1 < routine_count && !is(static_cast<Routine>(r), element, kind)) ++r;
  return *found_.emplace_back(&any_site_beside(site_, static_cast<Routine>(r), runtime().options.fallback.c_str()));
}

UnderlyingBlas HostBlas::operations() {
  return {[](const void* self, const Operation& operation) {
            auto& blas = *static_cast<HostBlas*>(const_cast<void*>(self));
            operation.visit([&blas](const auto& x) { call(blas, x); });
          },
          this};
}

}  // namespace blaslift
