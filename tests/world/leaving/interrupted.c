/* interrupted N: multiplies, without a handler of any signal, and says when it begins. */
#include "blas.h"
int main(int argc, char** argv) {
  (void)argc;
  const struct product p = product_of(atoi(argv[1])), first = product_of(4);
  multiply(&first);
  puts("begins");
  fflush(stdout);
  for (;;) multiply(&p);
}
