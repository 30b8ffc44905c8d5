// A BLAS of the program's own choice, of dgemm_ alone, that counts its calls.
#include <stddef.h>

int counted;

void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
            const double* A, const int* lda, const double* B, const int* ldb, const double* beta, double* C,
            const int* ldc, size_t length_a, size_t length_b) {
  (void)length_a, (void)length_b;
  ++counted;
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i < *m; ++i) {
      double sum = 0;
      for (int p = 0; p < *k; ++p)
        sum += (*transa == 'N' ? A[i + (size_t)p * *lda] : A[p + (size_t)i * *lda]) *
               (*transb == 'N' ? B[p + (size_t)j * *ldb] : B[j + (size_t)p * *ldb]);
      double* c = C + i + (size_t)j * *ldc;
      *c = *alpha * sum + (*beta == 0 ? 0 : *beta * *c);
    }
}
