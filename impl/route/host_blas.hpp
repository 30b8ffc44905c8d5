// The host BLAS as a call of whatever routine needs it: for the host backend's products, and for what is left of a call
// where the device has failed.
#pragma once
#include <array>
#include <cstdint>

#include "compat/site.hpp"
#include "kernels/backend.hpp"

namespace blaslift {

/// Routines of the library that the call's own would use.
class HostBlas {
 public:
  /// @param site  of the call: of any routine
  explicit HostBlas(const Site& site) : site_(site) {}
  HostBlas(const HostBlas&) = delete;
  HostBlas& operator=(const HostBlas&) = delete;

  /// What operations are in BLAS.
  enum class Kind : std::uint8_t { gemm, syrk, herk, syr2k, her2k };
  static constexpr int kinds = 5;
  static Kind kind_of(const Gemm& product);

  /// Finds the routine of this kind and the call's element type; the call's own site only where that is the routine.
  /// Operations do, as they come: no exception may leave this, since a module calls it.
  const Site& routine(Kind kind);

  /// Valid as long as this.  A product of which only a triangle is computed is a syrk or herk, a syr2k or
  /// her2k, or some gemms, whatever the call is.
  UnderlyingBlas operations();

 private:
  const Site& site_;
  std::array<const Site*, kinds> found_{};  ///< by kind
};

}  // namespace blaslift
