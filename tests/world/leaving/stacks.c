/* stacks KIB ROUTINE: the process's very first call, on a thread with a stack of so many KiB. */
#include <pthread.h>

#include "blas.h"

static int which, bad;
static struct product p;
static double *tau, *work;

static void* first_call(void* unused) {
  call_any(which, &p, tau, work);
  if (which == 0) bad = !is_right(&p);
  return unused;
}

int main(int argc, char** argv) {
  (void)argc;
  which = atoi(argv[2]);
  p = product_of(100);
  tau = malloc(8 * 100);
  work = malloc(8 * 6400);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, (size_t)atoi(argv[1]) << 10)) return 77;
  pthread_t thread;
  if (pthread_create(&thread, &attributes, first_call, NULL)) return 77;
  pthread_join(thread, NULL);
  return bad;
}
