// The host BLAS's routines beside a call's own: a product inside another routine never reaches that routine again.
#include "impl/route/host_blas.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "tests/unit/support/reference.hpp"

namespace blaslift::host_blas_tests {
namespace {

using namespace reference;

/// What a call of the routine itself would reach.
[[noreturn]] void must_not_be_called() { std::abort(); }

void make_site(Site& site, Symbol symbol) {
  site.symbol = symbol;
  site.wide = info(symbol).width == Width::wide;
  site.function = reinterpret_cast<void*>(must_not_be_called);
}

std::string_view routine_of(const Site& site) { return name_of(info(site.symbol).routine); }

TEST(HostBlas, FindsARoutineByItsNameAndTheCallsElementType) {
  Site site{};
  make_site(site, Symbol::zgeqrf_);
  HostBlas blas(site);
  const std::pair<HostBlas::Kind, std::string_view> kinds[] = {{HostBlas::Kind::gemm, "zgemm"},
                                                               {HostBlas::Kind::syrk, "zsyrk"},
                                                               {HostBlas::Kind::herk, "zherk"},
                                                               {HostBlas::Kind::syr2k, "zsyr2k"},
                                                               {HostBlas::Kind::her2k, "zher2k"}};
  for (const auto& [kind, name] : kinds) {
    const Site& found = blas.routine(kind);
    EXPECT_EQ(routine_of(found), name);
    EXPECT_NE(found.function, site.function);
    EXPECT_EQ(&blas.routine(kind), &found) << "it is looked for once";
  }
  Site own{};
  make_site(own, Symbol::ssyrk_);
  HostBlas of_syrk(own);
  EXPECT_EQ(&of_syrk.routine(HostBlas::Kind::syrk), &own) << "the call's own is what it is";
  EXPECT_EQ(routine_of(of_syrk.routine(HostBlas::Kind::gemm)), "sgemm");
}

template <class T>
void triangles(Symbol symbol) {
  Site site{};
  make_site(site, symbol);
  HostBlas blas(site);
  const UnderlyingBlas operations = blas.operations();
  constexpr index n = 23, k = 17;
  for (const Update update : {Update::rank_k, Update::product, Update::rank_2k})
    for (const bool hermitian : {false, true}) {
      if (hermitian && !is_complex(precision_of<T>)) continue;
      const bool twice = update == Update::rank_2k;
      if (update == Update::product && info(symbol).routine == Routine::dgemm) continue;  // the call's own
      const GemmArgs<T> whole{.transa = Op::none,
                              .transb = hermitian ? Op::conjugate : Op::transpose,
                              .m = n,
                              .n = n,
                              .k = k,
                              .alpha = T(-0.5),
                              .A = nullptr,
                              .lda = n,
                              .B = nullptr,
                              .ldb = n,
                              .beta = T(0.25),
                              .C = nullptr,
                              .ldc = n};
      Matrix<T> A(n, k), B(n, k), C(n, n);
      A.random(1);
      B.random(3);
      if (update == Update::rank_k) B = A;
      C.random(2);
      for (index j = 0; j < n; ++j) C(j, j) = std::real(C(j, j));
      Matrix<T> expected = C;
      GemmArgs<T> args = whole;
      args.A = A.data();
      args.B = B.data();
      args.C = expected.data();
      naive(as_gemm(args));
      if (twice) {
        std::swap(args.A, args.B);
        args.beta = T(1);
        naive(as_gemm(args));
        std::swap(args.A, args.B);
        args.beta = whole.beta;
      }
      const Matrix<T> before = C;
      args.C = C.data();
      args.part = Part::lower;
      args.update = update;
      const Gemm product = as_gemm(args);
      operations.call(operations.context, product);
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < n; ++i) {
          if (i < j) {
            ASSERT_EQ(C(i, j), before(i, j)) << i << "," << j;
          } else {
            ASSERT_LE(std::abs(C(i, j) - expected(i, j)), 1e-4) << i << "," << j;
          }
        }
    }
}

TEST(HostBlas, ComputesATriangleInsideAnotherRoutine) {
  triangles<float>(Symbol::sgeqrf_);
  triangles<double>(Symbol::dgeqrf_);
  triangles<std::complex<float>>(Symbol::cgeqrf_);
  triangles<std::complex<double>>(Symbol::zungqr_);
  triangles<double>(Symbol::dgemm_);
  triangles<double>(Symbol::dgemmt_);
  triangles<std::complex<double>>(Symbol::zgemm3m_);
  triangles<std::complex<float>>(Symbol::cgemmt_);
}

}  // namespace
}  // namespace blaslift::host_blas_tests
