/* faults N ROUNDS: a handler of SIGSEGV that jumps out of calls whose result may not be written, on the caller's own
   thread as long as N is small.  Afterwards calls are served as before, and other threads' too.  Prints jumps, in this
   thread, wrong. */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "blas.h"

static sigjmp_buf back;
static void handler(int signal) { siglongjmp(back, signal); }

int main(int argc, char** argv) {
  (void)argc;
  const int n = atoi(argv[1]), rounds = atoi(argv[2]);
  const size_t bytes = 8 * (size_t)n * (size_t)n;
  struct product p = product_of(n);
  p.c = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  sigaction(SIGSEGV, &action, NULL);
  const pid_t me = gettid();
  volatile int jumps = 0, here = 0, wrong = 0;
  for (volatile int r = 0; r < rounds; r = r + 1) {
    mprotect(p.c, bytes, PROT_READ);
    if (sigsetjmp(back, 1) == 0)
      multiply(&p);
    else
      ++jumps, here += gettid() == me;
    mprotect(p.c, bytes, PROT_READ | PROT_WRITE);
    wrong += wrong_product(&p);
  }
  printf("%d %d %d\n", jumps, here, wrong);
  return wrong;
}
