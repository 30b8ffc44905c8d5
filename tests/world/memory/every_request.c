// every_request CALLS FIRST STEP: calls of BLAS and LAPACK in a child for each k = FIRST, FIRST + STEP, ..., whose k-th
// request is refused, and in another one in which all are from there on. Prints how many children there were and what
// became of those that did not end well, and the report of a first one of whose requests none is refused. A child's
// report, if BLASLIFT_REPORT names a file, is a file of its own, and so is its trace.
//
// What a child says goes to stderr, which must be a file that can be read and is appended to: it is emptied each time.
//
// CALLS: letters, of a product with (w) a wide result of little work, which goes through the engine's threads, a square
// one (p), smaller ones (l, s), one triangle of a product (t), a matrix times a vector (v), a QR and its Q applied (q),
// systems by LU and by Cholesky, their factors made on the way or before (g), eigenvalues with and without vectors (e).
#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "refusing.h"

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*, size_t, size_t);
void dsymv_(const char*, const int*, const double*, const double*, const int*, const double*, const int*, const double*,
            double*, const int*, size_t);
void dsyrk_(const char*, const char*, const int*, const int*, const double*, const double*, const int*, const double*,
            double*, const int*, size_t, size_t);
void dgeqrf_(const int*, const int*, double*, const int*, double*, double*, const int*, int*);
void dormqr_(const char*, const char*, const int*, const int*, const int*, const double*, const int*, const double*,
             double*, const int*, double*, const int*, int*, size_t, size_t);
void dgetrf_(const int*, const int*, double*, const int*, int*, int*);
void dgetrs_(const char*, const int*, const int*, const double*, const int*, const int*, double*, const int*, int*,
             size_t);
void dsyevd_(const char*, const char*, const int*, double*, const int*, double*, double*, const int*, int*, const int*,
             int*, size_t, size_t);
void dsyevr_(const char*, const char*, const char*, const int*, double*, const int*, const double*, const double*,
             const int*, const int*, const double*, int*, double*, double*, const int*, int*, double*, const int*, int*,
             const int*, int*, size_t, size_t, size_t);
void dgesv_(const int*, const int*, double*, const int*, int*, double*, const int*, int*);
void dpotrf_(const char*, const int*, double*, const int*, int*, size_t);
void dpotrs_(const char*, const int*, const int*, const double*, const int*, double*, const int*, int*, size_t);
void dposv_(const char*, const int*, const int*, double*, const int*, double*, const int*, int*, size_t);

enum { most = 420 * 420 };
static double A[most], B[most], C[most], tau[64], work[65536];
static const double one = 1, minus = -1;
static const int step = 1, lwork = 65536;

static void fill(double* x, int count, int by) {
  for (int i = 0; i < count; ++i) x[i] = i % by - by / 2;
}

/// C := A B - C
static int product(int m, int n, int k) {
  int bad = 0;
  fill(A, m * k, 7), fill(B, k * n, 5), fill(C, m * n, 11);
  refusing_enter();
  dgemm_("N", "N", &m, &n, &k, &one, A, &m, B, &k, &minus, C, &m, 1, 1);
  refusing_leave();
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      double sum = -((i + j * m) % 11 - 5);
      for (int l = 0; l < k; ++l) sum += A[i + l * m] * B[l + j * k];
      bad += sum != C[i + j * m];
    }
  return bad;
}

static int triangle(int n, int k) {
  int bad = 0;
  fill(A, n * k, 7), fill(C, n * n, 11);
  refusing_enter();
  dsyrk_("U", "N", &n, &k, &one, A, &n, &minus, C, &n, 1, 1);
  refusing_leave();
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      double sum = (i + j * n) % 11 - 5;
      if (i <= j) {
        sum = -sum;
        for (int l = 0; l < k; ++l) sum += A[i + l * n] * A[j + l * n];
      }
      bad += sum != C[i + j * n];
    }
  return bad;
}

static int vector(int n) {
  int bad = 0;
  fill(A, n * n, 7), fill(B, n, 5), fill(C, n, 3);
  refusing_enter();
  dsymv_("L", &n, &one, A, &n, B, &step, &minus, C, &step, 1);
  refusing_leave();
  for (int i = 0; i < n; ++i) {
    double sum = -(i % 3 - 1);
    for (int l = 0; l < n; ++l) sum += (i >= l ? A[i + l * n] : A[l + i * n]) * B[l];
    bad += sum != C[i];
  }
  return bad;
}

/// A = Q R, and Q^T A is R above and nothing below.
static int factors(int m, int n) {
  int bad = 0, info = 1;
  fill(A, m * n, 7);
  for (int i = 0; i < n; ++i) A[i + i * m] += 50;
  memcpy(C, A, sizeof(double) * (size_t)(m * n));
  refusing_enter();
  dgeqrf_(&m, &n, A, &m, tau, work, &lwork, &info);
  refusing_leave();
  bad += info != 0;
  info = 1;
  refusing_enter();
  dormqr_("L", "T", &m, &n, &n, A, &m, tau, C, &m, work, &lwork, &info, 1, 1);
  refusing_leave();
  bad += info != 0;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) bad += !(fabs(C[i + j * m] - (i <= j ? A[i + j * m] : 0)) < 1e-9);
  return bad;
}

/// A and B := A X, of whose X B's place is to hold; A is symmetric, and definite by its diagonal.
static void make_system(int n, int nrhs) {
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) A[i + j * n] = (i + j) % 5 - 2 + (i == j ? 3 * n : 0);
  for (int j = 0; j < nrhs; ++j)
    for (int i = 0; i < n; ++i) {
      B[i + j * n] = 0;
      for (int k = 0; k < n; ++k) B[i + j * n] += A[i + k * n] * ((k + 3 * j) % 7 - 3);
    }
}
static int wrong_solutions(int n, int nrhs, int info) {
  int bad = info != 0;
  for (int j = 0; j < nrhs; ++j)
    for (int i = 0; i < n; ++i) bad += !(fabs(B[i + j * n] - ((i + 3 * j) % 7 - 3)) < 1e-9);
  return bad;
}
/// Of the second difference: 2 - 2 cos(k pi / (n + 1)).
static int eigenvalues(const char* job) {
  enum { n = 30 };
  static int iwork[3 + 5 * n];
  static double w[n];
  const int order = n, lwork = 1 + 6 * n + 2 * n * n, liwork = 3 + 5 * n;
  int bad = 0, info = 1;
  for (int i = 0; i < n * n; ++i) A[i] = i % (n + 1) == 0 ? 2 : i % (n + 1) == 1 ? -1 : 0;
  refusing_enter();
  dsyevd_(job, "L", &order, A, &order, w, work, &lwork, iwork, &liwork, &info, 1, 1);
  refusing_leave();
  for (int k = 0; k < n; ++k) bad += !(fabs(w[k] - 2 + 2 * cos((k + 1) * acos(-1.0) / (n + 1))) < 1e-12);
  double length = 0;
  for (int i = 0; i < n; ++i) length += A[i] * A[i];
  return bad + (info != 0) + (*job == 'V' && !(fabs(length - 1) < 1e-12));
}

/// The same, the second half of them, vectors apart.
static int some_eigenvalues(void) {
  enum { n = 30, first = 16, count = n - first + 1 };
  static int iwork[10 * n], support[2 * n];
  static double w[n];
  const int order = n, low = first, lwork = 26 * n, liwork = 10 * n;
  const double none = 0;
  int bad = 0, info = 1, m = 0;
  for (int i = 0; i < n * n; ++i) A[i] = i % (n + 1) == 0 ? 2 : i % (n + 1) == 1 ? -1 : 0;
  refusing_enter();
  dsyevr_("V", "I", "L", &order, A, &order, 0, 0, &low, &order, &none, &m, w, C, &order, support, work, &lwork, iwork,
          &liwork, &info, 1, 1, 1);
  refusing_leave();
  for (int k = 0; k < count; ++k) bad += !(fabs(w[k] - 2 + 2 * cos((k + first) * acos(-1.0) / (n + 1))) < 1e-12);
  double length = 0;
  for (int i = 0; i < n; ++i) length += C[i] * C[i];
  return bad + (info != 0) + (m != count) + !(fabs(length - 1) < 1e-12);
}

static int systems(int n, int nrhs) {
  int bad = 0, info = 1, ipiv[64];
  make_system(n, nrhs);
  refusing_enter();
  dgesv_(&n, &nrhs, A, &n, ipiv, B, &n, &info);
  refusing_leave();
  bad += wrong_solutions(n, nrhs, info);
  make_system(n, nrhs);
  info = 1;
  refusing_enter();
  dgetrf_(&n, &n, A, &n, ipiv, &info);
  refusing_leave();
  bad += info != 0;
  info = 1;
  refusing_enter();
  dgetrs_("T", &n, &nrhs, A, &n, ipiv, B, &n, &info, 1);
  refusing_leave();
  bad += wrong_solutions(n, nrhs, info);
  make_system(n, nrhs);
  info = 1;
  refusing_enter();
  dposv_("U", &n, &nrhs, A, &n, B, &n, &info, 1);
  refusing_leave();
  bad += wrong_solutions(n, nrhs, info);
  make_system(n, nrhs);
  info = 1;
  refusing_enter();
  dpotrf_("L", &n, A, &n, &info, 1);
  refusing_leave();
  bad += info != 0;
  info = 1;
  refusing_enter();
  dpotrs_("L", &n, &nrhs, A, &n, B, &n, &info, 1);
  refusing_leave();
  return bad + wrong_solutions(n, nrhs, info);
}

static int calls(const char* which) {
  int bad = 0;
  for (; *which; ++which) switch (*which) {
      case 'p': bad += product(64, 64, 64); break;
      case 'w': bad += product(420, 420, 2); break;
      case 'l': bad += product(16, 16, 16); break;
      case 's': bad += product(9, 9, 9); break;
      case 't': bad += triangle(48, 20); break;
      case 'v': bad += vector(150); break;
      case 'q': bad += factors(300, 12); break;
      case 'e': bad += eigenvalues("V") + eigenvalues("N") + some_eigenvalues(); break;
      case 'g': bad += systems(40, 6); break;
    }
  return bad;
}

static void show(int signal) {
  void* frames[60];
  backtrace_symbols_fd(frames, backtrace(frames, 60), 2);
  const struct sigaction standard = {.sa_handler = SIG_DFL};
  sigaction(signal, &standard, NULL);
  raise(signal);
}

/// What one child's refusals were, and where it puts its report.
static void child(const char* which, long from, long to, long* requests) {
  char report[64];
  const char* to_report = getenv("BLASLIFT_REPORT");
  snprintf(report, sizeof report, "report.%d", getpid());
  if (to_report && *to_report == '/') setenv("BLASLIFT_REPORT", report, 1);
  sigset_t none;
  sigemptyset(&none), sigprocmask(SIG_SETMASK, &none, NULL);
  const struct sigaction shown = {.sa_handler = show};
  void* frame[1];
  backtrace(frame, 1);  // loads what it needs
  sigaction(SIGABRT, &shown, NULL);
  sigaction(SIGSEGV, &shown, NULL);
  refusing_begin(from, to);
  const int bad = calls(which);
  if (bad) printf("%d elements are wrong\n", bad), fflush(stdout);
  *requests = refusing_requests();
  refusing_enter();
  exit(bad != 0);
}

/// What is in the file, at most `size` bytes.
static void contents(int fd, char* text, size_t size) {
  const ssize_t got = pread(fd, text, size - 1, 0);
  text[got > 0 ? got : 0] = 0;
}

static int runs, failures, incomplete;
static long* requests;  // of the last child

static void one_run(const char* which, long from, long to) {
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(2, 1);
    child(which, from, to, requests);
  }
  ++runs;
  int status = 0, hung = 0;
  sigset_t ends;
  sigemptyset(&ends), sigaddset(&ends, SIGCHLD);
  struct timespec left = {60, 0};
  while (waitpid(pid, &status, WNOHANG) == 0)
    if (sigtimedwait(&ends, NULL, &left) < 0 && errno == EAGAIN) hung = 1, kill(pid, SIGKILL), left.tv_sec = 1;
  char text[16384], path[64], report[16384] = "";
  contents(2, text, sizeof text);
  if (ftruncate(2, 0) != 0) exit(2);
  const char* why = NULL;
  if (hung)
    why = "hung";
  else if (status != 0)
    why = WIFEXITED(status) ? "wrong" : strsignal(WTERMSIG(status));
  else if (*text && strncmp(text, "blaslift: ", 10) != 0)
    why = "said something else";
  const char* to_report = getenv("BLASLIFT_REPORT");
  if (to_report && *to_report == '/') {
    snprintf(path, sizeof path, "report.%d", pid);
    const int fd = open(path, O_RDONLY);
    if (fd >= 0) contents(fd, report, sizeof report), close(fd), unlink(path);
    const size_t length = strlen(report);
    const int whole = length > 2 && report[0] == '{' && !strcmp(report + length - 2, "}\n");
    if (!whole && !why) {
      ++incomplete;
      if (!strstr(text, "report")) why = "no report, and no word";
      if (length) why = "half a report";
    }
  }
  if (getenv("BLASLIFT_TRACE") && !why) {
    snprintf(path, sizeof path, "%s/%d.0", getenv("BLASLIFT_TRACE"), pid);
    if (access(path, F_OK) != 0 && ++incomplete && !strstr(text, "trace")) why = "no trace, and no word";
    unlink(path);
  }
  if (from == 0) printf("%s", report);
  if (why && ++failures) {
    printf("request %ld%s refused: %s\n%s\n", from, to == from ? "" : " and all after it", why, text);
    fflush(stdout);
  }
}

int main(int argc, char** argv) {
  struct stat said;
  if (argc != 4 || !refusing_begin || fstat(2, &said) != 0 || !S_ISREG(said.st_mode) ||
      (fcntl(2, F_GETFL) & (O_ACCMODE | O_APPEND)) != (O_RDWR | O_APPEND))
    return 2;
  const char* which = argv[1];
  const long from = atol(argv[2]), by = atol(argv[3]);
  requests = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  sigset_t ends;
  sigemptyset(&ends), sigaddset(&ends, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ends, NULL);
  one_run(which, 0, 0);
  const long all = *requests + 30;  // those of the exit, too; threads make a difference of some
  for (long k = from; k <= all && (runs > 1 || !failures); k += by) {
    one_run(which, k, k);
    one_run(which, k, LONG_MAX);
  }
  printf("%d runs, of %ld requests, %d failed, %d incomplete\n", runs, all - 30, failures, incomplete);
  return failures != 0;
}
