// streams WHAT FILE: calls BLAS with stderr in a state, writes "mine" and a line to what it opens, and prints how many
// elements are wrong and how often SIGPIPE came.
//
// WHAT: "first" opens FILE before any call, "between" closes stderr and opens FILE after the first call, so that the
// file has its number, "before" does so before the first; "none" opens nothing.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*, size_t, size_t);

enum { n = 120 };
static double A[n * n], B[n * n], C[n * n];
static volatile int pipes;
static void count(int signal) { (void)signal, ++pipes; }

static int product(void) {
  const int size = n;
  const double one = 1, zero = 0;
  int bad = 0;
  for (int i = 0; i < n * n; ++i) A[i] = i % 7 - 3, B[i] = i % 5 - 2;
  dgemm_("N", "N", &size, &size, &size, &one, A, &size, B, &size, &zero, C, &size, 1, 1);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int l = 0; l < n; ++l) sum += A[i + l * n] * B[l + j * n];
      bad += sum != C[i + j * n];
    }
  return bad;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  int file = -1, bad = 0;
  if (getenv("COUNT_PIPES")) signal(SIGPIPE, count);
  if (!strcmp(argv[1], "before")) close(2);
  if (!strcmp(argv[1], "before") || !strcmp(argv[1], "first")) file = open(argv[2], O_RDWR | O_CREAT, 0600);
  bad += product();
  if (!strcmp(argv[1], "between")) close(2), file = open(argv[2], O_RDWR | O_CREAT, 0600);
  if (strcmp(argv[1], "none") && file != 2) return 3;
  if (file >= 0 && write(file, "mine\n", 5) != 5) return 4;
  bad += product();
  printf("%d wrong, %d pipes\n", bad, pipes);
  return bad != 0;
}
