/* As Julia's libblastrampoline told to forward to blaslift: a BLAS whose functions lead to the one preloaded behind it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

typedef void dgemm(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                   const int*, const double*, const int*, const double*, double*, const int*, size_t, size_t);

void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
            const double* A, const int* lda, const double* B, const int* ldb, const double* beta, double* C,
            const int* ldc, size_t transa_length, size_t transb_length) {
  dgemm* forward;
  *(void**)&forward = dlsym(RTLD_NEXT, "dgemm_");
  forward(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, transa_length, transb_length);
}
