// blaslift_wsymv as a program that was linked with -lblaslift calls it: every case of n, triangle, increments and
// scalars against sums in higher precision, what is not to be read full of NaN, what is not to be written guarded; and
// what it refuses.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "api/blaslift.h"

namespace {

using Quad = __float128;  // 113 bits: seven more than what is tested promises
using Index = std::int64_t;

Quad quad(const blaslift_w& x) { return Quad(x.hi) + Quad(x.lo); }
Quad magnitude(Quad x) { return x < 0 ? -x : x; }

constexpr double canary = 3.25e17;

struct Random {
  std::mt19937_64 engine{20};
  blaslift_w operator()() {
    const double hi = std::uniform_real_distribution<double>(-1, 1)(engine);
    const double lo = std::uniform_real_distribution<double>(-0.5, 0.5)(engine) * std::ldexp(std::fabs(hi), -53);
    return {hi, lo};
  }
};

/// A vector of n elements in BLAS's order, with a gap of canaries around each.
struct Strided {
  Strided(Index n, Index inc, Random& random)
      : n_(n), inc_(inc), all(static_cast<std::size_t>(n * std::abs(inc) + 2), {canary, canary}) {
    for (Index i = 0; i < n; ++i) (*this)[i] = random();
  }
  blaslift_w& operator[](Index i) {
    return all[static_cast<std::size_t>(1 + (inc_ > 0 ? i * inc_ : (i - n_ + 1) * inc_))];
  }
  blaslift_w* at() { return all.data() + 1; }
  Index n_, inc_;
  std::vector<blaslift_w> all;
};

int failures = 0;
std::uint64_t bits = 0;  ///< of all results

void note_bits(const blaslift_w& x) {
  for (const double part : {x.hi, x.lo}) {
    std::uint64_t word = 0;
    std::memcpy(&word, &part, sizeof word);
    bits = (bits ^ word) * 0x100000001b3u;
  }
}

void check(char uplo, Index n, Index lda, Index incx, Index incy, double beta_hi, Random& random) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const bool upper = uplo == 'U' || uplo == 'u';
  std::vector<blaslift_w> A(static_cast<std::size_t>(lda * n), {nan, nan});
  const auto at = [&](Index i, Index j) -> blaslift_w& { return A[static_cast<std::size_t>(i + j * lda)]; };
  for (Index j = 0; j < n; ++j)
    for (Index i = upper ? 0 : j; i < (upper ? j + 1 : n); ++i) at(i, j) = random();
  Strided x(n, incx, random), y(n, incy, random);
  const blaslift_w alpha = random(), beta = beta_hi == 0   ? blaslift_w{0, 0}
                                            : beta_hi == 1 ? blaslift_w{1, 0}
                                                           : random();
  if (beta_hi == 0)
    for (Index i = 0; i < n; ++i) y[i] = {nan, nan};
  Strided expected = y, x_before = x;
  double worst = 0;
  const int info = blaslift_wsymv(uplo, n, &alpha, A.data(), lda, x.at(), incx, &beta, y.at(), incy);
  for (Index i = 0; i < n; ++i) {
    Quad sum = 0, size = 0;
    for (Index j = 0; j < n; ++j) {
      const Quad p = quad((i < j) == upper || i == j ? at(i, j) : at(j, i)) * quad(x[j]);
      sum += p, size += magnitude(p);
    }
    sum *= quad(alpha), size *= magnitude(quad(alpha));
    if (beta_hi != 0) sum += quad(beta) * quad(expected[i]), size += magnitude(quad(beta) * quad(expected[i]));
    const double error = static_cast<double>(magnitude(quad(y[i]) - sum) / size);
    if (!(error <= worst)) worst = error;
    note_bits(y[i]);
    expected[i] = y[i];
  }
  // n products and sums of relative error 2^-102 each, and a few more.
  const bool good = info == 0 && worst <= static_cast<double>(n + 4) * 0x1p-102 &&
                    std::memcmp(expected.all.data(), y.all.data(), y.all.size() * sizeof(blaslift_w)) == 0 &&
                    std::memcmp(x_before.all.data(), x.all.data(), x.all.size() * sizeof(blaslift_w)) == 0;
  if (good) return;
  ++failures;
  std::printf("WRONG: uplo %c n %ld lda %ld incx %ld incy %ld beta %g: info %d, error %g\n", uplo, n, lda, incx, incy,
              beta_hi, info, worst);
}

void refused() {
  alignas(16) unsigned char bytes[128] = {};
  auto* good = reinterpret_cast<blaslift_w*>(bytes);
  auto* askew = reinterpret_cast<blaslift_w*>(bytes + 8);
  const struct {
    int expected, found;
  } cases[] = {
      {-1, blaslift_wsymv('X', 1, good, good, 1, good, 1, good, good, 1)},
      {-2, blaslift_wsymv('L', -1, good, good, 1, good, 1, good, good, 1)},
      {-3, blaslift_wsymv('L', 1, nullptr, good, 1, good, 1, good, good, 1)},
      {-4, blaslift_wsymv('L', 1, good, askew, 1, good, 1, good, good, 1)},
      {-4, blaslift_wsymv('L', 1, good, nullptr, 1, good, 1, good, good, 1)},
      {-5, blaslift_wsymv('U', 2, good, good, 1, good, 1, good, good, 1)},
      {-6, blaslift_wsymv('U', 1, good, good, 1, askew, 1, good, good, 1)},
      {-7, blaslift_wsymv('U', 1, good, good, 1, good, 0, good, good, 1)},
      {-8, blaslift_wsymv('U', 1, good, good, 1, good, 1, nullptr, good, 1)},
      {-9, blaslift_wsymv('U', 1, good, good, 1, good, 1, good, askew, 1)},
      {-10, blaslift_wsymv('U', 1, good, good, 1, good, 1, good, good, 0)},
      {0, blaslift_wsymv('u', 0, good, nullptr, 1, nullptr, 1, good, nullptr, 1)},
  };
  for (const auto& c : cases)
    if (c.expected != c.found) ++failures, std::printf("WRONG: %d instead of %d\n", c.found, c.expected);
}

}  // namespace

int main() {
  Random random;
  int calls = 0;
  for (const char uplo : {'U', 'l'})
    for (const Index n : {1, 2, 17, 64, 131, 600})
      for (const double beta : {0.0, 1.0, 0.5}) {
        check(uplo, n, n, 1, 1, beta, random);
        check(uplo, n, n + 3, -2, 3, beta, random);
        check(uplo, n, n + 1, 3, -1, beta, random);
        calls += 3;
      }
  refused();
  std::printf("bits %016lx\ncalls {\"wsymv\": %d}\n", bits, calls);
  if (failures == 0) std::printf("ok\n");
  return failures != 0;
}
