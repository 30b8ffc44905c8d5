// A dgemm_ in plain loops, whose products are SCALE times what they should be: it tells whose it is.
#include <stddef.h>
void dgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k, const double* al, const double* a,
    const int* lda, const double* b, const int* ldb, const double* be, double* c, const int* ldc, size_t la, size_t lb) {
  for (int j = 0; j < *n; ++j) for (int i = 0; i < *m; ++i) {
    double s = 0;
    for (int l = 0; l < *k; ++l) s += a[i + l * *lda] * b[l + j * *ldb];
    c[i + j * *ldc] = SCALE * *al * s + (*be == 0 ? 0 : *be * c[i + j * *ldc]);
  }
}
