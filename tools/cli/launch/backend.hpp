// The device, opened by the command itself.
#pragma once
#include <string>

#include "compat/site.hpp"
#include "impl/core/options.hpp"
#include "impl/route/host_blas.hpp"
#include "kernels/backend.hpp"

namespace blaslift::cli {

struct Opened {
  Backend* backend = nullptr;
  std::string why;  ///< if there is none
};

/// The backend that the library would use with these options.
Opened open_backend(const Options& options);

/// For what cannot do without: throws std::runtime_error if there is none.
Backend& backend_to_tune(const Options& options);

/// What the host backend computes with, and the CPU's rate is measured of: the gemms, and the products of triangles,
/// that a program linked with libblas.so.3 would reach.
class BlasUnderneath {
 public:
  /// Throws std::runtime_error if there are none.
  explicit BlasUnderneath(const Options& options);

  /// As long as this lives.
  UnderlyingBlas products() const;
  /// Its path.
  const std::string& library() const { return library_; }

 private:
  Site sites_[HostBlas::kinds][precision_count] = {};
  std::string library_;
};

}  // namespace blaslift::cli
