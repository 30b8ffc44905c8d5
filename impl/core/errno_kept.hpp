#pragma once
#include <cerrno>

namespace blaslift {

/// errno is the caller's: BLAS does not touch it, and neither do we around it.
class ErrnoKept {
 public:
  ErrnoKept() : errno_(errno) {}
  ~ErrnoKept() { errno = errno_; }
  ErrnoKept(const ErrnoKept&) = delete;
  ErrnoKept& operator=(const ErrnoKept&) = delete;

 private:
  int errno_;
};

}  // namespace blaslift
