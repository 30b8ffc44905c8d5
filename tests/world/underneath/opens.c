// Opens a plugin and has it run.
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) return puts(dlerror()), 3;
  ((void (*)(void))dlsym(plugin, "run"))();
  return 0;
}
