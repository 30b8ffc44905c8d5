// Which products follow what was found by timing others.
#pragma once
#include <algorithm>

#include "kernels/backend.hpp"

namespace blaslift {

/// Bytes, a power of two of at most 256, that all addresses and the distances of all columns are a multiple of.
inline std::uint32_t alignment_of(const Gemm& p) {
  std::uint64_t bits = 256;
  for (const void* at : {p.A, p.B, static_cast<const void*>(p.C), p.E}) bits |= reinterpret_cast<std::uintptr_t>(at);
  for (const index ld : {p.lda, p.ldb, p.ldc, p.E ? p.lde : 0})
    bits |= static_cast<std::uint64_t>(ld) * element_size(p.precision);
  return static_cast<std::uint32_t>(bits & -bits);
}

/// The preference whose product is most like this one, alpha * op(A) * op(B), or plus beta * E where there is one; null
/// if none is near: of its kind, every dimension within a tenth, and its algorithm can do with `alignment` bytes.  How
/// many multiprocessors are busy with the last blocks of C changes from one size to the next, and the fastest algorithm
/// with it; that a tenth is near enough is not measured.
inline const Preference* nearest(const Preference* preferences, int count, const Gemm& p, std::uint32_t alignment) {
  constexpr double near = 1.1;
  const auto same = [&](Op x, Op y) {
    return x == y || (!is_complex(p.precision) && x != Op::none && y != Op::none);  // conjugated or not
  };
  const Preference* found = nullptr;
  double least = near;
  for (const Preference* x = preferences; x != preferences + count; ++x) {
    const SquareProduct& product = x->product;
    if (product.precision != p.precision || product.adds_e != (p.E != nullptr) || !same(product.transa, p.transa) ||
        !same(product.transb, p.transb) || (!x->own && alignment < x->algorithm.alignment))
      continue;
    double distance = 1;
    for (const index size : {p.m, p.n, p.k}) {
      const double ratio = static_cast<double>(size) / static_cast<double>(product.n);
      distance = std::max({distance, ratio, 1 / ratio});
    }
    if (distance > least || (found && distance == least)) continue;
    found = x;
    least = distance;
  }
  return found;
}

}  // namespace blaslift
