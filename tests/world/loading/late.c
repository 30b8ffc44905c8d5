// Opens what it is given, in order, and multiplies by the last one's dgemm_.
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
int main(int argc, char** argv) {
  void* library = 0;
  for (int i = 1; i < argc; ++i)
    if (!(library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL))) return puts(dlerror()), 3;
  void (*dgemm)() = (void (*)())dlsym(library, "dgemm_");
  int n = 1;
  double one = 1, zero = 0, a = 2, b = 3, c = 0;
  dgemm("N", "N", &n, &n, &n, &one, &a, &n, &b, &n, &zero, &c, &n, (size_t)1, (size_t)1);
  printf("%g\n", c);
  return 0;
}
