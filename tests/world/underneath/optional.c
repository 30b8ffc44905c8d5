// Uses a BLAS and LAPACK if there is one, by references that may stay open or by dlsym, and loops of its own if not.
#define _GNU_SOURCE
#include <dlfcn.h>
#include "blas.h"
__attribute__((weak)) Dgemm dgemm_;
static double loops(void) {
  enum { n = 48 };
  static double a[n * n], b[n * n], c[n * n];
  double s = 0;
  for (int i = 0; i < n * n; ++i) a[i] = i % 7, b[i] = i % 5, c[i] = 0;
  for (int j = 0; j < n; ++j) for (int l = 0; l < n; ++l) for (int i = 0; i < n; ++i) c[i + j * n] += a[i + l * n] * b[l + j * n];
  for (int i = 0; i < n * n; ++i) s += c[i];
  return s;
}
int main(void) {
#ifdef DLSYM
  Dgemm* f = (Dgemm*)dlsym(RTLD_DEFAULT, "dgemm_");
#else
  Dgemm* f = dgemm_;
#endif
  for (int i = 0; i < 3; ++i) printf("%.1f\n", f ? sum_of(f, 0) : loops());
  return 0;
}
