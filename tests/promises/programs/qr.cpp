// geqrf, and what consumes it, one promise per first argument.  Whatever may not be read or written is a canary: gaps
// of matrices, what is beside tau, the workspace beyond lwork.  Results are checked against products of reflectors as
// they are defined, in higher precision.
//
//   qr semantics | tall | tall_not_finite | products | large_products | stays | invalid | queries | consumers
//   qr threads | exiting
//   qr faults PRECISION, qr product_faults PRECISION, qr part_faults PRECISION   as faults.cpp
//   qr copies             a product, its QR, and its R in a product, each of which may find the last one's result
#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <thread>

#include "every_fault.hpp"
#include "routine_calls.hpp"
#include "tests/unit/qr/qr_reference.hpp"

#define GEQRF(name, T) extern "C" void name##_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);
#include "api/routines.def"

#define ORMQR(name, T)                                                                                        \
  extern "C" void name##_(const char*, const char*, const int*, const int*, const int*, const T*, const int*, \
                          const T*, T*, const int*, T*, const int*, int*, std::size_t, std::size_t);
#define ORGQR(name, T) \
  extern "C" void name##_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);
#include "api/routines.def"

using namespace promises;
namespace reference = blaslift::reference;
using reference::Kind;
using Size = blaslift::index;
template <class T>
using Dense = reference::Wide<T>;
template <class T>
using Canaried = reference::Matrix<T>;

namespace {

#define GEQRF(name, T)                                                     \
  int raw_geqrf(int m, int n, T* A, int lda, T* tau, T* work, int lwork) { \
    note_call(#name);                                                      \
    int info = -99;                                                        \
    name##_(&m, &n, A, &lda, tau, work, &lwork, &info);                    \
    return info;                                                           \
  }
#include "api/routines.def"

#define ORMQR(name, T)                                                                                                 \
  int raw_ormqr(char side, char trans, int m, int n, int k, const T* A, int lda, const T* tau, T* C, int ldc, T* work, \
                int lwork) {                                                                                           \
    note_call(#name);                                                                                                  \
    int info = -99;                                                                                                    \
    name##_(&side, &trans, &m, &n, &k, A, &lda, tau, C, &ldc, work, &lwork, &info, 1, 1);                              \
    return info;                                                                                                       \
  }
#define ORGQR(name, T)                                                                  \
  int raw_orgqr(int m, int n, int k, T* A, int lda, const T* tau, T* work, int lwork) { \
    note_call(#name);                                                                   \
    int info = -99;                                                                     \
    name##_(&m, &n, &k, A, &lda, tau, work, &lwork, &info);                             \
    return info;                                                                        \
  }
#include "api/routines.def"

template <class T>
constexpr char adjoint = reference::complex_type<T> ? 'C' : 'T';

int as_int(Size x) { return static_cast<int>(x); }

/// Of a factorisation, and what is left of it.
template <class T>
struct Factors {
  Canaried<T> A, tau;
  Size m() const { return A.rows(); }
  Size n() const { return A.cols(); }
  Size k() const { return tau.rows(); }
};

/// By a call with the least workspace there may be.
template <class T>
Factors<T> factored(const Canaried<T>& A0) {
  const Size m = A0.rows(), n = A0.cols();
  Factors<T> f{A0, Canaried<T>(std::min(m, n), 1)};
  Canaried<T> work(std::max<Size>(1, n), 1);
  const int info =
      raw_geqrf(as_int(m), as_int(n), f.A.data(), as_int(f.A.ld()), f.tau.data(), work.data(), as_int(work.rows()));
  if (info != 0) fail("geqrf of %ld x %ld: info %d", long{m}, long{n}, info);
  // With A in device memory work may be there, too, and is not written.
  if (!std::getenv("INJECTED_DEVICE_MEMORY") &&
      !(static_cast<double>(std::real(work(0, 0))) >= static_cast<double>(std::max<Size>(1, n))))
    fail("geqrf of %ld x %ld: work(1) is too small", long{m}, long{n});
  if (!f.A.canaries_intact() || !f.tau.canaries_intact() || !work.canaries_intact())
    fail("geqrf of %ld x %ld: storage outside was written", long{m}, long{n});
  return f;
}

/// ||Q^H A - R|| within (m + k) eps ||A||, and ||Q^H Q - I|| within (m + k) eps sqrt(k), twice that for complex
/// numbers: a small multiple of what is seen, and far below the bounds of theory, gamma(m k) (Higham, Accuracy and
/// Stability, 19.3).
template <class T>
double allowed(const Factors<T>& f) {
  return static_cast<double>(f.m() + f.k()) * reference::eps<T>() * (reference::complex_type<T> ? 2 : 1);
}

template <class T>
void check_factors(const Canaried<T>& A0, const Factors<T>& f, const char* what) {
  const Size m = f.m(), n = f.n(), k = f.k();
  Dense<T> r = Dense<T>::of(A0), q(m, k);
  const double norm = r.norm();
  reference::apply_lapack_q(true, m, k, f.A.data(), f.A.ld(), f.tau.data(), r);
  const double residual = (r - reference::upper_part(m, n, f.A.data(), f.A.ld())).norm();
  if (!(residual <= allowed(f) * norm))
    fail("%c %s %ld x %ld: residual %.3g of %.3g", letter<T>(), what, long{m}, long{n}, residual, norm);
  for (Size j = 0; j < k; ++j) q(j, j) = 1;
  reference::apply_lapack_q(false, m, k, f.A.data(), f.A.ld(), f.tau.data(), q);
  const double off = reference::orthogonality(q);
  if (!(off <= allowed(f) * std::sqrt(static_cast<double>(k))))
    fail("%c %s %ld x %ld: orthogonality %.3g", letter<T>(), what, long{m}, long{n}, off);
}

constexpr std::pair<Size, Size> shapes[] = {{1, 1}, {7, 7}, {40, 9}, {9, 40}, {90, 70}, {300, 20}};

template <class T>
Canaried<T> scaled(Size m, Size n, double factor) {
  Canaried<T> A(m, n, 2);
  A.random(3);
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < m; ++i) A(i, j) *= static_cast<Real<T>>(factor);
  return A;
}

void semantics() {
  for_each_precision([]<class T>(T*) {
    for (const Kind kind : reference::kinds)
      for (const auto& [m, n] : shapes) {
        const Canaried<T> A = reference::matrix_of<T>(kind, m, n);
        check_factors(A, factored(A), ("kind " + std::to_string(static_cast<int>(kind))).c_str());
      }
    // Several blocks of several panels, and of tiles.
    const Canaried<T> large = reference::matrix_of<T>(Kind::random, 330, 210);
    check_factors(large, factored(large), "large");
    // As large as a norm leaves room for, and so small that roundings are not yet lost to underflow.
    using Limits = std::numeric_limits<Real<T>>;
    for (const double factor :
         {static_cast<double>(Limits::max()) / 2048, 64 * static_cast<double>(Limits::min() / Limits::epsilon())}) {
      const Canaried<T> A = scaled<T>(100, 80, factor);
      check_factors(A, factored(A), factor > 1 ? "near overflow" : "near underflow");
    }
  });
}

/// So tall that three devices deal out rows.
void tall() {
  for_each_precision([]<class T>(T*) {
    for (const Kind kind : reference::kinds) {
      const Canaried<T> A = reference::matrix_of<T>(kind, 1200, 20);
      check_factors(A, factored(A), ("tall, kind " + std::to_string(static_cast<int>(kind))).c_str());
    }
    const Canaried<T> blocks = reference::matrix_of<T>(Kind::random, 3000, 80);
    check_factors(blocks, factored(blocks), "tall, of two blocks");
    using Limits = std::numeric_limits<Real<T>>;
    for (const double factor :
         {static_cast<double>(Limits::max()) / 2048, 64 * static_cast<double>(Limits::min() / Limits::epsilon())}) {
      const Canaried<T> A = scaled<T>(900, 12, factor);
      check_factors(A, factored(A), factor > 1 ? "tall, near overflow" : "tall, near underflow");
    }
  });
}

/// What is not finite spreads as in LAPACK: to nothing on its left.
void tall_not_finite() {
  for_each_precision([]<class T>(T*) {
    for (const double odd : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
      for (const Size col : {0, 7}) {
        Canaried<T> A = reference::matrix_of<T>(Kind::random, 1200, 20);
        A(700, col) = T(static_cast<Real<T>>(odd));
        const Factors<T> f = factored(A);
        const auto is_finite = [](const T& x) { return std::isfinite(std::real(x)) && std::isfinite(std::imag(x)); };
        for (Size j = 0; j < col; ++j)
          for (Size i = 0; i < 1200; ++i)
            if (!is_finite(f.A(i, j)) || !is_finite(f.tau(j, 0)))
              fail("%c: %g in column %ld is in column %ld", letter<T>(), odd, long{col}, long{j});
        if (is_finite(f.A(col, col)) || is_finite(f.tau(col, 0))) fail("%c: %g has vanished", letter<T>(), odd);
      }
  });
}

/// The CPU's ormqr and orgqr read what we have left.
void consumers() {
  for_each_precision([]<class T>(T*) {
    for (const Kind kind : reference::kinds)
      for (const auto& [m, n] : {std::pair<Size, Size>{90, 70}, {300, 20}, {30, 80}, {150, 150}}) {
        const Canaried<T> A = reference::matrix_of<T>(kind, m, n);
        const Factors<T> f = factored(A);
        const Size k = f.k();
        Canaried<T> C = A, Q = f.A, work(64 * std::max(m, n), 1);
        const int lwork = as_int(work.rows()), ld = as_int(A.ld());
        if (raw_ormqr('L', adjoint<T>, as_int(m), as_int(n), as_int(k), f.A.data(), ld, f.tau.data(), C.data(), ld,
                      work.data(), lwork) != 0 ||
            raw_orgqr(as_int(m), as_int(k), as_int(k), Q.data(), ld, f.tau.data(), work.data(), lwork) != 0)
          fail("the consumers refuse");
        const Dense<T> a = Dense<T>::of(A);
        const double residual = (Dense<T>::of(C) - reference::upper_part(m, n, f.A.data(), f.A.ld())).norm();
        if (!(residual <= allowed(f) * a.norm()))
          fail("%c kind %d: residual %.3g", letter<T>(), static_cast<int>(kind), residual);
        const double off = reference::orthogonality(Dense<T>::of(m, k, Q.data(), Q.ld()));
        if (!(off <= allowed(f) * std::sqrt(static_cast<double>(k))))
          fail("%c kind %d: orthogonality %.3g", letter<T>(), static_cast<int>(kind), off);
      }
  });
}

/// A product with Q by a call with the least workspace there may be.
template <class T>
void check_product(const Factors<T>& f, char side, char trans, Size other, unsigned seed) {
  const bool left = side == 'L' || side == 'l', adjoint_q = trans != 'N' && trans != 'n';
  const Size m = left ? f.m() : other, n = left ? other : f.m();
  Canaried<T> C(m, n, 2), work(std::max<Size>(1, other), 1);
  C.random(seed);
  Dense<T> due = Dense<T>::of(C);
  if (!left) due = due.adjoint();  // C Q = (Q^H C^H)^H
  reference::apply_lapack_q(left == adjoint_q, f.m(), f.k(), f.A.data(), f.A.ld(), f.tau.data(), due);
  if (!left) due = due.adjoint();
  const Factors<T> was = f;
  const int info = raw_ormqr(side, trans, as_int(m), as_int(n), as_int(f.k()), f.A.data(), as_int(f.A.ld()),
                             f.tau.data(), C.data(), as_int(C.ld()), work.data(), as_int(work.rows()));
  const double error = (Dense<T>::of(C) - due).norm();
  if (info != 0 || !(error <= allowed(f) * due.norm()))
    fail("%cormqr %c%c %ld x %ld: info %d, error %.3g", letter<T>(), side, trans, long{m}, long{n}, info, error);
  if (!C.canaries_intact() || !work.canaries_intact() || !(was.A == f.A) || !(was.tau == f.tau))
    fail("%cormqr %c%c: storage outside was written", letter<T>(), side, trans);
}

/// Q's first n columns.
template <class T>
void check_q(const Factors<T>& f, Size n) {
  const Size m = f.m(), k = std::min(f.k(), n);
  Canaried<T> Q(m, n, 3), work(n, 1);
  Q.random(9);
  for (Size j = 0; j < k; ++j)
    for (Size i = 0; i < m; ++i) Q(i, j) = f.A(i, j);
  Dense<T> due(m, n);
  for (Size j = 0; j < n; ++j) due(j, j) = 1;
  reference::apply_lapack_q(false, m, k, f.A.data(), f.A.ld(), f.tau.data(), due);
  const int info =
      raw_orgqr(as_int(m), as_int(n), as_int(k), Q.data(), as_int(Q.ld()), f.tau.data(), work.data(), as_int(n));
  const double error = (Dense<T>::of(m, n, Q.data(), Q.ld()) - due).norm();
  if (info != 0 || !(error <= allowed(f) * due.norm()))
    fail("%corgqr %ld x %ld of %ld: info %d, error %.3g", letter<T>(), long{m}, long{n}, long{k}, info, error);
  if (!Q.canaries_intact() || !work.canaries_intact()) fail("%corgqr: storage outside was written", letter<T>());
}

/// Both sides, Q and its adjoint, more and fewer columns than reflectors.
void products() {
  for_each_precision([]<class T>(T*) {
    const char lower = adjoint<T> == 'C' ? 'c' : 't';
    for (const auto& [m, n] : {std::pair<Size, Size>{1, 1}, {70, 40}, {40, 70}, {300, 20}, {150, 150}}) {
      const Factors<T> f = factored(reference::matrix_of<T>(Kind::random, m, n));
      for (const char trans : {'N', adjoint<T>, lower})
        for (const char side : {'L', 'r'}) check_product(f, side, trans, side == 'L' ? 33 : 90, 5);
      for (const Size count : {f.k(), std::min(m, f.k() + 5), std::max<Size>(1, f.k() - 3)}) check_q(f, count);
    }
    for (const Kind kind : {Kind::rank_one, Kind::zero, Kind::zero_column, Kind::triangular}) {
      const Factors<T> f = factored(reference::matrix_of<T>(kind, 90, 70));
      check_product(f, 'L', adjoint<T>, 10, 6);
      check_q(f, 90);
    }
  });
}

void large_products() {
  for_each_precision([]<class T>(T*) {
    const Factors<T> large = factored(reference::matrix_of<T>(Kind::random, 330, 210));
    check_product(large, 'R', 'N', 300, 7);
    check_product(large, 'L', 'N', 300, 8);
    check_q(large, 250);
  });
}

/// Nothing to factor, and nothing to multiply.
void stays() {
  for_each_precision([]<class T>(T*) {
    for (const auto& [m, n] : {std::pair<int, int>{0, 0}, {0, 5}, {5, 0}}) {
      Canaried<T> A(5, 5), tau(5, 1), work(5, 1);
      A.random(1);
      const Canaried<T> was = A;
      const int info = raw_geqrf(m, n, A.data(), 5, tau.data(), work.data(), 5);
      if (info != 0 || !(A == was) || !tau.canaries_intact()) fail("geqrf of %d x %d: info %d", m, n, info);
    }
    for (const auto& [m, n, k] : {std::array<int, 3>{0, 0, 0}, {5, 0, 0}, {4, 3, 0}, {0, 4, 0}}) {
      Canaried<T> A(5, 5), tau(5, 1), C(5, 5), work(5, 1);
      A.random(1);
      C.random(2);
      const Canaried<T> was_a = A, was_c = C;
      const int info = raw_ormqr('L', 'N', m, n, k, A.data(), 5, tau.data(), C.data(), 5, work.data(), 5);
      if (info != 0 || !(A == was_a) || !(C == was_c)) fail("ormqr of %d x %d, %d: info %d", m, n, k, info);
      if (n <= m && raw_orgqr(m, n, k, A.data(), 5, tau.data(), work.data(), 5) != 0)
        fail("orgqr of %d x %d, %d", m, n, k);
    }
  });
}

/// What no reflectors leave: an identity, whatever A holds.
void identity() {
  for_each_precision([]<class T>(T*) {
    for (const auto& [m, n] : {std::pair<int, int>{1, 1}, {4, 3}, {20, 20}, {301, 67}}) {
      Canaried<T> A(m, n), tau(5, 1), work(n, 1);
      A.random(1);
      A(0, 0) = T(std::numeric_limits<Real<T>>::quiet_NaN());
      if (raw_orgqr(m, n, 0, A.data(), as_int(A.ld()), tau.data(), work.data(), n) != 0) fail("orgqr of %d x %d", m, n);
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < m; ++i)
          if (A(i, j) != T(i == j)) return fail("orgqr of %d x %d without reflectors: A(%d, %d)", m, n, i, j);
      if (!A.canaries_intact()) fail("orgqr of %d x %d: storage outside of A was written", m, n);
    }
  });
}

/// Each invalid argument in turn, of which xerbla (below) tells.
void invalid() {
  struct Call {
    int m = 6, n = 5, lda = 8, lwork = 5;
  };
  const Call wrong[] = {{.m = -1},
                        {.n = -1},
                        {.lda = 5},
                        {.lwork = 4},
                        {.lwork = 0},
                        {.lwork = -2},
                        {.m = -2000000000},
                        {.lda = 0},
                        {.m = -1, .lwork = -1},
                        {.lda = 5, .lwork = -1},
                        {.m = -1, .n = -1, .lda = 0, .lwork = 0}};
  int refused = 0, made = 0;
  for_each_precision([&]<class T>(T*) {
    for (const Call& c : wrong) {
      Canaried<T> A(8, 8), tau(8, 1), work(8, 1);
      const Canaried<T> was = A.random(1);
      told.clear();
      const int info = raw_geqrf(c.m, c.n, A.data(), c.lda, tau.data(), work.data(), c.lwork);
      std::printf("%c m=%d n=%d lda=%d lwork=%d: %s, info %d\n", letter<T>(), c.m, c.n, c.lda, c.lwork,
                  told.empty() ? "accepted" : told.c_str(), info);
      if (!(A == was) || !tau.canaries_intact()) fail("an operand was written");
      refused += !told.empty();
      ++made;
    }
    struct Product {
      char side = 'L', trans = 'N';
      int m = 6, n = 5, k = 4, lda = 8, ldc = 8, lwork = 6;
    };
    const Product bad[] = {{.side = 'X'},  {.side = 0},
                           {.trans = 'X'}, {.trans = adjoint<T> == 'C' ? 'T' : 'C'},
                           {.m = -1},      {.n = -1},
                           {.k = -1},      {.k = 7},
                           {.lda = 5},     {.ldc = 5},
                           {.lwork = 4},   {.side = 'R', .k = 6},
                           {.lwork = -2},  {.k = 7, .lwork = -1}};
    for (const Product& c : bad) {
      Canaried<T> A(8, 8), tau(8, 1), C(8, 8), work(8, 1);
      A.random(1);
      const Canaried<T> was = C.random(2);
      told.clear();
      int info =
          raw_ormqr(c.side, c.trans, c.m, c.n, c.k, A.data(), c.lda, tau.data(), C.data(), c.ldc, work.data(), c.lwork);
      std::printf("%cormqr %d%d m=%d n=%d k=%d ld=%d,%d lwork=%d: %s, info %d\n", letter<T>(), c.side, c.trans, c.m,
                  c.n, c.k, c.lda, c.ldc, c.lwork, told.empty() ? "accepted" : told.c_str(), info);
      if (!(C == was)) fail("an operand was written");
      refused += !told.empty();
      told.clear();
      if (c.side != 'L' || c.trans != 'N' || c.ldc != 8) continue;
      const int n =
          c.lda == 8 && c.k == 4 && c.m == 6 && c.n == 5 && c.lwork != 4 && c.lwork != -2 ? 7 : c.n;  // or too wide
      info = raw_orgqr(c.m, n, c.k, A.data(), c.lda, tau.data(), work.data(), c.lwork);
      std::printf("%corgqr m=%d n=%d k=%d lda=%d lwork=%d: %s, info %d\n", letter<T>(), c.m, n, c.k, c.lda, c.lwork,
                  told.empty() ? "accepted" : told.c_str(), info);
      refused += !told.empty();
      made += 2;
    }
  });
  std::printf("refused %d of %d\n", refused, made);
}

/// The answer is enough, and nothing else is touched.
void queries() {
  for_each_precision([]<class T>(T*) {
    for (const auto& [m, n] : {std::pair<int, int>{1, 1}, {40, 9}, {9, 40}, {700, 600}, {0, 5}, {40000, 30000}}) {
      Canaried<T> work(1, 1);
      const int info = raw_geqrf(m, n, nullptr, std::max(1, m), nullptr, work.data(), -1);
      if (info != 0 || !(static_cast<double>(std::real(work(0, 0))) >= (m > 0 ? n : 1)) || !work.canaries_intact())
        fail("%cgeqrf's workspace for %d x %d: %g, info %d", letter<T>(), m, n,
             static_cast<double>(std::real(work(0, 0))), info);
      const int k = std::min(m, n);
      for (const char side : {'L', 'R'}) {
        Canaried<T> room(1, 1);
        const int order = side == 'L' ? m : n,
                  answer = raw_ormqr(side, 'N', m, n, std::min(k, order), nullptr, std::max(1, order), nullptr, nullptr,
                                     std::max(1, m), room.data(), -1);
        if (answer != 0 || !(static_cast<double>(std::real(room(0, 0))) >= (k > 0 ? side == 'L' ? n : m : 1)))
          fail("ormqr's workspace for %d x %d: %g, info %d", m, n, static_cast<double>(std::real(room(0, 0))), answer);
      }
      Canaried<T> room(1, 1);
      const int answer = raw_orgqr(m, k, k, nullptr, std::max(1, m), nullptr, room.data(), -1);
      if (answer != 0 || !(static_cast<double>(std::real(room(0, 0))) >= std::max(1, k)))
        fail("orgqr's workspace for %d x %d: %g, info %d", m, k, static_cast<double>(std::real(room(0, 0))), answer);
    }
  });
}

/// Every operation of two factorisations fails in turn.
template <class T>
void faults() {
  const Canaried<T> A = reference::matrix_of<T>(Kind::random, 24, 18),
                    B = reference::matrix_of<T>(Kind::random, 10, 21);
  at_every_fault([&] {
    check_factors(A, factored(A), "first");
    check_factors(B, factored(B), "second");
  });
}

/// Of one that is larger than the device's memory, and one that is not.
template <class T>
void part_faults() {
  const Canaried<T> A = reference::matrix_of<T>(Kind::random, 40, 40),
                    B = reference::matrix_of<T>(Kind::random, 10, 12);
  at_every_fault([&] {
    check_factors(A, factored(A), "in parts");
    check_factors(B, factored(B), "behind it");
  });
}

/// And of two products with Q.
template <class T>
void product_faults() {
  Factors<T> f{Canaried<T>(20, 14), Canaried<T>(14, 1)};
  f.A.random(1);
  // Reflectors that nobody had to compute: tau = 2 / v^H v.
  for (Size j = 0; j < 14; ++j) {
    Real<T> sum = 1;
    for (Size i = j + 1; i < 20; ++i) sum += std::norm(f.A(i, j));
    f.tau(j, 0) = T(2 / sum);
  }
  at_every_fault([&] {
    check_product(f, 'L', adjoint<T>, 9, 3);
    check_q(f, 14);
  });
}

/// In pages of its own: nothing else is written there.
double* pages(int edge) {
  void* p = mmap(nullptr, sizeof(double) * static_cast<std::size_t>(edge * edge), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<double*>(p);
}

double bits_of(const double* x, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += x[i] * ((i * 37) % 101 - 50);
  return sum;
}

void copies() {
  constexpr int n = 128, size = n * n;
  double *A = pages(n), *B = pages(n), *C = pages(n), *D = pages(n);
  std::vector<double> tau(n), work(n);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < size; ++i) A[i] = (i * 31 + round) % 97 - 48, B[i] = i % (n + 1) == 0 ? 2 : 0, C[i] = D[i] = -1;
    note_call("dgemm");
    raw_gemm(Via::fortran, 'N', 'N', n, n, n, 1, A, n, B, n, 0, C, n);  // exactly 2 A
    if (raw_geqrf(n, n, C, n, tau.data(), work.data(), n) != 0) fail("info");
    Factors<double> f{Canaried<double>(n, n), Canaried<double>(n, 1)};
    Canaried<double> twice(n, n);
    for (int j = 0; j < n; ++j) {
      f.tau(j, 0) = tau[static_cast<std::size_t>(j)];
      for (int i = 0; i < n; ++i) f.A(i, j) = C[i + j * n], twice(i, j) = 2 * A[i + j * n];
    }
    check_factors(twice, f, "of a product");
    // Q^H of the factors where they are, times the product: R.
    for (int i = 0; i < size; ++i) D[i] = 2 * A[i];
    if (raw_ormqr('L', 'T', n, n, n, C, n, tau.data(), D, n, work.data(), n) != 0) fail("info");
    double off = 0, norm = 0;
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        off = std::hypot(off, D[i + j * n] - (i <= j ? C[i + j * n] : 0));
        norm = std::hypot(norm, 2 * A[i + j * n]);
      }
    if (!(off <= allowed(f) * norm)) fail("round %d: Q^H A is off by %g", round, off);
    note_call("dgemm");
    raw_gemm(Via::fortran, 'N', 'N', n, n, n, 1, C, n, B, n, 0, D, n);  // exactly twice the factors
    for (int i = 0; i < size; ++i)
      if (D[i] != 2 * C[i]) return fail("round %d: element %d of the product with the factors", round, i);
    // A copy of the factors must not hide what the program writes.
    C[5 + 7 * n] += 1;
    note_call("dgemm");
    raw_gemm(Via::fortran, 'N', 'N', n, n, n, 1, C, n, B, n, 0, D, n);
    if (D[5 + 7 * n] != 2 * C[5 + 7 * n]) fail("round %d: a copy was stale", round);
    C[5 + 7 * n] -= 1;
    // Q in their place; Q R is what was factored, and must be made of the Q that is there now.
    if (raw_orgqr(n, n, n, C, n, tau.data(), work.data(), n) != 0) fail("info");
    note_call("dgemm");
    raw_gemm(Via::fortran, 'N', 'N', n, n, n, 1, C, n, B, n, 0, D, n);
    for (int i = 0; i < size; ++i)
      if (D[i] != 2 * C[i]) return fail("round %d: element %d of the product with Q", round, i);
    std::printf("round %d: %.17g\n", round, bits_of(C, size));
  }
}

void threads() {
  const auto work = [](unsigned number) {
    for (unsigned round = 0; round < 6; ++round) {
      Canaried<double> A(60 + number, 50, number);
      A.random(number * 7 + round);
      check_factors(A, factored(A), "thread");
    }
  };
  std::vector<std::thread> others;
  for (unsigned number = 0; number < 8; ++number) others.emplace_back(work, number);
  for (std::thread& other : others) other.join();
}

/// main returns while other threads go on factoring.
void exiting() {
  static std::atomic<int> rounds{0};
  for (unsigned number = 0; number < 4; ++number)
    std::thread([number] {
      Canaried<double> A(80, 60, number);
      for (unsigned round = 0;; ++round) {
        A.random(round);
        check_factors(A, factored(A), "thread");
        if (failures.load()) std::_Exit(3);
        rounds.fetch_add(1);
      }
    }).detach();
  while (rounds.load() < 8) std::this_thread::yield();
  std::exit(0);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view which = count > 1 ? arguments[1] : "";
  constexpr std::pair<const char*, void (*)()> parts[] = {{"semantics", semantics},
                                                          {"products", products},
                                                          {"large_products", large_products},
                                                          {"consumers", consumers},
                                                          {"stays", stays},
                                                          {"invalid", invalid},
                                                          {"queries", queries},
                                                          {"copies", copies},
                                                          {"threads", threads},
                                                          {"exiting", exiting},
                                                          {"identity", identity},
                                                          {"tall", tall},
                                                          {"tall_not_finite", tall_not_finite}};
  for (const auto& [name, part] : parts)
    if (which == name && count == 2) return part(), verdict_of_calls();
  if ((which != "faults" && which != "product_faults" && which != "part_faults") || count != 3) return 2;
  for_each_precision([&]<class T>(T*) {
    if (letter<T>() != arguments[2][0]) return;
    which == "faults" ? faults<T>() : which == "part_faults" ? part_faults<T>() : product_faults<T>();
  });
  return verdict_of_calls();
}
