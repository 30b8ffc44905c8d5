// Products by residues: A and B are scaled to integers, whose product is computed exactly, modulo a few small numbers,
// and rounded once.  After the Ozaki scheme II (Ozaki, Uchino, Imamura, arXiv 2504.08009); the guard is our own.
//
// What is computed is defined here, whatever computes it, and however it is cut up: the same bits on every backend.
//
//   S(i,j) = sum over h of A'(i,h) B'(h,j),  A'(i,h) = rint(A(i,h) 2^e(i)),  B'(h,j) = rint(B(h,j) 2^f(j)),
//   C(i,j) := beta C(i,j) + alpha X,  X = S(i,j) rounded to the precision, times 2^(-e(i)-f(j)),
//
// where the last line is arithmetic::updated (kernels/arithmetic.hpp).  e(i) is the largest number for which, by the
// row's sum of squares, no S can reach half the product of all moduli; f(j) likewise by columns.  Of complex numbers
// both parts are scaled, rounded and looked at alike; those of S are sums of 2 k products.
//
// The guard accepts rows and columns for which every element's error is proven to be at most 8 sqrt(k) u (|A||B|)(i,j),
// and at most 2 k u (|A||B|)(i,j), before the last line's roundings; the classical bound is k u (|A||B|)(i,j).
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/arithmetic.hpp"
#include "kernels/both.hpp"
#include "kernels/types.hpp"

namespace blaslift::residues {

__extension__ typedef unsigned __int128 uint128;
__extension__ typedef __int128 int128;

/// As a constant, which device code may use.
template <class R>
inline constexpr R largest_number = std::numeric_limits<R>::max();

/// No two have a factor in common, and a residue between -p/2 and p/2 has eight bits.
BLASLIFT_BOTH constexpr int modulus(int l) {
  constexpr int moduli[] = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197};
  return moduli[l];
}

/// So many of them keep more bits than the precision has, of sums of any length that is allowed.
template <class R>
inline constexpr int count_of = std::is_same_v<R, float> ? 7 : 15;

/// Sums of so many products of residues stay in 32 bits, also if they begin with a sum that was reduced.  A multiple of
/// what INT8 products are fast with.
inline constexpr index most_in_a_sum = 129920;
/// What grids of the kernels that split operands have room for.
inline constexpr index most_k = 8000000;

template <int count>
constexpr uint128 product_of_moduli() {
  uint128 product = 1;
  for (int l = 0; l < count; ++l) product *= static_cast<unsigned>(modulus(l));
  return product;
}

/// What puts an integer together from its residues: it is the sum of residue times weight, modulo the product.
template <int count>
struct Weights {
  uint128 product = product_of_moduli<count>(), weight[count];
  float share[count];  ///< weight / product

  constexpr Weights() : weight{}, share{} {
    for (int l = 0; l < count; ++l) {
      const uint128 p = static_cast<unsigned>(modulus(l)), rest = product / p;
      uint128 inverse = 1;
      while (rest % p * inverse % p != 1) ++inverse;
      weight[l] = rest * inverse;
      share[l] = static_cast<float>(static_cast<double>(weight[l]) / static_cast<double>(product));
    }
  }
};

/// 2^exponent, of which a double has no less and no more.
BLASLIFT_BOTH inline double power_of_two(int exponent) {
  if (exponent > 1023) return HUGE_VAL;
  if (exponent < -1022) return 0;
  const std::uint64_t bits = static_cast<std::uint64_t>(exponent + 1023) << 52;
  double power;
  memcpy(&power, &bits, sizeof power);
  return power;
}

/// x 2^exponent, rounded once where the result is subnormal.
BLASLIFT_BOTH inline float times_power(float x, int exponent) { return ldexpf(x, exponent); }
BLASLIFT_BOTH inline double times_power(double x, int exponent) { return ldexp(x, exponent); }

/// The integer that x is scaled to.
/// @param near, far  powers of two whose product is 2^e: e may be larger than a double's exponents
BLASLIFT_BOTH inline double scaled(double x, double near, double far) { return rint(x * near * far); }

/// A finite number's magnitude that is not zero: mantissa 2^exponent.
struct Magnitude {
  std::uint64_t mantissa;
  int exponent;
  BLASLIFT_BOTH int top() const { return exponent + top_bit(mantissa); }     ///< that of the highest bit
  BLASLIFT_BOTH int lowest() const { return exponent + low_bit(mantissa); }  ///< that of the lowest bit that is set

  BLASLIFT_BOTH static int top_bit(std::uint64_t x) {
#ifdef __CUDA_ARCH__
    return 63 - __clzll(static_cast<long long>(x));
#else
    return 63 - __builtin_clzll(x);
#endif
  }
  BLASLIFT_BOTH static int low_bit(std::uint64_t x) {
#ifdef __CUDA_ARCH__
    return __ffsll(static_cast<long long>(x)) - 1;
#else
    return __builtin_ctzll(x);
#endif
  }
};
BLASLIFT_BOTH inline Magnitude magnitude_of(double x) {
  std::uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
  return exponent == 0 ? Magnitude{mantissa, -1074} : Magnitude{mantissa | std::uint64_t{1} << 52, exponent - 1075};
}

/// What is known of a row of op(A), or a column of op(B).  All of it is integers: in whatever order they are added up,
/// they are the same.
struct Found {
  static constexpr int fractions = 8;    ///< of the largest magnitude
  static constexpr int sum_digits = 10;  ///< magnitudes are added up in units of 2^(top + 1 - sum_digits)

  std::uint64_t squares = 0, sum = 0;  ///< of magnitudes, rounded up
  std::uint32_t within[fractions]{};   ///< [s]: elements of at least 2^(top - s)
  std::int32_t least = INT32_MAX;      ///< the smallest magnitude's top()
  std::int32_t lowest = INT32_MAX;     ///< of all elements

  /// A real number, or a part of a complex one; not zero.
  /// @param top  of the largest
  /// @return its top()
  BLASLIFT_BOTH int add(double x, int top) {
    const Magnitude magnitude = magnitude_of(x);
    const int mine = magnitude.top(), shift = top + 1 - sum_digits - magnitude.exponent;
    const std::uint64_t units = shift > 63  ? 1
                                : shift > 0 ? (magnitude.mantissa + ((std::uint64_t{1} << shift) - 1)) >> shift
                                            : magnitude.mantissa << -shift;
    squares += units * units;
    sum += units;
    least = mine < least ? mine : least;
    const int low = magnitude.lowest();
    lowest = low < lowest ? low : lowest;
    return mine;
  }
  BLASLIFT_BOTH void merge(const Found& x) {
    squares += x.squares;
    sum += x.sum;
    for (int s = 0; s < fractions; ++s) within[s] += x.within[s];
    least = x.least < least ? x.least : least;
    lowest = x.lowest < lowest ? x.lowest : lowest;
  }
};

/// How such a row or column is scaled, and what that may cost.
struct Scaling {
  std::int32_t exponent = 0;  ///< e(i), f(j)
  // Errors relative to (|A||B|)(i,j): by the smallest element alone; or by what most elements of both are at least,
  // where `coarse` of one is multiplied by `sum` of the other.
  double alone = 0, coarse = 0, sum = 0;
};

/// @param largest  magnitude, of parts: not finite where one is not
/// @param k        of the product
/// @param parts    2: of complex numbers
/// @param root     root_of_moduli()
BLASLIFT_BOTH inline Scaling scaling_of(double largest, const Found& found, index k, int parts, double root) {
  Scaling x;
  if (!(largest <= largest_number<double>)) {
    x.alone = x.coarse = x.sum = HUGE_VAL;
    return x;
  }
  if (largest == 0) return x;
  const int top = magnitude_of(largest).top();
  const double elements = static_cast<double>(k);
  // Each element is rounded by half at most.
  const double room = root - sqrt(elements * parts) / 2, norm = sqrt(static_cast<double>(found.squares));
  x.exponent = magnitude_of(room / norm).top() - (top + 1 - Found::sum_digits);
  if (found.lowest >= -x.exponent) {
    x.alone = 0;  // nothing is rounded
  } else {
    x.alone = power_of_two(-x.exponent - 1 - found.least);
  }
  int s = 0;
  while (s < Found::fractions && 4 * static_cast<std::uint64_t>(found.within[s]) < 3 * static_cast<std::uint64_t>(k))
    ++s;
  if (s == Found::fractions) {
    x.coarse = x.sum = HUGE_VAL;
    return x;
  }
  // At least half of all h have both factors of a term at least as large.
  const int most = top - s;
  x.coarse = power_of_two(-x.exponent - 1 - most);
  x.sum = (static_cast<double>(found.sum) * power_of_two(top + 2 - Found::sum_digits - most) +
           elements * parts * power_of_two(-x.exponent - most)) /
          elements;
  return x;
}

inline constexpr int count_in(Precision p) {
  return p == Precision::s || p == Precision::c ? count_of<float> : count_of<double>;
}
/// Of a complex number a + b i, a, b and a + b are split: three products make one.
inline constexpr int parts_split(Precision p) { return is_complex(p) ? 3 : 1; }

/// What ResidueMemory holds.
struct Layout {
  index padded;                                ///< bytes of a row, or column, modulo one number
  index plane;                                 ///< bytes of all of them
  std::size_t scaling, found, largest, bytes;  ///< where these begin; of all
  constexpr Layout(Precision precision, index count, index k)
      : padded((k + 31) / 32 * 32), plane((count + 15) / 16 * 16 * padded) {
    const auto aligned = [](std::size_t x) { return (x + 255) / 256 * 256; };
    const auto all = static_cast<std::size_t>(count), parts = static_cast<std::size_t>(is_complex(precision) ? 2 : 1),
               real = element_size(precision) / parts,
               planes = static_cast<std::size_t>(count_in(precision) * parts_split(precision));
    // INT8 products read whole granules of rows, from whichever row on.
    scaling = aligned(planes * static_cast<std::size_t>(plane) + static_cast<std::size_t>(15 * padded));
    found = scaling + aligned(all * sizeof(Scaling));
    largest = found + aligned(all * sizeof(Found));
    bytes = largest + aligned((all + static_cast<std::size_t>(k)) * real);
  }
};

/// Of C, what is computed at a time: as much as there is memory for its sums.
struct Tile {
  index rows, cols;
  static constexpr index granule = 16;
  static constexpr index rounded_up(index x) { return (x + granule - 1) / granule * granule; }
  static constexpr std::size_t bytes(Precision precision, index rows, index cols) {
    return static_cast<std::size_t>(count_in(precision) * parts_split(precision)) * sizeof(int) *
           static_cast<std::size_t>(rounded_up(rows) * rounded_up(cols));
  }
  /// Smaller ones are slower, larger ones not faster: INT8 products are at their best with 8,192 rows and columns.
  static constexpr std::size_t most_bytes = std::size_t{4100} << 20;
  static constexpr index most_edge = 8192;

  constexpr Tile(Precision precision, index m, index n, std::size_t memory)
      : rows(m < most_edge ? m : most_edge), cols(n < most_edge ? n : most_edge) {
    while (bytes(precision, rows, cols) > memory && (rows > granule || cols > granule)) {
      index& larger = rows > cols ? rows : cols;
      larger = rounded_up((larger + 1) / 2);
    }
  }
  constexpr Tile(Precision precision, index m, index n) : Tile(precision, m, n, most_bytes) {}
};

/// sqrt(P / 2), and a little less: what is computed of S / P in single precision may be off by that.
template <int count>
double root_of_moduli() {
  return std::sqrt(static_cast<double>(product_of_moduli<count>()) * 0.495);
}

/// The most that the guard lets pass, relative to |A||B|.
template <class R>
double limit_of(index k) {
  constexpr double unit = std::numeric_limits<R>::epsilon() / 2;
  const double terms = static_cast<double>(k);
  return std::fmin(8 * std::sqrt(terms), 2 * terms) * unit;
}

/// The larger error of a row by `alone` and by the columns' largest `sum`.
BLASLIFT_BOTH inline double error_of(const Scaling& x, double sum) {
  const double coarse = x.coarse * sum;  // not a number where nothing is known of one, and the other is zeros
  return coarse < x.alone ? coarse : x.alone;
}

/// Both operands' largest such errors together.
BLASLIFT_BOTH inline bool acceptable(double of_a, double of_b, double limit) {
  return of_a <= limit && of_b <= limit && of_a + of_b + of_a * of_b <= limit;  // flags no overflow
}

/// An integer rounded to the nearest real, ties to even.
BLASLIFT_BOTH inline float rounded(float, std::int64_t x) { return static_cast<float>(x); }
BLASLIFT_BOTH inline double rounded(double, int128 x) {
  const bool negative = x < 0;
  const uint128 magnitude = negative ? -static_cast<uint128>(x) : static_cast<uint128>(x);
  std::uint64_t high = static_cast<std::uint64_t>(magnitude >> 64), low = static_cast<std::uint64_t>(magnitude);
  int shift = 0;
  if (high != 0) {  // its 64 leading bits, the last of which says whether anything follows
    shift = Magnitude::top_bit(high) + 1;
    const std::uint64_t rest = shift == 64 ? low : low << (64 - shift);
    low = shift == 64 ? high : high << (64 - shift) | low >> shift;
    low |= rest != 0;
  }
  const double value = static_cast<double>(low) * power_of_two(shift);
  return negative ? -value : value;
}

}  // namespace blaslift::residues
