// The library underneath as the device's products need it, for a call of whatever routine.
#pragma once
#include "compat/site.hpp"
#include "kernels/backend.hpp"

namespace blaslift {

/// The gemm that the library's routine would call itself: products of the host backend, and those that the library
/// computes where the device has failed.
class GemmBeside {
 public:
  /// @param site  of the call: a gemm, or something made of products
  explicit GemmBeside(const Site& site) : site_(site) {}
  GemmBeside(const GemmBeside&) = delete;
  GemmBeside& operator=(const GemmBeside&) = delete;

  /// Finds it.  As long as that has not been called, the first product does.
  const Site& gemm();

  /// Valid as long as this.  Products of which only a triangle is computed are the routine's own: it is a syrk or herk.
  UnderlyingGemm underlying();

 private:
  const Site& site_;
  const Site* gemm_ = nullptr;
};

}  // namespace blaslift
