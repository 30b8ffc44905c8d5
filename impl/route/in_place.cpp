#include "impl/route/in_place.hpp"

#include "impl/core/host_memory.hpp"

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

bool can_keep(std::span<const Operand> operands) {
  constexpr double little = 64 << 20;  // not worth a look
  double bytes = 0;
  for (const Operand& x : operands)
    if (x.writes && x.memory != MemoryKind::on_a_device) bytes += x.stored.bytes();
  return bytes < little || 1.1 * bytes < static_cast<double>(available_memory());
}

}  // namespace blaslift
