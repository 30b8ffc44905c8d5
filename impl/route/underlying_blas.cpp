#include "impl/route/underlying_blas.hpp"

#include <string_view>

#include "compat/call.hpp"
#include "impl/route/runtime.hpp"

namespace blaslift {
namespace {

bool is_gemm(Routine routine) { return std::string_view(name_of(routine) + 1) == "gemm"; }

/// Of the same precision.
Routine gemm_for(Routine routine) {
  for (int r = 0; r < routine_count; ++r)
    if (routine_names[r][0] == name_of(routine)[0] && is_gemm(static_cast<Routine>(r))) return static_cast<Routine>(r);
  return routine;  // never: every precision has its gemm
}

}  // namespace

const Site& GemmBeside::gemm() {
  if (gemm_) return *gemm_;
  if (is_gemm(info(site_.symbol).routine)) return *(gemm_ = &site_);
  gemm_ = &any_site_beside(site_, gemm_for(info(site_.symbol).routine), runtime().options.fallback.c_str());
  return *gemm_;
}

UnderlyingGemm GemmBeside::underlying() {
  return {[](const void* self, const Gemm& product) {
            auto& beside = *static_cast<GemmBeside*>(const_cast<void*>(self));
            product.part == Part::whole ? call_gemm(beside.gemm(), product) : call_syrk(beside.site_, product);
          },
          this};
}

}  // namespace blaslift
