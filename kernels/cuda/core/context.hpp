// Living in a process that may use CUDA itself.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <string>

#include "kernels/backend.hpp"

namespace blaslift {

/// The device's primary context, shared with the program, and how to notice that it is gone.
///
/// The program may reset the device between two calls of ours: our streams and handles are dangling then, and using
/// them may crash rather than fail.  A context is numbered for the life of the process, so the number is compared
/// before every call; once it differs, this process never touches the device again.
class Context {
 public:
  /// Takes device `ordinal`'s primary context and makes it current on this thread.  Returns an error sentence or "".
  std::string open(int ordinal);

  /// Makes the context current on this thread, remembering what was.  False: it is not the one that was opened.
  bool enter(CUcontext& before) const;

  /// Makes `before` current again.
  void leave(CUcontext before) const;

 private:
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  unsigned long long id_ = 0;
};

/// What is current on this thread, without making anything current; null also when the driver cannot be asked.
CUcontext current_context();

/// Makes `context` current on this thread; null makes none current.
void make_current(CUcontext context);

/// Where the program's memory is, as the driver knows it (Backend::place).  What the program registered in pieces of
/// less than 2 MiB inside a large range of its own may go unseen.
MemoryKind memory_kind_of(const void* memory, std::size_t bytes, bool everywhere);

}  // namespace blaslift
