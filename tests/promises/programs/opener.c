// opener PLUGIN ...: a program without BLAS that opens threads.cpp as a plugin, RTLD_LOCAL, and runs it with the rest.
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** arguments) {
  void* plugin = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*run)(int, char**) = plugin ? (int (*)(int, char**))dlsym(plugin, "threads_main") : NULL;
  if (!run) return fprintf(stderr, "%s\n", dlerror()), 2;
  return run(count - 1, arguments + 1);
}
