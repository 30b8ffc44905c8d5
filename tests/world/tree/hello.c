#include <stdio.h>
int main(void) { return puts("helper ran") < 0; }
