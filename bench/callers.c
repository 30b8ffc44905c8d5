// Threads that call dgemm at once, each with operands of its own:
//   callers THREADS N CALLS     one line of JSON
// One element of A changes before each call; each thread checks some elements of its last result.
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
            const double* A, const int* lda, const double* B, const int* ldb, const double* beta, double* C,
            const int* ldc, size_t, size_t);

static int n, calls;
static pthread_barrier_t together;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/// Whether some elements of C are A * B.
static int is_right(const double* A, const double* B, const double* C) {
  for (int at = 0; at < 16; ++at) {
    const size_t i = (size_t)(at * 7919) % (size_t)n, j = (size_t)(at * 104729) % (size_t)n;
    double sum = 0, size = 0;
    for (size_t p = 0; p < (size_t)n; ++p) {
      const double term = A[i + p * (size_t)n] * B[p + j * (size_t)n];
      sum += term;
      size += fabs(term);
    }
    if (!(fabs(C[i + j * (size_t)n] - sum) <= 1e-13 * size)) return 0;
  }
  return 1;
}

static void* call(void* argument) {
  const size_t elements = (size_t)n * (size_t)n;
  double *A = malloc(8 * elements), *B = malloc(8 * elements), *C = malloc(8 * elements);
  const double one = 1, zero = 0;
  unsigned long state = (unsigned long)(size_t)argument + 1;
  for (size_t i = 0; i < elements; ++i) {
    A[i] = (double)((state = state * 6364136223846793005u + 1442695040888963407u) >> 40) * 0x1p-24 - 0.5;
    B[i] = (double)((state = state * 6364136223846793005u + 1442695040888963407u) >> 40) * 0x1p-24 - 0.5;
    C[i] = NAN;
  }
  pthread_barrier_wait(&together);
  for (int i = 0; i < calls; ++i) {
    A[(size_t)i % elements] += 1;
    dgemm_("N", "N", &n, &n, &n, &one, A, &n, B, &n, &zero, C, &n, 1, 1);
  }
  pthread_barrier_wait(&together);
  const int right = is_right(A, B, C);
  free(A);
  free(B);
  free(C);
  return (void*)(size_t)!right;
}

int main(int count, char** words) {
  const int threads = count > 1 ? atoi(words[1]) : 0;
  n = count > 2 ? atoi(words[2]) : 0;
  calls = count > 3 ? atoi(words[3]) : 0;
  if (threads < 1 || threads > 1024 || n < 1 || calls < 1) {
    fprintf(stderr, "usage: callers THREADS N CALLS\n");
    return 2;
  }
  pthread_t thread[1024];
  pthread_barrier_init(&together, NULL, (unsigned)threads + 1);
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&thread[i], NULL, call, (void*)(size_t)i) != 0) return 3;
  pthread_barrier_wait(&together);
  const double start = now();
  pthread_barrier_wait(&together);
  const double seconds = now() - start;
  int wrong = 0;
  for (int i = 0; i < threads; ++i) {
    void* result;
    pthread_join(thread[i], &result);
    wrong += result != NULL;
  }
  printf("{\"threads\": %d, \"n\": %d, \"calls\": %d, \"seconds\": %.6f, \"wrong\": %d}\n", threads, n, calls, seconds, wrong);
  return wrong != 0;
}
