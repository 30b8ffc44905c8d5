// Arithmetic of our own on a thread of the program's.
#pragma once
#include <cfenv>

namespace blaslift {

/// The program's floating-point traps and flags are for its own arithmetic.
class QuietFloats {
 public:
  QuietFloats() { std::feholdexcept(&kept_); }
  ~QuietFloats() { std::fesetenv(&kept_); }
  QuietFloats(const QuietFloats&) = delete;
  QuietFloats& operator=(const QuietFloats&) = delete;

 private:
  std::fenv_t kept_;
};

}  // namespace blaslift
