/* product N WILD LEADING BETA: one dgemm of N x N with something in the operands that levels lose by; prints a sum of
   the result's bits and its largest error, in units of the classical bound, over some rows. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);

static uint64_t state = 1;
static double next(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(int64_t)state / 9223372036854775808.0;
}

int main(int count, char** words) {
  if (count != 5) return 2;
  const int n = atoi(words[1]), calls = atoi(words[3]);
  const char* wild = words[2];
  const double alpha = -0.5, beta = atof(words[4]);
  const size_t all = (size_t)n * (size_t)n;
  double *A = malloc(all * sizeof *A), *B = malloc(all * sizeof *B), *C = malloc(all * sizeof *C),
         *before = malloc(all * sizeof *C);
  for (size_t i = 0; i < all; ++i) A[i] = next(), B[i] = next(), before[i] = next();
  if (!strcmp(wild, "inf")) A[(size_t)(n - 2) * n + n / 2 + 1] = INFINITY; /* where no glance falls */
  if (!strcmp(wild, "large")) B[(size_t)(n / 3) * n + n - 2] = 1e30;
  if (!strcmp(wild, "row"))
    for (int p = 0; p < n; ++p) A[(size_t)p * n + n / 2] *= 1e-20;
  if (!strcmp(wild, "column"))
    for (int p = 0; p < n; ++p) B[(size_t)(n / 2) * n + p] *= 1e-20;
  if (!strcmp(wild, "graded"))
    for (size_t i = 0; i < all; ++i) A[i] *= pow(10, -3.0 * (double)(i % n) / n), B[i] *= pow(10, -3.0 * (double)(i / n) / n);
  for (int call = 0; call < calls; ++call) {
    memcpy(C, before, all * sizeof *C);
    dgemm_("N", "N", &n, &n, &n, &alpha, A, &n, B, &n, &beta, C, &n);
  }
  double worst = 0;
  for (int i = 0; i < n; i += 7)
    for (int j = 0; j < n; j += 11) {
      long double sum = 0, size = 0;
      for (int p = 0; p < n; ++p) {
        const long double term = (long double)A[(size_t)p * n + i] * B[(size_t)j * n + p];
        sum += term, size += fabsl(term);
      }
      const double got = C[(size_t)j * n + i];
      const long double old = beta == 0 ? 0 : (long double)beta * before[(size_t)j * n + i];
      const long double exact = alpha * sum + old, bound = (n + 3) * 2.22e-16L * (fabsl(alpha) * size + fabsl(old));
      if (!isfinite((double)exact)) {
        if (isfinite(got)) worst = INFINITY;
        continue;
      }
      const double excess = (double)(fabsl(got - exact) / bound);
      if (!(excess <= worst)) worst = excess;
    }
  uint64_t bits = 0;
  for (size_t i = 0; i < all; ++i) {
    uint64_t x;
    memcpy(&x, &C[i], sizeof x);
    if (isnan(C[i])) x = 1; /* whose sign is nobody's business */
    bits = (bits ^ x) * 0x9e3779b97f4a7c15u + (bits >> 31);
  }
  printf("bits %016llx worst %g\n", (unsigned long long)bits, worst);
  return 0;
}
