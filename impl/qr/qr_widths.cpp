#include "impl/qr/qr_widths.hpp"

#include <algorithm>

namespace blaslift {

QrWidths qr_widths(index k) {
  constexpr index widest_panel = 64, widest_block = 512, blocks = 8;
  const index panel = std::min(k, widest_panel), eighth = (k + blocks - 1) / blocks;
  return {std::clamp((eighth + panel - 1) / panel * panel, panel, widest_block), panel};
}

QrWidths qr_widths(const std::vector<QrRule>& rules, index k) {
  const auto rule = std::find_if(rules.begin(), rules.end(), [k](const QrRule& r) { return k < r.below; });
  if (rule == rules.end()) return qr_widths(k);
  const index panel = std::min(k, rule->widths.panel);
  return {std::min(rule->widths.block, (k + panel - 1) / panel * panel), panel};
}

std::vector<index> narrower_blocks(const QrWidths& widest) {
  constexpr index narrowest = 8;
  const index panel = widest.panel;
  std::vector<index> blocks{widest.block};
  while (blocks.back() / 2 >= narrowest) {
    const index block = blocks.back();
    blocks.push_back(block > panel ? std::max(panel, block / 2 / panel * panel) : block / 2);
  }
  return blocks;
}

}  // namespace blaslift
