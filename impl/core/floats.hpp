// The floating-point environment that a call is made in, as far as a device has none.
#pragma once
#include <emmintrin.h>

#include <cstdint>

namespace blaslift {

/// The control word of the x87, in which a library underneath may compute, too.
inline std::uint16_t x87_control() {
  std::uint16_t word;
  asm volatile("fnstcw %0" : "=m"(word));
  return word;
}

/// Whether this thread's arithmetic rounds otherwise than to nearest.
inline bool rounds_otherwise() {
  constexpr unsigned x87_rounding = 0x0c00;
  return (_mm_getcsr() & _MM_ROUND_MASK) != _MM_ROUND_NEAREST || (x87_control() & x87_rounding) != 0;
}

/// While it lives, exceptions of this thread's arithmetic raise no signals: what we compute besides a call, or of a
/// copy that is not yet known to be its operand, is no fault of the program's.
class Untrapped {
 public:
  Untrapped() : kept_(_mm_getcsr()) {
    if (masked()) _mm_setcsr(kept_ | _MM_MASK_MASK);
  }
  /// With the flags that there were: those of ours would be of exceptions that have raised no signal.
  ~Untrapped() {
    if (masked()) _mm_setcsr(kept_);
  }
  Untrapped(const Untrapped&) = delete;
  Untrapped& operator=(const Untrapped&) = delete;

  /// Whether the program has traps on, in either unit.
  bool traps() const {
    constexpr unsigned x87_masks = 0x3f;
    return masked() || (x87_control() & x87_masks) != x87_masks;
  }

 private:
  bool masked() const { return (kept_ & _MM_MASK_MASK) != _MM_MASK_MASK; }

  const unsigned kept_;
};

/// While it lives, this thread's arithmetic rounds to nearest and flushes nothing: for what is defined only so.
class ToNearest {
 public:
  ToNearest() : kept_(_mm_getcsr()) { _mm_setcsr(kept_ & ~controls); }
  ~ToNearest() { _mm_setcsr((kept_ & controls) | (_mm_getcsr() & ~controls)); }
  ToNearest(const ToNearest&) = delete;
  ToNearest& operator=(const ToNearest&) = delete;

 private:
  static constexpr unsigned denormals_are_zero = 0x40,
                            controls = _MM_ROUND_MASK | _MM_FLUSH_ZERO_MASK | denormals_are_zero;

  const unsigned kept_;
};

}  // namespace blaslift
