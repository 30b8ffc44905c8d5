// Triangular systems by blocks: how they are cut up, what the workspace holds, and when it is worth it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/types.hpp"

namespace blaslift {

inline constexpr index least_trsm_block = 64, most_trsm_block = 256;

/// Order of the diagonal's blocks, a power of two.  Narrower ones leave products whose tiles do not fill the device;
/// with 512, products with inverses take longer, and those of factors of general matrices often grow too much.
constexpr index trsm_block(index order) {
  index block = least_trsm_block;
  while (block < most_trsm_block && 2 * block < order) block *= 2;
  return block;
}

/// The faster way for such a system on the devices that have been measured (H100).
/// @param others  columns of B, or rows where A is on the right: of all panels that are solved with one A
constexpr TrsmWay trsm_way(Precision precision, index order, index others) {
  const bool single = precision == Precision::s;
  return order >= (single ? 2048 : 1024) && others >= (single ? 2048 : 64) ? TrsmWay::blocks : TrsmWay::substitution;
}

/// What a workspace holds, from its beginning on; all of it, but for the panel and what follows, depends on A alone.
struct TrsmLayout {
  explicit constexpr TrsmLayout(const Trsm& p)
      : block(p.block > 0 ? p.block : trsm_block(p.order())),
        blocks((p.order() + block - 1) / block),
        least_tile(p.precision == Precision::z ? 32 : 64) {
    const std::size_t element = element_size(p.precision),
                      square = static_cast<std::size_t>(blocks * block * block) * element;
    inverses = 0;
    triangles = square;
    const std::size_t sizes = static_cast<std::size_t>(blocks * block * block) * sizeof(std::uint16_t);
    inverse_sizes = triangles + square;
    triangle_sizes = inverse_sizes + sizes;
    sums = triangle_sizes + sizes;
    refused = sums + aligned(static_cast<std::size_t>(2 * blocks * block) * element);
    addresses = refused + aligned(static_cast<std::size_t>(blocks) * sizeof(unsigned));
    panel = addresses + aligned(static_cast<std::size_t>(addresses_each * pairs()) * sizeof(void*));
    substituted = panel + aligned(static_cast<std::size_t>(std::min(block, p.order()) * p.others()) * element);
    bytes = substituted + aligned(static_cast<std::size_t>((p.others() + 7) / 8) * sizeof(unsigned));
  }

  /// Of tiles that become one of twice their order, at all orders from least_tile on.
  constexpr index pairs() const { return blocks * (block / least_tile - 1); }
  constexpr index rows(index i, index order) const { return std::min(block, order - i * block); }

  static constexpr int addresses_each = 5;  ///< arrays of them, one a pair

  index block, blocks;
  index least_tile;  ///< order of the tiles that one kernel inverts
  // Offsets in bytes.
  std::size_t inverses;  ///< of each block, block x block, zeros in the other triangle; the last one as if A went on as
                         ///< an identity
  std::size_t triangles;                      ///< the blocks themselves, likewise; the other triangle is scratch
  std::size_t inverse_sizes, triangle_sizes;  ///< of their elements, in 16 bits each
  std::size_t sums;                           ///< real numbers, two for each row
  std::size_t refused;      ///< what has been found out about each block (kernels/cuda/trsm/trsm_kernels.hpp)
  std::size_t addresses;    ///< of tiles, for products in batches
  std::size_t panel;        ///< a block's part of B
  std::size_t substituted;  ///< which parts of the panel have been
  std::size_t bytes;

 private:
  static constexpr std::size_t aligned(std::size_t x) { return (x + 255) / 256 * 256; }
};

/// Bytes; 0 by substitution.
constexpr std::size_t trsm_workspace(const Trsm& p) {
  return p.way == TrsmWay::blocks && p.m > 0 && p.n > 0 ? TrsmLayout(p).bytes : 0;
}

}  // namespace blaslift
