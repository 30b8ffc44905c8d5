/* jumps HOW N ROUNDS: leaves calls from a handler of SIGALRM, at all times from the first instruction on, while another
   thread multiplies; prints how many calls were made and left.  HOW: jump (siglongjmp), exit (pthread_exit, of a thread
   for each round), profile (jumps from SIGPROF), solves (jumps from least squares, in which LAPACK calls other routines).
   Every later product and solution must be right. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "blas.h"

static sigjmp_buf back;
static volatile sig_atomic_t armed, left;
static volatile int stop;
static long others, calls;
static int by_exit, n, bad;

static void handler(int signal) {
  (void)signal;
  if (!armed) return;
  armed = 0;
  ++left;
  if (by_exit) pthread_exit((void*)1);
  siglongjmp(back, 1);
}

static void call(const struct product* p, const struct system* s) {
  if (s->a)
    solve(s);
  else
    multiply(p);
}

static void* other(void* unused) {
  const struct product p = product_of(150);
  while (!stop) bad += wrong_product(&p), ++others;
  return unused;
}

static void set_timer(int which, long microseconds) {
  const struct itimerval t = {{0, 0}, {microseconds / 1000000, microseconds % 1000000}};
  setitimer(which, &t, NULL);
}

static void* one_call(void* product) {
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
  for (;;) {
    multiply(product);
    ++calls;
    usleep(100);
  }
  return NULL;
}

int main(int argc, char** argv) {
  (void)argc;
  const int profile = !strcmp(argv[1], "profile"), timer = profile ? ITIMER_PROF : ITIMER_REAL;
  by_exit = !strcmp(argv[1], "exit");
  n = atoi(argv[2]);
  const int rounds = atoi(argv[3]);
  const struct product p = product_of(n);
  const struct system none = {0, 0, NULL, NULL, NULL, NULL}, s = strcmp(argv[1], "solves") ? none : system_of(2 * n, n);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  sigaction(profile ? SIGPROF : SIGALRM, &action, NULL);
  sigset_t both, before;
  sigemptyset(&both);
  sigaddset(&both, SIGALRM);
  sigaddset(&both, SIGPROF);
  pthread_sigmask(SIG_BLOCK, &both, &before);
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  if (!by_exit) pthread_sigmask(SIG_SETMASK, &before, NULL);
  unsigned seed = 7;
  int later = 0;
  for (int r = 0; r < rounds; ++r) {
    const long after = 50 + (long)(rand_r(&seed) % 9000) * (r % 3 == 0 ? 1 : 3) * (s.a ? 5 : 1);
    if (by_exit) {
      pthread_t leaver;
      armed = 1;
      pthread_create(&leaver, NULL, one_call, (void*)&p);
      set_timer(timer, after);
      pthread_join(leaver, NULL);
    } else if (sigsetjmp(back, 1) == 0) {
      armed = 1;
      set_timer(timer, after);
      call(&p, &s);
      ++calls;
      armed = 0;
      set_timer(timer, 0);
    }
    bad += s.a ? wrong_solution(&s) : wrong_product(&p);
    ++later;
  }
  stop = 1;
  pthread_join(thread, NULL);
  printf("%ld %d %d %ld %d\n", calls, (int)left, later, others, bad);
  return bad != 0;
}
