// A library where a wrongly read path would lead.
#include <stdio.h>
__attribute__((constructor)) static void speak(void) { puts("a stranger is loaded"); }
