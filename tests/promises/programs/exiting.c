// A program that multiplies, from a place that it has not called from before, when the BLAS has been finalised.
//
//   exiting first|again [PLUGIN]     first: it is the process's first call; again: there was one from another place.
//                                    PLUGIN brings the BLAS, unless the program is linked to one
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef void Dgemm(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                   const int*, const double*, const int*, const double*, double*, const int*, size_t, size_t);
static Dgemm* dgemm;

/// A call of its own wherever this stands.
static inline __attribute__((always_inline)) void multiply(const char* when) {
  const int m = 3, n = 2, k = 4;
  const double A[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, B[] = {1, 0, 0, 0, 0, 1, 0, 1}, one = 1, zero = 0;
  const double expected[] = {1, 2, 3, 14, 16, 18};
  double C[] = {-1, -1, -1, -1, -1, -1};
  dgemm("N", "N", &m, &n, &k, &one, A, &m, B, &k, &zero, C, &m, 1, 1);
  if (memcmp(C, expected, sizeof C) != 0) printf("WRONG: product %s\n", when);
}

static void last(int finalised) {
  if (!finalised) puts("WRONG: called too early");
  multiply("at the end");
  puts("ok");
  fflush(stdout);
}

int main(int count, char** arguments) {
  void* const objects = count > 2 ? dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL) : dlopen(NULL, RTLD_NOW);
  void (**at_last)(int) = objects ? (void (**)(int))dlsym(objects, "at_last") : NULL;
  dgemm = (Dgemm*)dlsym(RTLD_DEFAULT, "dgemm_");
  if (!at_last || !dgemm) return puts("WRONG: nothing to call"), 1;
  *at_last = last;
  if (strcmp(arguments[1], "again") == 0) multiply("before");
}
