// geqr and gemqr: LAPACK's compact format, which only the two know.  So Q is looked at as gemqr applies it, whoever has
// made T.  Whatever may not be read or written is a canary.
//
//   compact_qr semantics   every way of calling gemqr, with the least of everything
//   compact_qr stays | invalid | queries
//   compact_qr kept        what is asked, or refused, with a T that is in use
//   compact_qr memory      gemqr where there is none for a workspace of its own
//   compact_qr faults PRECISION   as faults.cpp
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "every_fault.hpp"
#include "routine_calls.hpp"
#include "tests/unit/qr/qr_reference.hpp"

#define GEQR(name, T) \
  extern "C" void name##_(const int*, const int*, T*, const int*, T*, const int*, T*, const int*, int*);
#define GEMQR(name, T)                                                                                        \
  extern "C" void name##_(const char*, const char*, const int*, const int*, const int*, const T*, const int*, \
                          const T*, const int*, T*, const int*, T*, const int*, int*, std::size_t, std::size_t);
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

#define GEQR(name, T)                                                              \
  int raw_geqr(int m, int n, T* A, int lda, T* t, int tsize, T* work, int lwork) { \
    note_call(#name);                                                              \
    int info = -99;                                                                \
    name##_(&m, &n, A, &lda, t, &tsize, work, &lwork, &info);                      \
    return info;                                                                   \
  }
#define GEMQR(name, T)                                                                                                 \
  int raw_gemqr(char side, char trans, int m, int n, int k, const T* A, int lda, const T* t, int tsize, T* C, int ldc, \
                T* work, int lwork) {                                                                                  \
    note_call(#name);                                                                                                  \
    int info = -99;                                                                                                    \
    name##_(&side, &trans, &m, &n, &k, A, &lda, t, &tsize, C, &ldc, work, &lwork, &info, 1, 1);                        \
    return info;                                                                                                       \
  }
#include "api/routines.def"

template <class T>
constexpr char adjoint = reference::complex_type<T> ? 'C' : 'T';

int as_int(Size x) { return static_cast<int>(x); }

template <class T>
double real_of(const T& x) {
  return static_cast<double>(std::real(x));
}

template <class T>
struct Factors {
  Canaried<T> A, t;
  Size m() const { return A.rows(); }
  Size n() const { return A.cols(); }
  Size k() const { return std::min(m(), n()); }
  /// Whether blaslift has made T: LAPACK's blocks have rows and columns.
  bool ours() { return real_of(t(1, 0)) < 0 && real_of(t(2, 0)) < 0; }
};

template <class T>
Factors<T> factored(const Canaried<T>& A0, Size tsize, Size lwork) {
  const Size m = A0.rows(), n = A0.cols();
  Factors<T> f{A0, Canaried<T>(tsize, 1)};
  Canaried<T> work(lwork, 1);
  const int info = raw_geqr(as_int(m), as_int(n), f.A.data(), as_int(f.A.ld()), f.t.data(), as_int(tsize), work.data(),
                            as_int(lwork));
  if (info != 0) fail("geqr of %ld x %ld: info %d", long{m}, long{n}, info);
  if (!(real_of(f.t(0, 0)) >= static_cast<double>(n + 5)) || !(real_of(work(0, 0)) >= static_cast<double>(n)))
    fail("geqr of %ld x %ld leaves T(1) %g, work(1) %g", long{m}, long{n}, real_of(f.t(0, 0)), real_of(work(0, 0)));
  if (!f.A.canaries_intact() || !f.t.canaries_intact() || !work.canaries_intact())
    fail("geqr of %ld x %ld: storage outside was written", long{m}, long{n});
  return f;
}
/// With the least sizes there may be.
template <class T>
Factors<T> factored(const Canaried<T>& A0) {
  return factored(A0, A0.cols() + 5, std::max<Size>(1, A0.cols()));
}

/// As in qr.cpp.
template <class T>
double allowed(const Factors<T>& f) {
  return static_cast<double>(f.m() + f.k()) * reference::eps<T>() * (reference::complex_type<T> ? 2 : 1);
}

template <class T>
Canaried<T> applied(Factors<T>& f, char side, char trans, Canaried<T> C, Size lwork) {
  const Factors<T> was = f;
  Canaried<T> work(lwork, 1);
  const int info =
      raw_gemqr(side, trans, as_int(C.rows()), as_int(C.cols()), as_int(f.k()), f.A.data(), as_int(f.A.ld()),
                f.t.data(), as_int(f.t.rows()), C.data(), as_int(C.ld()), work.data(), as_int(lwork));
  if (info != 0) fail("%cgemqr %c%c: info %d", letter<T>(), side, trans, info);
  if (!(real_of(work(0, 0)) >= 1)) fail("%cgemqr %c%c: work(1) %g", letter<T>(), side, trans, real_of(work(0, 0)));
  if (!C.canaries_intact() || !work.canaries_intact() || !(was.A == f.A) || !(was.t == f.t))
    fail("%cgemqr %c%c: storage outside was written", letter<T>(), side, trans);
  return C;
}

/// What LAPACK asks for with blocks of one column: as many elements as C has columns; on its right, as A has rows,
/// though as many as C has rows are used.
template <class T>
Size least_workspace(const Factors<T>& f, char side, Size other) {
  return side == 'L' ? other : std::max(other, f.m());
}

template <class T>
Canaried<T> identity(Size m) {
  Canaried<T> C(m, m, 1);
  C.random(1);
  for (Size j = 0; j < m; ++j)
    for (Size i = 0; i < m; ++i) C(i, j) = T(i == j ? 1 : 0);
  return C;
}

/// A = Q R, and Q is unitary.
template <class T>
void check_factors(const Canaried<T>& A0, Factors<T>& f, const char* what) {
  const Size m = f.m(), n = f.n();
  const auto r = Dense<T>::of(applied(f, 'L', adjoint<T>, A0, n));
  const double norm = Dense<T>::of(A0).norm(),
               residual = (r - reference::upper_part(m, n, f.A.data(), f.A.ld())).norm();
  if (!(residual <= allowed(f) * norm))
    fail("%c %s %ld x %ld: residual %.3g of %.3g", letter<T>(), what, long{m}, long{n}, residual, norm);
  const double off = reference::orthogonality(Dense<T>::of(applied(f, 'L', 'N', identity<T>(m), m)));
  if (!(off <= allowed(f) * std::sqrt(static_cast<double>(m))))
    fail("%c %s %ld x %ld: orthogonality %.3g", letter<T>(), what, long{m}, long{n}, off);
}

/// All products with Q are those with one and the same Q.
template <class T>
void check_products(Factors<T>& f, Size other) {
  const auto q = Dense<T>::of(applied(f, 'L', 'N', identity<T>(f.m()), f.m()));
  const char lower = adjoint<T> == 'C' ? 'c' : 't';
  for (const char side : {'L', 'R'})
    for (const char trans : {'N', adjoint<T>, lower}) {
      const bool left = side == 'L';
      Canaried<T> C(left ? f.m() : other, left ? other : f.m(), 2);
      C.random(static_cast<unsigned>(trans));
      const auto c = Dense<T>::of(C), op = trans == 'N' ? q : q.adjoint(), due = left ? op * c : c * op;
      std::vector<Size> sizes{least_workspace(f, side, other), 40 * std::max(f.m(), other)};
      if (f.ours()) sizes.push_back(1);
      for (const Size lwork : sizes) {
        const double error = (Dense<T>::of(applied(f, side, trans, C, lwork)) - due).norm();
        if (!(error <= 2 * allowed(f) * due.norm()))
          fail("%cgemqr %c%c of %ld x %ld by %ld, lwork %ld: error %.3g", letter<T>(), side, trans, long{f.m()},
               long{f.n()}, long{other}, long{lwork}, error);
      }
    }
}

/// A may be where it cannot be written, and is not even for a moment: other threads may multiply by the same Q.
template <class T>
void check_read_only() {
  constexpr Size rows = 48, few = 7, length = 3;
  const Canaried<T> A0 = reference::matrix_of<T>(Kind::random, rows, few);
  Factors<T> f = factored(A0);
  const std::size_t bytes = static_cast<std::size_t>(rows * few) * sizeof(T);
  void* const room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return fail("no memory");
  T* const A = static_cast<T*>(room);
  for (Size j = 0; j < few; ++j)
    for (Size i = 0; i < rows; ++i) A[i + j * rows] = f.A(i, j);
  mprotect(room, bytes, PROT_READ);
  for (const char side : {'L', 'R'}) {
    const bool left = side == 'L';
    Canaried<T> C(left ? rows : length, left ? length : rows);
    Canaried<T> got = C.random(5), work(rows, 1);
    const Canaried<T> due = applied(f, side, 'N', C, rows);
    const int info = raw_gemqr(side, 'N', as_int(C.rows()), as_int(C.cols()), few, A, rows, f.t.data(),
                               as_int(f.t.rows()), got.data(), as_int(got.ld()), work.data(), rows);
    const double error = (Dense<T>::of(got) - Dense<T>::of(due)).norm();
    if (info != 0 || !(error <= 2 * allowed(f) * Dense<T>::of(due).norm()))
      fail("%cgemqr %c of what cannot be written: info %d, error %.3g", letter<T>(), side, info, error);
  }
  munmap(room, bytes);
}

constexpr std::pair<Size, Size> shapes[] = {{1, 1}, {7, 7}, {40, 9}, {9, 40}, {70, 50}, {100, 20}};

void semantics() {
  for_each_precision([]<class T>(T*) {
    for (const Kind kind : {Kind::random, Kind::rank_one, Kind::zero, Kind::zero_column, Kind::triangular})
      for (const auto& [m, n] : shapes) {
        const Canaried<T> A = reference::matrix_of<T>(kind, m, n);
        Factors<T> f = factored(A);
        check_factors(A, f, ("kind " + std::to_string(static_cast<int>(kind))).c_str());
        if (kind == Kind::random) check_products(f, 33);
      }
    // More than the least, and of a T that has been used before.
    const Canaried<T> A = reference::matrix_of<T>(Kind::random, 90, 70);
    Factors<T> f = factored(A, 90 * 70, 64 * 70);
    check_factors(A, f, "large T");
    Factors<T> other{reference::matrix_of<T>(Kind::random, 40, 30), f.t};
    const Canaried<T> B = other.A;
    Canaried<T> work(64 * 30, 1);
    if (raw_geqr(40, 30, other.A.data(), as_int(other.A.ld()), other.t.data(), as_int(other.t.rows()), work.data(),
                 64 * 30) != 0)
      fail("info");
    check_factors(B, other, "T again");
    check_products(other, 7);
    check_read_only<T>();
  });
}

/// Nothing to factor, and nothing to multiply.
void stays() {
  for_each_precision([]<class T>(T*) {
    for (const auto& [m, n] : {std::pair<int, int>{0, 0}, {0, 5}, {5, 0}}) {
      Canaried<T> A(5, 5), t(10, 1), work(5, 1);
      A.random(1);
      const Canaried<T> was = A;
      const int info = raw_geqr(m, n, A.data(), 5, t.data(), 10, work.data(), 5);
      if (info != 0 || !(A == was) || !t.canaries_intact()) fail("geqr of %d x %d: info %d", m, n, info);
      Canaried<T> C(5, 5);
      C.random(2);
      const Canaried<T> was_c = C;
      if (raw_gemqr('L', 'N', m, 3, 0, A.data(), 5, t.data(), 10, C.data(), 5, work.data(), 5) != 0 || !(C == was_c))
        fail("gemqr without reflectors");
    }
  });
}

struct Wrong {
  char side = 'L', trans = 'N';
  int m = 6, n = 5, k = 4, lda = 8, tsize = 12, ldc = 8, lwork = 40;
};

/// Of arguments that gemqr refuses whatever T is.
template <class T>
std::vector<Wrong> wrong_products() {
  return {{.side = 'X'},
          {.side = 0},
          {.trans = 'X'},
          {.trans = adjoint<T> == 'C' ? 'T' : 'C'},
          {.m = -1},
          {.n = -1},
          {.k = -1},
          {.k = 7},
          {.lda = 5},
          {.ldc = 5},
          {.tsize = 4},
          {.tsize = 0},
          {.lwork = 0},
          {.lwork = -2},
          {.side = 'R', .k = 6},
          {.k = 7, .lwork = -1}};
}

/// How many are refused, each of which tells of itself.
template <class T>
int refused_products(const T* A, const T* t) {
  int refused = 0;
  for (const Wrong& c : wrong_products<T>()) {
    Canaried<T> C(8, 8), work(40, 1);
    const Canaried<T> was = C.random(2);
    told.clear();
    const int info =
        raw_gemqr(c.side, c.trans, c.m, c.n, c.k, A, c.lda, t, c.tsize, C.data(), c.ldc, work.data(), c.lwork);
    std::printf("%cgemqr %d%d m=%d n=%d k=%d ld=%d,%d sizes=%d,%d: %s, info %d\n", letter<T>(), c.side, c.trans, c.m,
                c.n, c.k, c.lda, c.ldc, c.tsize, c.lwork, told.empty() ? "accepted" : told.c_str(), info);
    if (!(C == was) || !work.canaries_intact()) fail("an operand was written");
    refused += !told.empty();
  }
  return refused;
}

/// Each invalid argument in turn, of which xerbla tells.
void invalid() {
  int refused = 0, made = 0;
  for_each_precision([&]<class T>(T*) {
    const Wrong wrong[] = {{.m = -1},     {.n = -1},    {.lda = 5},   {.tsize = 9},           {.tsize = 0},
                           {.tsize = -3}, {.lwork = 4}, {.lwork = 0}, {.m = -1, .lwork = -1}, {.lda = 5, .tsize = -2}};
    for (const Wrong& c : wrong) {
      Canaried<T> A(8, 8), t(400, 1), work(40, 1);
      const Canaried<T> was = A.random(1);
      told.clear();
      const int info = raw_geqr(c.m, c.n, A.data(), c.lda, t.data(), c.tsize, work.data(), c.lwork);
      std::printf("%cgeqr m=%d n=%d lda=%d sizes=%d,%d: %s, info %d\n", letter<T>(), c.m, c.n, c.lda, c.tsize, c.lwork,
                  told.empty() ? "accepted" : told.c_str(), info);
      if (!(A == was) || !t.canaries_intact()) fail("an operand was written");
      refused += !told.empty();
      ++made;
    }
    Canaried<T> A(8, 8), t(12, 1), work(1, 1);
    A.random(1);
    raw_geqr(6, 4, A.data(), 8, t.data(), -1, work.data(), -1);
    made += static_cast<int>(wrong_products<T>().size());
    refused += refused_products(A.data(), t.data());
  });
  std::printf("refused %d of %d\n", refused, made);
}

/// The answers are enough, and nothing else is touched.
void queries() {
  for_each_precision([]<class T>(T*) {
    for (const auto& [m, n] : {std::pair<int, int>{1, 1}, {40, 9}, {9, 40}, {700, 600}, {0, 5}, {5, 0}, {9000, 50}})
      for (const auto& [tsize, lwork] : {std::pair<int, int>{-1, -1}, {-2, -2}, {-1, -2}, {-2, -1}, {7, -1}, {-2, 7}}) {
        Canaried<T> t(5, 1), work(1, 1);
        const int info = raw_geqr(m, n, nullptr, std::max(1, m), t.data(), tsize, work.data(), lwork);
        const double told_t = real_of(t(0, 0)), told_work = real_of(work(0, 0));
        std::printf("%c %d x %d, %d, %d: %g, %g, info %d\n", letter<T>(), m, n, tsize, lwork, told_t, told_work, info);
        if (info != 0 || !(told_t >= n + 5) || !(told_work >= std::max(1, n)) || !t.canaries_intact() ||
            !work.canaries_intact())
          fail("%cgeqr's answers for %d x %d: %g, %g, info %d", letter<T>(), m, n, told_t, told_work, info);
        const int k = std::min(m, n);
        for (const char side : {'L', 'R'}) {
          Canaried<T> room(1, 1);
          const int rows = side == 'L' ? m : 77, cols = side == 'L' ? 77 : m;
          const int answer = raw_gemqr(side, 'N', rows, cols, k, nullptr, std::max(1, m), t.data(), 5, nullptr,
                                       std::max(1, rows), room.data(), -1);
          // With Q on the right, LAPACK's answer is too small for a C of more rows than A has.
          const double least = k == 0 ? 0 : side == 'L' ? 77 : std::min(m, 77);
          if (answer != 0 || !(real_of(room(0, 0)) >= least) || !room.canaries_intact())
            fail("gemqr's workspace for %d x %d: %g, info %d", m, n, real_of(room(0, 0)), answer);
        }
      }
  });
}

/// A T whose factors are in use stays what it is, whatever is asked, and whatever is refused.
void kept() {
  for_each_precision([]<class T>(T*) {
    const Canaried<T> A = reference::matrix_of<T>(Kind::random, 8, 6);
    Factors<T> f = factored(A);
    refused_products(f.A.data(), f.t.data());
    for (const auto& [tsize, lwork] : {std::pair<int, int>{-1, -1}, {-2, -2}}) {
      Canaried<T> work(1, 1);
      if (raw_geqr(8, 6, nullptr, 8, f.t.data(), tsize, work.data(), lwork) != 0) fail("a query is refused");
    }
    for (const char side : {'L', 'R'}) {
      Canaried<T> room(1, 1);
      if (raw_gemqr(side, 'N', 8, 8, 6, nullptr, 8, f.t.data(), as_int(f.t.rows()), nullptr, 8, room.data(), -1) != 0 ||
          !(real_of(room(0, 0)) >= 8) || !room.canaries_intact())
        fail("gemqr's answer with a T in use: %g", real_of(room(0, 0)));
    }
    check_factors(A, f, "kept");
    if (letter<T>() == 'd') std::printf("T is %s\n", f.ours() ? "ours" : "the library's");
  });
}

/// Bytes of address space.
rlim_t address_space() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  return pages * 4096;
}

/// With C so long that the best workspace is some 50 MB.
void memory() {
  const Size m = 8, length = 200000;
  const Canaried<double> A = reference::matrix_of<double>(Kind::random, m, 5);
  Factors<double> f = factored(A);
  const auto q = Dense<double>::of(applied(f, 'L', 'N', identity<double>(m), m));
  for (const char side : {'L', 'R'}) {
    const bool left = side == 'L';
    Canaried<double> C(left ? m : length, left ? length : m);
    C.random(4);
    Canaried<double> got = C, work(777, 1);
    rlimit before{};
    getrlimit(RLIMIT_AS, &before);
    const rlimit little{address_space() + (rlim_t{16} << 20), before.rlim_max};
    setrlimit(RLIMIT_AS, &little);
    const int info = raw_gemqr(side, 'N', as_int(C.rows()), as_int(C.cols()), 5, f.A.data(), as_int(f.A.ld()),
                               f.t.data(), as_int(f.t.rows()), got.data(), as_int(got.ld()), work.data(), 777);
    setrlimit(RLIMIT_AS, &before);
    if (info != 0 || !got.canaries_intact() || !work.canaries_intact()) fail("info %d, or canaries", info);
    double worst = 0;
    for (Size j = 0; j < length; ++j)
      for (Size i = 0; i < m; ++i) {
        double due = 0;
        for (Size p = 0; p < m; ++p) due += left ? real_of(q(i, p)) * C(p, j) : C(j, p) * real_of(q(p, i));
        worst = std::max(worst, std::fabs(due - (left ? got(i, j) : got(j, i))));
      }
    if (!(worst <= 64 * reference::eps<double>())) fail("%c: off by %g", side, worst);
  }
}

template <class T>
void faults() {
  const Canaried<T> A = reference::matrix_of<T>(Kind::random, 24, 18);
  at_every_fault([&] {
    Factors<T> f = factored(A);
    const auto r = Dense<T>::of(applied(f, 'L', adjoint<T>, A, 18));
    const double residual = (r - reference::upper_part(24, 18, f.A.data(), f.A.ld())).norm();
    if (!(residual <= allowed(f) * Dense<T>::of(A).norm())) fail("residual %g", residual);
  });
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view which = count > 1 ? arguments[1] : "";
  constexpr std::pair<const char*, void (*)()> parts[] = {{"semantics", semantics}, {"stays", stays},
                                                          {"invalid", invalid},     {"queries", queries},
                                                          {"kept", kept},           {"memory", memory}};
  for (const auto& [name, part] : parts)
    if (which == name && count == 2) return part(), verdict_of_calls();
  if (which != "faults" || count != 3) return 2;
  for_each_precision([&]<class T>(T*) {
    if (letter<T>() == arguments[2][0]) faults<T>();
  });
  return verdict_of_calls();
}
