// Products in a floating-point environment of the program's own.
//
//   floats rounding|flushing|traps|fault|far BLAS LAPACK [N]
//
// BLAS and LAPACK: copies of the libraries that the program is linked with, for what is plain.
#include <dlfcn.h>
#include <emmintrin.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cfenv>
#include <climits>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

using Z = std::complex<double>;
using Gemm = void(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                  const int*, const double*, const int*, const double*, double*, const int*, std::size_t, std::size_t);
using Syrk = void(const char*, const char*, const int*, const int*, const double*, const double*, const int*,
                  const double*, double*, const int*, std::size_t, std::size_t);
using Symv = void(const char*, const int*, const double*, const double*, const int*, const double*, const int*,
                  const double*, double*, const int*, std::size_t);
using Hemv = void(const char*, const int*, const Z*, const Z*, const int*, const Z*, const int*, const Z*, Z*,
                  const int*, std::size_t);
using Geqrf = void(const int*, const int*, double*, const int*, double*, double*, const int*, int*);
extern "C" Gemm dgemm_;
extern "C" Syrk dsyrk_;
extern "C" Symv dsymv_;
extern "C" Hemv zhemv_;
extern "C" Geqrf dgeqrf_;

namespace {

int failures = 0;
void expect(bool right, const std::string& what) {
  if (right) return;
  ++failures;
  std::printf("wrong: %s\n", what.c_str());
}

void *blas, *lapack;
template <class F>
F* plain(void* library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}

std::vector<double> numbers(std::size_t count, unsigned seed, double scale = 1) {
  std::vector<double> x(count);
  for (double& e : x) {
    seed = seed * 1103515245u + 12345u;
    e = scale * (static_cast<double>(seed >> 4) / (1u << 27) - 1);
  }
  return x;
}

/// What each routine makes of the same operands, one after the other.
std::vector<double> results(int n, double scale, bool routed) {
  const std::size_t nn = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  const auto A = numbers(nn, 1, scale), B = numbers(nn, 2);
  const double one = 1, zero = 0;
  const int step = 1, lwork = 32 * n;
  std::vector<double> C(nn), D(nn), y(static_cast<std::size_t>(n)), Q = numbers(nn, 3), tau(y.size()),
                                                                    work(static_cast<std::size_t>(lwork));
  (routed ? dgemm_ : plain<Gemm>(blas, "dgemm_"))("N", "T", &n, &n, &n, &one, A.data(), &n, B.data(), &n, &zero,
                                                  C.data(), &n, 1, 1);
  (routed ? dsyrk_ : plain<Syrk>(blas, "dsyrk_"))("U", "N", &n, &n, &one, A.data(), &n, &zero, D.data(), &n, 1, 1);
  (routed ? dsymv_ : plain<Symv>(blas, "dsymv_"))("L", &n, &one, A.data(), &n, B.data(), &step, &zero, y.data(), &step,
                                                  1);
  int info = 0;
  (routed ? dgeqrf_ : plain<Geqrf>(lapack, "dgeqrf_"))(&n, &n, Q.data(), &n, tau.data(), work.data(), &lwork, &info);
  for (const auto* more : {&D, &y, &Q, &tau}) C.insert(C.end(), more->begin(), more->end());
  return C;
}
bool same(const std::vector<double>& x, const std::vector<double>& y) {
  return std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
}

void set_x87(int mode) {
  std::uint16_t word;
  asm volatile("fnstcw %0" : "=m"(word));
  word = static_cast<std::uint16_t>((word & ~0x0c00) | mode);
  asm volatile("fldcw %0" ::"m"(word));
}

/// Bits are plain's in each mode, on whichever thread; those of another mode are others.
void rounding(int n) {
  const auto nearest = results(n, 1, true);
  const auto in_mode = [&](int mode, const char* name) {
    std::fesetround(mode);
    const auto lifted = results(n, 1, true), expected = results(n, 1, false);
    expect(std::fegetround() == mode, std::string("the mode has changed: ") + name);
    std::fesetround(FE_TONEAREST);
    expect(same(lifted, expected), std::string("not as plain rounds ") + name);
    expect(!same(lifted, nearest), std::string("as to nearest: ") + name);
  };
  in_mode(FE_UPWARD, "up");
  std::thread([&] { in_mode(FE_DOWNWARD, "down, on a thread"); }).join();
  std::fesetround(FE_TOWARDZERO);  // which new threads inherit
  std::thread([&] { expect(same(results(n, 1, true), results(n, 1, false)), "inherited by a thread"); }).join();
  std::fesetround(FE_TONEAREST);
  in_mode(FE_TOWARDZERO, "to zero");
  // Either unit's alone.
  _mm_setcsr(_mm_getcsr() | _MM_ROUND_UP);
  expect(same(results(n, 1, true), results(n, 1, false)), "SSE's alone");
  _mm_setcsr(_mm_getcsr() & ~static_cast<unsigned>(_MM_ROUND_MASK));
  set_x87(0x0800);
  expect(same(results(n, 1, true), results(n, 1, false)), "the x87's alone");
  set_x87(0);
  expect(same(results(n, 1, true), nearest), "to nearest again");
}

/// What is flushed is so on all threads that compute; what is not is not.
void flushing(int n) {
  constexpr unsigned to_zero = 0x8000, as_zero = 0x0040;
  for (const unsigned mode : {0u, to_zero, as_zero, to_zero | as_zero}) {
    const double tiny = std::numeric_limits<double>::min() / n / 4;
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | mode);
    const auto lifted = results(n, tiny, true), expected = results(n, tiny, false);
    const bool kept = (_mm_getcsr() & 0xffc0) == ((before | mode) & 0xffc0);
    _mm_setcsr(before);
    expect(kept, "the mode has changed");
    const std::size_t products = lifted.size() - static_cast<std::size_t>(n) * static_cast<std::size_t>(n + 1);
    std::size_t subnormal = 0, plain_subnormal = 0, far = 0;
    for (std::size_t i = 0; i < products; ++i) {
      subnormal += std::fpclassify(lifted[i]) == FP_SUBNORMAL;
      plain_subnormal += std::fpclassify(expected[i]) == FP_SUBNORMAL;
      far += !(std::fabs(lifted[i] - expected[i]) <= 2 * n * std::numeric_limits<double>::denorm_min());
    }
    expect((subnormal > 0) == (plain_subnormal > 0), "subnormal results " + std::to_string(subnormal) + ", plain " +
                                                         std::to_string(plain_subnormal) + " in mode " +
                                                         std::to_string(mode));
    expect(far == 0, std::to_string(far) + " results differ in mode " + std::to_string(mode));
  }
}

/// Elements near the least normal number, beside large ones: what levels would add up is subnormal, and to be flushed.
void small(int n) {
  const std::size_t nn = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  const double one = 1, zero = 0;
  auto A = numbers(nn, 1), B = numbers(nn, 2, 1e300);
  for (double& x : A) x = (1.5 + x / 2) * std::numeric_limits<double>::min();
  std::vector<double> C(nn), D(nn);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  dgemm_("N", "N", &n, &n, &n, &one, A.data(), &n, B.data(), &n, &zero, C.data(), &n, 1, 1);
  plain<Gemm>(blas, "dgemm_")("N", "N", &n, &n, &n, &one, A.data(), &n, B.data(), &n, &zero, D.data(), &n, 1, 1);
  _mm_setcsr(before);
  for (std::size_t i = 0; i < nn; ++i)
    expect(std::fabs(C[i] - D[i]) <= (n + 3) * 2.3e-16 * n * 2 * 1e300 * std::numeric_limits<double>::min(),
           "an element is " + std::to_string(C[i] * 1e8) + ", plain " + std::to_string(D[i] * 1e8));
}

constexpr int trapped = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;

/// One matrix after the other at the same place: its copy is of numbers that are no longer the call's.
void traps(int n) {
  const double one = 1, zero = 0;
  const Z z_one = 1, z_zero = 0;
  const int step = 1, half = n / 2;
  const std::size_t nn = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  std::vector<double> A = numbers(nn, 1), x = numbers(nn, 2), y(nn), wild(nn, 1e308);
  std::vector<Z> ZA(nn), zx(nn), zy(nn), z_wild(nn, Z(1e308, -1e308));
  for (std::size_t i = 0; i < nn; ++i) ZA[i] = {A[i], x[i]}, zx[i] = {x[i], A[i]};
  wild[0] = std::numeric_limits<double>::infinity();
  z_wild[1] = std::numeric_limits<double>::quiet_NaN();
  const auto kept_A = A;
  const auto kept_ZA = ZA;
  results(n, 1, true);
  for (int time = 0; time < 12; ++time) {
    const bool calm = time % 2 == 1;
    A = calm ? kept_A : wild;
    ZA = calm ? kept_ZA : z_wild;
    if (calm) {
      std::feclearexcept(FE_ALL_EXCEPT);
      feenableexcept(trapped);
    }
    for (const char* uplo : {"U", "L"}) {
      dsymv_(uplo, &n, &one, A.data(), &n, x.data(), &step, &zero, y.data(), &step, 1);
      zhemv_(uplo, &n, &z_one, ZA.data(), &n, zx.data(), &step, &z_zero, zy.data(), &step, 1);
    }
    dgemm_("N", "N", &n, &half, &n, &one, A.data(), &n, x.data(), &n, &zero, y.data(), &n, 1, 1);
    if (!calm) continue;
    results(n, 1, true);
    expect(fegetexcept() == trapped, "the traps have changed");
    expect(std::fetestexcept(trapped) == 0, "flags are left behind");
    fedisableexcept(FE_ALL_EXCEPT);
    std::feclearexcept(FE_ALL_EXCEPT);
  }
  // All of them, and whole numbers: nothing is inexact but what we predict and measure.
  std::vector<double> whole(nn), C(nn);
  for (std::size_t i = 0; i < nn; ++i) whole[i] = static_cast<double>(i % 7) - 3;
  feenableexcept(FE_ALL_EXCEPT);
  dgemm_("N", "N", &n, &n, &n, &one, whole.data(), &n, whole.data(), &n, &zero, C.data(), &n, 1, 1);
  dsyrk_("U", "T", &n, &n, &one, whole.data(), &n, &zero, C.data(), &n, 1, 1);
  dsymv_("U", &n, &one, whole.data(), &n, whole.data(), &step, &zero, C.data(), &step, 1);
  fedisableexcept(FE_ALL_EXCEPT);
}

/// A product that overflows: whoever has traps on hears of it where the library underneath computes.
void fault(int n) {
  const std::size_t nn = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  const double one = 1, zero = 0;
  const std::vector<double> A(nn, 1e300);
  std::vector<double> C(nn);
  signal(SIGFPE, [](int) {
    static constexpr char said[] = "SIGFPE\n";
    (void)!write(1, said, sizeof said - 1);
    _exit(0);
  });
  feenableexcept(trapped);
  dgemm_("N", "N", &n, &n, &n, &one, A.data(), &n, A.data(), &n, &zero, C.data(), &n, 1, 1);
  std::printf("no signal\n");
}

/// What is not read may be anywhere, and of any size.
void far() {
  const double zero = 0, one = 1, two = 2;
  const int m = 4, k = INT_MAX, most = INT_MAX, least = INT_MIN, five = 5, single = 1, none = 0;
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<double*>(address); };
  for (const std::uintptr_t address : {std::uintptr_t{8}, std::uintptr_t{1} << 63, ~std::uintptr_t{7}}) {
    double C[16];
    for (int i = 0; i < 16; ++i) C[i] = i;
    dgemm_("T", "T", &m, &m, &k, &zero, at(address), &most, at(16), &most, &two, C, &m, 1, 1);
    dsyrk_("U", "T", &m, &k, &zero, at(address), &most, &two, C, &m, 1, 1);
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < 4; ++i) expect(C[i + 4 * j] == (i <= j ? 4 : 2) * (i + 4 * j), "scaled");
    double y[5] = {1, 2, 3, 4, 5};
    dsymv_("U", &five, &zero, at(address), &most, at(address), &least, &two, y, &single, 1);
    dsymv_("L", &five, &zero, at(address), &most, at(address), &most, &two, y, &single, 1);
    for (int i = 0; i < 5; ++i) expect(y[i] == 4 * (i + 1), "y scaled");
  }
  for (const int incx : {least, most, -1})
    for (const int incy : {least, most, 1})
      for (const int lda : {single, most}) {
        const double A = 3, x = 5;
        double y = 7;
        dsymv_("U", &single, &one, &A, &lda, &x, &incx, &one, &y, &incy, 1);
        expect(y == 22, "of one element");
        const Z zA = 3, zx = 5, zone = 1;
        Z zy = 7;
        zhemv_("L", &single, &zone, &zA, &lda, &zx, &incx, &zone, &zy, &incy, 1);
        expect(zy == 22.0, "of one complex element");
      }
  dgemm_("N", "N", &none, &m, &k, &one, at(8), &most, at(8), &most, &zero, at(8), &most, 1, 1);
  dgemm_("N", "N", &most, &none, &most, &one, at(8), &most, at(8), &most, &zero, at(8), &most, 1, 1);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) return 2;
  const std::string what = arguments[1];
  blas = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  lapack = dlopen(arguments[3], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!blas || !lapack) return 2;
  const int n = count > 4 ? std::atoi(arguments[4]) : 70;
  if (what == "rounding") rounding(n);
  if (what == "flushing") flushing(n), small(n);
  if (what == "traps") traps(n);
  if (what == "fault") fault(n);
  if (what == "far") far();
  std::printf("%d wrong\n", failures);
  return failures != 0;
}
