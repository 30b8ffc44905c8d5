// Plans of batches of products of the same sizes.
//
// The matrices of a batch are one matrix in memory (BatchForm), of which a group of products takes some columns, or
// some rows.  Groups do not know each other: some move in and one moves home while the device computes another, as one
// operation.
#pragma once
#include "impl/core/args.hpp"
#include "impl/plan/plan.hpp"

namespace blaslift {

/// A batch without its matrices.
struct BatchShape {
  Op transa, transb;
  index m, n, k, count;
  BatchForm a, b, c;
  bool reads_c;           ///< beta is not zero
  bool systolic = false;  ///< by arrays, which have to be able to (systolic::can_multiply())
};

/// Matrices that lie apart are side by side in a plan (Scattered).
template <class T>
BatchShape shape_of(const GemmBatchArgs<T>& x) {
  const auto form = [](const BatchLayout& of) {
    return of.form == BatchForm::apart ? BatchForm::side_by_side : of.form;
  };
  return {x.transa, x.transb, x.m, x.n, x.k, x.count, form(x.a()), form(x.b()), form(x.c()), x.beta != T(0)};
}

/// How a batch is cut up; no products in a group: it does not fit.
struct BatchCut {
  index width = 0;  ///< products of a group
  index slots = 0;  ///< for groups that are on the device at the same time

  index groups(const BatchShape& shape) const { return (shape.count + width - 1) / width; }
};

/// What has device memory of its own, and whether the host could compute what a failure leaves: then a group that is
/// home is final.
struct BatchHeld {
  bool a = false, b = false, c = false;
  bool finishable = true;
};

/// Depends on nothing else, so the same call is cut the same way every time.
/// @param memory  bytes on the device
/// @param there   what is in the program's own device memory
BatchCut batch_cut(const BatchShape& shape, Precision precision, std::size_t memory, const BatchHeld& there = {});

/// Operands A, B and C, as one matrix each.
Plan plan_batch(const BatchShape& shape, Precision precision, const BatchCut& cut, const BatchHeld& held = {});

}  // namespace blaslift
