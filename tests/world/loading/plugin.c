// A plugin that multiplies 2 by 3: when it is asked to, and in what of it runs last (DESTRUCTOR, LATE: after what
// __cxa_atexit has, FINI: last of all, ATEXIT, CALLBACK: by a function of the program's).
#include <stdio.h>
#include <stdlib.h>
#include <stddef.h>
extern void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
    const double*, const int*, const double*, double*, const int*, size_t, size_t);
static double product(void) {
  int n = 1;
  double one = 1, zero = 0, a = 2, b = 3, c = 0;
  dgemm_("N", "N", &n, &n, &n, &one, &a, &n, &b, &n, &zero, &c, &n, 1, 1);
  return c;
}
static void say(const char* when, double x) { printf("%s %g\n", when, x); fflush(stdout); }
double run(void) { return product(); }
#ifdef DESTRUCTOR
__attribute__((destructor)) static void last(void) { say("destructor", product()); say("again", product()); }
#endif
#ifdef LATE
__attribute__((destructor(101))) static void late(void) { for (int i = 0; i < 3; ++i) say("late", product()); }
#endif
#ifdef FINI
void at_the_end(void) { say("fini", product()); }
#endif
#ifdef ATEXIT
static void later(void) { say("atexit", product()); }
__attribute__((constructor)) static void first(void) { atexit(later); }
#endif
#ifdef CALLBACK
typedef void Dgemm(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
    const double*, const int*, const double*, double*, const int*, size_t, size_t);
double of_the_program(void);
__attribute__((destructor)) static void last(void) { say("callback", of_the_program()); }
#endif
