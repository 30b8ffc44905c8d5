// Products by 64-bit names, CBLAS's of Netlib among them; CBLAS calls Fortran's through the linker.
#define INT int64_t
#include "blas.h"
extern CblasDgemm cblas_dgemm_64, cblas_dgemm64_;
extern Dgemm dgemm_64_;
int main(void) {
  printf("%.1f\n", sum_of(0, cblas_dgemm_64));
  printf("%.1f\n", sum_of(dgemm_64_, 0));
  return 0;
}
