/* A BLAS with two routines, which makes the mistake that WRONG_BLAS names:
 *
 *   none
 *   reads_c     beta * C where beta is 0
 *   takes_beta_for_one
 *   clears_gap  zeros the rows between m and ldc
 *   scales_a    leaves alpha * A in A
 *   other_half  dsymv_ reads both triangles
 *   forward     dsymv_ begins at the first element for a negative increment, too
 *   chance      adds up in another order every other time */
#include <stdlib.h>
#include <string.h>

static int mistake(const char* name) {
  const char* wanted = getenv("WRONG_BLAS");
  return wanted && !strcmp(wanted, name);
}

void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
            const double* A, const int* lda, const double* B, const int* ldb, const double* beta, double* C,
            const int* ldc) {
  static int calls;
  const int plain_a = *transa == 'N', plain_b = *transb == 'N';
  const int backwards = mistake("chance") && calls++ % 2;
  if (mistake("scales_a"))
    for (int j = 0; j < (plain_a ? *k : *m); ++j)
      for (int i = 0; i < (plain_a ? *m : *k); ++i) ((double*)A)[i + j * (size_t)*lda] *= 0.5;
  for (int j = 0; j < *n; ++j) {
    for (int i = 0; i < *m; ++i) {
      double sum = 0;
      for (int q = 0; q < *k && *alpha != 0; ++q) {
        const size_t p = (size_t)(backwards ? *k - 1 - q : q);
        sum += (plain_a ? A[(size_t)i + p * (size_t)*lda] : A[p + (size_t)i * (size_t)*lda]) *
               (plain_b ? B[p + (size_t)j * (size_t)*ldb] : B[(size_t)j + p * (size_t)*ldb]);
      }
      double* c = C + i + j * (size_t)*ldc;
      const double factor = *beta != 0 && mistake("takes_beta_for_one") ? 1 : *beta;
      *c = *alpha * sum + (factor != 0 || mistake("reads_c") ? factor * *c : 0);
    }
    if (mistake("clears_gap") && j + 1 < *n)
      for (int i = *m; i < *ldc; ++i) C[i + j * (size_t)*ldc] = 0;
  }
}

void dsymv_(const char* uplo, const int* n, const double* alpha, const double* A, const int* lda, const double* x,
            const int* incx, const double* beta, double* y, const int* incy) {
  const int upper = *uplo == 'U', both = mistake("other_half");
  const double* first_x = x + (*incx < 0 && !mistake("forward") ? (1 - *n) * *incx : 0);
  double* first_y = y + (*incy < 0 ? (1 - *n) * *incy : 0);
  const int step_x = *incx < 0 && mistake("forward") ? -*incx : *incx;
  for (int i = 0; i < *n; ++i) {
    double sum = 0;
    for (int j = 0; j < *n && *alpha != 0; ++j) {
      const int there = both || (upper ? i <= j : i >= j);
      sum += A[there ? i + j * (size_t)*lda : j + i * (size_t)*lda] * first_x[j * step_x];
    }
    double* result = first_y + i * *incy;
    *result = *alpha * sum + (*beta != 0 ? *beta * *result : 0);
  }
}
