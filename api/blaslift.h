/* What blaslift has that has no standard name.  For C and C++; link with -lblaslift (pkg-config blaslift).

   Everything else blaslift does under the names of BLAS and LAPACK, without a header of its own. */
#ifndef BLASLIFT_H
#define BLASLIFT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number hi + lo, about 32 decimal digits: hi is hi + lo rounded to double. */
typedef struct {
#ifdef __cplusplus
  alignas(16) double hi;
#else
  _Alignas(16) double hi;
#endif
  double lo;
} blaslift_w;

/* y := alpha A x + beta y in double-double arithmetic, as dsymv does it in double.

   uplo, 'U' or 'L', is the triangle of the symmetric n x n matrix A, column-major, that is read; lda is at least
   max(1, n).  incx and incy are not zero; vectors with negative ones run backwards, as in BLAS.  alpha and beta point
   to one number each in the host's memory.  Where beta is zero y is not read, where alpha is zero neither A nor x.

   A, x and y are the caller's, aligned to 16 bytes, in the host's memory or the device's; y shares nothing with the
   others.  The result has the same bits in every run, on the GPU and on the CPU alike, as long as the GPU's profile
   (blaslift tune --only symv) is the same.

   Returns 0; or -i if argument i is not valid, or 1 if there is no memory, and y is as it was. */
int blaslift_wsymv(char uplo, int64_t n, const blaslift_w* alpha, const blaslift_w* A, int64_t lda, const blaslift_w* x,
                   int64_t incx, const blaslift_w* beta, blaslift_w* y, int64_t incy);

#ifdef __cplusplus
}
#endif
#endif
