// One of each kind of routine in double precision and double complex, got by name; prints results that two right
// implementations have in common.  With a path: of that library, else of whoever has them.
#define _GNU_SOURCE
#include <complex.h>
#include <dlfcn.h>
#include <math.h>
#include <string.h>
#include "blas.h"
typedef double complex Z;
static void* from;
static void* get(const char* name) {
  void* f = dlsym(from, name);
  if (!f) printf("no %s\n", name), exit(3);
  return f;
}
static void show(const char* what, const double* x, int n) {
  double s = 0, w = 0;
  for (int i = 0; i < n; ++i) s += x[i], w += x[i] * (i % 11 - 3);
  printf("%s %.7f %.7f\n", what, s, w);
}
static unsigned state = 1;
static double number(void) { return (double)((state = state * 1103515245u + 12345u) >> 16 & 0x7fff) / 32768 - 0.5; }
static void fill(double* x, int n) { for (int i = 0; i < n; ++i) x[i] = number(); }

#define N 20
#define M 30
static double a[2 * M * M], b[2 * M * M], c[2 * M * M], x[2 * M], y[4 * M], tau[4 * M], work[20000], t[20000];
static int m = M, n = N, k = 13, ld = M, one = 1, minus = -2, lwork = 10000, tsize = 10000, info;
static int iwork[1000], liwork = 1000, lrwork = 2000;
static double rwork[4000];
static void refill(void) { fill(a, 2 * M * M), fill(b, 2 * M * M), fill(c, 2 * M * M), fill(x, 2 * M), fill(y, 4 * M); }
typedef void Any();
#define CALL ((Any*)f)

int main(int argc, char** argv) {
  from = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : RTLD_DEFAULT;
  if (argc > 1 && !from) return puts(dlerror()), 3;
  double alpha[2] = {0.7, -0.3}, beta[2] = {1.1, 0.4};
  char name[40];
  for (int z = 0; z < 2; ++z) {
    const char p = z ? 'z' : 'd';
    const int e = z + 1;
    void* f;
#define GET(format) (snprintf(name, sizeof name, format, p), f = get(name), refill())
    for (const char* ops = "NTC"; *ops; ++ops)
      for (const char* opb = "NTC"; *opb; ++opb) {
        GET("%cgemm_");
        CALL(ops, opb, &n, &n, &k, alpha, a, &ld, b, &ld, beta, c, &ld, (size_t)1, (size_t)1);
        show(name, c, e * M * N);
        GET("cblas_%cgemm");
        const int ta = *ops == 'N' ? 111 : *ops == 'T' ? 112 : 113, tb = *opb == 'N' ? 111 : *opb == 'T' ? 112 : 113;
        if (z) CALL(101, ta, tb, n, n, k, alpha, a, ld, b, ld, beta, c, ld);
        else ((CblasDgemm*)f)(101, ta, tb, n, n, k, alpha[0], a, ld, b, ld, beta[0], c, ld);
        show(name, c, e * M * N);
      }
    // What few libraries have; by gemm where this one lacks it: of three matrices side by side with the same A.
    for (const char* ops = "NTC"; *ops; ++ops)
      for (int r = 0; r < 2; ++r) {
        const int ta = *ops == 'N' ? 111 : *ops == 'T' ? 112 : 113, count = 3, none = 0, each = 6, apart = each * M;
        snprintf(name, sizeof name, r ? "cblas_%cgemm_batch_strided" : "%cgemm_batch_strided_", p);
        f = dlsym(from, name);
        refill();
        if (f && !r) {
          CALL(ops, "N", &n, &each, &k, alpha, a, &ld, &none, b, &ld, &apart, beta, c, &ld, &apart, &count, (size_t)1,
               (size_t)1);
        } else if (f && z) {
          CALL(102, ta, 111, n, each, k, alpha, a, ld, 0, b, ld, apart, beta, c, ld, apart, count);
        } else if (f) {
          ((void (*)(int, int, int, int, int, int, double, double*, int, int, double*, int, int, double, double*, int, int,
                     int))f)(102, ta, 111, n, each, k, alpha[0], a, ld, 0, b, ld, apart, beta[0], c, ld, apart, count);
        } else {
          f = get(z ? "zgemm_" : "dgemm_");
          for (int i = 0; i < count; ++i)
            CALL(ops, "N", &n, &each, &k, alpha, a, &ld, b + e * i * apart, &ld, beta, c + e * i * apart, &ld, (size_t)1,
                 (size_t)1);
        }
        show(name, c, e * M * M);
      }
    for (int low = 0; low < 2; ++low) {
      const char* uplo = low ? "l" : "U";
      for (int transposed = 0; transposed < 2; ++transposed) {
        GET("%csyrk_");
        CALL(uplo, transposed ? "T" : "N", &n, &k, alpha, a, &ld, beta, c, &ld, (size_t)1, (size_t)1);
        show(name, c, e * M * N);
        if (!z) continue;
        GET("%cherk_");
        CALL(uplo, transposed ? "C" : "N", &n, &k, alpha, a, &ld, beta, c, &ld, (size_t)1, (size_t)1);
        show(name, c, e * M * N);
        GET("cblas_%cherk");
        ((void (*)(int, int, int, int, int, double, void*, int, double, void*, int))f)(
            101, low ? 122 : 121, transposed ? 113 : 111, n, k, 0.7, a, ld, 1.1, c, ld);
        show(name, c, e * M * N);
      }
      for (int transposed = 0; transposed < 2; ++transposed) {
        GET("%csyr2k_");
        CALL(uplo, transposed ? "T" : "N", &n, &k, alpha, a, &ld, b, &ld, beta, c, &ld, (size_t)1, (size_t)1);
        show(name, c, e * M * N);
        if (!z) continue;
        GET("%cher2k_");
        CALL(uplo, transposed ? "C" : "N", &n, &k, alpha, a, &ld, b, &ld, beta, c, &ld, (size_t)1, (size_t)1);
        show(name, c, e * M * N);
        GET("cblas_%cher2k");
        ((void (*)(int, int, int, int, int, void*, void*, int, void*, int, double, void*, int))f)(
            101, low ? 122 : 121, transposed ? 113 : 111, n, k, alpha, a, ld, b, ld, 1.1, c, ld);
        show(name, c, e * M * N);
      }
      for (int right = 0; right < 2; ++right)
        for (int hermitian = 0; hermitian <= z; ++hermitian) {
          hermitian ? GET("%chemm_") : GET("%csymm_");
          CALL(right ? "r" : "L", uplo, &m, &n, alpha, a, &ld, b, &ld, beta, c, &ld, (size_t)1, (size_t)1);
          show(name, c, e * M * N);
          hermitian ? GET("cblas_%chemm") : GET("cblas_%csymm");
          if (z) CALL(101, right ? 142 : 141, low ? 122 : 121, m, n, alpha, a, ld, b, ld, beta, c, ld);
          else ((void (*)(int, int, int, int, int, double, double*, int, double*, int, double, double*, int))f)(
              101, right ? 142 : 141, low ? 122 : 121, m, n, 0.7, a, ld, b, ld, 1.1, c, ld);
          show(name, c, e * M * M);
        }
      for (int right = 0; right < 2; ++right)
        for (int unit = 0; unit < 2; ++unit)
          for (const char* op = "NTC"; *op; ++op) {
            const int code = *op == 'N' ? 111 : *op == 'T' ? 112 : 113;
            GET("%ctrmm_");
            CALL(right ? "R" : "l", uplo, op, unit ? "u" : "N", &m, &n, alpha, a, &ld, b, &ld, (size_t)1, (size_t)1,
                 (size_t)1, (size_t)1);
            show(name, b, e * M * N);
            GET("cblas_%ctrmm");
            if (z) CALL(101, right ? 142 : 141, low ? 122 : 121, code, unit ? 132 : 131, m, n, alpha, a, ld, b, ld);
            else ((void (*)(int, int, int, int, int, int, int, double, double*, int, double*, int))f)(
                101, right ? 142 : 141, low ? 122 : 121, code, unit ? 132 : 131, m, n, 0.7, a, ld, b, ld);
            show(name, b, e * M * M);
          }
      // What few libraries have; by gemm where this one lacks it.
      for (const char* ops = "NTC"; *ops; ++ops)
        for (const char* opb = "NTC"; *opb; ++opb)
          for (int r = 0; r < 3; ++r) {
            static double whole[2 * M * M];
            const char* const names[] = {"%cgemmt_", "%cgemmtr_", "cblas_%cgemmt"};
            const int ta = *ops == 'N' ? 111 : *ops == 'T' ? 112 : 113, tb = *opb == 'N' ? 111 : *opb == 'T' ? 112 : 113;
            snprintf(name, sizeof name, names[r], p);
            f = dlsym(from, name);
            refill();
            memcpy(whole, c, sizeof c);
            if (f && r < 2) {
              CALL(uplo, ops, opb, &n, &k, alpha, a, &ld, b, &ld, beta, c, &ld, (size_t)1, (size_t)1, (size_t)1);
            } else if (f && z) {
              CALL(102, low ? 122 : 121, ta, tb, n, k, alpha, a, ld, b, ld, beta, c, ld);
            } else if (f) {
              ((void (*)(int, int, int, int, int, int, double, double*, int, double*, int, double, double*, int))f)(
                  102, low ? 122 : 121, ta, tb, n, k, alpha[0], a, ld, b, ld, beta[0], c, ld);
            } else {
              f = get(z ? "zgemm_" : "dgemm_");
              CALL(ops, opb, &n, &n, &k, alpha, a, &ld, b, &ld, beta, whole, &ld, (size_t)1, (size_t)1);
              for (int j = 0; j < n; ++j)
                for (int i = low ? j : 0; i < (low ? n : j + 1); ++i)
                  memcpy(c + e * (i + j * M), whole + e * (i + j * M), e * sizeof *c);
            }
            show(name, c, e * M * N);
          }
      if (z) {
        f = dlsym(from, "zgemm3m_");
        if (!f) f = get("zgemm_");
        refill();
        CALL("C", "N", &n, &m, &k, alpha, a, &ld, b, &ld, beta, c, &ld, (size_t)1, (size_t)1);
        show("zgemm3m", c, e * M * N);
      }
      z ? GET("%chemv_") : GET("%csymv_");
      CALL(uplo, &n, alpha, a, &ld, x, &one, beta, y, &minus, (size_t)1);
      show(name, y, 2 * e * M);
      z ? GET("cblas_%chemv") : GET("cblas_%csymv");
      if (z) CALL(101, low ? 122 : 121, n, alpha, a, ld, x, one, beta, y, one);
      else ((void (*)(int, int, int, double, double*, int, double*, int, double, double*, int))f)(
          101, low ? 122 : 121, n, 0.7, a, ld, x, 1, 1.1, y, 1);
      show(name, y, 2 * e * M);
      if (z) {
        GET("%csymv_");
        CALL(uplo, &n, alpha, a, &ld, x, &one, beta, y, &minus, (size_t)1);
        show(name, y, 2 * e * M);
      }
    }
    for (const char* op = "NTC"; *op; ++op) {
      const int code = *op == 'N' ? 111 : *op == 'T' ? 112 : 113;
      GET("%cgemv_");
      CALL(op, &m, &n, alpha, a, &ld, x, &one, beta, y, &minus, (size_t)1);
      show(name, y, 2 * e * M);
      GET("cblas_%cgemv");
      if (z) CALL(101, code, n, m, alpha, a, ld, x, one, beta, y, one);
      else ((void (*)(int, int, int, int, double, double*, int, double*, int, double, double*, int))f)(
          101, code, n, m, 0.7, a, ld, x, 1, 1.1, y, 1);
      show(name, y, 2 * e * M);
    }
    GET("%cgeqrf_");
    CALL(&m, &n, a, &ld, tau, work, &lwork, &info);
    if (info) printf("info %d\n", info);
    show(name, a, e * M * N);
    show(name, tau, e * N);
    for (int side = 0; side < 2; ++side)
      for (int adjoint = 0; adjoint < 2; ++adjoint) {
        f = get(z ? "zunmqr_" : "dormqr_");
        fill(c, 2 * M * M);
        CALL(side ? "R" : "L", !adjoint ? "N" : z ? "C" : "T", &m, &m, &n, a, &ld, tau, c, &ld, work, &lwork, &info, (size_t)1, (size_t)1);
        show(z ? "zunmqr" : "dormqr", c, e * M * M);
      }
    for (int side = 0; side < 2; ++side)
      for (int adjoint = 0; adjoint < 2; ++adjoint) {
        f = get(z ? "zunmlq_" : "dormlq_");
        fill(c, 2 * M * M);
        CALL(side ? "R" : "L", !adjoint ? "N" : z ? "C" : "T", &n, &n, &k, a, &ld, tau, c, &ld, work, &lwork, &info, (size_t)1, (size_t)1);
        show(z ? "zunmlq" : "dormlq", c, e * M * N);
      }
    f = get(z ? "zungqr_" : "dorgqr_");
    CALL(&m, &n, &k, a, &ld, tau, work, &lwork, &info);
    show(z ? "zungqr" : "dorgqr", a, e * M * N);
    GET("%cgelqf_");
    CALL(&n, &m, a, &ld, tau, work, &lwork, &info);
    if (info) printf("info %d\n", info);
    show(name, a, e * M * M);
    show(name, tau, e * N);
    f = get(z ? "zunglq_" : "dorglq_");
    CALL(&n, &m, &k, a, &ld, tau, work, &lwork, &info);
    show(z ? "zunglq" : "dorglq", a, e * M * M);
    for (int fixed = 0; fixed < 2; ++fixed) {
      GET("%cgeqp3_");
      for (int j = 0; j < n; ++j) iwork[j] = fixed && j % 5 == 3;
      if (z) CALL(&m, &n, a, &ld, iwork, tau, work, &lwork, rwork, &info);
      else CALL(&m, &n, a, &ld, iwork, tau, work, &lwork, &info);
      if (info) printf("info %d\n", info);
      for (int j = 0; j < n; ++j) printf("%s %d\n", name, iwork[j]);
      show(name, a, e * M * N);
      show(name, tau, e * N);
    }
    // Of the reductions' reflectors, wherever they are: of any.
    const char* of = z ? "zun" : "dor";
    int first = 3, last = N - 2, more = N + 3;
#define GET_Q(end) (snprintf(name, sizeof name, "%s%s_", of, end), f = get(name), refill())
    for (int other = 0; other < 2; ++other)
      for (int side = 0; side < 2; ++side)
        for (int adjoint = 0; adjoint < 2; ++adjoint) {
          const char *s = side ? "R" : "l", *t = !adjoint ? "n" : z ? "C" : "T", *uplo = other ? "u" : "L";
          GET_Q("mtr");
          CALL(s, uplo, t, &n, &n, a, &ld, y, c, &ld, work, &lwork, &info, (size_t)1, (size_t)1, (size_t)1);
          show(name, c, e * M * N);
          if (!other) {
            GET_Q("mhr");
            CALL(s, t, &n, &n, &first, &last, a, &ld, y, c, &ld, work, &lwork, &info, (size_t)1, (size_t)1);
            show(name, c, e * M * N);
          }
          for (int long_k = 0; long_k < 2; ++long_k) {
            GET_Q("mbr");
            CALL(other ? "p" : "Q", s, t, &n, &n, long_k ? &more : &k, a, &ld, y, c, &ld, work, &lwork, &info, (size_t)1,
                 (size_t)1, (size_t)1);
            show(name, c, e * M * N);
          }
        }
    for (int other = 0; other < 2; ++other) {
      GET_Q("gtr");
      CALL(other ? "u" : "L", &n, a, &ld, y, work, &lwork, &info, (size_t)1);
      show(name, a, e * M * N);
      for (int long_k = 0; long_k < 2; ++long_k) {
        GET_Q("gbr");
        CALL(other ? "p" : "Q", long_k || other ? &n : &m, long_k || !other ? &n : &m, long_k ? &more : &k, a, &ld, y, work,
             &lwork, &info, (size_t)1);
        show(name, a, e * M * (other && !long_k ? M : N));
      }
    }
    GET_Q("ghr");
    CALL(&n, &first, &last, a, &ld, y, work, &lwork, &info);
    show(name, a, e * M * N);
    int pivots[N], rhs = 4;
    GET("%cgetrf_");
    CALL(&m, &n, a, &ld, pivots, &info);
    show(name, a, e * M * N);
    printf("info %d\n", info);
    for (int i = 0; i < n; ++i) printf("pivot %d\n", pivots[i]);
    fill(a, 2 * M * M);
    for (int i = 0; i < e * M; ++i) a[e * M * 5 + i] = 0;  // singular
    CALL(&n, &n, a, &ld, pivots, &info);
    show(name, a, e * M * N);
    printf("info %d\n", info);
    GET("%cgesv_");
    CALL(&n, &rhs, a, &ld, pivots, b, &ld, &info);
    printf("info %d\n", info);
    show(name, b, e * M * rhs);
    for (const char* op = "NtC"; *op; ++op) {  // by these factors
      snprintf(name, sizeof name, "%cgetrs_", p);
      f = get(name);
      CALL(op, &n, &rhs, a, &ld, pivots, c, &ld, &info, (size_t)1);
      printf("info %d\n", info);
      show(name, c, e * M * rhs);
    }
    // Triangles, and inverses, of factors whose diagonal is large, or has a zero.
    for (const char* uplo = "Ul"; *uplo; ++uplo)
      for (int singular = 0; singular < 2; ++singular) {
        memcpy(c, a, sizeof c);
        for (int i = 0; i < n; ++i) c[e * i * (M + 1)] += N;
        if (singular) memset(c + e * 4 * (M + 1), 0, e * sizeof *c);
        for (const char* diag = "nU"; *diag; ++diag) {
          memcpy(t, c, sizeof c);
          snprintf(name, sizeof name, "%ctrtri_", p);
          f = get(name);
          CALL(uplo, diag, &n, t, &ld, &info, (size_t)1, (size_t)1);
          printf("info %d\n", info);
          show(name, t, e * M * N);
          snprintf(name, sizeof name, "%ctrtrs_", p);
          f = get(name);
          for (const char* op = "NtC"; *op; ++op) {
            memcpy(t, b, sizeof b);
            CALL(uplo, op, diag, &n, &rhs, c, &ld, t, &ld, &info, (size_t)1, (size_t)1, (size_t)1);
            printf("info %d\n", info);
            show(name, t, e * M * rhs);
          }
        }
        if (z)  // Cholesky's factors have a real diagonal
          for (int i = 0; i < n; ++i) c[e * i * (M + 1) + 1] = 0;
        memcpy(t, c, sizeof c);
        snprintf(name, sizeof name, "%cpotri_", p);
        f = get(name);
        CALL(uplo, &n, t, &ld, &info, (size_t)1);
        printf("info %d\n", info);
        show(name, t, e * M * N);
        memcpy(t, c, sizeof c);
        snprintf(name, sizeof name, "%clauum_", p);
        f = get(name);
        CALL(uplo, &n, t, &ld, &info, (size_t)1);
        printf("info %d\n", info);
        show(name, t, e * M * N);
        memcpy(t, c, sizeof c);
        snprintf(name, sizeof name, "%cgetri_", p);
        f = get(name);
        CALL(&n, t, &ld, pivots, work, &lwork, &info);
        printf("info %d\n", info);
        show(name, t, e * M * N);
      }
    double norm = 3, condition;
    for (const char* which = "oI"; *which; ++which) {
      snprintf(name, sizeof name, "%cgecon_", p);
      f = get(name);
      CALL(which, &n, a, &ld, &norm, &condition, work, z ? (void*)rwork : iwork, &info, (size_t)1);
      printf("%s %.0f\ninfo %d\n", name, log10(condition), info);  // estimates
    }
    for (int low = 0; low < 2; ++low) {
      const char* uplo = low ? "l" : "U";
      GET("%cposv_");
      for (int i = 0; i < n; ++i) a[e * i * (M + 1)] += N;
      CALL(uplo, &n, &rhs, a, &ld, b, &ld, &info, (size_t)1);
      printf("info %d\n", info);
      show(name, a, e * M * N);
      show(name, b, e * M * rhs);
      snprintf(name, sizeof name, "%cpotrs_", p);
      f = get(name);
      CALL(uplo, &n, &rhs, a, &ld, c, &ld, &info, (size_t)1);
      printf("info %d\n", info);
      show(name, c, e * M * rhs);
      snprintf(name, sizeof name, "%cpocon_", p);
      f = get(name);
      CALL(uplo, &n, a, &ld, &norm, &condition, work, z ? (void*)rwork : iwork, &info, (size_t)1);
      printf("%s %.0f\ninfo %d\n", name, log10(condition), info);  // estimates
      for (const char* which = "1i"; *which; ++which) {
        snprintf(name, sizeof name, "%ctrcon_", p);
        f = get(name);
        CALL(which, uplo, low ? "u" : "N", &n, a, &ld, &condition, work, z ? (void*)rwork : iwork, &info, (size_t)1,
             (size_t)1, (size_t)1);
        printf("%s %.0f\ninfo %d\n", name, log10(condition), info);  // estimates
      }
      for (int type = 1; type <= 3; ++type) {
        memcpy(t, c, sizeof c);
        snprintf(name, sizeof name, z ? "%chegst_" : "%csygst_", p);
        f = get(name);
        CALL(&type, uplo, &n, t, &ld, a, &ld, &info, (size_t)1);
        printf("info %d\n", info);
        show(name, t, e * M * N);
      }
      GET("%cpotrf_");
      a[0] = -1;
      CALL(uplo, &n, a, &ld, &info, (size_t)1);
      printf("info %d\n", info);
    }
    // Eigenvalues, and V diag(w) V^H, in which V's signs and phases do not show.
    for (int low = 0; low < 2; ++low)
      for (const char* job = "nV"; *job; ++job) {
        const char* uplo = low ? "l" : "U";
        GET(z ? "%cheevd_" : "%csyevd_");
        if (z)
          CALL(job, uplo, &n, a, &ld, tau, work, &lwork, rwork, &lrwork, iwork, &liwork, &info, (size_t)1, (size_t)1);
        else
          CALL(job, uplo, &n, a, &ld, tau, work, &lwork, iwork, &liwork, &info, (size_t)1, (size_t)1);
        printf("info %d\n", info);
        show(name, tau, n);
        for (int j = 0; *job == 'V' && j < n; ++j)
          for (int i = 0; i < n; ++i)
            for (int q = 0; q < n; ++q) {
              const double *l = a + e * (i + q * M), *r = a + e * (j + q * M);
              c[e * (i + j * M)] += tau[q] * (l[0] * r[0] + (z ? l[1] * r[1] : 0));
              if (z) c[e * (i + j * M) + 1] += tau[q] * (l[1] * r[0] - l[0] * r[1]);
            }
        show(name, c, e * M * N);
      }
    // The tridiagonal, the Hessenberg and the bidiagonal form, and their reflectors, as every LAPACK has them.
    for (int low = 0; low < 2; ++low) {
      GET(z ? "%chetrd_" : "%csytrd_");
      CALL(low ? "l" : "U", &n, a, &ld, rwork, rwork + N, tau, work, &lwork, &info, (size_t)1);
      printf("info %d\n", info);
      show(name, rwork, n);
      show(name, rwork + N, n - 1);
      show(name, a, e * M * n);
      show(name, tau, e * (n - 1));
    }
    for (int low = 1; low < 3; ++low) {
      const int high = n - low + 1;
      GET("%cgehrd_");
      CALL(&n, &low, &high, a, &ld, tau, work, &lwork, &info);
      printf("info %d\n", info);
      show(name, a, e * M * n);
      show(name, tau, e * (n - 1));
    }
    for (int wide = 0; wide < 2; ++wide) {
      GET("%cgebrd_");
      CALL(wide ? &n : &m, wide ? &m : &n, a, &ld, rwork, rwork + N, tau, tau + 2 * N, work, &lwork, &info);
      printf("info %d\n", info);
      show(name, rwork, n);
      show(name, rwork + N, n - 1);
      show(name, a, e * M * n);
      show(name, tau, e * N);
      show(name, tau + 2 * N, e * N);
    }
    // Singular values, and U diag(s) V^H, in which their signs and phases do not show; by letters of either side.
    for (int wide = 0; wide < 2; ++wide)
      for (int iterated = 0; iterated < 2; ++iterated)
        for (const char* left = "aSOn"; *left; ++left)
          for (const char* right = iterated ? "AsoN" : left; *right; ++right) {
            const int rows = wide ? n : m, cols = wide ? m : n, both = iterated && *left == 'O' && *right == 'o';
            GET(iterated ? "%cgesvd_" : "%cgesdd_");
            fill(t, 2 * M * M);
            if (both) continue;
            if (z && iterated)
              CALL(left, right, &rows, &cols, a, &ld, tau, c, &ld, t, &ld, work, &lwork, rwork, &info, (size_t)1, (size_t)1);
            else if (iterated)
              CALL(left, right, &rows, &cols, a, &ld, tau, c, &ld, t, &ld, work, &lwork, &info, (size_t)1, (size_t)1);
            else if (z)
              CALL(left, &rows, &cols, a, &ld, tau, c, &ld, t, &ld, work, &lwork, rwork, iwork, &info, (size_t)1);
            else
              CALL(left, &rows, &cols, a, &ld, tau, c, &ld, t, &ld, work, &lwork, iwork, &info, (size_t)1);
            printf("info %d\n", info);
            show(name, tau, n);
            const double *u = *left == 'O' && (iterated || !wide) ? a : c;
            const double *v = (iterated ? *right == 'o' : *left == 'O' && wide) ? a : t;
            const int no_sides = *left == 'n' || *right == 'N';
            memset(b, 0, sizeof b);
            for (int j = 0; !no_sides && j < cols; ++j)
              for (int i = 0; i < rows; ++i)
                for (int q = 0; q < n; ++q) {
                  const double *l = u + e * (i + q * M), *r = v + e * (q + j * M);
                  b[e * (i + j * M)] += tau[q] * (l[0] * r[0] - (z ? l[1] * r[1] : 0));
                  if (z) b[e * (i + j * M) + 1] += tau[q] * (l[1] * r[0] + l[0] * r[1]);
                }
            show(name, b, e * M * M);
            if (!iterated) break;
          }
    // Of a general matrix, in whatever order its eigenvalues come: their sums, and of vectors what phases do not change.
    for (const char* left = "nV"; *left; ++left)
      for (const char* right = "vN"; *right; ++right) {
        double sums[4] = {0}, rows[4 * N] = {0};
        double* wi = tau + 2 * N;
        GET("%cgeev_");
        fill(a, 2 * M * M);
        if (z)
          CALL(left, right, &n, a, &ld, tau, b, &ld, c, &ld, work, &lwork, rwork, &info, (size_t)1, (size_t)1);
        else
          CALL(left, right, &n, a, &ld, tau, wi, b, &ld, c, &ld, work, &lwork, &info, (size_t)1, (size_t)1);
        printf("info %d\n", info);
        for (int q = 0; q < n; ++q) {
          const double re = tau[e * q], im = z ? tau[2 * q + 1] : wi[q];
          sums[0] += re, sums[1] += im, sums[2] += re * re - im * im, sums[3] += 2 * re * im;
          for (int side = 0; side < 2; ++side)
            for (int i = 0; i < e * n && (side ? *right == 'v' : *left == 'V'); ++i) {
              const double x = (side ? c : b)[i + e * q * M];
              rows[side * 2 * N + i / e] += x * x * (!z && im != 0 ? 2 : 1);
            }
        }
        show(name, sums, 4);
        show(name, rows, 4 * N);
      }
    // Least squares: solutions, singular values, and what is left of the right-hand sides.
    for (int driver = 0; driver < 3; ++driver)
      for (int wide = 0; wide < 2; ++wide) {
        const int rows = wide ? n : m, cols = wide ? m : n, sides = 3;
        int rank = -1, jpvt[M] = {0};
        double rcond = -1, left[3] = {0};
        GET((driver == 0 ? "%cgelsy_" : driver == 1 ? "%cgelsd_" : "%cgelss_"));
        void* values = driver == 0 ? (void*)jpvt : (void*)tau;
#define BEGIN &rows, &cols, &sides, a, &ld, b, &ld, values, &rcond, &rank, work, &lwork
        if (driver == 1 && z) CALL(BEGIN, rwork, iwork, &info);
        else if (driver == 1) CALL(BEGIN, iwork, &info);
        else if (z) CALL(BEGIN, rwork, &info);
        else CALL(BEGIN, &info);
        printf("info %d %d\n", info, rank);
        if (driver) show(name, tau, n);
        for (int j = 0; j < sides; ++j) {
          show(name, b + e * j * M, e * cols);
          for (int i = e * cols; i < e * rows; ++i) left[j] += b[i + e * j * M] * b[i + e * j * M];
        }
        show(name, left, sides);
      }
    for (int wide = 0; wide < 2; ++wide)
      for (int adjoint = 0; adjoint < 2; ++adjoint) {
        const int rows = wide ? n : m, cols = wide ? m : n, sides = 3, unknowns = adjoint ? rows : cols;
        double left[3] = {0};
        GET("%cgels_");
        CALL(adjoint ? z ? "c" : "T" : "n", &rows, &cols, &sides, a, &ld, b, &ld, work, &lwork, &info, (size_t)1);
        printf("info %d\n", info);
        for (int j = 0; j < sides; ++j) {
          show(name, b + e * j * M, e * unknowns);
          for (int i = e * unknowns; i < e * (rows + cols - unknowns); ++i) left[j] += b[i + e * j * M] * b[i + e * j * M];
        }
        show(name, left, sides);
      }
    // By other drivers: all, and some in another matrix.
    for (int low = 0; low < 2; ++low)
      for (const char* job = "nV"; *job; ++job) {
        const char* uplo = low ? "l" : "U";
        const double none = 0, above = 0.5, most = 400;
        int found = 0, first = 2, last = N / 2, support[2 * N];
        GET(z ? "%cheev_" : "%csyev_");
        if (z)
          CALL(job, uplo, &n, a, &ld, tau, work, &lwork, rwork, &info, (size_t)1, (size_t)1);
        else
          CALL(job, uplo, &n, a, &ld, tau, work, &lwork, &info, (size_t)1, (size_t)1);
        printf("info %d\n", info);
        show(name, tau, n);
        for (const char* range = "aIv"; *range; ++range)
          for (int by_bisection = 0; by_bisection < 2; ++by_bisection) {
            snprintf(name, sizeof name, "%s%s_", z ? "zheev" : "dsyev", by_bisection ? "x" : "r");
            f = get(name);
            fill(a, 2 * M * M);
            if (z && by_bisection)
              CALL(job, range, uplo, &n, a, &ld, &above, &most, &first, &last, &none, &found, tau, c, &ld, work, &lwork, rwork, iwork, support, &info, (size_t)1, (size_t)1, (size_t)1);
            else if (z)
              CALL(job, range, uplo, &n, a, &ld, &above, &most, &first, &last, &none, &found, tau, c, &ld, support, work, &lwork, rwork, &lrwork, iwork, &liwork, &info, (size_t)1, (size_t)1, (size_t)1);
            else if (by_bisection)
              CALL(job, range, uplo, &n, a, &ld, &above, &most, &first, &last, &none, &found, tau, c, &ld, work, &lwork, iwork, support, &info, (size_t)1, (size_t)1, (size_t)1);
            else
              CALL(job, range, uplo, &n, a, &ld, &above, &most, &first, &last, &none, &found, tau, c, &ld, support, work, &lwork, iwork, &liwork, &info, (size_t)1, (size_t)1, (size_t)1);
            printf("info %d\n", info), printf("found %d\n", found);
            show(name, tau, found);
            for (int q = 0; *job == 'V' && q < found; ++q) {  // of each vector what its sign does not change
              double length = 0, weighted = 0;
              for (int i = 0; i < n; ++i) {
                const double* x = c + e * (i + q * M);
                length += x[0] * x[0] + (z ? x[1] * x[1] : 0);
                weighted += (i % 5 + 1) * (x[0] * x[0] + (z ? x[1] * x[1] : 0));
              }
              printf("vector %.7f %.7f\n", length, weighted);
            }
          }
      }
    // Generalized ones of all types, by all drivers: B's factor, and of each vector what its sign does not change.
    for (int type = 1; type <= 3; ++type)
      for (int low = 0; low < 2; ++low)
        for (const char* job = "nV"; *job; ++job)
          for (const char* driver = "d x"; *driver; ++driver) {
            const char* uplo = low ? "l" : "U";
            const double none = 0;
            int found = n, first = 2, last = N / 2, failed[N];
            snprintf(name, sizeof name, "%sgv%.*s_", z ? "zhe" : "dsy", *driver != ' ', driver);
            f = get(name), refill();
            for (int i = 0; i < n; ++i) b[e * i * (M + 1)] += N;
            if (z && *driver == 'd')
              CALL(&type, job, uplo, &n, a, &ld, b, &ld, tau, work, &lwork, rwork, &lrwork, iwork, &liwork, &info, (size_t)1, (size_t)1);
            else if (*driver == 'd')
              CALL(&type, job, uplo, &n, a, &ld, b, &ld, tau, work, &lwork, iwork, &liwork, &info, (size_t)1, (size_t)1);
            else if (z && *driver == ' ')
              CALL(&type, job, uplo, &n, a, &ld, b, &ld, tau, work, &lwork, rwork, &info, (size_t)1, (size_t)1);
            else if (*driver == ' ')
              CALL(&type, job, uplo, &n, a, &ld, b, &ld, tau, work, &lwork, &info, (size_t)1, (size_t)1);
            else if (z)
              CALL(&type, job, "I", uplo, &n, a, &ld, b, &ld, &none, &none, &first, &last, &none, &found, tau, c, &ld, work, &lwork, rwork, iwork, failed, &info, (size_t)1, (size_t)1, (size_t)1);
            else
              CALL(&type, job, "I", uplo, &n, a, &ld, b, &ld, &none, &none, &first, &last, &none, &found, tau, c, &ld, work, &lwork, iwork, failed, &info, (size_t)1, (size_t)1, (size_t)1);
            printf("info %d\n", info), printf("found %d\n", found);
            show(name, tau, found);
            show(name, b, e * M * N);
            for (int q = 0; *job == 'V' && q < found; ++q) {
              double length = 0, weighted = 0;
              for (int i = 0; i < n; ++i) {
                const double* v = (*driver == 'x' ? c : a) + e * (i + q * M);
                length += v[0] * v[0] + (z ? v[1] * v[1] : 0);
                weighted += (i % 5 + 1) * (v[0] * v[0] + (z ? v[1] * v[1] : 0));
              }
              printf("vector %.7f %.7f\n", length, weighted);
            }
          }
    // R, and Q by what follows: T is the implementation's own.
    GET("%cgeqr_");
    CALL(&m, &n, a, &ld, t, &tsize, work, &lwork, &info);
    if (info) printf("info %d\n", info);
    double upper = 0;
    for (int j = 0; j < n; ++j) for (int i = 0; i <= j; ++i) for (int q = 0; q < e; ++q) upper += a[e * (i + j * M) + q] * (i % 7 - 2);
    printf("geqr %.7f\n", upper);
    snprintf(name, sizeof name, "%cgemqr_", p);
    f = get(name);
    CALL("L", z ? "C" : "T", &m, &n, &n, a, &ld, t, &tsize, c, &ld, work, &lwork, &info, (size_t)1, (size_t)1);
    if (info) printf("info %d\n", info);
    show(name, c, e * M * N);
    n = -1;
    info = 0;
    f = get(z ? "zgeqrf_" : "dgeqrf_");
    CALL(&m, &n, a, &ld, tau, work, &lwork, &info);
    printf("info %d\n", info);
    f = get(z ? "zheevd_" : "dsyevd_");
    if (z)
      CALL("N", "U", &n, a, &ld, tau, work, &lwork, rwork, &lrwork, iwork, &liwork, &info, (size_t)1, (size_t)1);
    else
      CALL("N", "U", &n, a, &ld, tau, work, &lwork, iwork, &liwork, &info, (size_t)1, (size_t)1);
    printf("info %d\n", info);
    f = get(z ? "zgesv_" : "dgesv_");
    CALL(&n, &m, a, &ld, tau, b, &ld, &info);
    printf("info %d\n", info);
    n = N;
  }
  return 0;
}
