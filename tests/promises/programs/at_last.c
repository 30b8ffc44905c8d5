// Needed by the BLAS of stand_in.c, and so finalised after it: calls the program then.
#include <stddef.h>

int blas_finalised;
void (*at_last)(int finalised);

__attribute__((destructor)) static void finalise(void) {
  if (at_last) at_last(blas_finalised);
}
