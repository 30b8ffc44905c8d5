#include "impl/qr_route.hpp"

#include <string_view>

namespace blaslift {
namespace {

/// Of the same precision.
Routine gemm_for(Routine lapack) {
  for (int r = 0; r < routine_count; ++r)
    if (routine_names[r][0] == name_of(lapack)[0] && std::string_view(routine_names[r] + 1) == "gemm")
      return static_cast<Routine>(r);
  return lapack;  // never: every precision has its gemm
}

}  // namespace

QrOperand operand_on_device(const Operand& x) {
  if (x.place == Place::on_a_device)
    return {.device = const_cast<void*>(x.stored.at), .ld = x.stored.ld, .in_place = true};
  return {.device = x.known.hold.device,
          .ld = x.known.hold.ld,
          .missing = x.known.hold.missing,
          .direct = x.place == Place::reachable};
}

std::size_t piece_bytes(const Backend& backend, double result_bytes) {
  constexpr std::size_t least = std::size_t{256} << 10;
  return std::min(std::max(least, static_cast<std::size_t>(result_bytes) / 16), backend.facts().piece_bytes);
}

const Site& GemmBeside::site() {
  if (site_) return *site_;
  const Symbol symbol = symbol_beside(lapack_.symbol, gemm_for(info(lapack_.symbol).routine));
  site_ = known_site(symbol, lapack_.function);
  if (!site_) site_ = resolve_site(symbol, lapack_.function, runtime().options.fallback.c_str());
  return *site_;
}

}  // namespace blaslift
