/* What the programs of this folder share. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*, size_t, size_t);
void dsymv_(const char*, const int*, const double*, const double*, const int*, const double*, const int*, const double*,
            double*, const int*, size_t);
void dgeqrf_(const int*, const int*, double*, const int*, double*, double*, const int*, int*);
void dgelss_(const int*, const int*, const int*, double*, const int*, double*, const int*, double*, const double*, int*,
             double*, const int*, int*);
#ifdef __cplusplus
}
#endif

/* A square product with operands of its own, of ones and twos. */
struct product {
  int n;
  double *a, *b, *c;
};

static inline struct product product_of(int n) {
  const size_t count = (size_t)n * (size_t)n;
  struct product p = {n, (double*)malloc(8 * count), (double*)malloc(8 * count), (double*)malloc(8 * count)};
  for (size_t i = 0; i < count; ++i) p.a[i] = 1, p.b[i] = 2, p.c[i] = -1;
  return p;
}

static inline void multiply(const struct product* p) {
  const double one = 1, zero = 0;
  dgemm_("N", "N", &p->n, &p->n, &p->n, &one, p->a, &p->n, p->b, &p->n, &zero, p->c, &p->n, 1, 1);
}

static inline int is_right(const struct product* p) {
  for (size_t i = 0; i < (size_t)p->n * (size_t)p->n; ++i)
    if (p->c[i] != 2.0 * p->n) return 0;
  return 1;
}

/* 1 if it is wrong. */
static inline int wrong_product(const struct product* p) {
  memset(p->c, 0xff, 8 * (size_t)p->n * (size_t)p->n);
  multiply(p);
  return !is_right(p);
}

/* Least squares of full rank whose solution is ones. */
struct system {
  int m, n;
  double *a, *b, *s, *work;
};

static inline struct system system_of(int m, int n) {
  const size_t rows = (size_t)m, cols = (size_t)n;
  struct system s = {m,
                     n,
                     (double*)malloc(8 * rows * cols),
                     (double*)malloc(8 * rows),
                     (double*)malloc(8 * cols),
                     (double*)malloc(8 * 40 * rows)};
  return s;
}

static inline int solve(const struct system* s) {
  const int one = 1, lwork = 40 * s->m;
  const double rcond = -1;
  int rank = 0, info = -1;
  memset(s->b, 0, 8 * (size_t)s->m);
  for (int j = 0; j < s->n; ++j)
    for (int i = 0; i < s->m; ++i)
      s->b[i] += s->a[(size_t)i + (size_t)j * (size_t)s->m] = (i * 7 + j * 13) % 31 / 31.0 + (i == j ? s->n : 0);
  dgelss_(&s->m, &s->n, &one, s->a, &s->m, s->b, &s->m, s->s, &rcond, &rank, s->work, &lwork, &info);
  return info == 0 && rank == s->n;
}

/* 1 if it is wrong. */
static inline int wrong_solution(const struct system* s) {
  if (!solve(s)) return 1;
  for (int i = 0; i < s->n; ++i)
    if (!(s->b[i] > 1 - 1e-9 && s->b[i] < 1 + 1e-9)) return 1;
  return 0;
}

static inline double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One of the routines, in memory that is the caller's: products, products with vectors, factorisations. */
static inline void call_any(int which, const struct product* p, double* tau, double* work) {
  const double one = 1, zero = 0;
  const int step = 1, lwork = 64 * p->n;
  int info;
  if (which % 3 == 0) multiply(p);
  if (which % 3 == 1) dsymv_("U", &p->n, &one, p->a, &p->n, p->b, &step, &zero, p->c, &step, 1);
  if (which % 3 == 2) dgeqrf_(&p->n, &p->n, p->c, &p->n, tau, work, &lwork, &info);
}
