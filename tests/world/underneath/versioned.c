// A BLAS whose second release has 64-bit integers under its names, and keeps what it had under its symbol version:
// FIRST: the first release alone.  BARE: a release before there were versions.  NARROW_SCALE tells the old one.
#include <stddef.h>
#include <stdint.h>
#define GEMM(N, name, scale) void name(const char* ta, const char* tb, const N* m, const N* n, const N* k, const double* al, const double* a, const N* lda, const double* b, const N* ldb, const double* be, double* c, const N* ldc, size_t la, size_t lb) { \
  for (N j = 0; j < *n; ++j) for (N i = 0; i < *m; ++i) { double s = 0; for (N l = 0; l < *k; ++l) s += a[i + l * *lda] * b[l + j * *ldb]; c[i + j * *ldc] = scale * *al * s + (*be == 0 ? 0 : *be * c[i + j * *ldc]); } }
#define ISAMAX(N, name) N name(const N* n, const float* x, const N* inc) { N best = 0; float v = -1; for (N i = 0; i < *n; ++i) if (x[i * *inc] > v) v = x[i * *inc], best = i + 1; return best; }
#ifdef BARE
GEMM(int32_t, dgemm_, 1)
ISAMAX(int32_t, isamax_)
#else
GEMM(int32_t, dgemm_1, 1)
ISAMAX(int32_t, isamax_1)
#ifdef FIRST
__asm__(".symver dgemm_1,dgemm_@@BLAS_1\n.symver isamax_1,isamax_@@BLAS_1");
#else
GEMM(int64_t, dgemm_2, 2)
ISAMAX(int64_t, isamax_2)
__asm__(".symver dgemm_1,dgemm_@BLAS_1\n.symver isamax_1,isamax_@BLAS_1\n.symver dgemm_2,dgemm_@@BLAS_2\n.symver isamax_2,isamax_@@BLAS_2");
#endif
#endif
