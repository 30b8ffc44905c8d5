// A switch: has every name, and goes on to the library that BACKEND names, opened at the first call; isamax_, too, which
// answers 0 where that has none.  By a jump (TAIL), or from a function of its own (HELPER).
#define _GNU_SOURCE
#include <dlfcn.h>
#include "blas.h"

__attribute__((noinline)) static void* backend(const char* name) {
  static void* handle;
  if (!handle && !(handle = dlopen(getenv("BACKEND"), RTLD_LAZY | RTLD_LOCAL))) {
    fprintf(stderr, "%s\n", dlerror());
    exit(3);
  }
  return dlsym(handle, name);
}

#define PARAMETERS const char *ta, const char *tb, const INT *m, const INT *n, const INT *k, const double *al, \
    const double *a, const INT *lda, const double *b, const INT *ldb, const double *be, double *c, const INT *ldc, \
    size_t la, size_t lb
#define ARGUMENTS ta, tb, m, n, k, al, a, lda, b, ldb, be, c, ldc, la, lb
#ifdef TAIL
#define END
#else
#define END __asm__ volatile("")
#endif

#ifdef HELPER
__attribute__((noinline)) static void forward(PARAMETERS) { ((Dgemm*)backend("dgemm_"))(ARGUMENTS); END; }
__attribute__((optimize("O2"))) void dgemm_(PARAMETERS) { forward(ARGUMENTS); END; }
#else
__attribute__((optimize("O2"))) void dgemm_(PARAMETERS) { ((Dgemm*)backend("dgemm_"))(ARGUMENTS); END; }
#endif

INT isamax_(const INT* n, const float* x, const INT* inc) {
  typedef INT Isamax(const INT*, const float*, const INT*);
  Isamax* f = (Isamax*)backend("isamax_");
  return f ? f(n, x, inc) : 0;
}

__attribute__((optimize("O2"))) void cblas_dgemm(int layout, int ta, int tb, INT m, INT n, INT k, double al,
    const double* a, INT lda, const double* b, INT ldb, double be, double* c, INT ldc) {
#ifdef BY_FORTRAN
  const char *x = ta == 111 ? "N" : "T", *y = tb == 111 ? "N" : "T";
  if (layout == 102) dgemm_(x, y, &m, &n, &k, &al, a, &lda, b, &ldb, &be, c, &ldc, 1, 1);
  else dgemm_(y, x, &n, &m, &k, &al, b, &ldb, a, &lda, &be, c, &ldc, 1, 1);
#else
  ((CblasDgemm*)backend("cblas_dgemm"))(layout, ta, tb, m, n, k, al, a, lda, b, ldb, be, c, ldc);
  END;
#endif
}
