#include "impl/route/in_place.hpp"

namespace blaslift {

Placed placed(const Operand& x) {
  if (x.memory == MemoryKind::on_a_device)
    return {.device = const_cast<void*>(x.stored.at), .ld = x.stored.ld, .in_place = true};
  return {.device = x.known.hold.device,
          .ld = x.known.hold.ld,
          .missing = x.known.hold.missing,
          .direct = x.memory == MemoryKind::reachable};
}

std::size_t piece_bytes(const Backend& backend, double result_bytes) {
  constexpr std::size_t least = std::size_t{256} << 10;
  return std::min(std::max(least, static_cast<std::size_t>(result_bytes) / 16), backend.facts().piece_bytes);
}

}  // namespace blaslift
