/* children HOW COUNT THREADS: children of fork, _Fork, the system calls fork and clone, made by a process whose device
   has copies of a matrix, with THREADS other threads that multiply.  Each child changes the matrix and multiplies, by
   small and large calls, and a grandchild does once more.  `vfork`: a child that shares the memory and multiplies.
   Prints ended well, hung, wrong. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "blas.h"

enum { m = 600, k = 600, n = 20 };
static double *A, *B, *C;
static volatile int stop;

static int wrong(void) {
  const double one = 1, zero = 0;
  const int rows = m, inner = k, columns = n;
  memset(C, 0xff, 8 * m * n);
  dgemm_("N", "N", &rows, &columns, &inner, &one, A, &rows, B, &inner, &zero, C, &rows, 1, 1);
  int bad = 0;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += A[i + l * m] * B[l + j * k];
      bad += sum != C[i + j * m];
    }
  return bad != 0;
}

static void* other(void* unused) {
  const struct product p = product_of(60);
  while (!stop)
    if (usleep(200), wrong_product(&p)) abort();
  return unused;
}

static pid_t make_child(const char* how) {
  if (!strcmp(how, "fork")) return fork();
  if (!strcmp(how, "_Fork")) return _Fork();
  if (!strcmp(how, "syscall")) return (pid_t)syscall(SYS_fork);
  return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static int child(const char* how, int generation) {
  /* Memory of its own for what it computes with: malloc is not for children of _Fork. */
  static double small[3][24 * 24];
  const struct product p = {24, small[0], small[1], small[2]};
  for (int i = 0; i < 24 * 24; ++i) small[0][i] = 1, small[1][i] = 2;
  A[5] += 90;
  A[m * k / 2] = 7 + generation;
  int bad = wrong_product(&p) + wrong();
  if (generation == 0) {
    const pid_t grandchild = make_child(how);
    if (grandchild == 0) _exit(child(how, 1));
    int status = 0;
    while (waitpid(grandchild, &status, 0) < 0) {
    }
    bad += status != 0;
  }
  A[9] = 3;
  return bad + wrong();
}

int main(int argc, char** argv) {
  (void)argc;
  const char* how = argv[1];
  const int count = atoi(argv[2]), threads = atoi(argv[3]);
  A = aligned_alloc(4096, 8 * m * k), B = aligned_alloc(4096, 8 * k * n), C = aligned_alloc(4096, 8 * m * n);
  for (int i = 0; i < m * k; ++i) A[i] = i % 7 - 3;
  for (int i = 0; i < k * n; ++i) B[i] = i % 5 - 2;
  volatile int bad = 0, ok = 0, hung = 0; /* of a vfork, too */
  for (int i = 0; i < 6; ++i) bad = bad + wrong();
  pthread_t others[8];
  for (int i = 0; i < threads; ++i) pthread_create(&others[i], NULL, other, NULL);
  for (int i = 0; i < count; ++i) {
    usleep(200 * (unsigned)(i % 7));
    if (!strcmp(how, "vfork")) {
      const pid_t sharing = vfork();
      if (sharing == 0) _exit(wrong());
      int status = 0;
      waitpid(sharing, &status, 0);
      *(status == 0 ? &ok : &bad) += 1;
      bad = bad + wrong();
      continue;
    }
    const pid_t pid = make_child(how);
    if (pid == 0) _exit(child(how, 0) != 0);
    int status = 0, waited = 0;
    while (waitpid(pid, &status, WNOHANG) == 0 && ++waited < 20000) usleep(1000);
    if (waited >= 20000) {
      hung = 1;
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      break;
    }
    *(status == 0 ? &ok : &bad) += 1;
  }
  bad = bad + wrong();
  stop = 1;
  for (int i = 0; i < threads; ++i) pthread_join(others[i], NULL);
  printf("%d %d %d\n", ok, hung, bad);
  return hung || bad;
}
