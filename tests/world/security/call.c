/* Products of N (argument 1, else 70), twice; with a second argument a pause of so many tenths of a second between. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*, size_t, size_t);

int main(int count, char** words) {
  const int n = count > 1 ? atoi(words[1]) : 70;
  const size_t size = (size_t)n * (size_t)n;
  double *A = calloc(size, 8), *B = calloc(size, 8), *C = calloc(size, 8), alpha = 1, beta = 0;
  for (size_t i = 0; i < size; ++i) A[i] = (double)(i % 7), B[i] = (double)(i % 5);
  for (int i = 0; i < 2; ++i) {
    dgemm_("N", "N", &n, &n, &n, &alpha, A, &n, B, &n, &beta, C, &n, 1, 1);
    if (i == 0 && count > 2) usleep((unsigned)atoi(words[2]) * 100000);
  }
  printf("secure %lu, C %g\n", getauxval(AT_SECURE), C[1]);
  return 0;
}
