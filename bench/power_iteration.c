/* The power method as a C program does it: x := A x / |A x| by dsymv_, A's lower triangle given, NaN above it.  Links
   the ordinary BLAS; whatever is preloaded computes.

     power_iteration constant|changing N ITERATIONS [small|huge [beside]]

   changing: the program rewrites A before each iteration.  Pages of 4 KiB, or huge ones.  beside: the BLAS underneath
   computes each product, too, called directly, before or after in turn; what a preloaded library takes of a call that
   it leaves to that one is the difference.  Prints a line of JSON with the seconds of every dsymv_.  The last one's
   result is compared with plain sums of some rows; status 1 if it is wrong. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

void dsymv_(const char* uplo, const int* n, const double* alpha, const double* A, const int* lda, const double* x,
            const int* incx, const double* beta, double* y, const int* incy, size_t uplo_length);

typedef void symv(const char* uplo, const int* n, const double* alpha, const double* A, const int* lda, const double* x,
                  const int* incx, const double* beta, double* y, const int* incy, size_t uplo_length);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double* pages(size_t bytes, int huge) {
  const size_t page = (size_t)2 << 20;
  char* at = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return NULL;
  at += (page - (uintptr_t)at % page) % page;
  madvise(at, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return (double*)at;
}

/* In [0, 1): with all elements positive the largest eigenvalue, about n / 2, is far from the others. */
static void fill(double* A, size_t n, uint64_t seed) {
  uint64_t z = seed * 0x9e3779b97f4a7c15u + 1;
  for (size_t j = 0; j < n; ++j)
    for (size_t i = j; i < n; ++i) {
      z ^= z << 13, z ^= z >> 7, z ^= z << 17;
      A[i + j * n] = (double)(z >> 11) * 0x1p-53;
    }
}

/* The largest error over some rows, in units of what summing n products may lose. */
static double worst_error(const double* A, const double* x, const double* y, size_t n) {
  double worst = 0;
  for (size_t s = 0; s < 64; ++s) {
    const size_t i = s * (n - 1) / 63;
    long double sum = 0, size = 0;
    for (size_t j = 0; j < n; ++j) {
      const long double p = (long double)(i >= j ? A[i + j * n] : A[j + i * n]) * x[j];
      sum += p, size += fabsl(p);
    }
    const double error = (double)(fabsl(sum - y[i]) / (size * (long double)n * 0x1p-53L));
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

int main(int argc, char** argv) {
  const int changing = argc > 1 && strcmp(argv[1], "changing") == 0, huge = argc < 5 || strcmp(argv[4], "huge") == 0;
  const int n = argc > 2 ? atoi(argv[2]) : 0, iterations = argc > 3 ? atoi(argv[3]) : 0, one = 1;
  if (argc < 4 || (!changing && strcmp(argv[1], "constant") != 0) || n < 1 || iterations < 1 ||
      (!huge && strcmp(argv[4], "small") != 0)) {
    fprintf(stderr, "usage: power_iteration constant|changing N ITERATIONS [small|huge]\n");
    return 2;
  }
  const size_t size = (size_t)n;
  double* A = pages(size * size * sizeof(double), huge);
  double *x = malloc(size * sizeof(double)), *y = malloc(size * sizeof(double));
  double* seconds = malloc((size_t)iterations * sizeof(double));
  symv* under = NULL;
  double *other_y = NULL, *other_seconds = NULL;
  if (argc > 5 && strcmp(argv[5], "beside") == 0) {
    void* blas = dlopen("libblas.so.3", RTLD_LAZY | RTLD_NOLOAD);
    if (blas) *(void**)&under = dlsym(blas, "dsymv_");
    if (!under || under == dsymv_) {
      fprintf(stderr, "power_iteration: no library is preloaded in front of libblas.so.3\n");
      return 2;
    }
    other_y = calloc(size, sizeof(double));
    other_seconds = malloc((size_t)iterations * sizeof(double));
  }
  if (!A || !x || !y || !seconds || (under && (!other_y || !other_seconds))) {
    fprintf(stderr, "power_iteration: out of memory\n");
    return 2;
  }
  for (size_t j = 0; j < size; ++j)
    for (size_t i = 0; i < j; ++i) A[i + j * size] = NAN;
  fill(A, size, 1);
  for (size_t i = 0; i < size; ++i) x[i] = 1 / sqrt((double)n);

  const double alpha = 1, beta = 0;
  double eigenvalue = 0, error = 0;
  for (int k = 0; k < iterations; ++k) {
    if (changing) fill(A, size, (uint64_t)k + 2);
    for (size_t i = 0; i < size; ++i) y[i] = NAN; /* which beta = 0 does not read */
    for (int turn = 0; turn < 2; ++turn) {
      const int ours = (turn + k) % 2 == 0;
      if (!ours && !under) continue;
      const double start = now();
      (ours ? dsymv_ : under)("L", &n, &alpha, A, &n, x, &one, &beta, ours ? y : other_y, &one, 1);
      (ours ? seconds : other_seconds)[k] = now() - start;
    }
    if (k == iterations - 1) error = worst_error(A, x, y, size);
    double norm = 0;
    for (size_t i = 0; i < size; ++i) norm += y[i] * y[i];
    eigenvalue = norm = sqrt(norm);
    for (size_t i = 0; i < size; ++i) x[i] = y[i] / norm;
  }
  printf(
      "{\"program\": \"power\", \"mode\": \"%s\", \"n\": %d, \"pages\": \"%s\", \"value\": %.12g, \"error\": %.3g, "
      "\"seconds\": [",
      argv[1], n, huge ? "huge" : "small", eigenvalue, error);
  for (int k = 0; k < iterations; ++k) printf("%s%.4g", k ? ", " : "", seconds[k]);
  if (under) printf("], \"beside\": [");
  for (int k = 0; under && k < iterations; ++k) printf("%s%.4g", k ? ", " : "", other_seconds[k]);
  printf("]}\n");
  if (!(error <= 1)) fprintf(stderr, "power_iteration: a result is over its error bound\n");
  return error <= 1 ? 0 : 1;
}
