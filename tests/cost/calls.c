// calls COUNT ROUTINE...: calls each ROUTINE COUNT times at n = 4, then mark, and both once more, from the same places.
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void sgemm_(), dgemm_(), cgemm_(), zgemm_(), ssymv_(), dsymv_(), chemv_(), zhemv_(), zsymv_(), dgemv_(), zgemv_(), dcopy_(), zcopy_(), dgeqrf_(), zgeqrf_();
extern void dormqr_(), dormlq_(), dorgqr_(), dormtr_(), dorgtr_(), dormhr_(), dorghr_(), dormbr_(), dorgbr_(), dgeqr_(), dgemqr_(), dsyrk_(), zherk_(), dtrsm_(), ztrsm_(), dpotrf_(), dsyevd_(), dsyev_(), dsyevr_(), dsyevx_(), dsygvd_(), dsygv_(), dsygvx_(), dgebrd_(), dgesdd_(), dgesvd_(), dgeev_(), dgels_(), dgelsy_(), dgelsd_(), dgelss_(), dgecon_(), dpocon_();
extern void dtrtrs_(), dtrtri_(), dpotri_(), dlauum_(), dgetri_(), dtrcon_(), dsygst_(), dsytrd_(), dgehrd_(), dgeqp3_(), dgelqf_(), dorglq_();
extern void dsyr2k_(), zher2k_(), dsymm_(), zhemm_(), dtrmm_(), ztrmm_(), dgetrf_(), zgetrf_(), dgetrs_(), dgesv_(), dpotrs_(), dposv_();
extern void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
extern void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*,
                        int);
extern void cblas_zgemm(int, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*,
                        void*, int);
extern void cblas_dsyrk(int, int, int, int, int, double, const double*, int, double, double*, int);
extern void cblas_zherk(int, int, int, int, int, double, const void*, int, double, void*, int);
extern void cblas_dsyr2k(int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
extern void cblas_zher2k(int, int, int, int, int, const void*, const void*, int, const void*, int, double, void*, int);
extern void cblas_dsymm(int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
extern void cblas_zhemm(int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
extern void cblas_dtrmm(int, int, int, int, int, int, int, double, const double*, int, double*, int);
extern void cblas_ztrmm(int, int, int, int, int, int, int, const void*, const void*, int, void*, int);
extern void cblas_dtrsm(int, int, int, int, int, int, int, double, const double*, int, double*, int);
extern void cblas_ztrsm(int, int, int, int, int, int, int, const void*, const void*, int, void*, int);
extern void cblas_dsymv(int, int, int, double, const double*, int, const double*, int, double, double*, int);
extern void cblas_zhemv(int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
extern void cblas_dgemv(int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
extern void cblas_dcopy(int, const double*, int, double*, int);
extern void cblas_zcopy(int, const void*, int, void*, int);
extern void cblas_zgemv(int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);

enum { n = 4 };

static const int size = n, one_step = 1, lwork = 64 * n, long_lwork = 1000;
static float sA[n * n], sC[n * n];
static double A[n * n], C[n * n], tau[n], work[64 * n], long_work[1000];
static double complex zA[n * n], zC[n * n], ztau[n], zwork[64 * n];
static const int none = 0, tsize = 5 + 64 * n;  // otherwise the reference multiplies, through us
static double table[5 + 64 * n];
static int info, found, ipiv[n];

#define REPEAT(name, call)                 \
  if (strcmp(routine, name) == 0) {        \
    for (long i = 0; i < count; ++i) call; \
    return 0;                              \
  }
#define GEMM(X, alpha, beta, Y) \
  ("N", "N", &size, &size, &size, &alpha, X, &size, X, &size, &beta, Y, &size, (size_t)1, (size_t)1)
#define SYRK(X, alpha, beta, Y) ("U", "N", &size, &size, &alpha, X, &size, &beta, Y, &size, (size_t)1, (size_t)1)
#define SYR2K(X, alpha, beta, Y) \
  ("U", "N", &size, &size, &alpha, X, &size, X, &size, &beta, Y, &size, (size_t)1, (size_t)1)
#define SYMM(X, alpha, beta, Y) \
  ("L", "U", &size, &size, &alpha, X, &size, X, &size, &beta, Y, &size, (size_t)1, (size_t)1)
#define TRSM(X, alpha, Y) \
  ("L", "U", "N", "U", &size, &size, &alpha, X, &size, Y, &size, (size_t)1, (size_t)1, (size_t)1, (size_t)1)
#define SYMV(X, alpha, beta, Y) ("U", &size, &alpha, X, &size, X, &one_step, &beta, Y, &one_step, (size_t)1)
#define GEMV(X, alpha, beta, Y) \
  ("T", &size, &size, &alpha, X, &size, X, &one_step, &beta, Y, &one_step, (size_t)1)

/// Callgrind begins a new list of costs here.
__attribute__((noinline)) void mark(void) { __asm__ volatile(""); }

static int repeat(const char* routine, long count) {
  const float sone = 1, szero = 0;
  const double one = 1, zero = 0;
  const double complex zone = 1, zzero = 0;
  const float complex cone = 1, czero = 0;
  REPEAT("sgemm_", sgemm_ GEMM(sA, sone, szero, sC))
  REPEAT("dgemm_", dgemm_ GEMM(A, one, zero, C))
  REPEAT("cgemm_", cgemm_ GEMM(zA, cone, czero, zC))
  REPEAT("zgemm_", zgemm_ GEMM(zA, zone, zzero, zC))
  REPEAT("dsyrk_", dsyrk_ SYRK(A, one, zero, C))
  REPEAT("zherk_", zherk_ SYRK(zA, one, zero, zC))
  REPEAT("dsyr2k_", dsyr2k_ SYR2K(A, one, zero, C))
  REPEAT("zher2k_", zher2k_ SYR2K(zA, zone, zero, zC))
  REPEAT("dsymm_", dsymm_ SYMM(A, one, zero, C))
  REPEAT("zhemm_", zhemm_ SYMM(zA, zone, zzero, zC))
  REPEAT("dtrmm_", dtrmm_ TRSM(A, one, C))
  REPEAT("ztrmm_", ztrmm_ TRSM(zA, zone, zC))
  REPEAT("dtrsm_", dtrsm_ TRSM(A, one, C))
  REPEAT("ztrsm_", ztrsm_ TRSM(zA, zone, zC))
  REPEAT("ssymv_", ssymv_ SYMV(sA, sone, szero, sC))
  REPEAT("dsymv_", dsymv_ SYMV(A, one, zero, C))
  REPEAT("chemv_", chemv_ SYMV(zA, cone, czero, zC))
  REPEAT("zhemv_", zhemv_ SYMV(zA, zone, zzero, zC))
  REPEAT("zsymv_", zsymv_ SYMV(zA, zone, zzero, zC))
  REPEAT("dgemv_", dgemv_ GEMV(A, one, zero, C))
  REPEAT("zgemv_", zgemv_ GEMV(zA, zone, zzero, zC))
  REPEAT("dcopy_", dcopy_(&size, A, &size, C, &one_step))
  REPEAT("zcopy_", zcopy_(&size, zA, &one_step, zC, &one_step))
  REPEAT("dpotrf_", dpotrf_("L", &size, A, &size, &info, (size_t)1))  // ends at the first pivot, which is zero
  REPEAT("dpotrs_", dpotrs_("L", &none, &none, A, &size, C, &size, &info, (size_t)1))
  REPEAT("dposv_", dposv_("L", &none, &none, A, &size, C, &size, &info, (size_t)1))
  REPEAT("dgetrf_", dgetrf_(&none, &none, A, &size, ipiv, &info))
  REPEAT("zgetrf_", zgetrf_(&none, &none, zA, &size, ipiv, &info))
  REPEAT("dtrtrs_", dtrtrs_("L", "N", "N", &none, &none, A, &size, C, &size, &info, (size_t)1, (size_t)1, (size_t)1))
  REPEAT("dtrtri_", dtrtri_("L", "N", &none, A, &size, &info, (size_t)1, (size_t)1))
  REPEAT("dpotri_", dpotri_("L", &none, A, &size, &info, (size_t)1))
  REPEAT("dlauum_", dlauum_("L", &none, A, &size, &info, (size_t)1))
  REPEAT("dgetri_", dgetri_(&none, A, &size, ipiv, work, &lwork, &info))
  REPEAT("dgetrs_", dgetrs_("N", &none, &none, A, &size, ipiv, C, &size, &info, (size_t)1))
  REPEAT("dgesv_", dgesv_(&none, &none, A, &size, ipiv, C, &size, &info))
  REPEAT("dsyevd_", dsyevd_("N", "L", &none, A, &size, tau, work, &lwork, ipiv, &one_step, &info, (size_t)1, (size_t)1))
  REPEAT("dgecon_", dgecon_("1", &none, A, &size, tau, tau + 1, work, ipiv, &info, (size_t)1))
  REPEAT("dpocon_", dpocon_("L", &none, A, &size, tau, tau + 1, work, ipiv, &info, (size_t)1))
  REPEAT("dtrcon_", dtrcon_("1", "L", "N", &none, A, &size, tau, work, ipiv, &info, (size_t)1, (size_t)1, (size_t)1))
  REPEAT("dsygst_", dsygst_(&one_step, "L", &none, A, &size, C, &size, &info, (size_t)1))
  REPEAT("dsytrd_", dsytrd_("L", &none, A, &size, tau, tau, tau, work, &lwork, &info, (size_t)1))
  REPEAT("dgehrd_", dgehrd_(&none, &one_step, &none, A, &size, tau, work, &lwork, &info))
  REPEAT("dgebrd_", dgebrd_(&none, &none, A, &size, tau, tau, tau, tau, work, &lwork, &info))
  REPEAT("dgesdd_", dgesdd_("N", &none, &none, A, &size, tau, C, &size, C, &size, work, &lwork, ipiv, &info, (size_t)1))
  REPEAT("dgesvd_",
         dgesvd_("N", "N", &none, &none, A, &size, tau, C, &size, C, &size, work, &lwork, &info, (size_t)1, (size_t)1))
  REPEAT("dgeev_", dgeev_("N", "N", &none, A, &size, tau, tau, C, &size, C, &size, work, &lwork, &info, (size_t)1,
                          (size_t)1))
  REPEAT("dgels_", dgels_("N", &none, &none, &none, A, &size, C, &size, work, &lwork, &info, (size_t)1))
  REPEAT("dgelsy_", dgelsy_(&none, &none, &none, A, &size, C, &size, ipiv, &one, &found, work, &lwork, &info))
  REPEAT("dgelsd_", dgelsd_(&none, &none, &none, A, &size, C, &size, tau, &one, &found, long_work, &long_lwork, ipiv, &info))
  REPEAT("dgelss_", dgelss_(&none, &none, &none, A, &size, C, &size, tau, &one, &found, work, &lwork, &info))
  REPEAT("dsyev_", dsyev_("N", "L", &none, A, &size, tau, work, &lwork, &info, (size_t)1, (size_t)1))
  REPEAT("dsyevr_", dsyevr_("N", "A", "L", &none, A, &size, &one, &one, &none, &none, &zero, &found, tau, C, &size,
                            ipiv, work, &lwork, ipiv, &one_step, &info, (size_t)1, (size_t)1, (size_t)1))
  REPEAT("dsyevx_", dsyevx_("N", "A", "L", &none, A, &size, &one, &one, &none, &none, &zero, &found, tau, C, &size,
                            work, &lwork, ipiv, ipiv, &info, (size_t)1, (size_t)1, (size_t)1))
  REPEAT("dsygvd_", dsygvd_(&one_step, "N", "L", &none, A, &size, C, &size, tau, work, &lwork, ipiv, &one_step, &info,
                            (size_t)1, (size_t)1))
  REPEAT("dsygv_", dsygv_(&one_step, "N", "L", &none, A, &size, C, &size, tau, work, &lwork, &info, (size_t)1, (size_t)1))
  REPEAT("dsygvx_", dsygvx_(&one_step, "N", "A", "L", &none, A, &size, C, &size, &one, &one, &none, &none, &zero, &found,
                            tau, C, &size, work, &lwork, ipiv, ipiv, &info, (size_t)1, (size_t)1, (size_t)1))
  REPEAT("dgeqrf_", dgeqrf_(&size, &size, A, &size, tau, work, &lwork, &info))
  REPEAT("zgeqrf_", zgeqrf_(&size, &size, zA, &size, ztau, zwork, &lwork, &info))
  REPEAT("dgeqp3_", dgeqp3_(&size, &none, A, &size, ipiv, tau, work, &lwork, &info))
  REPEAT("dgelqf_", dgelqf_(&none, &size, A, &size, tau, work, &lwork, &info))
  REPEAT("dorglq_", dorglq_(&none, &size, &none, A, &size, tau, work, &lwork, &info))
  REPEAT("dormqr_",
         dormqr_("L", "T", &size, &size, &size, A, &size, tau, C, &size, work, &lwork, &info, (size_t)1, (size_t)1))
  REPEAT("dorgqr_", dorgqr_(&size, &size, &size, A, &size, tau, work, &lwork, &info))
  REPEAT("dormlq_", dormlq_("L", "T", &none, &none, &none, A, &size, tau, C, &size, work, &lwork, &info, (size_t)1, (size_t)1))
  REPEAT("dormtr_", dormtr_("L", "L", "T", &none, &none, A, &size, tau, C, &size, work, &lwork, &info, (size_t)1,
                            (size_t)1, (size_t)1))
  REPEAT("dorgtr_", dorgtr_("L", &none, A, &size, tau, work, &lwork, &info, (size_t)1))
  REPEAT("dormhr_", dormhr_("L", "T", &none, &none, &one_step, &none, A, &size, tau, C, &size, work, &lwork, &info,
                            (size_t)1, (size_t)1))
  REPEAT("dorghr_", dorghr_(&none, &one_step, &none, A, &size, tau, work, &lwork, &info))
  REPEAT("dormbr_", dormbr_("Q", "L", "T", &none, &none, &none, A, &size, tau, C, &size, work, &lwork, &info,
                            (size_t)1, (size_t)1, (size_t)1))
  REPEAT("dorgbr_", dorgbr_("Q", &none, &none, &none, A, &size, tau, work, &lwork, &info, (size_t)1))
  REPEAT("dgeqr_", dgeqr_(&none, &none, A, &size, table, &tsize, work, &lwork, &info))
  REPEAT("dgemqr_", dgemqr_("L", "T", &size, &size, &none, A, &size, table, &tsize, C, &size, work, &lwork, &info,
                            (size_t)1, (size_t)1))
  REPEAT("cblas_sgemm", cblas_sgemm(102, 111, 111, n, n, n, 1, sA, n, sA, n, 0, sC, n))
  REPEAT("cblas_dgemm", cblas_dgemm(101, 111, 112, n, n, n, 1, A, n, A, n, 0, C, n))
  REPEAT("cblas_zgemm", cblas_zgemm(102, 111, 111, n, n, n, &zone, zA, n, zA, n, &zzero, zC, n))
  REPEAT("cblas_dsyrk", cblas_dsyrk(101, 121, 111, n, n, 1, A, n, 0, C, n))
  REPEAT("cblas_dtrmm", cblas_dtrmm(102, 141, 121, 111, 132, n, n, 1, A, n, C, n))
  REPEAT("cblas_ztrmm", cblas_ztrmm(101, 141, 121, 111, 132, n, n, &zone, zA, n, zC, n))
  REPEAT("cblas_dtrsm", cblas_dtrsm(102, 141, 121, 111, 132, n, n, 1, A, n, C, n))
  REPEAT("cblas_ztrsm", cblas_ztrsm(102, 141, 121, 111, 132, n, n, &zone, zA, n, zC, n))
  REPEAT("cblas_zherk", cblas_zherk(102, 121, 111, n, n, 1, zA, n, 0, zC, n))
  REPEAT("cblas_dsyr2k", cblas_dsyr2k(101, 121, 111, n, n, 1, A, n, A, n, 0, C, n))
  REPEAT("cblas_zher2k", cblas_zher2k(102, 121, 111, n, n, &zone, zA, n, zA, n, 0, zC, n))
  REPEAT("cblas_dsymm", cblas_dsymm(101, 141, 121, n, n, 1, A, n, A, n, 0, C, n))
  REPEAT("cblas_zhemm", cblas_zhemm(102, 142, 121, n, n, &zone, zA, n, zA, n, &zzero, zC, n))
  REPEAT("cblas_dsymv", cblas_dsymv(102, 121, n, 1, A, n, A, 1, 0, C, 1))
  REPEAT("cblas_zhemv", cblas_zhemv(101, 121, n, &zone, zA, n, zA, 1, &zzero, zC, 1))
  REPEAT("cblas_dgemv", cblas_dgemv(101, 111, n, n, 1, A, n, A, 1, 0, C, 1))
  REPEAT("cblas_zgemv", cblas_zgemv(102, 113, n, n, &zone, zA, n, zA, 1, &zzero, zC, 1))
  REPEAT("cblas_dcopy", cblas_dcopy(n, A, n, C, 1))
  REPEAT("cblas_zcopy", cblas_zcopy(n, zA, 1, zC, 1))
  fprintf(stderr, "no routine %s here\n", routine);
  return 2;
}

/// What earlier routines have left might make the next one call others.
static void reset(void) {
  for (int i = 0; i < n * n; ++i) sA[i] = (float)i, A[i] = i % 5, zA[i] = i % 3 + 2 * I, sC[i] = 0, C[i] = 0, zC[i] = 0;
  for (int i = 0; i < n; ++i) tau[i] = 0, ztau[i] = 0, ipiv[i] = 0;
  memset(table, 0, sizeof table);
  table[0] = 5 + 64 * n, table[1] = n, table[2] = 1;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const long count = atol(argv[1]);
  for (int k = 2; k < argc; ++k) {
    reset();
    for (int round = 0; round < 2; ++round) {
      if (repeat(argv[k], count) != 0) return 2;
      mark();
    }
  }
  return 0;
}
