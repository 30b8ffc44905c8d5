#define INT int64_t
#include "blas.h"
void dgemm_64_(const char* ta, const char* tb, const INT* m, const INT* n, const INT* k, const double* al, const double* a, const INT* lda, const double* b, const INT* ldb, const double* be, double* c, const INT* ldc, size_t la, size_t lb) {
  for (INT j = 0; j < *n; ++j) for (INT i = 0; i < *m; ++i) {
    double s = 0;
    for (INT l = 0; l < *k; ++l) s += a[i + l * *lda] * b[l + j * *ldb];
    c[i + j * *ldc] = *al * s + (*be == 0 ? 0 : *be * c[i + j * *ldc]);
  }
}
void cblas_dgemm_64(int layout, int ta, int tb, INT m, INT n, INT k, double al, const double* a, INT lda, const double* b, INT ldb, double be, double* c, INT ldc) {
  dgemm_64_("N", "N", &m, &n, &k, &al, a, &lda, b, &ldb, &be, c, &ldc, 1, 1);
}
double cblas_ddot_64(INT n, const double* x, INT incx, const double* y, INT incy) {
  double s = 0;
  for (INT i = 0; i < n; ++i) s += x[i * incx] * y[i * incy];
  return s;
}
