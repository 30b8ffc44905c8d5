// How wide the blocks and panels of a QR are: what its last bits depend on.
#pragma once
#include <limits>
#include <vector>

#include "kernels/types.hpp"

namespace blaslift {

struct QrWidths {
  index block, panel;  ///< columns; panels at most most_panel_columns, blocks a multiple of that
  friend bool operator==(const QrWidths&, const QrWidths&) = default;
};

inline constexpr index any_k = std::numeric_limits<index>::max();
inline constexpr index widest_qr_block = 4096;

/// For fewer reflectors than `below`.
struct QrRule {
  index below;
  QrWidths widths;
  friend bool operator==(const QrRule&, const QrRule&) = default;
};

/// What is built in for k reflectors (at least one): products with a block's are fast from some 512 columns on, panels
/// are slow; a small matrix has narrower blocks, since the first one's panels have nothing beside them.
QrWidths qr_widths(index k);

/// By the first of these rules that holds for k, or as is built in if none does; narrower where k is.
QrWidths qr_widths(const std::vector<QrRule>& rules, index k);

/// Blocks to be tried where memory is short, the widest first: whole panels down to one, then narrower ones.
std::vector<index> narrower_blocks(const QrWidths& widest);
/// What is on the device at a time has the length of so many blocks, unless these are the narrowest.
inline constexpr index several_blocks = 4;

}  // namespace blaslift
