// Uses BLAS if there is one: by a weak reference, or -DBY_NAME.
#ifdef BY_NAME
#include <dlfcn.h>
int main(void) { return dlsym(RTLD_DEFAULT, "dgemm_") ? 0 : 3; }
#else
extern void dgemm_(void) __attribute__((weak));
int main(void) { return &dgemm_ ? 0 : 3; }
#endif
