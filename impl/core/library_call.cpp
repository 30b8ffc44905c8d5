#include "impl/core/library_call.hpp"

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
  if (p.part == Part::whole)
    return call<GemmSignature<T>>(
        site.function, interface,
        {p.transa, p.transb, p.m, p.n, p.k, scalar<T>(p.alpha), A, p.lda, B, p.ldb, scalar<T>(p.beta), C, p.ldc});
  const Uplo uplo = p.part == Part::upper ? Uplo::upper : Uplo::lower;
  const auto rank_k = [&](const T& alpha, const T& beta) {
    return SyrkArgs<T>{p.hermitian(), uplo, p.transa, p.n, p.k, alpha, A, p.lda, beta, C, p.ldc};
  };
  if (!p.hermitian())
    return call<SyrkSignature<T>>(site.function, interface, rank_k(scalar<T>(p.alpha), scalar<T>(p.beta)));
  call<HerkSignature<T>>(site.function, interface, rank_k(T(scalar<Real<T>>(p.alpha)), T(scalar<Real<T>>(p.beta))));
}

}  // namespace

void call_product(const Site& site, const Gemm& product) {
  switch (product.precision) {
    case Precision::s: return call_typed<float>(site, product);
    case Precision::d: return call_typed<double>(site, product);
    case Precision::c: return call_typed<std::complex<float>>(site, product);
    case Precision::z: return call_typed<std::complex<double>>(site, product);
  }
}

}  // namespace blaslift
