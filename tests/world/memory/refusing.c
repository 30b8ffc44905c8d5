// Preloaded: refuses the k-th request for memory or for a thread that is made while a call of BLAS runs, or by a thread
// that is not the program's, or during exit: whoever makes it there, blaslift or a library on its behalf.
#define _GNU_SOURCE
#include "refusing.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static long requests, first, last;
static int armed;
static __thread int inside __attribute__((tls_model("initial-exec")));   // 0: in the program's own code
static __thread int program __attribute__((tls_model("initial-exec")));  // the thread is the program's
static long where;                                                       // whose backtrace is to be shown
static int only_threads;                                                 // memory is neither counted nor refused

static int refused(int thread) {
  if (only_threads && !thread) return 0;
  if (!__atomic_load_n(&armed, __ATOMIC_ACQUIRE) || (program && !inside)) return 0;
  const long now = __atomic_add_fetch(&requests, 1, __ATOMIC_RELAXED);
  if (where && now == first) {
    void* frames[40];
    where = 0;
    backtrace_symbols_fd(frames, backtrace(frames, 40), 2);
  }
  return first && now >= first && now <= last;
}

void refusing_begin(long from, long to) {
  first = from;
  last = to;
  program = 1;
  only_threads = getenv("REFUSING_THREADS") != NULL;
  if (getenv("REFUSING_SHOW")) {
    void* frame[1];
    backtrace(frame, 1);  // loads what it needs
    where = 1;
  }
  __atomic_store_n(&armed, 1, __ATOMIC_RELEASE);
}
void refusing_enter(void) { inside = 1; }
void refusing_leave(void) { inside = 0; }
long refusing_requests(void) { return requests; }

void* malloc(size_t bytes) {
  if (refused(0)) return errno = ENOMEM, NULL;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  if (refused(0)) return errno = ENOMEM, NULL;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  if (refused(0)) return errno = ENOMEM, NULL;
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  if (refused(0)) return errno = ENOMEM, NULL;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  if (refused(0)) return ENOMEM;
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}
void* mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  static void* (*real)(void*, size_t, int, int, int, off_t);
  if (!real) real = (void* (*)(void*, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
  if (refused(0)) return errno = ENOMEM, MAP_FAILED;
  return real(at, bytes, protection, flags, fd, offset);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  static int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (!real)
    real = (int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))dlsym(RTLD_NEXT, "pthread_create");
  if (refused(1)) return EAGAIN;
  return real(thread, attributes, start, argument);
}
