// A program and, with -DLIBRARY, its library with a gemm and no batches of products: it uses these if there are any.
// Prints what their results sum up to, and how many products the library has computed.  With -DSTRANGER, an object of
// no gemm whose batches are others' names for something else, which the program opens if told of it; -DCOMPLETE: it has
// a gemm, too.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef LIBRARY

int products;
static void multiply(int m, int n, int k, double alpha, const double* A, int lda, const double* B, int ldb, double beta,
                     double* C, int ldc) {
  if (m > 0) ++products;  // asked for nothing, whoever looks for a gemm tries it
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += A[i + l * lda] * B[l + j * ldb];
      C[i + j * ldc] = alpha * sum + beta * C[i + j * ldc];
    }
}
void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
            const double* A, const int* lda, const double* B, const int* ldb, const double* beta, double* C,
            const int* ldc, size_t first, size_t second) {
  if (*transa == 'N' && *transb == 'N' && first == 1 && second == 1)
    multiply(*m, *n, *k, *alpha, A, *lda, B, *ldb, *beta, C, *ldc);
}
void cblas_dgemm(int layout, int transa, int transb, int m, int n, int k, double alpha, const double* A, int lda,
                 const double* B, int ldb, double beta, double* C, int ldc) {
  if (layout == 102 && transa == 111 && transb == 111) multiply(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

#elif defined STRANGER

void dgemm_batch_strided_(void) { abort(); }
void cblas_dgemm_batch_strided(void) { abort(); }
void dgemm_batch_(void) { abort(); }
void cblas_dgemm_batch(void) { abort(); }
#ifdef COMPLETE
void dgemm_(void) { abort(); }
void cblas_dgemm(void) { abort(); }
#endif

#else

extern int products;
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*, size_t, size_t);

typedef void Fortran(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                     const int*, const int*, const double*, const int*, const int*, const double*, double*, const int*,
                     const int*, const int*);
typedef void Cblas(int, int, int, int, int, int, double, const double*, int, int, const double*, int, int, double,
                   double*, int, int, int);

typedef void FortranGroups(const char*, const char*, const int*, const int*, const int*, const double*, const double**,
                           const int*, const double**, const int*, const double*, double**, const int*, const int*,
                           const int*);
typedef void CblasGroups(int, const int*, const int*, const int*, const int*, const int*, const double*, const double**,
                         const int*, const double**, const int*, const double*, double**, const int*, int, const int*);

#define MOST 210
#define COUNT 3
static double a[COUNT * MOST * MOST], b[MOST * MOST], c[COUNT * MOST * MOST];

int main(int argc, char** argv) {
  if (argc > 1 && !dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) return puts(dlerror()), 1;
  Fortran* fortran = (Fortran*)dlsym(RTLD_DEFAULT, "dgemm_batch_strided_");
  Cblas* cblas = (Cblas*)dlsym(RTLD_DEFAULT, "cblas_dgemm_batch_strided");
  const double alpha = 2, beta = 1;
  for (int i = 0; i < COUNT * MOST * MOST; ++i) a[i] = i % 7 - 3, b[i % (MOST * MOST)] = i % 5 - 2, c[i] = i % 3;
  for (int n = 20; n <= MOST; n += MOST - 20)  // below what is looked at, and above
    for (int way = 0; way < 2; ++way) {
      const int apart = n * n, none = 0, count = COUNT;
      if (way == 0 && fortran)
        fortran("N", "N", &n, &n, &n, &alpha, a, &n, &apart, b, &n, &none, &beta, c, &n, &apart, &count);
      else if (way == 1 && cblas)
        cblas(102, 111, 111, n, n, n, alpha, a, n, apart, b, n, 0, beta, c, n, apart, count);
      else
        for (int i = 0; i < COUNT; ++i)
          dgemm_("N", "N", &n, &n, &n, &alpha, a + i * apart, &n, b, &n, &beta, c + i * apart, &n, 1, 1);
    }
  // With gaps between columns and others between matrices.
  const int n = 200, ld = n + 1, apart = n * n, with_gaps = ld * n + 7;
  if (cblas)
    cblas(102, 111, 111, n, n, n, alpha, a, ld, with_gaps, b, n, 0, beta, c, n, apart, COUNT);
  else
    for (int i = 0; i < COUNT; ++i)
      dgemm_("N", "N", &n, &n, &n, &alpha, a + i * with_gaps, &ld, b, &n, &beta, c + i * apart, &n, 1, 1);
  // In two groups, of which the second has two products, and its matrices lie in backward order.
  FortranGroups* in_groups = (FortranGroups*)dlsym(RTLD_DEFAULT, "dgemm_batch_");
  CblasGroups* in_groups_by_cblas = (CblasGroups*)dlsym(RTLD_DEFAULT, "cblas_dgemm_batch");
  const int sizes[] = {180, 200}, groups = 2, products_of[] = {1, 2}, codes[] = {111, 111};
  const double alphas[] = {2, 3}, betas[] = {1, -1};
  const double *as[] = {a, a + 2 * apart, a + apart}, *bs[] = {b, b, b};
  double* cs[] = {c, c + 2 * apart, c + apart};
  for (int way = 0; way < 2; ++way)
    if (way == 0 && in_groups)
      in_groups("NN", "NN", sizes, sizes, sizes, alphas, as, sizes, bs, sizes, betas, cs, sizes, &groups, products_of);
    else if (way == 1 && in_groups_by_cblas)
      in_groups_by_cblas(102, codes, codes, sizes, sizes, sizes, alphas, as, sizes, bs, sizes, betas, cs, sizes, groups,
                         products_of);
    else
      for (int i = 0; i < 3; ++i) {
        const int g = i > 0, size = sizes[g];
        dgemm_("N", "N", &size, &size, &size, alphas + g, as[i], &size, bs[i], &size, betas + g, cs[i], &size, 1, 1);
      }
  double sum = 0;
  for (int i = 0; i < COUNT * MOST * MOST; ++i) sum += c[i] * (i % 11 - 3);
  printf("%.17g, %d products\n", sum, products);
  return 0;
}

#endif
