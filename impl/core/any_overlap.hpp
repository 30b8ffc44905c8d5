// Operands of a call that share memory, of whatever elements they are.
#pragma once
#include <algorithm>
#include <initializer_list>

#include "impl/core/args.hpp"
#include "impl/core/stored.hpp"

namespace blaslift {

/// Where an array of integers lies.
inline Stored stored(const Integers& x, index count) {
  return {x.at, count, 1, std::max<index>(1, count), x.wide ? sizeof(std::int64_t) : sizeof(std::int32_t)};
}

/// Whether any two of these share a byte.
inline bool any_overlap(std::initializer_list<Stored> all) {
  static constexpr index farthest = index{1} << 56;  // of columns that are further apart no memory holds two
  const auto bytes = [](index elements, const Stored& x) {
    return std::min(elements, farthest) * static_cast<index>(x.element);
  };
  for (const Stored& a : all)
    for (const Stored& b : all)
      if (&a < &b &&
          overlap(a.at, bytes(a.rows, a), a.cols, bytes(a.ld, a), b.at, bytes(b.rows, b), b.cols, bytes(b.ld, b), 1))
        return true;
  return false;
}

}  // namespace blaslift
