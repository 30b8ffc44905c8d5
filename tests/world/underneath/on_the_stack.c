// Systems whose sizes cross the gate in turn: cblas_?trsm has its n on the stack, above it whatever was there before.
#include <stdio.h>
#include <stdlib.h>
extern void cblas_dtrsm(int, int, int, int, int, int, int, double, const double*, int, double*, int);
extern void cblas_ztrsm(int, int, int, int, int, int, int, const void*, const void*, int, void*, int);
enum {
  by_columns = 102,
  left = 141,
  right = 142,
  lower = 122,
  as_it_is = 111,
  not_of_ones = 131,
  large = 700,
  small = 4
};
__attribute__((noinline)) static void dirty(void) {
  volatile unsigned char junk[4096];
  for (int i = 0; i < 4096; ++i) junk[i] = 0x21;
}
__attribute__((noinline)) static void d(int side, int m, int n, const double* a, double* b) {
  cblas_dtrsm(by_columns, side, lower, as_it_is, not_of_ones, m, n, 1, a, side == left ? m : n, b, m);
}
__attribute__((noinline)) static void z(int side, int m, int n, const double* a, double* b) {
  const double one[2] = {1, 0};
  cblas_ztrsm(by_columns, side, lower, as_it_is, not_of_ones, m, n, one, a, side == left ? m : n, b, m);
}
int main(void) {
  double *a = calloc(2 * large * large, 8), *b = calloc(2 * large * large, 8);
  for (long i = 0; i < 2 * large * large; ++i) b[i] = i % 7, a[i] = 0;
  double sum = 0;
  const int sizes[][3] = {{left, large, large}, {left, large, small}, {right, small, large}, {right, large, large}};
  for (int i = 0; i < 4; ++i) {
    const int side = sizes[i][0], m = sizes[i][1], n = sizes[i][2], order = side == left ? m : n;
    for (int j = 0; j < order; ++j) a[j + (long)j * order] = 2;
    dirty(), d(side, m, n, a, b);
    for (int j = 0; j < order; ++j) a[j + (long)j * order] = 0, a[2 * (j + (long)j * order)] = 2;
    dirty(), z(side, m, n, a, b);
    for (int j = 0; j < order; ++j) a[2 * (j + (long)j * order)] = 0;
    for (int j = 0; j < m * n; ++j) sum += b[j];
  }
  printf("%.1f\n", sum);
  return 0;
}
