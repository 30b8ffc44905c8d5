/* QR in double precision, column by column, which makes the mistake that WRONG_BLAS names:
 *
 *   none
 *   geqrf_forgets_row    applies reflectors to all rows but the last
 *   geqrf_bends_q        tau is off by 1e-9
 *   geqrf_behind_tau     writes behind tau
 *   geqrf_behind_work    and behind its workspace
 *   geqrf_clears_gap     zeros the rows between m and lda
 *   geqrf_chance         adds up in another order every other time
 *   ormqr_forgets_trans  applies Q for its transpose
 *   ormqr_leaves_ones    on the diagonal of A
 *   orgqr_reads_r        on the diagonal, for 1 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int mistake(const char* name) {
  const char* wanted = getenv("WRONG_BLAS");
  return wanted && !strcmp(wanted, name);
}

/* C (m x n) := H C for H = I - tau v v', with v's first element given. */
static void reflect(int m, int n, double first, const double* v, double tau, double* C, int ldc, int backwards) {
  for (int j = 0; j < n; ++j) {
    double* c = C + j * (size_t)ldc;
    double sum = 0;
    for (int q = 0; q < m; ++q) {
      const int i = backwards ? m - 1 - q : q;
      sum += (i == 0 ? first : v[i]) * c[i];
    }
    for (int i = 0; i < m; ++i) c[i] -= tau * sum * (i == 0 ? first : v[i]);
  }
}

static int only_asks(int size, double* work, const int* lwork, int* info) {
  *info = 0;
  if (*lwork == -1) work[0] = size;
  return *lwork == -1;
}

void dgeqrf_(const int* m, const int* n, double* A, const int* lda, double* tau, double* work, const int* lwork,
             int* info) {
  static int calls;
  if (only_asks(*n, work, lwork, info)) return;
  const int k = *m < *n ? *m : *n, backwards = mistake("geqrf_chance") && calls++ % 2;
  for (int j = 0; j < k; ++j) {
    double* a = A + j + j * (size_t)*lda;
    const int rows = *m - j, last = mistake("geqrf_forgets_row") && rows > 1;
    double sum = 0;
    for (int i = 0; i < rows; ++i) sum += a[i] * a[i];
    const double beta = a[0] > 0 ? -sqrt(sum) : sqrt(sum);
    tau[j] = rows > 1 ? (beta - a[0]) / beta : 0;
    for (int i = 1; i < rows; ++i) a[i] /= a[0] - beta;
    if (rows > 1) a[0] = beta;
    reflect(rows - last, *n - j - 1, 1, a, tau[j], a + *lda, *lda, backwards);
    if (mistake("geqrf_bends_q")) tau[j] *= 1 + 1e-9;
  }
  if (mistake("geqrf_behind_tau")) tau[k] = 0;
  if (mistake("geqrf_behind_work")) work[*lwork] = 0;
  if (mistake("geqrf_clears_gap"))
    for (int j = 0; j + 1 < *n; ++j)
      for (int i = *m; i < *lda; ++i) A[i + j * (size_t)*lda] = 0;
}

void dormqr_(const char* side, const char* trans, const int* m, const int* n, const int* k, double* A, const int* lda,
             const double* tau, double* C, const int* ldc, double* work, const int* lwork, int* info) {
  if (only_asks(*side == 'L' ? *n : *m, work, lwork, info)) return;
  const int forwards = (*trans == 'T') != mistake("ormqr_forgets_trans");
  for (int q = 0; q < *k; ++q) { /* of the left side only */
    const int j = forwards ? q : *k - 1 - q;
    reflect(*m - j, *n, 1, A + j + j * (size_t)*lda, tau[j], C + j, *ldc, 0);
    if (mistake("ormqr_leaves_ones")) A[j + j * (size_t)*lda] = 1;
  }
}

void dorgqr_(const int* m, const int* n, const int* k, double* A, const int* lda, const double* tau, double* work,
             const int* lwork, int* info) {
  if (only_asks(*n, work, lwork, info)) return;
  double* V = malloc(sizeof(double) * (size_t)*m * (size_t)*k);
  for (int j = 0; j < *k; ++j)
    for (int i = 0; i < *m; ++i) V[i + j * (size_t)*m] = A[i + j * (size_t)*lda];
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i < *m; ++i) A[i + j * (size_t)*lda] = i == j;
  for (int j = *k - 1; j >= 0; --j) {
    const double* v = V + j + j * (size_t)*m;
    reflect(*m - j, *n, mistake("orgqr_reads_r") ? v[0] : 1, v, tau[j], A + j, *lda, 0);
  }
  free(V);
}
