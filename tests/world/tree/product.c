// product [FOLDER [LIMIT]]: goes to the folder, leaves itself LIMIT megabytes of address space ("files": no further
// descriptor), multiplies, and prints a checksum.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
extern void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
                   const double*, const int*, const double*, double*, const int*, size_t, size_t);
extern void dtrmv_(const char*, const char*, const char*, const int*, const double*, const int*, double*, const int*,
                   size_t, size_t, size_t);

static void leave_address_space(long megabytes) {
  long pages = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%ld", &pages) != 1) exit(9);
  fclose(f);
  const struct rlimit limit = {pages * 4096ul + (megabytes << 20), pages * 4096ul + (megabytes << 20)};
  setrlimit(RLIMIT_AS, &limit);
}

int main(int argc, char** argv) {
  enum { n = 64 };
  const int size = n, unit = 1;
  const double one = 1, zero = 0;
  static double a[n * n], b[n * n], c[n * n], y[n];
  double sum = 0;
  if (argc > 1 && chdir(argv[1]) != 0) return 8;
  for (int i = 0; i < n * n; ++i) a[i] = i % 7, b[i] = i % 5;
  if (argc > 2 && !strcmp(argv[2], "files")) {
    while (open("/dev/null", O_RDONLY) >= 0) {
    }
  } else if (argc > 2) {
    leave_address_space(atol(argv[2]));
  }
  dgemm_("N", "N", &size, &size, &size, &one, a, &size, b, &size, &zero, c, &size, 1, 1);
  memcpy(y, b, sizeof y);
  dtrmv_("L", "N", "N", &size, a, &size, y, &unit, 1, 1, 1);  // not intercepted
  for (int i = 0; i < n * n; ++i) sum += c[i];
  for (int i = 0; i < n; ++i) sum += y[i];
  printf("sum %.1f\n", sum);
  return 0;
}
