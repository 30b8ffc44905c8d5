// A dgemm_ that counts and goes on to the next one: from its own body, from a function of its own (HELPER), or by a jump
// (TAIL); to what dlsym finds next, or first (FIRST), or in a library (LIBRARY, a path).
#define _GNU_SOURCE
#include <dlfcn.h>
#include "blas.h"

#ifndef COUNT
#define COUNT wrapped
#endif
int COUNT;

static Dgemm* next(void) {
  static Dgemm* found;
  if (found) return found;
#if defined LIBRARY
  void* library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) fprintf(stderr, "%s\n", dlerror());
  found = (Dgemm*)dlsym(library, "dgemm_");
#elif defined FIRST
  found = (Dgemm*)dlsym(RTLD_DEFAULT, "dgemm_");
#else
  found = (Dgemm*)dlsym(RTLD_NEXT, "dgemm_");
#endif
  return found;
}

#define PARAMETERS const char *ta, const char *tb, const INT *m, const INT *n, const INT *k, const double *al, \
    const double *a, const INT *lda, const double *b, const INT *ldb, const double *be, double *c, const INT *ldc, \
    size_t la, size_t lb
#define ARGUMENTS ta, tb, m, n, k, al, a, lda, b, ldb, be, c, ldc, la, lb

#ifdef HELPER
__attribute__((noinline)) static void go_on(PARAMETERS) {
  next()(ARGUMENTS);
  __asm__ volatile("");
}
#endif

#ifdef TAIL
__attribute__((optimize("O2")))
#endif
void dgemm_(PARAMETERS) {
#ifdef HELPER
  ++COUNT;
  go_on(ARGUMENTS);
  __asm__ volatile("");
#elif defined TAIL
  ++COUNT;
  next()(ARGUMENTS);
#else
  ++COUNT;
  next()(ARGUMENTS);
  __asm__ volatile("");
#endif
}

#ifdef WITH_MAIN
int main(void) {
  for (int i = 0; i < 3; ++i) printf("%.1f\n", sum_of(dgemm_, 0));
  printf("%.1f\nwrapped %d\n", sum_of(dgemm_, 0), COUNT);
  return 0;
}
#endif
#ifdef PLUGIN
void run(void) {
  for (int i = 0; i < 3; ++i) printf("%.1f\n", sum_of(dgemm_, 0));
  printf("%.1f\nwrapped %d\n", sum_of(dgemm_, 0), COUNT);
}
#endif
