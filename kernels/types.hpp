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
/// memory.  With E: C := alpha * op(A) * op(B) + beta * E; E is m x n, only read, and shares nothing with C.
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
  const void* E = nullptr;
  index lde = 0;
  std::int8_t stream = 0;  ///< of the device's two for products and combinations, 0 or 1
  bool awaited = true;     ///< false: only what follows in its own stream comes after it, which spares a mark
};

/// One pass over memory: each target, a rows x cols matrix, becomes a sum of some of the sources, element by element,
/// all of them from what the sources held before.  A target may be one of the sources; otherwise none of them overlap.
/// All column-major.
struct Combination {
  static constexpr int most_sources = 8, most_targets = 4;
  struct Source {
    const void* at;
    index ld;
    bool scaled;  ///< multiplied by `scale`
  };
  struct Target {
    void* at;
    index ld;
    signed char sign[most_sources];  ///< by source: 1, -1, or 0, which does not read it for this target
  };
  Precision precision;
  index rows, cols;
  int sources, targets;
  Source source[most_sources];
  Target target[most_targets];
  const void* scale;  ///< a scalar in host memory; may be null where nothing is scaled
  std::int8_t stream = 0;
  bool awaited = true;
};

/// The largest magnitudes in each row and column of a rows x cols block, column-major: what row_max[i] and col_max[j]
/// hold becomes larger where an element of the row or column is.  They hold reals of the precision, none negative; NaN
/// counts as larger than infinity.  A complex element counts as the larger one of its parts.
struct Survey {
  Precision precision;
  index rows, cols;
  const void* at;
  index ld;
  void *row_max, *col_max;
  std::int8_t stream = 0;
  bool awaited = true;
};

}  // namespace blaslift
