#include "kernels/engine/pieces.hpp"

#include <algorithm>

namespace blaslift {

Transfer part(const Transfer& t, index row, index col, index rows, index cols) {
  Transfer p = t;
  p.device = static_cast<char*>(t.device) + static_cast<std::size_t>(row + col * t.ldd) * t.element;
  p.host = static_cast<char*>(t.host) + static_cast<std::size_t>(row + col * t.ldh) * t.element;
  p.rows = rows;
  p.cols = cols;
  p.below = t.below + row - col;
  return p;
}

Parts parts(const Transfer& t, std::size_t bytes) {
  const auto elements = static_cast<index>(std::max(std::size_t{1}, bytes / t.element));
  Parts p;
  p.rows = std::min(t.rows, elements);
  p.cols = std::clamp<index>(elements / t.rows, 1, t.cols);
  p.down = (t.rows + p.rows - 1) / p.rows;
  p.across = (t.cols + p.cols - 1) / p.cols;
  return p;
}

}  // namespace blaslift
