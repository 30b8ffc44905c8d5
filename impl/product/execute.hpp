// Executes a gemm schedule on a backend's lane, and finishes on the library underneath whatever the lane could not.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "impl/core/outcome.hpp"
#include "impl/product/guard.hpp"
#include "impl/product/product_plan.hpp"
#include "kernels/backend.hpp"

namespace blaslift {

/// Where a call's operands are.
struct Placement {
  void* lease = nullptr;  ///< for the schedule's buffers, cut.bytes() large
  DeviceOperand a{}, b{}, c{};
  std::vector<bool> staying{};  ///< by the schedule's steps, or empty: see staying()
};

struct ProductOutcome : Outcome {
  /// By step: a download whose piece is in the caller's C, and final.  Empty: nothing has been asked of the device.
  std::vector<bool> committed{};
  /// Of a surveyed schedule, as soon as it is known.  Unless sound, the schedule has not been gone on with, and nothing
  /// of the program's has been overwritten.
  Verdict verdict = Verdict::sound;
  /// What was gone on with instead; `committed` is by its steps.
  std::shared_ptr<const GemmSchedule> instead{};

  /// By residues: products, and those of them whose operands their guard has not accepted.
  int by_residues = 0, declined = 0;

  bool untouched() const { return bytes_out == 0; }
};

/// A schedule by levels whose operands are refused is given up as soon as that is certain.  Then the product is
/// computed without levels in the same device memory, from what has arrived of A and B by then, or will without being
/// asked for once more.
struct Refusal {
  /// The schedule for that, with the same residents, or null: then the caller has to see to it.  Its scratch areas have
  /// the memory behind the first schedule's buffers.  May throw.
  std::function<std::shared_ptr<const GemmSchedule>()> plan{};
  Seen seen{};  ///< what is known before
};

/// Runs the schedule on the lane, each step as soon as what it depends on allows, until its end or the first failure;
/// nothing is under way when it returns.  `args.C` receives committed pieces only; A and B are read only.
/// @param keep_going  asked between steps; false stops as a failure would, with Status::lost (the process is exiting).
template <class T>
ProductOutcome execute(const GemmSchedule& schedule, const GemmArgs<T>& args, const Placement& placement, Lane& lane,
                       bool (*keep_going)(), const Refusal& refusal = {});

/// Computes with the library underneath each piece of C that is not committed.
template <class T>
void finish(const GemmSchedule& schedule, const ProductOutcome& outcome, const GemmArgs<T>& args,
            const UnderlyingBlas& underlying);

}  // namespace blaslift
