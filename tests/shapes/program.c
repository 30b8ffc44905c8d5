// A C program's BLAS and LAPACK calls, each compared with plain loops.  Built once per link shape: WIDE for 64-bit
// integers, SUFFIXED for the names that promise them.
//
// Every call is made three times: without the hidden string lengths that Fortran expects (as most C programs do), with
// garbage for them (as f2py does), and with the right ones.
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WIDE
typedef int64_t integer;
#else
typedef int32_t integer;
#endif

#ifdef SUFFIXED
#define dgemm_ dgemm_64_
#define zgemm_ zgemm_64_
#define dsymv_ dsymv_64_
#define zhemv_ zhemv_64_
#define dgeqrf_ dgeqrf_64_
#define cblas_dgemm cblas_dgemm64_
#define cblas_zgemm cblas_zgemm64_
#define cblas_dsymv cblas_dsymv64_
#define cblas_zhemv cblas_zhemv64_
#endif

// Without prototypes, so that the hidden lengths can be there or not.
extern void dgemm_(), zgemm_(), dsymv_(), zhemv_();
extern void dgeqrf_(const integer*, const integer*, double*, const integer*, double*, double*, const integer*,
                    integer*);
extern void cblas_dgemm(int, int, int, integer, integer, integer, double, const double*, integer, const double*,
                        integer, double, double*, integer);
extern void cblas_zgemm(int, int, int, integer, integer, integer, const void*, const void*, integer, const void*,
                        integer, const void*, void*, integer);
extern void cblas_dsymv(int, int, integer, double, const double*, integer, const double*, integer, double, double*,
                        integer);
extern void cblas_zhemv(int, int, integer, const void*, const void*, integer, const void*, integer, const void*, void*,
                        integer);

enum { row_major = 101, column_major = 102, no_trans = 111, trans = 112, conj_trans = 113, upper = 121, lower = 122 };

// Prime to each other and unequal, so that no dimension can stand in for another.
enum { m = 19, n = 17, k = 23, lda = 29, ldb = 31, ldc = 37, rounds = 3 };

typedef double complex z;

static int failures;

/// |got - wanted| <= (terms + 4) eps * magnitude: the error bound of a sum of `terms` products in any order, with two
/// more roundings for alpha and beta (Higham, Accuracy and Stability, 3.1 and 3.5); complex products round four times
/// as often.
static void compare(const char* what, int round, z got, z wanted, double magnitude, int terms) {
  const double bound = 4 * (terms + 4) * DBL_EPSILON * magnitude;
  if (cabs(got - wanted) <= bound) return;
  if (failures++ < 10)
    printf("%s, round %d: %.17g%+.17gi instead of %.17g%+.17gi\n", what, round, creal(got), cimag(got), creal(wanted),
           cimag(wanted));
}

static double number(void) {  // in [-1, 1], never 0
  static uint32_t state = 12345;
  state = state * 1664525u + 1013904223u;
  return ((int32_t)(state >> 8) - (1 << 23) + 0.5) / (1 << 23);
}

// Everything is stored as (real, imaginary) pairs for the checks, and converted for the real routines.
static z A[ldc * ldc], B[ldc * ldc], C[ldc * ldc], before[ldc * ldc];
static double dA[ldc * ldc], dB[ldc * ldc], dC[ldc * ldc];
static const double unused = -7777;  // what lies in the gaps must come back unchanged

static void fill(z* x, double* dx, int rows, int cols, int ld, int real) {
  for (int i = 0; i < ldc * ldc; ++i) x[i] = NAN, dx[i] = NAN;
  for (int j = 0; j < cols; ++j)
    for (int i = 0; i < rows; ++i)
      dx[i + j * ld] = number(), x[i + j * ld] = real ? dx[i + j * ld] : number() + number() * I;
}

static void keep_c(int real) {
  for (int i = 0; i < ldc * ldc; ++i) {
    const int gap = i % ldc >= m || i / ldc >= n;
    if (gap) C[i] = dC[i] = unused;
    if (real) C[i] = dC[i];
    before[i] = C[i];
  }
}

static void check_product(const char* what, int round, z alpha, z beta, int conjugate_b, int real) {
  for (int j = 0; j < ldc; ++j)
    for (int i = 0; i < ldc; ++i) {
      const z got = real ? dC[i + j * ldc] : C[i + j * ldc];
      if (i >= m || j >= n) {
        compare(what, round, got, unused, 0, 0);
        continue;
      }
      z sum = beta * before[i + j * ldc];
      double magnitude = cabs(sum);
      for (int p = 0; p < k; ++p) {
        const z b = B[j + p * ldb];  // op(B) is (conjugate-)transposed
        sum += alpha * A[i + p * lda] * (conjugate_b ? conj(b) : b);
        magnitude += cabs(alpha) * cabs(A[i + p * lda]) * cabs(b);
      }
      compare(what, round, got, sum, magnitude, k);
    }
}

static void check_dgemm(int round) {
  const integer M = m, N = n, K = k, LDA = lda, LDB = ldb, LDC = ldc;
  const double alpha = 0.75, beta = -0.5;
  for (int interface = 0; interface < 3; ++interface) {
    static const char* names[] = {"dgemm_", "cblas_dgemm column-major", "cblas_dgemm row-major"};
    fill(A, dA, m, k, lda, 1);
    fill(B, dB, n, k, ldb, 1);
    fill(C, dC, m, n, ldc, 1);
    keep_c(1);
    if (interface == 1)
      cblas_dgemm(column_major, no_trans, trans, m, n, k, alpha, dA, lda, dB, ldb, beta, dC, ldc);
    else if (interface == 2)  // the same product, seen from the other side
      cblas_dgemm(row_major, trans, no_trans, n, m, k, alpha, dB, ldb, dA, lda, beta, dC, ldc);
    else if (round == 0)
      dgemm_("N", "T", &M, &N, &K, &alpha, dA, &LDA, dB, &LDB, &beta, dC, &LDC);
    else if (round == 1)
      dgemm_("n", "t", &M, &N, &K, &alpha, dA, &LDA, dB, &LDB, &beta, dC, &LDC, (size_t)0xdeadbeefcafe, (size_t)-3);
    else
      dgemm_("N", "C", &M, &N, &K, &alpha, dA, &LDA, dB, &LDB, &beta, dC, &LDC, (size_t)1, (size_t)1);
    check_product(names[interface], round, alpha, beta, 0, 1);
  }
}

static void check_zgemm(int round) {
  const integer M = m, N = n, K = k, LDA = lda, LDB = ldb, LDC = ldc;
  const z alpha = 0.75 - 0.25 * I, beta = -0.5 + 0.125 * I;
  for (int interface = 0; interface < 2; ++interface) {
    fill(A, dA, m, k, lda, 0);
    fill(B, dB, n, k, ldb, 0);
    fill(C, dC, m, n, ldc, 0);
    keep_c(0);
    if (interface == 1)
      cblas_zgemm(column_major, no_trans, conj_trans, m, n, k, &alpha, A, lda, B, ldb, &beta, C, ldc);
    else if (round == 0)
      zgemm_("N", "C", &M, &N, &K, &alpha, A, &LDA, B, &LDB, &beta, C, &LDC);
    else if (round == 1)
      zgemm_("n", "c", &M, &N, &K, &alpha, A, &LDA, B, &LDB, &beta, C, &LDC, (size_t)-1, (size_t)0xdeadbeefcafe);
    else
      zgemm_("N", "C", &M, &N, &K, &alpha, A, &LDA, B, &LDB, &beta, C, &LDC, (size_t)1, (size_t)1);
    check_product(interface ? "cblas_zgemm" : "zgemm_", round, alpha, beta, 1, 0);
  }
}

/// y := alpha A x + beta y with A hermitian, named by the upper triangle of column-major storage; increments of 2.
static void check_symv(int round, int real) {
  const integer N = n, LDA = lda, two = 2;
  const z alpha = real ? 0.75 : 0.75 - 0.25 * I, beta = real ? -0.5 : -0.5 + 0.125 * I;
  const double dalpha = creal(alpha), dbeta = creal(beta);
  for (int interface = 0; interface < 2; ++interface) {
    fill(A, dA, n, n, lda, real);
    for (int j = 0; j < n; ++j) {
      A[j + j * lda] = dA[j + j * lda];                                        // real diagonal
      for (int i = j + 1; i < n; ++i) A[i + j * lda] = dA[i + j * lda] = NAN;  // the other triangle must not be read
    }
    z x[2 * n], y[2 * n], was[2 * n];
    double dx[2 * n], dy[2 * n];
    for (int i = 0; i < 2 * n; ++i) {
      dx[i] = number(), dy[i] = number();
      x[i] = real ? dx[i] : number() + number() * I, was[i] = y[i] = real ? dy[i] : number() + number() * I;
    }
    // In row-major the same storage is the transpose: its lower triangle, and for a hermitian matrix the conjugate. The
    // product is then with conj(A).
    const int conjugated = interface == 1 && !real;
    if (interface == 1 && real)
      cblas_dsymv(row_major, lower, n, dalpha, dA, lda, dx, 2, dbeta, dy, 2);
    else if (interface == 1)
      cblas_zhemv(row_major, lower, n, &alpha, A, lda, x, 2, &beta, y, 2);
    else if (real && round == 0)
      dsymv_("U", &N, &dalpha, dA, &LDA, dx, &two, &dbeta, dy, &two);
    else if (real && round == 1)
      dsymv_("u", &N, &dalpha, dA, &LDA, dx, &two, &dbeta, dy, &two, (size_t)0xdeadbeefcafe);
    else if (real)
      dsymv_("U", &N, &dalpha, dA, &LDA, dx, &two, &dbeta, dy, &two, (size_t)1);
    else if (round == 0)
      zhemv_("U", &N, &alpha, A, &LDA, x, &two, &beta, y, &two);
    else if (round == 1)
      zhemv_("u", &N, &alpha, A, &LDA, x, &two, &beta, y, &two, (size_t)0xdeadbeefcafe);
    else
      zhemv_("U", &N, &alpha, A, &LDA, x, &two, &beta, y, &two, (size_t)1);
    for (int i = 0; i < 2 * n; ++i) {
      const z got = real ? dy[i] : y[i];
      if (i % 2) {
        compare("between y's elements", round, got, was[i], 0, 0);
        continue;
      }
      z sum = beta * was[i];
      double magnitude = cabs(sum);
      for (int j = 0; j < n; ++j) {
        const int r = i / 2;
        z a = r <= j ? A[r + j * lda] : conj(A[j + r * lda]);
        if (conjugated) a = conj(a);
        sum += alpha * a * x[2 * j];
        magnitude += cabs(alpha) * cabs(a) * cabs(x[2 * j]);
      }
      compare(real ? "dsymv" : "zhemv", round, got, sum, magnitude, n);
    }
  }
}

/// A = Q R: R put back through the reflectors must give A.
static void check_dgeqrf(int round) {
  const integer M = m, N = n, LDA = lda, query = -1;
  integer info = -99;
  double tau[n], *work, best = 0;
  fill(A, dA, m, n, lda, 1);
  dgeqrf_(&M, &N, dA, &LDA, tau, &best, &query, &info);
  if (info || best < n) {
    ++failures;
    printf("dgeqrf's workspace query, round %d: info %d, lwork %g\n", round, (int)info, best);
    return;
  }
  const integer lwork = (integer)best;
  work = malloc((size_t)lwork * sizeof *work);
  dgeqrf_(&M, &N, dA, &LDA, tau, work, &lwork, &info);
  free(work);
  double norm = 0;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) norm += creal(A[i + j * lda]) * creal(A[i + j * lda]);
  norm = sqrt(norm);
  for (int j = 0; j < n; ++j) {
    double column[m];
    for (int i = 0; i < m; ++i) column[i] = i <= j ? dA[i + j * lda] : 0;
    for (int r = n - 1; r >= 0; --r) {  // H(r) = I - tau v v'
      double dot = column[r];
      for (int i = r + 1; i < m; ++i) dot += dA[i + r * lda] * column[i];
      column[r] -= tau[r] * dot;
      for (int i = r + 1; i < m; ++i) column[i] -= tau[r] * dot * dA[i + r * lda];
    }
    // Higham 19.4: ||A - QR|| <= gamma_mn ||A||; half of the terms for the factorisation, half for putting it back.
    for (int i = 0; i < m; ++i) compare("dgeqrf", round, column[i], A[i + j * lda], norm, m * n);
  }
  if (info) ++failures, printf("dgeqrf, round %d: info %d\n", round, (int)info);
}

/// Returns 0 and prints how often it called what, for the runner to compare with blaslift's report.
int blas_checks(void) {
  for (int round = 0; round < rounds; ++round) {
    check_dgemm(round);
    check_zgemm(round);
    check_symv(round, 1);
    check_symv(round, 0);
    check_dgeqrf(round);
  }
  printf("calls {\"dgemm\": %d, \"zgemm\": %d, \"dsymv\": %d, \"zhemv\": %d, \"dgeqrf\": %d}\n", 3 * rounds, 2 * rounds,
         2 * rounds, 2 * rounds, 2 * rounds);
  puts(failures ? "WRONG" : "ok");
  fflush(stdout);
  return failures != 0;
}
