// A QR factorisation by LAPACK, in blocks of 32 columns up to the last 128, in a program that is linked to a BLAS of
// its own choice before LAPACK.  Prints how often LAPACK called that.
#include <math.h>
#include <stdio.h>

extern int counted;
extern void dgeqrf_(const int*, const int*, double*, const int*, double*, double*, const int*, int*);

enum { m = 210, n = 200, lwork = 64 * n };
static double A[m * n], tau[n], work[lwork];

int main(void) {
  const int rows = m, cols = n, size = lwork;
  int info = -1;
  double first = 0;
  for (int i = 0; i < m * n; ++i) A[i] = (i * 7919L % 1000) / 500.0 - 1;
  for (int i = 0; i < m; ++i) first += A[i] * A[i];
  dgeqrf_(&rows, &cols, A, &rows, tau, work, &size, &info);
  // |R(1, 1)| is the first column's norm, up to its rounding errors (Higham 19.3).
  if (info != 0 || !(fabs(fabs(A[0]) - sqrt(first)) < 1e-12)) return puts("wrong factor"), 1;
  printf("%d calls\n", counted);
}
