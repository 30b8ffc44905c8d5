#include "impl/core/library_call.hpp"

#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/by_triangles.hpp"

namespace blaslift {
namespace {

template <class T>
const T& scalar(const void* at) {
  return *static_cast<const T*>(at);
}

template <class T>
void call_typed(const Site& site, const Gemm& p) {
  const Interface interface = info(site.symbol).interface;
  const auto *A = static_cast<const T*>(p.A), *B = static_cast<const T*>(p.B);
  auto* C = static_cast<T*>(p.C);
  if (p.part == Part::whole) {
    const GemmArgs<T> args{p.transa, p.transb,          p.m, p.n,  p.k, scalar<T>(p.alpha), A, p.lda, B,
                           p.ldb,    scalar<T>(p.beta), C,   p.ldc};
    return call_at_once<GemmSignature<T>>(site.function, interface, args);
  }
  if (p.update == Update::product) {
    const auto whole = [&site](const Gemm& part) { return call_typed<T>(site, part), Status::done; };
    return (void)by_triangles(p, 1, whole, whole);
  }
  const Uplo uplo = p.part == Part::upper ? Uplo::upper : Uplo::lower;
  const bool hermitian = p.hermitian();
  const T beta = hermitian ? T(scalar<Real<T>>(p.beta)) : scalar<T>(p.beta);
  if (p.update == Update::rank_k) {
    const T alpha = hermitian ? T(scalar<Real<T>>(p.alpha)) : scalar<T>(p.alpha);
    const SyrkArgs<T> args{hermitian, uplo, p.transa, p.n, p.k, alpha, A, p.lda, beta, C, p.ldc};
    return call_library(site, args);
  }
  const Syr2kArgs<T> args{hermitian, uplo, p.transa, p.n, p.k, scalar<T>(p.alpha), A, p.lda, B, p.ldb, beta, C, p.ldc};
  call_library(site, args);
}

}  // namespace

namespace signatures {
namespace {

/// Has a library say into our memory which sizes are best.
class Ask final : public Visitor {
 public:
  void workspace(const char*, Pointer at, index& size, Asked<index>) override {
    at.set(next_++);
    size = -1;
  }
  /// Some say it there as well.
  void scratch(const char*, Pointer at, Asked<index>) override { at.set(next_++); }

 private:
  std::complex<double> told_[4] = {}, *next_ = told_;
};

/// Takes them.
struct Told final : Visitor {
  void workspace(const char*, Pointer at, index& size, Asked<index> least) override {
    const Integers* const integers = at.integers();
    size = std::max(least(), integers ? integers->get(0) : static_cast<index>(at.first().real()));
  }
};

/// Workspaces of our own, of the sizes that Args say.
class OwnWorkspaces final : public Visitor {
 public:
  void workspace(const char*, Pointer at, index& size, Asked<index>) override { make(at, size); }
  void scratch(const char*, Pointer at, Asked<index> size) override { make(at, size()); }

 private:
  void make(Pointer at, index size) {
    all_.emplace_back(new std::byte[static_cast<std::size_t>(size) * at.element_size()]);
    at.set(all_.back().get());
  }

  std::vector<std::unique_ptr<std::byte[]>> all_{};
};

}  // namespace

void take_best_lengths(Described call, const Site& library) {
  if (call.by().fortran.workspace_count == 0) return;  // it would compute
  Ask ask;
  call.show(ask);
  signatures::call(call, library);
  call.show(Told());
}

int call_with_own_workspaces(Described call, const Site& library) {
  take_best_lengths(call, library);
  OwnWorkspaces own;
  call.show(own);
  return signatures::call(call, library);
}

}  // namespace signatures

void call_product(const Site& site, const Gemm& product) {
  switch (product.precision) {
    case Precision::s: return call_typed<float>(site, product);
    case Precision::d: return call_typed<double>(site, product);
    case Precision::c: return call_typed<std::complex<float>>(site, product);
    case Precision::z: return call_typed<std::complex<double>>(site, product);
  }
}

}  // namespace blaslift
