// The words that every layer shares: sizes, op(), precision, one product.
#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>

namespace blaslift {

using index = std::int64_t;

/// op(X): as it is, transposed, conjugate-transposed.
enum class Op : char { none = 'N', transpose = 'T', conjugate = 'C' };

enum class Precision : std::uint8_t { s, d, c, z };
inline constexpr int precision_count = 4;

template <class T>
inline constexpr Precision precision_of = Precision::d;
template <>
inline constexpr Precision precision_of<float> = Precision::s;
template <>
inline constexpr Precision precision_of<std::complex<float>> = Precision::c;
template <>
inline constexpr Precision precision_of<std::complex<double>> = Precision::z;

constexpr std::size_t element_size(Precision p) {
  constexpr std::size_t bytes[] = {4, 8, 8, 16};
  return bytes[static_cast<int>(p)];
}
constexpr bool is_complex(Precision p) { return p == Precision::c || p == Precision::z; }
constexpr char letter(Precision p) { return "sdcz"[static_cast<int>(p)]; }

/// One product by addresses, whatever its precision: C := alpha * op(A) * op(B) + beta * C, column-major, BLAS
/// semantics to the letter (alpha = 0 or k = 0 read neither A nor B, beta = 0 never reads C).  The scalars are in host
/// memory.
struct Gemm {
  Precision precision;
  Op transa, transb;
  index m, n, k;
  const void* alpha;
  const void* A;
  index lda;
  const void* B;
  index ldb;
  const void* beta;
  void* C;
  index ldc;
};

}  // namespace blaslift
