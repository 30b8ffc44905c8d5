/* handlers MODE N MILLISECONDS [STACK]: a handler of SIGALRM multiplies (30 x 30), also as the process's very first
   call, while the program multiplies and (MODE allocates) allocates, or (MODE sleeps) makes no call of its own, or
   (MODE idle) only allocates.  With STACK the handler runs on one of so many KiB.  Prints calls, calls of the handler,
   wrong. */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>

#include "blas.h"

static double ha[900], hb[900], hc[900];
static volatile long handled, bad;

static void handler(int signal) {
  (void)signal;
  const int before = errno;
  const struct product p = {30, ha, hb, hc};
  bad += wrong_product(&p);
  ++handled;
  errno = before;
}

int main(int argc, char** argv) {
  const int allocates = !strcmp(argv[1], "allocates") || !strcmp(argv[1], "idle");
  const int multiplies = !strcmp(argv[1], "allocates") || !strcmp(argv[1], "multiplies");
  for (int i = 0; i < 900; ++i) ha[i] = 1, hb[i] = 2;
  const struct product p = product_of(atoi(argv[2]));
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  if (argc > 4) {
    const size_t bytes = (size_t)atoi(argv[4]) << 10;
    const stack_t stack = {malloc(bytes), 0, bytes};
    sigaltstack(&stack, NULL);
    action.sa_flags = SA_ONSTACK;
  }
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval every = {{0, 300}, {0, 300}};
  setitimer(ITIMER_REAL, &every, NULL);
  const double end = seconds() + 1e-3 * atof(argv[3]);
  long calls = 0;
  while (seconds() < end) {
    if (multiplies) {
      errno = 77;
      const int wrong = wrong_product(&p);
      bad += wrong || errno != 77;
      ++calls;
    }
    for (int i = 0; allocates && i < 20000; ++i) {
      void* memory = malloc(100 + (size_t)(i % 3000));
      *(volatile char*)memory = 1;
      free(memory);
    }
  }
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  printf("%ld %ld %ld\n", calls, handled, bad);
  return bad != 0;
}
