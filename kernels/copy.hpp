// Column-major blocks between strided and packed storage.
#pragma once
#include <cstring>

#include "kernels/types.hpp"

namespace blaslift {

/// Copies rows x cols elements of `element` bytes; the gaps between columns are neither read nor written.
inline void copy_block(void* to, index ldt, const void* from, index lds, index rows, index cols, std::size_t element) {
  auto* t = static_cast<char*>(to);
  const auto* f = static_cast<const char*>(from);
  const std::size_t column = static_cast<std::size_t>(rows) * element;
  if (rows == ldt && rows == lds) {
    std::memcpy(t, f, column * static_cast<std::size_t>(cols));
    return;
  }
  for (index j = 0; j < cols; ++j)
    std::memcpy(t + static_cast<std::size_t>(j * ldt) * element, f + static_cast<std::size_t>(j * lds) * element,
                column);
}

}  // namespace blaslift
