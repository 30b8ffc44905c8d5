/* A program for the command's tests: multiplies, then ends in the way it is told.
 *
 *   program exit STATUS | _exit STATUS | kill SIGNAL | tree | last | forks | exec PROGRAM | wait FILE | others |
 *           large COUNT
 *
 * tree: itself, a child that leaves by _exit, and one that kills itself, one product each.
 * large: so many products that are large enough for a GPU, and nothing else.
 * last: a child's product, then its own.  forks: a child that does nothing, then a product.
 * exec: a product, then the program PROGRAM "exit 0" in its place.
 * others: three dspmv_, two of them with an error that its xerbla_ leaves by a jump.
 * wait: writes FILE, then waits for SIGTERM or SIGUSR1 and exits with 40 or 41. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                   const int*, const double*, const int*, const double*, double*, const int*, size_t, size_t);

static void product(int n) {
  enum { most = 300 };
  static double A[most * most], B[most * most], C[most * most];
  const double one = 1, zero = 0;
  const int size = n, step = n > 24 ? 37 : 1;
  for (int i = 0; i < n * n; ++i) A[i] = i % 7, B[i] = i % 5, C[i] = 0.0 / 0.0;
  dgemm_("N", "N", &size, &size, &size, &one, A, &size, B, &size, &zero, C, &size, 1, 1);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; j += step) {
      double sum = 0; /* small integers: exact in any order */
      for (int p = 0; p < n; ++p) sum += A[i + p * n] * B[p + j * n];
      if (C[i + j * n] != sum) {
        fprintf(stderr, "wrong product\n");
        _exit(99);
      }
    }
}

extern void dspmv_(const char*, const int*, const double*, const double*, const double*, const int*, const double*,
                   double*, const int*, size_t);

static jmp_buf back;
void xerbla_(const char* name, const int* info, size_t length) {
  (void)length;
  if (!strncmp(name, "DSPMV", 5) && *info == 2) longjmp(back, 1);
  _exit(97);
}

static int others(void) {
  double A[3] = {2, 1, 4}, x[2] = {2, 5}, y[2] = {1, 1}; /* A is packed */
  const double one = 1;
  const int n = 2, step = 1, wrong = -1;
  for (volatile int i = 0; i < 2; ++i)
    if (!setjmp(back)) {
      dspmv_("L", &wrong, &one, A, x, &step, &one, y, &step, 1);
      return 96; /* did not jump */
    }
  dspmv_("L", &n, &one, A, x, &step, &one, y, &step, 1);
  return y[0] == 10 && y[1] == 23 ? 0 : 95;
}

static void caught(int signal) { _exit(signal == SIGTERM ? 40 : 41); }

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? atoi(argv[2]) : 0;
  const int last = !strcmp(how, "last"), forks = !strcmp(how, "forks");
  if ((last || forks) && fork() == 0) {
    if (last) product(24);
    _exit(0);
  }
  while (wait(NULL) > 0) {
  }
  if (!strcmp(how, "large")) {
    for (int i = 0; i < number; ++i) product(300);
    return 0;
  }
  product(24);
  if (last || forks) return 0;
  if (!strcmp(how, "exit")) exit(number);
  if (!strcmp(how, "_exit")) _exit(number);
  if (!strcmp(how, "kill")) raise(number);
  if (!strcmp(how, "others")) return others();
  if (!strcmp(how, "exec")) execl(argv[2], argv[2], "exit", "0", (char*)NULL);
  if (!strcmp(how, "tree")) {
    if (fork() == 0) {
      product(24);
      _exit(0);
    }
    if (fork() == 0) {
      product(24);
      raise(SIGKILL);
    }
    while (wait(NULL) > 0) {
    }
    return 0;
  }
  if (!strcmp(how, "wait")) {
    signal(SIGTERM, caught);
    signal(SIGUSR1, caught);
    FILE* ready = fopen(argv[2], "w");
    if (ready) fclose(ready);
    for (;;) pause();
  }
  return 98;
}
