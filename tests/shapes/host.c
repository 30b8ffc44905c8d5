// A program that opens plugins RTLD_LOCAL, as Python does, and runs each one's blas_checks; before each, and at the
// end, its own if it has any.  Arguments: paths of plugins; a "-" before a path unloads that plugin afterwards.
#include <dlfcn.h>
#include <stdio.h>

extern int blas_checks(void) __attribute__((weak));

int main(int count, char** arguments) {
  int failed = 0;
  for (int i = 1; i < count; ++i) {
    const int unload = *arguments[i] == '-';
    const char* path = arguments[i] + unload;
    if (blas_checks) failed |= blas_checks();
    void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*checks)(void) = plugin ? (int (*)(void))dlsym(plugin, "blas_checks") : NULL;
    if (!checks) {
      printf("%s\n", dlerror());
      return 1;
    }
    if (unload) printf("at %p\n", (void*)checks);
    failed |= checks();
    if (unload && (dlclose(plugin) || dlopen(path, RTLD_NOW | RTLD_NOLOAD))) {
      printf("%s is still loaded\n", path);
      failed = 1;
    }
  }
  if (blas_checks) failed |= blas_checks();
  return failed;
}
