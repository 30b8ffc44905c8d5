// Signatures: what functions with the standard's own prototypes get to see, and what is understood of calls of them.
#include "impl/core/signatures.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <tuple>

#include "impl/core/library_call.hpp"

namespace blaslift::signature_tests {
namespace {

using Complex = std::complex<float>;
using Z = std::complex<double>;

template <class F>
void* address(F* function) {
  return reinterpret_cast<void*>(function);
}

/// Some Args without symmetries.
template <class T>
struct Example {
  T a[1], b[1], c[1];
  GemmArgs<T> gemm{Op::transpose, Op::none, 3, 4, 5, T(2), a, 6, b, 7, T(-3), c, 8};
  GemmBatchArgs<T> batch{Op::transpose, Op::none, 3, 4, 5, T(2), a, 6, 18, b, 7, 28, T(-3), c, 8, 32, 9};
  GemmtArgs<T> gemmt{Uplo::lower, Op::none, Op::conjugate, 3, 5, T(2), a, 6, b, 7, T(-3), c, 8};
  Syr2kArgs<T> syr2k{false, Uplo::upper, Op::none, 3, 5, T(2), a, 6, b, 7, T(-3), c, 8};
  SymmArgs<T> symm{false, true, Uplo::upper, 3, 5, T(2), a, 6, b, 7, T(-3), c, 8};
  TrmmArgs<T> trmm{false, Uplo::upper, Op::transpose, true, 3, 5, T(2), a, 6, b, 7};
  SyrkArgs<T> syrk{false, Uplo::upper, Op::none, 3, 5, T(2), a, 6, T(-3), c, 8};
  SymvArgs<T> symv{Uplo::lower, 4, T(2), a, 5, b, -2, T(-3), c, 3};
  GemvArgs<T> gemv{Op::transpose, 4, 6, T(2), a, 5, b, -2, T(-3), c, 3};
  GeqrfArgs<T> geqrf{7, 4, a, 9, b, c, 64};
  OrmqrArgs<T> ormqr{{false, true, 5, 7, 3}, a, 8, b, c, 9, c, 65};
  ReductionQArgs<T> ormtr{
      Reduction::tridiagonal, false, Uplo::upper, false, false, true, 5, 7, 0, 0, 0, a, 8, b, c, 9, c, 65};
  ReductionQArgs<T> orghr{Reduction::hessenberg, true, {}, false, true, false, 7, 7, 0, 2, 6, a, 8, b, a, 8, c, 65};
  ReductionQArgs<T> ormbr{Reduction::bidiagonal, false, {}, true, true, true, 5, 7, 3, 0, 0, a, 8, b, c, 9, c, 65};
};

// ---- calls of the standard's functions

std::tuple<std::string, int, int, int, double, const double*, int, const double*, int, double, double*, int,
           std::size_t, std::size_t>
    dgemm_seen;
void dgemm(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
           const double* A, const int* lda, const double* B, const int* ldb, const double* beta, double* C,
           const int* ldc, std::size_t first, std::size_t second) {
  dgemm_seen = {{*transa, *transb}, *m, *n, *k, *alpha, A, *lda, B, *ldb, *beta, C, *ldc, first, second};
}

TEST(Signature, FortranFunctionsGetTheirArgumentsAndHiddenLengths) {
  Example<double> x;
  call<GemmSignature<double>>(address(dgemm), Interface::fortran, x.gemm);
  EXPECT_EQ(dgemm_seen, (decltype(dgemm_seen){"TN", 3, 4, 5, 2, x.a, 6, x.b, 7, -3, x.c, 8, 1, 1}));
}

std::tuple<int, int, int, std::int64_t, std::int64_t, std::int64_t, float, const float*, std::int64_t, const float*,
           std::int64_t, float, float*, std::int64_t>
    cblas_sgemm_seen;
void cblas_sgemm(int layout, int transa, int transb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                 const float* A, std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
                 std::int64_t ldc) {
  cblas_sgemm_seen = {layout, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc};
}

TEST(Signature, CblasFunctionsGetRealScalarsByValue) {
  Example<float> x;
  call<GemmSignature<float>>(address(cblas_sgemm), Interface::cblas, x.gemm);
  EXPECT_EQ(cblas_sgemm_seen, (decltype(cblas_sgemm_seen){102, 112, 111, 3, 4, 5, 2, x.a, 6, x.b, 7, -3, x.c, 8}));
}

std::tuple<int, int, int, int, int, double, const Z*, int, double, Z*, int> cblas_zherk_seen;
void cblas_zherk(int layout, int uplo, int trans, int n, int k, double alpha, const void* A, int lda, double beta,
                 void* C, int ldc) {
  cblas_zherk_seen = {layout, uplo, trans, n, k, alpha, static_cast<const Z*>(A), lda, beta, static_cast<Z*>(C), ldc};
}
std::tuple<char, char, int, int, double, const Z*, int, double, Z*, int, std::size_t> zherk_seen;
void zherk(const char* uplo, const char* trans, const int* n, const int* k, const double* alpha, const Z* A,
           const int* lda, const double* beta, Z* C, const int* ldc, std::size_t, std::size_t second) {
  zherk_seen = {*uplo, *trans, *n, *k, *alpha, A, *lda, *beta, C, *ldc, second};
}

TEST(Signature, AHerkHasRealScalars) {
  Example<Z> x;
  x.syrk.hermitian = true;
  with_signature(x.syrk, [&](auto s) { call<decltype(s)>(address(cblas_zherk), Interface::cblas, x.syrk); });
  EXPECT_EQ(cblas_zherk_seen, (decltype(cblas_zherk_seen){102, 121, 111, 3, 5, 2, x.a, 6, -3, x.c, 8}));
  with_signature(x.syrk, [&](auto s) { call<decltype(s)>(address(zherk), Interface::fortran, x.syrk); });
  EXPECT_EQ(zherk_seen, (decltype(zherk_seen){'U', 'N', 3, 5, 2, x.a, 6, -3, x.c, 8, 1}));
}

std::tuple<int, int, int, int, int, Z, const Z*, int, const Z*, int, double, Z*, int> cblas_zher2k_seen;
void cblas_zher2k(int layout, int uplo, int trans, int n, int k, const void* alpha, const void* A, int lda,
                  const void* B, int ldb, double beta, void* C, int ldc) {
  cblas_zher2k_seen = {layout,
                       uplo,
                       trans,
                       n,
                       k,
                       *static_cast<const Z*>(alpha),
                       static_cast<const Z*>(A),
                       lda,
                       static_cast<const Z*>(B),
                       ldb,
                       beta,
                       static_cast<Z*>(C),
                       ldc};
}

TEST(Signature, AHer2kHasARealBetaAndInRowMajorTheConjugateOfAlpha) {
  Example<Z> x;
  x.syr2k.hermitian = true;
  x.syr2k.alpha = {2, 5};
  with_signature(x.syr2k, [&](auto s) { call<decltype(s)>(address(cblas_zher2k), Interface::cblas, x.syr2k); });
  EXPECT_EQ(cblas_zher2k_seen, (decltype(cblas_zher2k_seen){102, 121, 111, 3, 5, Z(2, 5), x.a, 6, x.b, 7, -3, x.c, 8}));
  call_in_row_major<Her2kSignature<Z>>(address(cblas_zher2k), x.syr2k);
  EXPECT_EQ(cblas_zher2k_seen,
            (decltype(cblas_zher2k_seen){101, 122, 113, 3, 5, Z(2, -5), x.a, 6, x.b, 7, -3, x.c, 8}));
}

using SeenBatch = std::tuple<int, int, int, int, int, int, double, const double*, int, int, const double*, int, int,
                             double, double*, int, int, int>;
SeenBatch cblas_dgemm_batch_seen;
void cblas_dgemm_batch(int layout, int transa, int transb, int m, int n, int k, double alpha, const double* A, int lda,
                       int stride_a, const double* B, int ldb, int stride_b, double beta, double* C, int ldc,
                       int stride_c, int count) {
  cblas_dgemm_batch_seen = {layout,   transa, transb, m,        n,    k, alpha, A,        lda,
                            stride_a, B,      ldb,    stride_b, beta, C, ldc,   stride_c, count};
}

TEST(Signature, ARowMajorBatchIsThatOfTheProductsOfTheOthers) {
  Example<double> x;
  call<GemmBatchStridedSignature<double>>(address(cblas_dgemm_batch), Interface::cblas, x.batch);
  EXPECT_EQ(cblas_dgemm_batch_seen, (SeenBatch{102, 112, 111, 3, 4, 5, 2, x.a, 6, 18, x.b, 7, 28, -3, x.c, 8, 32, 9}));
  call_in_row_major<GemmBatchStridedSignature<double>>(address(cblas_dgemm_batch), x.batch);
  EXPECT_EQ(cblas_dgemm_batch_seen, (SeenBatch{101, 111, 112, 4, 3, 5, 2, x.b, 7, 28, x.a, 6, 18, -3, x.c, 8, 32, 9}));
}

std::tuple<int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int>
    cblas_sgemmt_seen;
void cblas_sgemmt(int layout, int uplo, int transa, int transb, int n, int k, float alpha, const float* A, int lda,
                  const float* B, int ldb, float beta, float* C, int ldc) {
  cblas_sgemmt_seen = {layout, uplo, transa, transb, n, k, alpha, A, lda, B, ldb, beta, C, ldc};
}

TEST(Signature, ARowMajorGemmtIsTheOtherTriangleOfTheProductOfTheOthers) {
  Example<float> x;
  call<GemmtSignature<float>>(address(cblas_sgemmt), Interface::cblas, x.gemmt);
  EXPECT_EQ(cblas_sgemmt_seen, (decltype(cblas_sgemmt_seen){102, 122, 111, 113, 3, 5, 2, x.a, 6, x.b, 7, -3, x.c, 8}));
  call_in_row_major<GemmtSignature<float>>(address(cblas_sgemmt), x.gemmt);
  EXPECT_EQ(cblas_sgemmt_seen, (decltype(cblas_sgemmt_seen){101, 121, 113, 111, 3, 5, 2, x.b, 7, x.a, 6, -3, x.c, 8}));
}

std::tuple<int, int, int, Complex, const Complex*, int, const Complex*, int, Complex, Complex*, int> cblas_chemv_seen;
void cblas_chemv(int layout, int uplo, int n, const void* alpha, const void* A, int lda, const void* x, int incx,
                 const void* beta, void* y, int incy) {
  cblas_chemv_seen = {layout,
                      uplo,
                      n,
                      *static_cast<const Complex*>(alpha),
                      static_cast<const Complex*>(A),
                      lda,
                      static_cast<const Complex*>(x),
                      incx,
                      *static_cast<const Complex*>(beta),
                      static_cast<Complex*>(y),
                      incy};
}

TEST(Signature, ARowMajorHemvIsOfTheOtherTriangleConjugated) {
  Example<Complex> x;
  x.symv.conjugated = true;
  call_in_row_major<SymvSignature<Complex>>(address(cblas_chemv), x.symv);
  EXPECT_EQ(cblas_chemv_seen, (decltype(cblas_chemv_seen){101, 121, 4, 2, x.a, 5, x.b, -2, -3, x.c, 3}));
}

std::tuple<int, int, int, int, Complex, const Complex*, int, const Complex*, int, Complex, Complex*, int>
    cblas_cgemv_seen;
void cblas_cgemv(int layout, int trans, int m, int n, const void* alpha, const void* A, int lda, const void* x,
                 int incx, const void* beta, void* y, int incy) {
  cblas_cgemv_seen = {layout,
                      trans,
                      m,
                      n,
                      *static_cast<const Complex*>(alpha),
                      static_cast<const Complex*>(A),
                      lda,
                      static_cast<const Complex*>(x),
                      incx,
                      *static_cast<const Complex*>(beta),
                      static_cast<Complex*>(y),
                      incy};
}

TEST(Signature, ARowMajorGemvIsOfTheTransposedMatrix) {
  Example<Complex> x;
  call_in_row_major<GemvSignature<Complex>>(address(cblas_cgemv), x.gemv);
  EXPECT_EQ(cblas_cgemv_seen, (decltype(cblas_cgemv_seen){101, 111, 6, 4, 2, x.a, 5, x.b, -2, -3, x.c, 3}));
  x.gemv.trans = Op::none;
  x.gemv.conjugated = true;
  call_in_row_major<GemvSignature<Complex>>(address(cblas_cgemv), x.gemv);
  EXPECT_EQ(cblas_cgemv_seen, (decltype(cblas_cgemv_seen){101, 113, 6, 4, 2, x.a, 5, x.b, -2, -3, x.c, 3}));
}

std::tuple<char, char, std::int64_t, std::int64_t, std::int64_t, const Z*, std::int64_t, const Z*, Z*, std::int64_t, Z*,
           std::int64_t, std::int64_t, std::size_t>
    zunmqr_seen;
void zunmqr(const char* side, const char* trans, const std::int64_t* m, const std::int64_t* n, const std::int64_t* k,
            const Z* A, const std::int64_t* lda, const Z* tau, Z* C, const std::int64_t* ldc, Z* work,
            const std::int64_t* lwork, std::int64_t* info, std::size_t, std::size_t second) {
  zunmqr_seen = {*side, *trans, *m, *n, *k, A, *lda, tau, C, *ldc, work, *lwork, *info, second};
  *info = -5;
}

TEST(Signature, LapacksFunctionsGetAWorkspaceAndInfo) {
  Example<Z> x;
  call<OrmqrSignature<Z>>(address(zunmqr), Interface::fortran, x.ormqr);
  EXPECT_EQ(zunmqr_seen, (decltype(zunmqr_seen){'R', 'C', 5, 7, 3, x.a, 8, x.b, x.c, 9, x.c, 65, 0, 1}));
}

// ---- what is understood of a call

/// The words of a call as CBLAS's callers make it: in 32 bits the upper halves hold anything.
TEST(Signature, A32BitIntegerByValueIsTheLowerHalfOfItsWord) {
  Example<double> x;
  constexpr std::uint64_t garbage = std::uint64_t{0xdeadbeef} << 32;
  CallWords words(102, 112, 111, garbage | 3, garbage | 4, garbage | 5, reinterpret_cast<std::uint64_t>(x.a),
                  garbage | 6, reinterpret_cast<std::uint64_t>(x.b), garbage | 7, reinterpret_cast<std::uint64_t>(x.c),
                  garbage | 8);
  words.set_real(0, 2.0);
  words.set_real(1, -3.0);
  GemmArgs<double> args{};
  ASSERT_TRUE((parse<GemmSignature<double>, Interface::cblas>(false, words, args)));
  EXPECT_EQ(to_words(args), to_words(x.gemm));
  EXPECT_EQ(args.C, x.c);
  EXPECT_FALSE((parse<GemmSignature<double>, Interface::cblas>(true, words, args))) << "of 64 bits they count";
}

TEST(Signature, ARowMajorGemmIsTheProductOfTheOthers) {
  Example<float> x;
  CallWords words(101, 111, 112, 4, 3, 5, reinterpret_cast<std::uint64_t>(x.b), 7, reinterpret_cast<std::uint64_t>(x.a),
                  6, reinterpret_cast<std::uint64_t>(x.c), 8);
  words.set_real(0, 2.0F);
  words.set_real(1, -3.0F);
  GemmArgs<float> args{};
  ASSERT_TRUE((parse<GemmSignature<float>, Interface::cblas>(false, words, args)));
  EXPECT_EQ(to_words(args), to_words(x.gemm));
  EXPECT_EQ(args.A, x.a);
  // Elsewhere: A and B come in Args's order, and go where the caller's have been.
  float other[3];
  void* const at[] = {other, other + 1, other + 2};
  CallWords moved = readdressed<GemmSignature<float>, Interface::cblas>(words, with_operands(args, at));
  call_words<GemmSignature<float>, Interface::cblas>(address(cblas_sgemm), moved);
  EXPECT_EQ(cblas_sgemm_seen,
            (decltype(cblas_sgemm_seen){101, 111, 112, 4, 3, 5, 2, other + 1, 7, other, 6, -3, other + 2, 8}));
}

std::tuple<int, const double*, int, double*, int> cblas_dcopy_seen;
void cblas_dcopy(int n, const double* x, int incx, double* y, int incy) { cblas_dcopy_seen = {n, x, incx, y, incy}; }

TEST(Signature, ACblasFunctionWithoutMatricesHasNoLayout) {
  double x[1], y[1], other[2];
  const CopyArgs<double> args{7, x, 3, y, -2};
  call<CopySignature<double>>(address(cblas_dcopy), Interface::cblas, args);
  EXPECT_EQ(cblas_dcopy_seen, (decltype(cblas_dcopy_seen){7, x, 3, y, -2}));
  // 101 and 102 are sizes like any others.
  for (const index n : {101, 102, 7}) {
    CallWords words(n, reinterpret_cast<std::uint64_t>(x), 3, reinterpret_cast<std::uint64_t>(y), -2);
    CopyArgs<double> seen{};
    ASSERT_TRUE((parse<CopySignature<double>, Interface::cblas>(false, words, seen)));
    EXPECT_EQ(std::tie(seen.n, seen.incx, seen.incy), std::make_tuple(n, index{3}, index{-2}));
    EXPECT_EQ(seen.x, x);
    EXPECT_EQ(seen.y, y);
    void* const at[] = {other, other + 1};
    CallWords moved = readdressed<CopySignature<double>, Interface::cblas>(words, with_operands(seen, at));
    call_words<CopySignature<double>, Interface::cblas>(address(cblas_dcopy), moved);
    EXPECT_EQ(cblas_dcopy_seen, (decltype(cblas_dcopy_seen){static_cast<int>(n), other, 3, other + 1, -2}));
  }
}

template <class S>
void expect_the_same_again(const typename S::Args& x) {
  // By a function that only keeps its words.
  static std::int64_t integers[CallWords::most];
  const CallWords words = signatures::built(signatures::described<S>(x), Interface::fortran, column_major, integers);
  for (const bool wide : {true, false}) {
    typename S::Args again{};
    ASSERT_TRUE((parse<S, Interface::fortran>(wide, words, again))) << write_words<S>(x);
    EXPECT_EQ(write_words<S>(again), write_words<S>(x));
    const auto expected = list_operands<S>(x), operands = list_operands<S>(again);
    ASSERT_EQ(operands.size(), expected.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      EXPECT_EQ(operands[i].stored, expected[i].stored) << expected[i].name;
      EXPECT_EQ(operands[i].reads, expected[i].reads) << expected[i].name;
    }
  }
}

template <class T>
void expect_all_the_same_again() {
  Example<T> x;
  expect_the_same_again<GemmSignature<T>>(x.gemm);
  expect_the_same_again<GemmBatchStridedSignature<T>>(x.batch);
  expect_the_same_again<GemmtSignature<T>>(x.gemmt);
  expect_the_same_again<SyrkSignature<T>>(x.syrk);
  expect_the_same_again<Syr2kSignature<T>>(x.syr2k);
  expect_the_same_again<SymmSignature<T>>(x.symm);
  expect_the_same_again<TrmmSignature<T>>(x.trmm);
  expect_the_same_again<SymvSignature<T>>(x.symv);
  expect_the_same_again<GemvSignature<T>>(x.gemv);
  expect_the_same_again<GeqrfSignature<T>>(x.geqrf);
  expect_the_same_again<OrmqrSignature<T>>(x.ormqr);
  expect_the_same_again<OrmtrSignature<T>>(x.ormtr);
  expect_the_same_again<OrghrSignature<T>>(x.orghr);
  expect_the_same_again<OrmbrSignature<T>>(x.ormbr);
}

TEST(Signature, WhatIsBuiltIsUnderstood) {
  expect_all_the_same_again<float>();
  expect_all_the_same_again<double>();
  expect_all_the_same_again<Complex>();
  expect_all_the_same_again<Z>();
}

TEST(Signature, LettersAreOfEitherCaseAndNoOthers) {
  for (const char c : {'n', 'N'}) EXPECT_EQ(chosen(transposes, c)->number, 111);
  EXPECT_EQ(chosen(sides, 'r')->number, 142);
  EXPECT_EQ(chosen(diagonals, 131)->letter, 'N');
  for (const char c : {'X', '\0', 'm', ' '}) EXPECT_EQ(chosen(transposes, c), nullptr);
  EXPECT_EQ(chosen(transposes, 114), nullptr);
  EXPECT_EQ(chosen(adjoints<double>(), 'C'), nullptr) << "dormqr takes T";
  EXPECT_EQ(chosen(adjoints<Z>(), 'T'), nullptr) << "zunmqr takes C";
}

TEST(Signature, PlacesOfWhatTheGateReads) {
  constexpr Places gemm = places_of<GemmSignature<double>>(Interface::cblas);
  EXPECT_EQ(gemm.integers[2], 5) << "k";
  EXPECT_EQ(gemm.words(), 12) << "alpha and beta are no words";
  EXPECT_EQ(gemm.with_lengths(), 12);
  constexpr Places zgemm = places_of<GemmSignature<Z>>(Interface::cblas);
  EXPECT_EQ(zgemm.words(), 14);
  constexpr Places geqrf = places_of<GeqrfSignature<double>>(Interface::fortran);
  EXPECT_EQ(geqrf.workspace_count, 1);
  EXPECT_EQ((std::tuple{geqrf.workspaces[0].at, geqrf.workspaces[0].size, geqrf.status}), (std::tuple{5, 6, 7}));
  constexpr Places ormqr = places_of<OrmqrSignature<float>>(Interface::fortran);
  EXPECT_EQ(ormqr.with_lengths(), 15);
  constexpr Places ormbr = places_of<OrmbrSignature<float>>(Interface::fortran),
                   orghr = places_of<OrghrSignature<float>>(Interface::fortran);
  EXPECT_EQ((std::tuple{ormbr.letters[1], ormbr.integers[2], ormbr.status, ormbr.with_lengths()}),
            (std::tuple{1, 5, 13, 17}));
  EXPECT_EQ((std::tuple{orghr.integers[1], orghr.integers[2], orghr.status}), (std::tuple{1, 2, 8}));
}

}  // namespace
}  // namespace blaslift::signature_tests
