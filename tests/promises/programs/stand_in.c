// A BLAS of dgemm_ alone that tells if it is initialised twice, as libgfortran does, which then ends the process.
#include <stddef.h>
#include <stdio.h>

extern int blas_finalised;

static int initialised;

__attribute__((constructor)) static void initialise(void) {
  if (initialised++) puts("WRONG: the BLAS was initialised again");
}

__attribute__((destructor)) static void finalise(void) { blas_finalised = 1; }

void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
            const double* A, const int* lda, const double* B, const int* ldb, const double* beta, double* C,
            const int* ldc, size_t length_a, size_t length_b) {
  (void)transa, (void)transb, (void)beta, (void)length_a, (void)length_b;  // "N", "N" and 0
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i < *m; ++i) {
      double sum = 0;
      for (int p = 0; p < *k; ++p) sum += A[i + (size_t)p * *lda] * B[p + (size_t)j * *ldb];
      C[i + (size_t)j * *ldc] = *alpha * sum;
    }
}
