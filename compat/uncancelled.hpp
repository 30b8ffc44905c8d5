// BLAS is no place where a thread is cancelled, and unwinding would stop at the edge of this library.
#pragma once
#include <pthread.h>

namespace blaslift {

/// pthread_cancel waits until this has gone.
class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace blaslift
