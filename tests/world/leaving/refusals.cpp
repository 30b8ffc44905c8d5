// refusals: an xerbla of the program's that does not return, by an exception and by a jump, and handlers that throw;
// afterwards calls are served as before.  Prints refused, thrown, wrong.
#include <sys/time.h>
#include <csetjmp>
#include <csignal>
#include <stdexcept>

#include "blas.h"

namespace {
std::jmp_buf back;
bool by_jump = false;
volatile std::sig_atomic_t armed = 0;

struct Thrown {};

void throwing(int) {
  if (armed) throw Thrown();
}
}  // namespace

extern "C" void xerbla_(const char*, const int*, std::size_t) {
  if (by_jump) std::longjmp(back, 1);
  throw std::invalid_argument("xerbla");
}

int main() {
  const product good = product_of(100);
  int refused = 0, thrown = 0, wrong = wrong_product(&good);
  for (volatile int i = 0; i < 40; i = i + 1) {
    const int n = 20, none = -1, ld = 1;
    const double one = 1;
    by_jump = i % 2 == 1;
    try {
      if (setjmp(back) == 0)
        dgemm_("N", "N", &n, &n, i % 4 < 2 ? &none : &n, &one, good.a, &ld, good.b, &n, &one, good.c, &n, 1, 1);
      else
        ++refused;
    } catch (const std::invalid_argument&) {
      ++refused;
    }
    wrong += wrong_product(&good);
  }
  // Built with -fnon-call-exceptions: the interrupted instruction may be any of ours, or of the library's.
  struct sigaction action {};
  action.sa_handler = throwing;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGALRM, &action, nullptr);
  const product long_one = product_of(250);
  // The C library says that setitimer throws nothing, so a handler that throws on its way back, which a busy machine
  // brings about, would end the program.  Nothing is known of what a pointer leads to.
  int (*volatile start)(int, const itimerval*, itimerval*) = setitimer;
  for (int i = 0; i < 12; ++i) {
    const itimerval soon{{0, 0}, {0, 300 + 400 * i}};
    try {
      armed = 1;
      start(ITIMER_REAL, &soon, nullptr);
      for (;;) multiply(&long_one);
    } catch (const Thrown&) {
      armed = 0;
      ++thrown;
    }
    wrong += wrong_product(&good) + wrong_product(&long_one);
  }
  std::printf("%d %d %d\n", refused, thrown, wrong);
  return wrong != 0;
}
