/* cancelled N THREADS: threads that are cancelled at any instruction (PTHREAD_CANCEL_ASYNCHRONOUS) of calls of all
   kinds; each has a cleanup handler that must run, while two other threads multiply.  Then a thread that is cancelled
   where it looks for it.  Prints cancelled, cleaned up, wrong. */
#include <pthread.h>

#include "blas.h"

static int n, cleaned, bad;
static volatile int stop;

static void clean(void* count) { __atomic_fetch_add((int*)count, 1, __ATOMIC_RELAXED); }

struct work {
  int which, asynchronous;
  struct product p;
  double *tau, *work;
};

static void* forever(void* context) {
  struct work* w = context;
  int before;
  pthread_cleanup_push(clean, &cleaned);
  if (w->asynchronous) pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
  for (int i = 0;; ++i) {
    call_any(w->which + i / 8, &w->p, w->tau, w->work);
    if (!w->asynchronous) pthread_testcancel();
  }
  pthread_cleanup_pop(0);
  return NULL;
}

static void* other(void* unused) {
  const struct product p = product_of(160);
  while (!stop) bad += wrong_product(&p);
  return unused;
}

int main(int argc, char** argv) {
  (void)argc;
  n = atoi(argv[1]);
  const int threads = atoi(argv[2]);
  pthread_t others[2];
  for (int i = 0; i < 2; ++i) pthread_create(&others[i], NULL, other, NULL);
  unsigned seed = 5;
  int cancelled = 0;
  for (int i = 0; i < threads; ++i) {
    struct work w = {i, i % 16 != 15, product_of(n), malloc(8 * (size_t)n), malloc(64 * 8 * (size_t)n)};
    pthread_t t;
    pthread_create(&t, NULL, forever, &w);
    usleep(rand_r(&seed) % 3000);
    pthread_cancel(t);
    void* result = NULL;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 40;
    if (pthread_timedjoin_np(t, &result, &until)) return puts("a thread hangs"), 2;
    cancelled += result == PTHREAD_CANCELED;
    free(w.p.a), free(w.p.b), free(w.p.c), free(w.tau), free(w.work);
  }
  stop = 1;
  for (int i = 0; i < 2; ++i) pthread_join(others[i], NULL);
  printf("%d %d %d\n", cancelled, cleaned, bad);
  return bad != 0;
}
