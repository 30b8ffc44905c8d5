/* A program whose calls the tests of `blaslift report` know.
 *
 *   recorded mix | threads | tree | exec | kill | nested | many COUNT
 *
 * mix: 3 products of n = 24, too small to be timed; 2 of n = 160; dsymv of n = 900; a refused product.
 * threads: 4 threads, each with 3 products of n = 160.
 * tree: mix; a child that makes 2 products of n = 160 and leaves by _exit, and one that does so and kills itself.
 * exec: 2 products of n = 160, then this program with "mix" in its place.
 * kill: mix, then SIGKILL.
 * nested: dgeqrf of n = 320, inside which LAPACK multiplies.
 * many: COUNT products of n = 80. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                   const int*, const double*, const int*, const double*, double*, const int*, size_t, size_t);
extern void dsymv_(const char*, const int*, const double*, const double*, const int*, const double*, const int*,
                   const double*, double*, const int*, size_t);
extern void dgeqrf_(const int*, const int*, double*, const int*, double*, double*, const int*, int*);

static int refused = 0;
void xerbla_(const char* name, const int* info, size_t length) {
  (void)name, (void)length;
  refused = *info;
}

static void check(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "wrong: %s\n", what);
  _exit(99);
}

static void product(int n) {
  double *A = malloc(sizeof(double) * n * n), *C = malloc(sizeof(double) * n * n);
  const double one = 1, zero = 0;
  for (int i = 0; i < n * n; ++i) A[i] = 1, C[i] = NAN;
  dgemm_("N", "T", &n, &n, &n, &one, A, &n, A, &n, &zero, C, &n, 1, 1);
  for (int i = 0; i < n * n; ++i) check(C[i] == n, "product");
  free(A);
  free(C);
}

static void products(int count, int n) {
  for (int i = 0; i < count; ++i) product(n);
}

static void* three_products(void* nothing) {
  products(3, 160);
  return nothing;
}

static void mix(void) {
  enum { n = 900 };
  products(3, 24);
  products(2, 160);
  double *A = malloc(sizeof(double) * n * n), x[n], y[n];
  const double one = 1, zero = 0;
  const int size = n, step = 1, wrong = -1;
  for (int i = 0; i < n * n; ++i) A[i] = 1;
  for (int i = 0; i < n; ++i) x[i] = 1, y[i] = NAN;
  dsymv_("L", &size, &one, A, &size, x, &step, &zero, y, &step, 1);
  for (int i = 0; i < n; ++i) check(y[i] == n, "dsymv");
  dgemm_("N", "N", &wrong, &size, &size, &one, A, &size, A, &size, &zero, A, &size, 1, 1);
  check(refused != 0, "xerbla");
  free(A);
}

static void nested(void) {
  enum { n = 320 };
  double *A = malloc(sizeof(double) * n * n), tau[n], work[64 * n];
  const int size = n, lwork = 64 * n;
  int info = 1;
  for (int i = 0; i < n * n; ++i) A[i] = i % 7 + (i % n == i / n ? n : 0);
  dgeqrf_(&size, &size, A, &size, tau, work, &lwork, &info);
  check(info == 0, "dgeqrf");
  free(A);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  if (!strcmp(how, "threads")) {
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, three_products, NULL);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  } else if (!strcmp(how, "exec")) {
    products(2, 160);
    execl(argv[0], argv[0], "mix", (char*)NULL);
    return 98;
  } else if (!strcmp(how, "nested")) {
    nested();
  } else if (!strcmp(how, "many")) {
    products(atoi(argv[2]), 80);
  } else {
    mix();
  }
  if (!strcmp(how, "kill")) raise(SIGKILL);
  if (!strcmp(how, "tree")) {
    for (int i = 0; i < 2; ++i)
      if (fork() == 0) {
        products(2, 160);
        if (i == 0) _exit(0);
        raise(SIGKILL);
      }
    while (wait(NULL) > 0) {
    }
  }
  return 7;
}
