#include "impl/gemm_beside.hpp"

#include <string_view>

#include "compat/call.hpp"
#include "impl/runtime.hpp"

namespace blaslift {
namespace {

/// Of the same family and precision.
Symbol gemm_beside(Symbol routine) {
  const SymbolInfo& of = info(routine);
  for (int s = 0; s < symbol_count; ++s) {
    const SymbolInfo& x = symbol_table[s];
    if (x.interface == of.interface && x.width == of.width && std::string_view(x.prefix) == of.prefix &&
        x.base[0] == of.base[0] && std::string_view(x.base + 1) == "gemm")
      return static_cast<Symbol>(s);
  }
  return routine;  // never: every family has its gemm
}

}  // namespace

const Site& GemmBeside::gemm() {
  if (gemm_) return *gemm_;
  const Symbol symbol = gemm_beside(site_.symbol);
  gemm_ = symbol == site_.symbol ? &site_ : known_site(symbol, site_.function);
  if (!gemm_) gemm_ = resolve_site(symbol, site_.function, runtime().options.fallback.c_str());
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
