#include "impl/core/library_call.hpp"

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
  if (p.part == Part::whole)
    return (void)call<GemmSignature<T>>(
        site.function, interface,
        {p.transa, p.transb, p.m, p.n, p.k, scalar<T>(p.alpha), A, p.lda, B, p.ldb, scalar<T>(p.beta), C, p.ldc});
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
    return with_signature(args, [&](auto s) { call<decltype(s)>(site.function, interface, args); });
  }
  const Syr2kArgs<T> args{hermitian, uplo, p.transa, p.n, p.k, scalar<T>(p.alpha), A, p.lda, B, p.ldb, beta, C, p.ldc};
  with_signature(args, [&](auto s) { call<decltype(s)>(site.function, interface, args); });
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
