// Chance, the same in every run: small numbers, and blocks of a matrix.
#pragma once
#include <random>
#include <vector>

#include "impl/product/product_plan.hpp"

namespace blaslift {

class Random {
 public:
  explicit Random(unsigned seed) : bits_(seed) {}
  std::uint32_t below(std::size_t end) { return static_cast<std::uint32_t>(bits_() % end); }
  index up_to(index most) { return 1 + static_cast<index>(below(static_cast<std::size_t>(most))); }
  bool coin() { return below(2) == 1; }

 private:
  std::mt19937 bits_;
};

/// Disjoint blocks that are some of a matrix: none, all, or anything between.
inline std::vector<Block> random_blocks(index rows, index cols, Random& random) {
  std::vector<Block> chosen, open{{0, 0, rows, cols}};
  const std::size_t rarity = 1 + random.below(4);
  while (!open.empty()) {
    const Block b = open.back();
    open.pop_back();
    if (b.rows * b.cols == 1 || random.below(4) == 0) {
      if (random.below(rarity) == 0) chosen.push_back(b);
    } else if (b.cols == 1 || (b.rows > 1 && random.coin())) {
      const index upper = random.up_to(b.rows - 1);
      open.push_back({b.row, b.col, upper, b.cols});
      open.push_back({b.row + upper, b.col, b.rows - upper, b.cols});
    } else {
      const index left = random.up_to(b.cols - 1);
      open.push_back({b.row, b.col, b.rows, left});
      open.push_back({b.row, b.col + left, b.rows, b.cols - left});
    }
  }
  return chosen;
}

}  // namespace blaslift
