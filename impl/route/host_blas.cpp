#include "impl/route/host_blas.hpp"

#include <string_view>

#include "impl/core/library_call.hpp"
#include "impl/route/runtime.hpp"

namespace blaslift {
namespace {

/// A kind's routines, by precision; of reals a herk is a syrk, and a her2k a syr2k.
struct Routines {
  Routine of[precision_count];
};
constexpr Routine named(char element, std::string_view kind) {
  for (int r = 0; r < routine_count; ++r)
    if (routine_names[r][0] == element && routine_names[r] + 1 == kind) return static_cast<Routine>(r);
  return Routine::count;
}
constexpr Routines all_of(std::string_view of_reals, std::string_view of_complex) {
  return {{named('s', of_reals), named('d', of_reals), named('c', of_complex), named('z', of_complex)}};
}
constexpr Routines routines[] = {all_of("gemm", "gemm"), all_of("syrk", "syrk"), all_of("syrk", "herk"),
                                 all_of("syr2k", "syr2k"), all_of("syr2k", "her2k")};

int precision_of_name(const char* routine) {
  switch (routine[0]) {
    case 's': return static_cast<int>(Precision::s);
    case 'd': return static_cast<int>(Precision::d);
    case 'c': return static_cast<int>(Precision::c);
    default: return static_cast<int>(Precision::z);
  }
}

void call(HostBlas& blas, const Gemm& product) { call_product(blas.routine(HostBlas::kind_of(product)), product); }
/// BLAS has nothing of the kind: no backend asks for it.
template <class Other>
void call(HostBlas&, const Other&) {}

}  // namespace

HostBlas::Kind HostBlas::kind_of(const Gemm& product) {
  if (product.part == Part::whole || product.update == Update::product) return Kind::gemm;
  if (product.update == Update::rank_k) return product.hermitian() ? Kind::herk : Kind::syrk;
  return product.hermitian() ? Kind::her2k : Kind::syr2k;
}

const Site& HostBlas::routine(Kind kind) {
  const Routine own = info(site_.symbol).routine,
                wanted = routines[static_cast<int>(kind)].of[precision_of_name(name_of(own))];
  if (own == wanted) return site_;
  const Site*& found = found_[static_cast<std::size_t>(kind)];
  if (!found) found = &any_site_beside(site_, wanted, runtime().options.fallback.c_str());
  return *found;
}

UnderlyingBlas HostBlas::operations() {
  return {[](const void* self, const Operation& operation) {
            auto& blas = *static_cast<HostBlas*>(const_cast<void*>(self));
            operation.visit([&blas](const auto& x) { call(blas, x); });
          },
          this};
}

}  // namespace blaslift
