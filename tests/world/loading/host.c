// Opens each plugin in turn, and closes it, so many rounds: `host ROUNDS [call] [leave] [hold LIBRARY]... PLUGIN...`.  Prints what it is
// told, how much memory is resident on the way, and whether plugins came to lie where others had been.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

double of_the_program(void) {
  typedef void Dgemm(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
      const double*, const int*, const double*, double*, const int*, size_t, size_t);
  Dgemm* dgemm = (Dgemm*)dlsym(RTLD_DEFAULT, "dgemm_");
  if (!dgemm) return 6;
  int n = 1;
  double one = 1, zero = 0, a = 2, b = 3, c = 0;
  dgemm("N", "N", &n, &n, &n, &one, &a, &n, &b, &n, &zero, &c, &n, 1, 1);
  return c;
}

static long resident(void) {
  long pages = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%*d %ld", &pages) != 1) exit(4);
  fclose(f);
  return pages * sysconf(_SC_PAGESIZE) / 1024;
}

int main(int argc, char** argv) {
  const int rounds = atoi(argv[1]);
  int call = 0, leave = 0, first = 2, reused = 0;
  for (;; ++first)
    if (!strcmp(argv[first], "call")) call = 1;
    else if (!strcmp(argv[first], "leave")) leave = 1;
    else if (!strcmp(argv[first], "hold")) {
      if (!dlopen(argv[++first], RTLD_NOW | RTLD_LOCAL)) return puts(dlerror()), 3;
    } else break;
  double sum = 0;
  void* before = 0;
  for (int i = 0; i < rounds; ++i) {
    for (int p = first; p < argc; ++p) {
      void* plugin = dlopen(argv[p], RTLD_NOW | RTLD_LOCAL);
      if (!plugin) return puts(dlerror()), 3;
      double (*run)(void) = (double (*)(void))dlsym(plugin, "run");
      reused += before == (void*)run;
      before = (void*)run;
      if (call) sum += run();
      if (rounds <= 8 && call) printf("%g\n", run()), fflush(stdout);
      if (!leave) dlclose(plugin);
    }
    if (i == rounds / 4) fprintf(stderr, "resident %ld\n", resident());
  }
  fprintf(stderr, "resident %ld\nreused %d\n", resident(), reused);
  printf("sum %g\ndone\n", sum);
  return 0;
}
