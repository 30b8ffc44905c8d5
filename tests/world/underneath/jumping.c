// Routines that end with a jump to another one, through the linker: ddot_, dsdot_ and sdsdot_, as LAPACK's dptsv, dpttrs
// and dptts2.  (Their arguments here are ddot_'s.)
#define PARAMETERS const int *n, const double *x, const int *incx, const double *y, const int *incy
#define ARGUMENTS n, x, incx, y, incy
extern double ddot_(PARAMETERS), dsdot_(PARAMETERS), sdsdot_(PARAMETERS);
#ifdef PROGRAM
#include <stdio.h>
int main(void) {
  const double x[] = {1, 2}, y[] = {3, 4};
  const int n = 2, step = 1;
  for (int i = 0; i < 2; ++i) printf("%.1f %.1f\n", ddot_(&n, x, &step, y, &step), dsdot_(&n, x, &step, x, &step));
  return 0;
}
#else
double ddot_(PARAMETERS) { return dsdot_(ARGUMENTS); }
double dsdot_(PARAMETERS) { return sdsdot_(ARGUMENTS); }
double sdsdot_(PARAMETERS) { return x[0] * y[0] + x[*n - 1] * y[*n - 1]; }
#endif
