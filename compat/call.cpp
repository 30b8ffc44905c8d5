#include "compat/call.hpp"

#include <complex>
#include <cstring>
#include <memory>

namespace blaslift {
namespace {

/// In 64 bits, by address or by value, what is given to the library reads the same in 32: so that nothing hangs on what
/// is known of its width.
using Int = std::int64_t;

void fortran(const Site& site, const Gemm& p) {
  // The hidden lengths of the two character arguments come last; libraries built by gfortran may read them.
  using Function =
      void (*)(const char*, const char*, const Int*, const Int*, const Int*, const void*, const void*, const Int*,
               const void*, const Int*, const void*, void*, const Int*, std::size_t, std::size_t);
  const char transa = static_cast<char>(p.transa), transb = static_cast<char>(p.transb);
  const Int m = static_cast<Int>(p.m), n = static_cast<Int>(p.n), k = static_cast<Int>(p.k);
  const Int lda = static_cast<Int>(p.lda), ldb = static_cast<Int>(p.ldb), ldc = static_cast<Int>(p.ldc);
  reinterpret_cast<Function>(site.function)(&transa, &transb, &m, &n, &k, p.alpha, p.A, &lda, p.B, &ldb, p.beta, p.C,
                                            &ldc, 1, 1);
}

int cblas_code(Op op) { return op == Op::none ? 111 : op == Op::transpose ? 112 : 113; }

template <class Scalar>
void cblas(const Site& site, const Gemm& p, Scalar alpha, Scalar beta) {
  constexpr int column_major = 102;
  using Function =
      void (*)(int, int, int, Int, Int, Int, Scalar, const void*, Int, const void*, Int, Scalar, void*, Int);
  reinterpret_cast<Function>(site.function)(column_major, cblas_code(p.transa), cblas_code(p.transb),
                                            static_cast<Int>(p.m), static_cast<Int>(p.n), static_cast<Int>(p.k), alpha,
                                            p.A, static_cast<Int>(p.lda), p.B, static_cast<Int>(p.ldb), beta, p.C,
                                            static_cast<Int>(p.ldc));
}

void by_interface(const Site& site, const Gemm& p) {
  if (info(site.symbol).interface == Interface::fortran) return fortran(site, p);
  switch (p.precision) {
    case Precision::s: return cblas(site, p, *static_cast<const float*>(p.alpha), *static_cast<const float*>(p.beta));
    case Precision::d: return cblas(site, p, *static_cast<const double*>(p.alpha), *static_cast<const double*>(p.beta));
    case Precision::c:
    case Precision::z: return cblas(site, p, p.alpha, p.beta);
  }
}

void fortran_syrk(const Site& site, const Gemm& p) {
  using Function = void (*)(const char*, const char*, const Int*, const Int*, const void*, const void*, const Int*,
                            const void*, void*, const Int*, std::size_t, std::size_t);
  const char uplo = p.part == Part::upper ? 'U' : 'L', trans = static_cast<char>(p.transa);
  const Int n = static_cast<Int>(p.n), k = static_cast<Int>(p.k);
  const Int lda = static_cast<Int>(p.lda), ldc = static_cast<Int>(p.ldc);
  reinterpret_cast<Function>(site.function)(&uplo, &trans, &n, &k, p.alpha, p.A, &lda, p.beta, p.C, &ldc, 1, 1);
}

template <class Scalar>
void cblas_syrk(const Site& site, const Gemm& p, Scalar alpha, Scalar beta) {
  constexpr int column_major = 102, upper = 121, lower = 122;
  using Function = void (*)(int, int, int, Int, Int, Scalar, const void*, Int, Scalar, void*, Int);
  reinterpret_cast<Function>(site.function)(column_major, p.part == Part::upper ? upper : lower, cblas_code(p.transa),
                                            static_cast<Int>(p.n), static_cast<Int>(p.k), alpha, p.A,
                                            static_cast<Int>(p.lda), beta, p.C, static_cast<Int>(p.ldc));
}

/// The scalars of a herk are real, and what a complex number begins with.
void syrk(const Site& site, const Gemm& p) {
  if (info(site.symbol).interface == Interface::fortran) return fortran_syrk(site, p);
  const bool single = p.precision == Precision::s || p.precision == Precision::c;
  if (is_complex(p.precision) && !p.hermitian()) return cblas_syrk(site, p, p.alpha, p.beta);
  if (single) return cblas_syrk(site, p, *static_cast<const float*>(p.alpha), *static_cast<const float*>(p.beta));
  cblas_syrk(site, p, *static_cast<const double*>(p.alpha), *static_cast<const double*>(p.beta));
}

void symv(const Site& site, const Symv& p) {
  using Function = void (*)(const char*, const Int*, const void*, const void*, const Int*, const void*, const Int*,
                            const void*, void*, const Int*, std::size_t);
  const char uplo = static_cast<char>(p.uplo);
  const Int n = static_cast<Int>(p.n), lda = static_cast<Int>(p.lda);
  const Int incx = static_cast<Int>(p.incx), incy = static_cast<Int>(p.incy);
  reinterpret_cast<Function>(site.function)(&uplo, &n, p.alpha, p.A, &lda, p.x, &incx, p.beta, p.y, &incy, 1);
}

/// What call(work, lwork) answers if it is asked for the best size.
template <class Call>
Int best_workspace(Precision precision, const Call& call) {
  const Int asks = -1;
  std::complex<double> answer{};
  call(static_cast<void*>(&answer), asks);
  const bool is_float = precision == Precision::s || precision == Precision::c;
  float told = 0;
  std::memcpy(&told, &answer, sizeof told);
  return static_cast<Int>(is_float ? static_cast<double>(told) : answer.real());
}

/// Calls call(work, lwork) twice: for the best size, and with it.
template <class Call>
void with_workspace(Precision precision, const Call& call) {
  const Int size = best_workspace(precision, call);
  const std::unique_ptr<char[]> work(new char[static_cast<std::size_t>(size) * element_size(precision)]);
  call(static_cast<void*>(work.get()), size);
}

void ormqr(const Site& site, const ProductWithQ& p, void* work, Int lwork) {
  using Function = void (*)(const char*, const char*, const Int*, const Int*, const Int*, const void*, const Int*,
                            const void*, void*, const Int*, void*, const Int*, std::int64_t*, std::size_t, std::size_t);
  const char side = p.left ? 'L' : 'R', trans = !p.adjoint ? 'N' : is_complex(p.precision) ? 'C' : 'T';
  const Int m = static_cast<Int>(p.m), n = static_cast<Int>(p.n), k = static_cast<Int>(p.k);
  const Int lda = static_cast<Int>(p.lda), ldc = static_cast<Int>(p.ldc);
  std::int64_t status = 0;
  reinterpret_cast<Function>(site.function)(&side, &trans, &m, &n, &k, p.A, &lda, p.tau, p.C, &ldc, work, &lwork,
                                            &status, 1, 1);
}

void orgqr(const Site& site, const ProductWithQ& p) {
  using Function =
      void (*)(const Int*, const Int*, const Int*, void*, const Int*, const void*, void*, const Int*, std::int64_t*);
  const Int m = static_cast<Int>(p.m), n = static_cast<Int>(p.n), k = static_cast<Int>(p.k),
            ldc = static_cast<Int>(p.ldc);
  with_workspace(p.precision, [&](void* work, const Int& lwork) {
    std::int64_t status = 0;
    reinterpret_cast<Function>(site.function)(&m, &n, &k, p.C, &ldc, p.tau, work, &lwork, &status);
  });
}

}  // namespace

void call_ormqr(const Site& site, const ProductWithQ& product) {
  with_workspace(product.precision, [&](void* work, Int lwork) { ormqr(site, product, work, lwork); });
}

void call_ormqr(const Site& site, const ProductWithQ& product, void* work, index lwork) {
  ormqr(site, product, work, lwork);
}

index ormqr_workspace(const Site& site, const ProductWithQ& product) {
  return best_workspace(product.precision, [&](void* work, Int lwork) { ormqr(site, product, work, lwork); });
}

void call_orgqr(const Site& site, const ProductWithQ& product) { orgqr(site, product); }

void call_symv(const Site& site, const Symv& product) { symv(site, product); }

void call_syrk(const Site& site, const Gemm& product) { syrk(site, product); }

void call_gemm(const Site& site, const Gemm& product) { by_interface(site, product); }

}  // namespace blaslift
