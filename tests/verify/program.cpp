// A program whose calls are verified.
//
//   program every                  calls of every kind, precision and interface
//   program real                   those in double precision
//   program products N COUNT       dgemm_ of N x N, alpha = 1, beta = 0, ldc = N + 3, from product()
//   program sizes N COUNT          products of N x N, (N + 1) x (N + 1) ...
//   program triangles N COUNT      the same with dsyrk_, from triangle_product()
//   program vectors N COUNT        the same with dsymv_, from vector_product()
//   program qr M N                 geqrf of M x N, ormqr on M x 7 and orgqr of what that has left, in each precision
//   program dqr M N                in double precision only
//   program compact M N [COUNT]    geqr of M x N, and gemqr on M x 7, in single and double complex precision
//   program threads                products and vectors, from four threads
//   program fork                   a product, and one in a child
//   program poor                   a product with no memory left for anything else
//   program traps                  products and vectors while invalid operations, overflows and divisions by zero trap
//   program status STATUS          a product, and this exit status
//
// On stdout: a sum over the bits of all results, which must not depend on whether anybody looks.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>
#include <thread>
#include <vector>

#define GEMM(name, T)                                                                                       \
  extern "C" void name##_(const char*, const char*, const int*, const int*, const int*, const T*, const T*, \
                          const int*, const T*, const int*, const T*, T*, const int*, std::size_t, std::size_t);
#define SYMV(name, T)                                                                                                  \
  extern "C" void name##_(const char*, const int*, const T*, const T*, const int*, const T*, const int*, const T*, T*, \
                          const int*, std::size_t);
#define HEMV(name, T) SYMV(name, T)
#define GEQRF(name, T) extern "C" void name##_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);
#define ORMQR(name, T)                                                                                        \
  extern "C" void name##_(const char*, const char*, const int*, const int*, const int*, const T*, const int*, \
                          const T*, T*, const int*, T*, const int*, int*, std::size_t, std::size_t);
#define GEQR(name, T) \
  extern "C" void name##_(const int*, const int*, T*, const int*, T*, const int*, T*, const int*, int*);
#define GEMQR(name, T)                                                                                        \
  extern "C" void name##_(const char*, const char*, const int*, const int*, const int*, const T*, const int*, \
                          const T*, const int*, T*, const int*, T*, const int*, int*, std::size_t, std::size_t);
#define ORGQR(name, T) \
  extern "C" void name##_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);
#define RANK_K(name, T, S)                                                                                            \
  extern "C" void name##_(const char*, const char*, const int*, const int*, const S*, const T*, const int*, const S*, \
                          T*, const int*, std::size_t, std::size_t);
#define SYRK(name, T) RANK_K(name, T, T)
#define HERK(name, T) RANK_K(name, T, T::value_type)
#include "api/routines.def"

extern "C" {
void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
void cblas_cgemm(int, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*,
                 int);
void cblas_zgemm(int, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*,
                 int);
void cblas_ssymv(int, int, int, float, const float*, int, const float*, int, float, float*, int);
void cblas_dsymv(int, int, int, double, const double*, int, const double*, int, double, double*, int);
void cblas_chemv(int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
void cblas_zhemv(int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
}

namespace {

std::uint64_t sum_of_bits = 0;

template <class T>
void add_bits(const std::vector<T>& x) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(x.data());
  for (std::size_t i = 0; i < x.size() * sizeof(T); ++i) sum_of_bits = (sum_of_bits ^ bytes[i]) * 0x100000001b3U;
}

template <class T>
struct Names;
template <class T>
concept Real = std::is_floating_point_v<T>;

#define NAMES(T, gemm, syrk, herk, vector, QR, QC, Q)  \
  template <>                                          \
  struct Names<T> {                                    \
    static constexpr auto geqrf = QR##_;               \
    static constexpr auto ormqr = QC##_;               \
    static constexpr auto orgqr = Q##_;                \
    static constexpr auto fortran_gemm = gemm##_;      \
    static constexpr auto fortran_syrk = syrk##_;      \
    static constexpr auto fortran_herk = herk##_;      \
    static constexpr auto fortran_symv = vector##_;    \
    static constexpr auto cblas_gemm = cblas_##gemm;   \
    static constexpr auto cblas_symv = cblas_##vector; \
  };
NAMES(float, sgemm, ssyrk, ssyrk, ssymv, sgeqrf, sormqr, sorgqr)
NAMES(double, dgemm, dsyrk, dsyrk, dsymv, dgeqrf, dormqr, dorgqr)
NAMES(std::complex<float>, cgemm, csyrk, cherk, chemv, cgeqrf, cunmqr, cungqr)
NAMES(std::complex<double>, zgemm, zsyrk, zherk, zhemv, zgeqrf, zunmqr, zungqr)

template <class T>
T number(unsigned& state) {
  const auto next = [&state] {
    state = state * 1664525U + 1013904223U;
    return static_cast<double>(state >> 8) / 7340033.0 - 1;  // no sums that are exact
  };
  if constexpr (Real<T>)
    return static_cast<T>(next());
  else
    return {static_cast<typename T::value_type>(next()), static_cast<typename T::value_type>(next())};
}

template <class T>
std::vector<T> numbers(std::size_t count, unsigned seed) {
  std::vector<T> x(count);
  for (T& e : x) e = number<T>(seed);
  return x;
}

/// By value where real, by address where complex.
template <class T>
auto scalar(const T& x) {
  if constexpr (Real<T>)
    return x;
  else
    return static_cast<const void*>(&x);
}

enum class Via { fortran, column_major, row_major };

int code(char op) { return op == 'N' ? 111 : op == 'T' ? 112 : op == 'C' ? 113 : op == 'U' ? 121 : 122; }

/// What is special about a call.
enum class Special { nothing, nan, infinity, alpha_zero, overlap };

template <class T>
void gemm(Via via, char opa, char opb, int m, int n, int k, T alpha, T beta, int gap, Special special) {
  const bool row_major = via == Via::row_major;
  const int ra = (opa == 'N') != row_major ? m : k, rb = (opb == 'N') != row_major ? k : n, rc = row_major ? n : m;
  const int ca = m + k - ra, cb = k + n - rb, cc = m + n - rc;
  const int lda = ra + gap, ldb = rb + 2 * gap, ldc = rc + gap;
  auto size = [](int ld, int cols) { return static_cast<std::size_t>(ld) * static_cast<std::size_t>(cols) + 8; };
  std::vector<T> A = numbers<T>(size(lda, ca), 1), B = numbers<T>(size(ldb, cb), 2), C = numbers<T>(size(ldc, cc), 3);
  using std::numeric_limits;
  if (special == Special::nan) A[static_cast<std::size_t>(ra / 2)] = T(numeric_limits<double>::quiet_NaN());
  if (special == Special::infinity) B[0] = T(numeric_limits<double>::infinity());
  if (special == Special::alpha_zero) alpha = T(0);
  T* c = special == Special::overlap ? A.data() : C.data();
  if (via == Via::fortran)
    Names<T>::fortran_gemm(&opa, &opb, &m, &n, &k, &alpha, A.data(), &lda, B.data(), &ldb, &beta, c, &ldc, 1, 1);
  else
    Names<T>::cblas_gemm(row_major ? 101 : 102, code(opa), code(opb), m, n, k, scalar(alpha), A.data(), lda, B.data(),
                         ldb, scalar(beta), c, ldc);
  if (special != Special::nan && special != Special::infinity) add_bits(C);
}

template <class T>
void symv(Via via, char uplo, int n, T alpha, T beta, int incx, int incy, Special special) {
  const int lda = n + 2;
  const auto length = [n](int inc) { return static_cast<std::size_t>(n) * static_cast<std::size_t>(std::abs(inc)); };
  std::vector<T> A = numbers<T>(static_cast<std::size_t>(lda) * static_cast<std::size_t>(n), 4);
  std::vector<T> x = numbers<T>(length(incx), 5), y = numbers<T>(length(incy), 6);
  if (special == Special::alpha_zero) alpha = T(0);
  if (special == Special::nan) x[0] = T(std::numeric_limits<double>::quiet_NaN());
  if (via == Via::fortran)
    Names<T>::fortran_symv(&uplo, &n, &alpha, A.data(), &lda, x.data(), &incx, &beta, y.data(), &incy, 1);
  else
    Names<T>::cblas_symv(via == Via::row_major ? 101 : 102, code(uplo), n, scalar(alpha), A.data(), lda, x.data(), incx,
                         scalar(beta), y.data(), incy);
  if (special != Special::nan) add_bits(y);
}

/// @param fortran  a syrk or, with real scalars, a herk
template <class T, class S, class Function>
void rank_k(Function* fortran, char uplo, char trans, int n, int k, S alpha, S beta) {
  const int lda = (trans == 'N' ? n : k) + 2, ldc = n + 1;
  const std::vector<T> A = numbers<T>(static_cast<std::size_t>(lda) * static_cast<std::size_t>(n + k), 11);
  std::vector<T> C = numbers<T>(static_cast<std::size_t>(ldc) * static_cast<std::size_t>(n), 12);
  fortran(&uplo, &trans, &n, &k, &alpha, A.data(), &lda, &beta, C.data(), &ldc, 1, 1);
  add_bits(C);
}

template <class T>
T scale(double re, double im) {
  if constexpr (Real<T>)
    return static_cast<T>(re);
  else
    return {static_cast<typename T::value_type>(re), static_cast<typename T::value_type>(im)};
}

template <class T>
void every() {
  for (const Via via : {Via::fortran, Via::column_major, Via::row_major})
    for (const char opa : {'N', 'T', 'C'})
      for (const char opb : {'N', 'C'}) {
        gemm<T>(via, opa, opb, 37, 29, 43, T(1), T(0), 0, Special::nothing);
        gemm<T>(via, opa, opb, 5, 70, 33, scale<T>(-0.7, 0.4), scale<T>(0.3, 1), 5, Special::nothing);
      }
  for (const Special special : {Special::nan, Special::infinity, Special::alpha_zero, Special::overlap})
    gemm<T>(Via::fortran, 'N', 'T', 21, 22, 23, T(1), T(2), 1, special);
  gemm<T>(Via::fortran, 'N', 'N', 0, 4, 4, T(1), T(1), 1, Special::nothing);
  gemm<T>(Via::fortran, 'N', 'N', 4, 4, 0, T(1), T(0.5), 1, Special::nothing);
  for (const Via via : {Via::fortran, Via::column_major, Via::row_major})
    for (const char uplo : {'U', 'L'})
      for (const int inc : {1, -2}) {
        symv<T>(via, uplo, 61, scale<T>(0.9, -0.2), T(0), inc, 1, Special::nothing);
        symv<T>(via, uplo, 34, T(1), scale<T>(-1.5, 0.3), 1, inc, Special::nothing);
      }
  for (const char uplo : {'U', 'L'})
    for (const char trans : {'N', 'T'}) {
      rank_k<T>(Names<T>::fortran_syrk, uplo, trans, 47, 31, scale<T>(-0.7, 0.4), scale<T>(0.3, 1));
      if constexpr (!Real<T>)
        rank_k<T>(Names<T>::fortran_herk, uplo, trans == 'T' ? 'C' : 'N', 43, 29, T(1).real(), T(-2).real());
    }
  symv<T>(Via::fortran, 'U', 20, T(1), T(1), 1, 1, Special::alpha_zero);
  symv<T>(Via::fortran, 'L', 20, T(1), T(1), 1, 1, Special::nan);
}

}  // namespace

/// Known by their names to who asks where a call came from.
extern "C" __attribute__((visibility("default"), noinline)) void product(int n, double* C, const double* A,
                                                                         const double* B) {
  const double one = 1, zero = 0;
  const int ldc = n + 3;
  dgemm_("N", "N", &n, &n, &n, &one, A, &n, B, &n, &zero, C, &ldc, 1, 1);
  asm volatile("");  // a call, not a jump
}
extern "C" __attribute__((visibility("default"), noinline)) void triangle_product(int n, double* C, const double* A) {
  const double one = 1, zero = 0;
  dsyrk_("L", "N", &n, &n, &one, A, &n, &zero, C, &n, 1, 1);
  asm volatile("");
}
extern "C" __attribute__((visibility("default"), noinline)) void vector_product(int n, double* y, const double* A,
                                                                                const double* x) {
  const double one = 1, zero = 0;
  const int step = 1;
  dsymv_("L", &n, &one, A, &n, x, &step, &zero, y, &step, 1);
  asm volatile("");
}

namespace {

template <class T>
void qr(int m, int n) {
  const int k = std::min(m, n), lda = m + 2, ldc = m + 3, cols = 7, lwork = 32 * std::max(n, cols);
  const auto size = [](int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  };
  std::vector<T> A = numbers<T>(size(lda, n), 11), C = numbers<T>(size(ldc, cols), 12), tau(size(k, 1)),
                 work(size(lwork, 1));
  int status = 0;
  Names<T>::geqrf(&m, &n, A.data(), &lda, tau.data(), work.data(), &lwork, &status);
  Names<T>::ormqr("L", Real<T> ? "T" : "C", &m, &cols, &k, A.data(), &lda, tau.data(), C.data(), &ldc, work.data(),
                  &lwork, &status, 1, 1);
  Names<T>::orgqr(&m, &k, &k, A.data(), &lda, tau.data(), work.data(), &lwork, &status);
}

/// @param adjoint  "T" or "C"
template <class T, class Geqr, class Gemqr>
void compact(int m, int n, const char* adjoint, Geqr geqr, Gemqr gemqr) {
  const int k = std::min(m, n), cols = 7, tsize = 5 + n, lwork = std::max(n, cols);
  const auto size = [](int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  };
  std::vector<T> A = numbers<T>(size(m, n), 11), C = numbers<T>(size(m, cols), 12), t(size(tsize, 1)),
                 work(size(lwork, 1));
  int status = 0;
  geqr(&m, &n, A.data(), &m, t.data(), &tsize, work.data(), &lwork, &status);
  gemqr("L", adjoint, &m, &cols, &k, A.data(), &m, t.data(), &tsize, C.data(), &m, work.data(), &lwork, &status, 1, 1);
}

void products(int n, int count) {
  const auto square = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  const std::vector<double> A = numbers<double>(square, 7), B = numbers<double>(square, 8);
  std::vector<double> C(square + 3 * static_cast<std::size_t>(n) + 8, 0.25);
  for (int i = 0; i < count; ++i) product(n, C.data(), A.data(), B.data());
}

void triangles(int n, int count) {
  const auto square = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  const std::vector<double> A = numbers<double>(square, 7);
  std::vector<double> C(square, 0.25);
  for (int i = 0; i < count; ++i) triangle_product(n, C.data(), A.data());
}

void vectors(int n, int count) {
  const auto square = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  const std::vector<double> A = numbers<double>(square, 9), x = numbers<double>(static_cast<std::size_t>(n), 10);
  std::vector<double> y(static_cast<std::size_t>(n));
  for (int i = 0; i < count; ++i) vector_product(n, y.data(), A.data(), x.data());
}

/// A product after whose operands nothing is left.
void poor(int n) {
  const auto square = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  products(8, 2);  // opens what has to be opened
  std::vector<double> A(square, 1.0), B(square, 1.0), C(square + 3 * static_cast<std::size_t>(n) + 8);
  long pages = 0;
  if (std::FILE* status = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(status, "%ld", &pages) != 1) pages = 0;
    std::fclose(status);
  }
  const auto now = static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  const rlimit limit{now + (1 << 20), RLIM_INFINITY};
  if (pages == 0 || setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(3);
  product(n, C.data(), A.data(), B.data());
  if (C[0] != n) std::_Exit(4);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  const int n = argc > 2 ? std::atoi(argv[2]) : 0, count = argc > 3 ? std::atoi(argv[3]) : 0;
  if (how == "real") {
    every<double>();
  } else if (how == "every") {
    every<float>();
    every<double>();
    every<std::complex<float>>();
    every<std::complex<double>>();
    std::printf("%016llx\n", static_cast<unsigned long long>(sum_of_bits));
  } else if (how == "products") {
    products(n, count);
  } else if (how == "sizes") {
    for (int i = 0; i < count; ++i) products(n + i, 1);
  } else if (how == "triangles") {
    triangles(n, count);
  } else if (how == "vectors") {
    vectors(n, count);
  } else if (how == "dqr") {
    qr<double>(n, count);
  } else if (how == "qr") {
    qr<float>(n, count);
    qr<double>(n, count);
    qr<std::complex<float>>(n, count);
    qr<std::complex<double>>(n, count);
  } else if (how == "compact") {
    for (int i = argc > 4 ? std::atoi(argv[4]) : 1; i > 0; --i) {
      compact<float>(n, count, "T", sgeqr_, sgemqr_);
      compact<std::complex<double>>(n, count, "C", zgeqr_, zgemqr_);
    }
  } else if (how == "threads") {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([t] {
        for (int i = 0; i < 10; ++i) products(40 + t, 2), vectors(50 + t, 2);
      });
    for (std::thread& thread : threads) thread.join();
  } else if (how == "fork") {
    products(30, 1);
    if (fork() == 0) {
      products(31, 1);
      _exit(0);
    }
    int status = 1;
    return wait(&status) > 0 && status == 0 ? 0 : 5;
  } else if (how == "poor") {
    poor(700);
  } else if (how == "traps") {
    products(8, 1);  // what is computed when libraries start is theirs
    std::feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO);
    products(40, 2);
    vectors(40, 2);
    return std::fetestexcept(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO) == 0 &&
                   fegetexcept() == (FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO)
               ? 0
               : 6;
  } else if (how == "status") {
    products(20, 1);
    return n;
  } else {
    return 2;
  }
  return 0;
}
