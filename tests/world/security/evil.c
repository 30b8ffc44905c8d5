/* A library, or an auditor, that tells when its code runs; with a BLAS that is wrong. */
#include <stddef.h>
#include <unistd.h>

__attribute__((constructor)) static void run(void) { (void)!write(2, "EVIL\n", 5); }
unsigned la_version(unsigned version) { return version; }
int isamax_(const int* n, const float* x, const int* step) {
  (void)n, (void)x, (void)step;
  return 2;
}
void dgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k, const double* alpha,
            const double* A, const int* lda, const double* B, const int* ldb, const double* beta, double* C,
            const int* ldc) {
  (void)ta, (void)tb, (void)m, (void)n, (void)k, (void)alpha, (void)A, (void)lda, (void)B, (void)ldb, (void)beta,
      (void)ldc;
  C[0] = 12345;
}
