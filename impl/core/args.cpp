#include "impl/core/args.hpp"

#include <algorithm>
#include <limits>

namespace blaslift {

bool overlap(const void* x, index rows_x, index cols_x, index ldx, const void* y, index rows_y, index cols_y, index ldy,
             std::size_t element) {
  if (rows_x <= 0 || cols_x <= 0 || rows_y <= 0 || cols_y <= 0) return false;
  // What is not read may be anywhere, of any size and ld.
  __extension__ using Wide = __int128;
  const auto bytes = static_cast<Wide>(element);
  static constexpr Wide beyond = Wide{1} << 100;  // what no memory holds reaches to its end
  auto size = [bytes](index rows, index cols, index ld) {
    return std::min(Wide{cols - 1} * ld + rows, beyond) * bytes;
  };
  const Wide apart = Wide{reinterpret_cast<std::intptr_t>(y)} - reinterpret_cast<std::intptr_t>(x);
  if (apart >= size(rows_x, cols_x, ldx) || -apart >= size(rows_y, cols_y, ldy)) return false;
  if (ldx != ldy || apart % bytes != 0) return true;
  // Y starts at (row, col) of X's grid.  An element in common has i - i' = row and j - j' = col, or, since both
  // matrices are at most ld rows high, i - i' = row - ld and j - j' = col + 1.
  const Wide elements = apart / bytes, row = (elements % ldx + ldx) % ldx, col = (elements - row) / ldx;
  auto columns_meet = [&](Wide shift) { return -cols_y < shift && shift < cols_x; };
  return (row < rows_x && columns_meet(col)) || (ldx - row < rows_y && columns_meet(col + 1));
}

}  // namespace blaslift
