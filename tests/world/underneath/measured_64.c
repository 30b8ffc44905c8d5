#define INT int64_t
#include "blas.h"
extern CblasDgemm cblas_dgemm_64;
extern double cblas_ddot_64(INT, const double*, INT, const double*, INT);
int main(void) {
  double x[2] = {1, 2};
  printf("%.1f %.1f\n", sum_of(0, cblas_dgemm_64), cblas_ddot_64(2, x, 1, x, 1));
  return 0;
}
