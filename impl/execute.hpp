// Executes a gemm schedule on a backend's lane, and finishes on the library underneath whatever the lane could not.
#pragma once
#include <vector>

#include "impl/guard.hpp"
#include "impl/schedule.hpp"
#include "kernels/backend.hpp"

namespace blaslift {

/// Where a call's operands are.
struct Placement {
  struct Operand {
    void* device = nullptr;  ///< its own memory for the whole of the stored operand, if the schedule says so
    index ld = 0;            ///< there
    bool direct = false;     ///< the device reaches it where the program has it
  };
  void* lease = nullptr;  ///< for the schedule's buffers, cut.bytes() large
  Operand a{}, b{}, c{};
};

struct Outcome {
  Status status = Status::done;  ///< the first failure, if any
  /// By step: a download whose piece is in the caller's C, and final.  Empty: nothing has been asked of the device.
  std::vector<bool> committed{};
  double bytes_in = 0, bytes_out = 0;
  TransferTimes transfers{};
  /// Of a surveyed schedule.  Unless sound, the result is not to be used: what depends on that has not been
  /// overwritten.
  Verdict verdict = Verdict::sound;

  bool untouched() const { return bytes_out == 0; }
};

/// Runs the schedule on the lane, each step as soon as what it depends on allows, until its end or the first failure;
/// nothing is under way when it returns.  `args.C` receives committed pieces only; A and B are read only.
/// @param keep_going  asked between steps; false stops as a failure would, with Status::lost (the process is exiting).
template <class T>
Outcome execute(const GemmSchedule& schedule, const GemmArgs<T>& args, const Placement& placement, Lane& lane,
                bool (*keep_going)());

/// Computes with the library underneath each piece of C that is not committed.
template <class T>
void finish(const GemmSchedule& schedule, const Outcome& outcome, const GemmArgs<T>& args,
            const UnderlyingGemm& underlying);

/// The product as the layers below take it.
template <class T>
Gemm as_gemm(const GemmArgs<T>& a) {
  Gemm product{precision_of<T>, a.transa, a.transb, a.m,     a.n, a.k,  &a.alpha, a.A,
               a.lda,           a.B,      a.ldb,    &a.beta, a.C, a.ldc};
  product.part = a.part;
  return product;
}

}  // namespace blaslift
