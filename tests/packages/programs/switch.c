/* A switch between BLAS libraries as FlexiBLAS is one, in small: it exports the names of BLAS and LAPACK itself, opens
 * the library that FLEXIBLAS names, privately, and goes on to what that library's own handle has under each name.
 *
 * names.inc, which the test writes, has a line for each name: JUMP(name, index) or CALL(name, index).  What jumps
 * leaves no trace of the switch: the call seems to come from the program.  What calls (compile with -O0) is itself the
 * caller. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static const char* const names[] = {
#define JUMP(name, index) #name,
#define CALL(name, index) #name,
#include "names.inc"
#undef JUMP
#undef CALL
};
enum { count = sizeof names / sizeof *names };
__attribute__((visibility("hidden"))) void* switch_table[count];

#define JUMP(name, index)                                                                                   \
  __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ": jmp *switch_table + 8 * " #index \
          "(%rip)\n.previous\n");
#define CALL(name, index)                                                                                       \
  void* name(void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h, void* i, void* j, void* k, \
             void* l, void* m, void* n, void* o) {                                                              \
    void* (*to)(void*, ...) = (void* (*)(void*, ...))switch_table[index];                                       \
    return to(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);                                                     \
  }
#include "names.inc"

static void missing(void) {
  fputs("switch: the backend has no such function\n", stderr);
  abort();
}

__attribute__((constructor)) static void choose(void) {
  const char* path = getenv("FLEXIBLAS");
  if (!path) fputs("switch: FLEXIBLAS names no library\n", stderr), _Exit(80);
  /* FlexiBLAS opens a backend once to ask how it wants to be opened, closes it, and opens it for good. */
  void* handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) fprintf(stderr, "switch: %s\n", dlerror()), _Exit(81);
  dlclose(handle);
  handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  for (int i = 0; i < count; ++i) {
    switch_table[i] = dlsym(handle, names[i]);
    if (!switch_table[i]) {
      fprintf(stderr, "switch: no %s in %s\n", names[i], path);
      switch_table[i] = (void*)missing;
    }
  }
}
