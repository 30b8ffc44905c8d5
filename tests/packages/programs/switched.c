/* Linked with a switch: calls that blaslift routes, and one that it does not.  Small integers, so that results are
 * exact. */
#include <stdio.h>

enum { order = 101, upper = 121, n = 40 };
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*, ...);
void dgesv_(const int*, const int*, double*, const int*, int*, double*, const int*, int*);
void dtrmm_(const char*, const char*, const char*, const char*, const int*, const int*, const double*, const double*,
            const int*, double*, const int*, ...);
double ddot_(const int*, const double*, const int*, const double*, const int*);

static double A[n * n], B[n * n], C[n * n], D[n * n];

static int wrong(const char* name, const double* X, const double* expected) {
  for (int i = 0; i < n * n; ++i) {
    const double error = X[i] - expected[i];
    if (!(error > -1e-10 && error < 1e-10))
      return fprintf(stderr, "%s is wrong at %d: %g, not %g\n", name, i, X[i], expected[i]), 1;
  }
  return 0;
}

int main(void) {
  const int order_n = n, one_i = 1, nn = n * n;
  const double one = 1, zero = 0;
  int pivots[n], info = -1, bad = 0;
  for (int i = 0; i < n * n; ++i) {
    A[i] = (i * 7 % 5) - 2 + (i % (n + 1) == 0 ? 300 : 0);
    B[i] = (i * 3 % 7) - 3;
  }
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      D[i + j * n] = 0;
      for (int k = 0; k < n; ++k) D[i + j * n] += A[i + k * n] * B[k + j * n];
    }
  dgemm_("N", "N", &order_n, &order_n, &order_n, &one, A, &order_n, B, &order_n, &zero, C, &order_n, 1L, 1L);
  bad += wrong("dgemm_", C, D);
  for (int i = 0; i < n * n; ++i) C[i] = -1;
  cblas_dgemm(order + 1, 111, 111, n, n, n, 1, A, n, B, n, 0, C, n);
  bad += wrong("cblas_dgemm", C, D);
  double sum = 0;
  for (int i = 0; i < n * n; ++i) sum += A[i] * B[i];
  if (ddot_(&nn, A, &one_i, B, &one_i) != sum) fputs("ddot_ is wrong\n", stderr), ++bad;
  static double T[n * n], U[n * n];
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) T[i + j * n] = 0;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i)
      for (int k = i; k < n; ++k) T[i + j * n] += A[i + k * n] * B[k + j * n];
  for (int i = 0; i < n * n; ++i) U[i] = B[i];
  dtrmm_("L", "U", "N", "N", &order_n, &order_n, &one, A, &order_n, U, &order_n, 1L, 1L, 1L, 1L);
  bad += wrong("dtrmm_", U, T);
  dgesv_(&order_n, &order_n, A, &order_n, pivots, C, &order_n, &info);
  bad += wrong("dgesv_", C, B) + (info != 0);
  if (!bad) puts("right");
  return bad;
}
