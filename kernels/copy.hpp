// Column-major blocks between strided and packed storage.
#pragma once
#include <emmintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/part.hpp"

namespace blaslift {

/// Copies rows x cols elements of `element` bytes by runs of bytes; the gaps between columns are neither read nor
/// written.
template <class CopyBytes>
void copy_columns(void* to, index ldt, const void* from, index lds, index rows, index cols, std::size_t element,
                  CopyBytes copy) {
  auto* t = static_cast<char*>(to);
  const auto* f = static_cast<const char*>(from);
  const std::size_t column = static_cast<std::size_t>(rows) * element;
  if (rows == ldt && rows == lds) {
    copy(t, f, column * static_cast<std::size_t>(cols));
    return;
  }
  for (index j = 0; j < cols; ++j)
    copy(t + static_cast<std::size_t>(j * ldt) * element, f + static_cast<std::size_t>(j * lds) * element, column);
}

inline void copy_block(void* to, index ldt, const void* from, index lds, index rows, index cols, std::size_t element) {
  copy_columns(to, ldt, from, lds, rows, cols, element,
               [](char* t, const char* f, std::size_t bytes) { std::memcpy(t, f, bytes); });
}

/// Of a triangle, column by column with what is beside it left alone.
/// @param copy   of a rectangle, as copy_block
/// @param below  of the first element, as in Transfer
template <class Copy>
void copy_part(Part part, index below, void* to, index ldt, const void* from, index lds, index rows, index cols,
               std::size_t element, Copy copy) {
  if (part == Part::whole) return copy(to, ldt, from, lds, rows, cols, element);
  for (index j = 0; j < cols; ++j) {
    const Rows own = rows_in(part, below - j, rows);
    if (own.count == 0) continue;
    copy(static_cast<char*>(to) + static_cast<std::size_t>(own.first + j * ldt) * element, ldt,
         static_cast<const char*>(from) + static_cast<std::size_t>(own.first + j * lds) * element, lds, own.count, 1,
         element);
  }
}

/// memcpy past the caches: the lines written are not read first, which halves the traffic of what is not used soon.
inline void stream_bytes(char* to, const char* from, std::size_t bytes) {
  constexpr std::size_t line = 64;
  const std::size_t head = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
  if (bytes < head + 4 * line) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; at + line <= bytes; at += line) {
    const auto* f = reinterpret_cast<const __m128i*>(from + at);
    auto* t = reinterpret_cast<__m128i*>(to + at);
    const __m128i a = _mm_loadu_si128(f), b = _mm_loadu_si128(f + 1), c = _mm_loadu_si128(f + 2),
                  d = _mm_loadu_si128(f + 3);
    _mm_stream_si128(t, a);
    _mm_stream_si128(t + 1, b);
    _mm_stream_si128(t + 2, c);
    _mm_stream_si128(t + 3, d);
  }
  std::memcpy(to + at, from + at, bytes - at);
}

/// copy_block for large results: everything is in memory for other threads when it returns.
inline void stream_block(void* to, index ldt, const void* from, index lds, index rows, index cols,
                         std::size_t element) {
  copy_columns(to, ldt, from, lds, rows, cols, element, stream_bytes);
  _mm_sfence();
}

}  // namespace blaslift
