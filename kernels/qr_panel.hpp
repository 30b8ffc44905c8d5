// How a panel of QR is cut: what its result's last bits depend on.
#pragma once
#include <algorithm>

#include "kernels/qr_tree.hpp"

namespace blaslift {

/// Tiles of `tile` rows, the last one shorter, merged by a tree; inner blocks of ib.
struct QrPanelCut {
  index tile = 0;
  index ib = 0;
  QrTree tree{};

  index tiles(index m) const { return (m + tile - 1) / tile; }
  index rows(index m, index i) const { return std::min(tile, m - i * tile); }
};

/// For n columns, at most most_panel_columns, and any number of rows.  From sizes alone, so that the same panel has the
/// same bits whatever computes it.
inline QrPanelCut qr_panel_cut(index n) {
  constexpr index usual_tile = 256, usual_ib = 16, domain = 8;  // few roundings in a row, however tall
  return {.tile = std::max(usual_tile, 2 * n), .ib = std::min(usual_ib, n), .tree = QrTree::domains(domain)};
}

}  // namespace blaslift
