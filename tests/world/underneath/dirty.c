// 32-bit arguments by value, with whatever was on the stack above their halves.
#define _GNU_SOURCE
#include <dlfcn.h>
#include "blas.h"
extern CblasDgemm cblas_dgemm;
__attribute__((noinline)) static void dirty(void) {
  volatile unsigned char junk[4096];
  for (int i = 0; i < 4096; ++i) junk[i] = 0x21;
}
__attribute__((noinline)) static void call(int n, const double* a, const double* b, double* c) {
  cblas_dgemm(102, 111, 111, n, n, n, 1, a, n, b, n, 0, c, n);
}
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) if (!dlopen(argv[i], RTLD_NOW | RTLD_LOCAL)) return puts(dlerror()), 3;
  int n = 64;
  double s = 0, *a = malloc(8 * n * n), *b = malloc(8 * n * n), *c = calloc(8, n * n);
  for (int i = 0; i < n * n; ++i) a[i] = i % 7, b[i] = i % 5;
  for (int r = 0; r < 10; ++r) dirty(), call(n, a, b, c);
  for (int i = 0; i < n * n; ++i) s += c[i];
  printf("%.1f\n", s);
  return 0;
}
