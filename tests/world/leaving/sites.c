/* sites PLUGIN CHILDREN HOW: children forked while another thread opens and closes plugins and makes their first calls
   (HOW calls), or only opens and closes them (HOW opens); each child's call is the first one of its site.  Prints hung,
   wrong. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "blas.h"

static const char* file;
static int calls;
static volatile int stop;
static double a[16], b[16];

static void* loads(void* unused) {
  double c[16];
  while (!stop) {
    void* plugin = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) abort();
    if (calls) ((void (*)(double*, double*, double*))dlsym(plugin, "work"))(a, b, c);
    dlclose(plugin);
  }
  return unused;
}

int main(int argc, char** argv) {
  (void)argc;
  file = argv[1];
  const int children = atoi(argv[2]);
  calls = !strcmp(argv[3], "calls");
  for (int i = 0; i < 16; ++i) a[i] = 1, b[i] = 2;
  pthread_t thread;
  pthread_create(&thread, NULL, loads, NULL);
  int hung = 0, wrong = 0;
  for (int r = 0; r < children && !hung; ++r) {
    usleep(1000);
    const pid_t pid = fork();
    if (pid == 0) {
      double c[16];
      const struct product p = {4, a, b, c};
      _exit(wrong_product(&p));
    }
    int status = 0, waited = 0;
    while (waitpid(pid, &status, WNOHANG) == 0 && ++waited < 20000) usleep(1000);
    if (waited >= 20000) {
      ++hung;
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
    } else {
      wrong += status != 0;
    }
  }
  stop = 1;
  pthread_join(thread, NULL);
  printf("%d %d\n", hung, wrong);
  return hung || wrong;
}
