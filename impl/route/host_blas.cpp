#include "impl/route/host_blas.hpp"

#include <algorithm>

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
  const auto end = std::find(found_.begin(), found_.end(), nullptr);
  const auto there =
      std::find_if(found_.begin(), end, [&](const Site* x) { return is(info(x->symbol).routine, element, kind); });
  if (there != end) return **there;
  int r = 0;
  while (r + 1 < routine_count && !is(static_cast<Routine>(r), element, kind)) ++r;
  const Site& site = any_site_beside(site_, static_cast<Routine>(r), runtime().options.fallback.c_str());
  if (end != found_.end()) *end = &site;
  return site;
}

UnderlyingBlas HostBlas::operations() {
  return {[](const void* self, const Operation& operation) {
            auto& blas = *static_cast<HostBlas*>(const_cast<void*>(self));
            operation.visit([&blas](const auto& x) { call(blas, x); });
          },
          this};
}

}  // namespace blaslift
