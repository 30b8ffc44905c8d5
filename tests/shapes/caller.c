// A plugin with one call of dgemm_, whose object code is the same whatever the library underneath and its integers:
// linked to different libraries, the plugins differ in their data alone.  `expected` says what comes of 2 * 3.
#include <stdint.h>
#include <stdio.h>

extern void dgemm_(const char*, const char*, const void*, const void*, const void*, const double*, const double*,
                   const void*, const double*, const void*, const double*, double*, const void*);
extern const int64_t caller_one, caller_large;  // 1 and a leading dimension, in this plugin's integers
extern const double caller_expected;
extern const char* const caller_name;

int blas_checks(void) {
  const double A = 2, B = 3, alpha = 1, beta = 0;
  double C[4] = {-1, -2, -3, -4};
  dgemm_("N", "N", &caller_one, &caller_one, &caller_one, &alpha, &A, &caller_large, &B, &caller_large, &beta, C,
         &caller_large);
  if (C[0] == caller_expected && C[1] == -2 && C[2] == -3 && C[3] == -4) return 0;
  printf("%s: %g %g %g %g instead of %g -2 -3 -4\n", caller_name, C[0], C[1], C[2], C[3], caller_expected);
  return 1;
}
