// Products, each from a place of its own; prints their sums, and how often a wrapper was passed, if there is one.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include "blas.h"

extern Dgemm dgemm_;
extern CblasDgemm cblas_dgemm;
extern int wrapped __attribute__((weak));

static void* in_a_thread(void* sum) {
#ifdef CBLAS
  *(double*)sum = sum_of(0, cblas_dgemm);
#else
  *(double*)sum = sum_of(dgemm_, 0);
#endif
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && !dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) return puts(dlerror()), 3;
#ifdef THREADS
  enum { threads = 8 };
  pthread_t t[threads];
  double sums[threads];
  for (int i = 0; i < threads; ++i) pthread_create(&t[i], 0, in_a_thread, &sums[i]);
  for (int i = 0; i < threads; ++i) pthread_join(t[i], 0), printf("%.1f\n", sums[i]);
#endif
  for (int i = 0; i < 3; ++i) {
    double s;
    in_a_thread(&s);
    printf("%.1f\n", s);
  }
#ifdef CBLAS
  printf("%.1f\n", sum_of(0, cblas_dgemm));
#else
  printf("%.1f\n", sum_of(dgemm_, 0));
#endif
  if (&wrapped) printf("wrapped %d\n", wrapped);
  return 0;
}
