// Functions for objects.cpp: in several versions, in an old one alone, by a resolver, hidden, and data.
#include <stdlib.h>

int old_version(void) { return 1; }
int new_version(void) { return 2; }
int older_version(void) { return 3; }
__asm__(
    ".symver older_version, versioned@FIRST\n"
    ".symver old_version, versioned@SECOND\n"
    ".symver new_version, versioned@@THIRD\n");

int retired_version(void) { return 4; }
__asm__(".symver retired_version, retired@FIRST");

static int resolved(void) { return 5; }
static int (*resolve(void))(void) { return resolved; }
int chosen(void) __attribute__((ifunc("resolve")));

__attribute__((weak)) int weak(void) { return 6; }

// No .type, as in hand-written assembly.
int untyped(void);
__asm__(".text\n.globl untyped\nuntyped: movl $7, %eax\nret\n");

int data = 8;

__attribute__((weak)) int undefined_here(void);
int calls_undefined(void) { return undefined_here ? undefined_here() : rand(); }
