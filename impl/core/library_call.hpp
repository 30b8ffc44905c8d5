// Calls of the host BLAS and LAPACK with arguments of our own (a caller's own are replayed as they came).
#pragma once
#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

#include "compat/site.hpp"
#include "impl/core/signatures.hpp"

namespace blaslift {

/// By what `site` has led to: a gemm, also for a triangle of a product of two matrices; for other products of which one
/// triangle is computed, a syrk or syr2k or, where it is Hermitian, a herk or her2k.  Sizes must fit its integers, as
/// those of a block of the caller's own product do.
void call_product(const Site& site, const Gemm& product);

/// A BLAS call by what `site` has led to, of whose routine Args are.  Sizes must fit its integers, as those of a part
/// of the caller's own call do.
template <class Args>
void call_library(const Site& site, const Args& args) {
  with_signature(args, [&](auto s) { call<decltype(s)>(site.function, info(site.symbol).interface, args, site.wide); });
}

namespace signatures {

/// Has a library say into our memory which sizes are best.
class Ask : public Nothing {
 public:
  void workspace(const char*, auto& at, index& size, const auto&) {
    set_address(at, next_++);
    size = -1;
  }
  /// Some say it there as well.
  void scratch(const char*, auto& at, const auto&) { set_address(at, next_++); }

 private:
  std::complex<double> told_[4] = {}, *next_ = told_;
};

/// Takes them.
struct Told : Nothing {
  template <class T>
  void workspace(const char*, T* at, index& size, const auto& least) {
    size = std::max(least(), static_cast<index>(std::real(*at)));
  }
  void workspace(const char*, const Integers& at, index& size, const auto& least) {
    size = std::max(least(), at.get(0));
  }
};

/// Workspaces of our own, of the sizes that Args say.
class OwnWorkspaces : public Nothing {
 public:
  void workspace(const char*, auto& at, index size, const auto&) { make(at, size); }
  void scratch(const char*, auto& at, const auto& size) { make(at, size()); }

 private:
  void make(auto& at, index size) {
    all_.emplace_back(new std::byte[static_cast<std::size_t>(size) * element_size(at)]);
    set_address(at, all_.back().get());
  }

  std::vector<std::unique_ptr<std::byte[]>> all_{};
};

}  // namespace signatures

/// The call with the best lengths of its workspaces, which are not there yet.
/// @param site  of the routine that Args are of: by its Fortran symbol
template <class Args>
Args with_best_lengths(const Site& site, Args args) {
  with_signature(args, [&](auto s) {
    if constexpr (places_of<decltype(s)>(Interface::fortran).workspace_count == 0) return;  // it would compute
    signatures::Ask ask;
    s.describe(args, ask);
    call<decltype(s)>(site.function, Interface::fortran, args, site.wide);
    signatures::Told told;
    s.describe(args, told);
  });
  return args;
}

/// With workspaces of its own, of the best sizes; returns info.  Throws std::bad_alloc.
template <class Args>
int call_with_own_workspaces(const Site& site, Args args) {
  args = with_best_lengths(site, args);
  return with_signature(args, [&](auto s) {
    signatures::OwnWorkspaces own;
    s.describe(args, own);
    return call<decltype(s)>(site.function, Interface::fortran, args, site.wide);
  });
}

}  // namespace blaslift
