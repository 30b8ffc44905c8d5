// A BLAS in plain loops.  INT: its integers; NAME: its dgemm's; FORTRAN, CBLAS: which it has; ISAMAX, DSCAL: what else;
// SCALE: what its products are multiplied with, to know whose they are; SELF: it calls itself for halves of C.
#include "blas.h"
#ifndef SCALE
#define SCALE 1
#endif
#ifdef FORTRAN
void FORTRAN(const char* ta, const char* tb, const INT* m, const INT* n, const INT* k, const double* al, const double* a,
    const INT* lda, const double* b, const INT* ldb, const double* be, double* c, const INT* ldc, size_t la, size_t lb) {
#ifdef SELF
  if (*n > 8) {
    INT half = *n / 2, rest = *n - half;
    FORTRAN(ta, tb, m, &half, k, al, a, lda, b, ldb, be, c, ldc, 1, 1);
    FORTRAN(ta, tb, m, &rest, k, al, a, lda, b + half * *ldb, ldb, be, c + half * *ldc, ldc, 1, 1);
    return;
  }
#endif
  for (INT j = 0; j < *n; ++j) for (INT i = 0; i < *m; ++i) {
    double s = 0;
    for (INT l = 0; l < *k; ++l) s += (*ta == 'N' ? a[i + l * *lda] : a[l + i * *lda]) * (*tb == 'N' ? b[l + j * *ldb] : b[j + l * *ldb]);
    c[i + j * *ldc] = SCALE * *al * s + (*be == 0 ? 0 : *be * c[i + j * *ldc]);
  }
}
#endif
#ifdef CBLAS
void CBLAS(int layout, int ta, int tb, INT m, INT n, INT k, double al, const double* a, INT lda, const double* b, INT ldb, double be, double* c, INT ldc) {
  for (INT j = 0; j < n; ++j) for (INT i = 0; i < m; ++i) {
    double s = 0;
    for (INT l = 0; l < k; ++l) s += a[i + l * lda] * b[l + j * ldb];
    c[i + j * ldc] = SCALE * al * s + (be == 0 ? 0 : be * c[i + j * ldc]);
  }
}
#endif
#ifdef ISAMAX
size_t cblas_isamax(INT n, const float* x, INT inc) {
  size_t best = 0;
  for (INT i = 1; i < n; ++i) if (x[i * inc] > x[best * inc]) best = i;
  return best;
}
#endif
#ifdef DSCAL
void cblas_dscal(INT n, double a, double* x, INT inc) { for (INT i = 0; i < n; ++i) x[i * inc] *= a; }
#endif
