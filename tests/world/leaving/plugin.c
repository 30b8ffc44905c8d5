/* A plugin that multiplies: each time that it is opened, its calls come from new sites. */
#include "blas.h"
void work(double* a, double* b, double* c) {
  const struct product p = {4, a, b, c};
  multiply(&p);
}
