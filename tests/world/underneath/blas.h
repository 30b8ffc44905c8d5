// The routines that these programs call, and a product whose sum is known.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef INT
#define INT int
#endif
typedef void Dgemm(const char*, const char*, const INT*, const INT*, const INT*, const double*, const double*,
                   const INT*, const double*, const INT*, const double*, double*, const INT*, size_t, size_t);
typedef void CblasDgemm(int, int, int, INT, INT, INT, double, const double*, INT, const double*, INT, double, double*,
                        INT);

/// The sum of a product's elements; sizes stand beside numbers that a wider read would take for a part of them.
static double sum_of(Dgemm* dgemm, CblasDgemm* cblas) {
  enum { size = 48 };
  struct {
    INT n;
    int other;
  } v = {size, -1};
  double one = 1, zero = 0, s = 0, *a = malloc(8 * size * size), *b = malloc(8 * size * size),
         *c = malloc(8 * size * size);
  for (int i = 0; i < size * size; ++i) a[i] = i % 7, b[i] = i % 5, c[i] = 99;
  if (dgemm) dgemm("N", "N", &v.n, &v.n, &v.n, &one, a, &v.n, b, &v.n, &zero, c, &v.n, 1, 1);
  if (cblas) cblas(102, 111, 111, size, size, size, 1, a, size, b, size, 0, c, size);
  for (int i = 0; i < size * size; ++i) s += c[i];
  free(a);
  free(b);
  free(c);
  return s;
}
