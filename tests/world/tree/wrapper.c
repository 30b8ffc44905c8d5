// A program with a function of that name, which goes on to the next one.
#include <dlfcn.h>
void dgemm_(void) { ((void (*)(void))dlsym(RTLD_NEXT, "dgemm_"))(); }
int main(int argc, char** argv) {
  if (argc > 1000) dgemm_();
  return 0;
}
