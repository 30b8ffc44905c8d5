// What LAPACK's signatures may say beyond those of the routed routines: arrays of integers in either width, workspaces
// of several types and lengths, info above zero, real operands of complex matrices.  Here for routines of LAPACK's that
// nothing routes, as its documentation has them, by LAPACK itself and by functions that stand in for one of 64 bits.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstring>
#include <functional>
#include <tuple>

#include "api/entries.hpp"
#include "impl/core/library_call.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/temporary.hpp"
#include "tools/cli/verify/recorded_call.hpp"

namespace blaslift::lapack_signatures_tests {
namespace {

using reference::Matrix;
using Z = std::complex<double>;

// ---- signatures

template <class T>
struct GetrfArgs {
  index m, n;
  T* A;
  index lda;
  Integers ipiv;
  index rank() const { return std::min(m, n); }
  bool valid() const { return m >= 0 && n >= 0 && ld_suffices(lda, m); }
};
template <class T>
struct GetrfSignature : LapackSignature<GetrfArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.integer("m", x.m);
    see.integer("n", x.n);
    see.operand("A", x.A, [&] { return Use{x.m, x.n, x.lda, true, true}; });
    see.integer("lda", x.lda);
    see.operand("ipiv", x.ipiv, [&] { return Use{x.rank(), 1, std::max<index>(1, x.rank()), false, true}; });
    see.info();
  }
};

template <class T>
struct GetrsArgs {
  Op trans;
  index n, nrhs;
  const T* A;
  index lda;
  Integers ipiv;
  T* B;
  index ldb;
  bool valid() const { return n >= 0 && nrhs >= 0 && ld_suffices(lda, n) && ld_suffices(ldb, n); }
};
template <class T>
struct GetrsSignature : LapackSignature<GetrsArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.letter("trans", transposes, x.trans);
    see.integer("n", x.n);
    see.integer("nrhs", x.nrhs);
    see.operand("A", x.A, [&] { return Use{x.n, x.n, x.lda, true, false}; });
    see.integer("lda", x.lda);
    see.operand("ipiv", x.ipiv, [&] { return Use{x.n, 1, std::max<index>(1, x.n), true, false}; });
    see.operand("B", x.B, [&] { return Use{x.n, x.nrhs, x.ldb, true, true}; });
    see.integer("ldb", x.ldb);
    see.info();
  }
};

constexpr Choice jobs[] = {{'N', 0}, {'V', 0}};

struct HeevdArgs {
  bool vectors;
  Uplo uplo;
  index n;
  Z* A;
  index lda;
  double* w;
  Z* work;
  index lwork;
  double* rwork;
  index lrwork;
  Integers iwork;
  index liwork;
  bool valid() const { return n >= 0 && ld_suffices(lda, n); }
  index least_work() const { return n <= 1 ? 1 : vectors ? 2 * n + n * n : n + 1; }
  index least_rwork() const { return n <= 1 ? 1 : vectors ? 1 + 5 * n + 2 * n * n : n; }
  index least_iwork() const { return n <= 1 || !vectors ? 1 : 3 + 5 * n; }
};
struct HeevdSignature : LapackSignature<HeevdArgs> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.letter("jobz", jobs, x.vectors, 'V');
    see.letter("uplo", triangles, x.uplo);
    see.integer("n", x.n);
    see.operand("A", x.A, [&] { return Use{x.n, x.n, x.lda, true, true}; });
    see.integer("lda", x.lda);
    see.operand("w", x.w, [&] { return Use{x.n, 1, std::max<index>(1, x.n), false, true}; });
    see.workspace("work", x.work, x.lwork, [&] { return x.least_work(); });
    see.workspace("rwork", x.rwork, x.lrwork, [&] { return x.least_rwork(); });
    see.workspace("iwork", x.iwork, x.liwork, [&] { return x.least_iwork(); });
    see.info();
  }
};

struct GeconArgs {
  bool infinity;
  index n;
  const double* A;
  index lda;
  double anorm;
  double* rcond;
  double* work;
  Integers iwork;
  bool valid() const { return n >= 0 && ld_suffices(lda, n); }
};
constexpr Choice norms[] = {{'1', 0}, {'O', 0}, {'I', 0}};
struct GeconSignature : LapackSignature<GeconArgs> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.letter("norm", norms, x.infinity, 'I');
    see.integer("n", x.n);
    see.operand("A", x.A, [&] { return Use{x.n, x.n, x.lda, true, false}; });
    see.integer("lda", x.lda);
    see.scalar("anorm", x.anorm);
    see.operand("rcond", x.rcond, [&] { return Use{1, 1, 1, false, true}; });
    see.scratch("work", x.work, [&] { return 4 * x.n; });
    see.scratch("iwork", x.iwork, [&] { return x.n; });
    see.info();
  }
};

template <class T, class With>
decltype(auto) with_signature(const GetrfArgs<T>&, With with) {
  return with(GetrfSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const GetrsArgs<T>&, With with) {
  return with(GetrsSignature<T>());
}
template <class With>
decltype(auto) with_signature(const HeevdArgs&, With with) {
  return with(HeevdSignature());
}
template <class With>
decltype(auto) with_signature(const GeconArgs&, With with) {
  return with(GeconSignature());
}

// ---- what they are called by

/// LAPACK's own, of 32 bits; its symbol is any of Fortran's.
struct Lapack : Site {
  explicit Lapack(const std::string& name) : Site{} {
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    symbol = Symbol::dgeqrf_;
    void* opened = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
    function = opened ? dlsym(opened, (name + '_').c_str()) : nullptr;
  }
};
template <class T>
std::string named(const char* routine) {
  return letter(precision_of<T>) + std::string(routine);
}

/// A function of the test's own, of 64 bits or 32.
struct StandIn : Site {
  template <class Function>
  StandIn(Function* its_function, bool is_wide) : Site{} {
    symbol = Symbol::dgeqrf_;
    wide = is_wide;
    function = reinterpret_cast<void*>(its_function);
  }
};

/// Integers among canaries.
struct Array {
  Array(index count, bool wide) : size(count), memory(2 * margin + static_cast<std::size_t>(count) * (wide ? 2 : 1)) {
    reference::fill_with_canaries(memory.data(), memory.size() * sizeof(std::int32_t));
    all = {memory.data() + margin, wide};
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  void fill(const std::function<index(index)>& value) {
    for (index i = 0; i < size; ++i) all.set(i, value(i));
  }
  std::vector<index> values() const {
    std::vector<index> x;
    for (index i = 0; i < size; ++i) x.push_back(all.get(i));
    return x;
  }
  bool canaries_intact() const {
    Array fresh(size, all.wide);
    std::copy(memory.begin() + margin, memory.end() - margin, fresh.memory.begin() + margin);
    return fresh.memory == memory;
  }
  bool untouched() const { return Array(size, all.wide).memory == memory; }

  static constexpr std::ptrdiff_t margin = 8;
  index size;
  std::vector<std::uint32_t> memory;
  Integers all{};
};

/// A call's words as Fortran makes them, of this width.
class Fortran {
 public:
  explicit Fortran(bool wide) : wide_(wide) {}
  Fortran& letter(char x) { return letters_[used_] = x, at(&letters_[used_]); }
  Fortran& integer(index x) {
    integers_[used_] = -1;  // all bits: of 32 the others are nobody's
    Integers{&integers_[used_], wide_}.set(0, x);
    return at(&integers_[used_]);
  }
  Fortran& at(const void* address) { return words.set(used_++, address), *this; }

  CallWords words;

 private:
  const bool wide_;
  int used_ = 0;
  char letters_[CallWords::most] = {};
  std::int64_t integers_[CallWords::most] = {};
};

template <class S>
typename S::Args parsed(bool wide, const CallWords& words) {
  typename S::Args args{};
  EXPECT_TRUE((parse<S, Interface::fortran>(wide, words, args)));
  return args;
}

double size_of(const Z& x) { return std::abs(x.real()) + std::abs(x.imag()); }
template <class T>
Z wide_number(const T& x) {
  return {std::real(x), std::imag(x)};
}

template <class T>
class LapackSignatures : public testing::Test {};
TYPED_TEST_SUITE(LapackSignatures, Precisions);

// ---- what is understood of a call

TYPED_TEST(LapackSignatures, AnArrayOfIntegersHasTheWidthOfTheCallers) {
  using T = TypeParam;
  constexpr Places places = places_of<GetrfSignature<T>>(Interface::fortran);
  EXPECT_EQ((std::tuple{places.words(), places.workspace_count, places.status}), (std::tuple{6, 0, 5}));
  for (const bool wide : {false, true}) {
    T a[1];
    Array ipiv(4, wide);
    std::int64_t status = -7;
    Fortran call(wide);
    call.integer(6).integer(4).at(a).integer(8).at(ipiv.all.at).at(&status);
    const auto args = parsed<GetrfSignature<T>>(wide, call.words);
    EXPECT_EQ((std::tuple{args.m, args.n, args.A, args.lda, args.ipiv.at, args.ipiv.wide}),
              (std::tuple{6, 4, a + 0, 8, ipiv.all.at, wide}));
    EXPECT_EQ(to_words(args), "m=6 n=4 lda=8");
    const auto operands = operands_of(args);
    ASSERT_EQ(operands.size(), 2);
    EXPECT_EQ(operands[1].stored, (Stored{ipiv.all.at, 4, 1, 4, wide ? 8U : 4U}));
    EXPECT_EQ((std::tuple{operands[1].reads, operands[1].writes, operands[1].scratch, operands[1].integers}),
              (std::tuple{false, true, false, true}));
    EXPECT_FALSE(operands[0].integers);
    // Elsewhere nothing but the operands has changed.
    T b[1];
    Array other(4, wide);
    void* const at[] = {b, other.all.at};
    const auto moved_args = with_operands(args, at);
    EXPECT_EQ(moved_args.ipiv.wide, wide);
    CallWords expected = call.words;
    expected.set(2, b);
    expected.set(4, other.all.at);
    const CallWords moved = readdressed<GetrfSignature<T>, Interface::fortran>(call.words, moved_args);
    for (int i = 0; i < places.words(); ++i) EXPECT_EQ(moved.word[i], expected.word[i]) << i;
    EXPECT_TRUE(ipiv.untouched() && other.untouched());
  }
}

struct HeevdMemory {
  HeevdMemory(index n, bool wide, index lwork, index lrwork, index liwork)
      : A(n, n, 2), w(n, 1), work(lwork, 1), rwork(lrwork, 1), iwork(liwork, wide) {}
  HeevdArgs args(bool vectors) {
    return {vectors,     Uplo::lower, A.rows(),     A.data(),     A.ld(),    w.data(),
            work.data(), work.rows(), rwork.data(), rwork.rows(), iwork.all, iwork.size};
  }
  bool canaries_intact() const {
    return A.canaries_intact() && w.canaries_intact() && work.canaries_intact() && rwork.canaries_intact() &&
           iwork.canaries_intact();
  }
  Matrix<Z> A;
  Matrix<double> w;
  Matrix<Z> work;
  Matrix<double> rwork;
  Array iwork;
};

TEST(LapackSignature, WorkspacesAreFoundWithTheirLengths) {
  constexpr Places places = places_of<HeevdSignature>(Interface::fortran);
  EXPECT_EQ((std::tuple{places.words(), places.with_lengths(), places.status, places.workspace_count}),
            (std::tuple{13, 15, 12, 3}));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ((std::pair{places.workspaces[i].at, places.workspaces[i].size}), (std::pair{6 + 2 * i, 7 + 2 * i}));
  for (const bool wide : {false, true}) {
    HeevdMemory m(5, wide, 35, 76, 28);
    Fortran call(wide);
    call.letter('v').letter('L').integer(5).at(m.A.data()).integer(m.A.ld()).at(m.w.data());
    call.at(m.work.data()).integer(35).at(m.rwork.data()).integer(76).at(m.iwork.all.at).integer(28).at(nullptr);
    const auto args = parsed<HeevdSignature>(wide, call.words);
    EXPECT_EQ(to_words(args), "jobz=V uplo=L n=5 lda=7 lwork=35 lrwork=76 liwork=28");
    EXPECT_EQ((std::tuple{args.w, args.work, args.rwork, args.iwork.at, args.iwork.wide}),
              (std::tuple{m.w.data(), m.work.data(), m.rwork.data(), m.iwork.all.at, wide}));
    const auto operands = operands_of(args);
    ASSERT_EQ(operands.size(), 5);
    EXPECT_EQ(operands[1].stored, (Stored{m.w.data(), 5, 1, 5, sizeof(double)})) << "real, of a complex matrix";
    EXPECT_EQ(operands[2].stored, (Stored{m.work.data(), 35, 1, 35, sizeof(Z)}));
    EXPECT_EQ(operands[3].stored, (Stored{m.rwork.data(), 76, 1, 76, sizeof(double)}));
    EXPECT_EQ(operands[4].stored, (Stored{m.iwork.all.at, 28, 1, 28, wide ? 8U : 4U}));
    for (const int i : {2, 3, 4}) EXPECT_TRUE(operands[i].scratch && !operands[i].reads && !operands[i].writes);
    HeevdMemory other(5, wide, 35, 76, 28);
    void* const at[] = {other.A.data(), other.w.data(), other.work.data(), other.rwork.data(), other.iwork.all.at};
    const CallWords moved = readdressed<HeevdSignature, Interface::fortran>(call.words, with_operands(args, at));
    const int operand_words[] = {3, 5, 6, 8, 10};
    CallWords expected = call.words;
    for (int i = 0; i < 5; ++i) expected.set(operand_words[i], at[i]);
    for (int i = 0; i < places.words(); ++i) EXPECT_EQ(moved.word[i], expected.word[i]) << i;
    EXPECT_TRUE(workspaces_of<HeevdSignature>(args).suffice && !workspaces_of<HeevdSignature>(args).asked);
    for (index HeevdArgs::*length : {&HeevdArgs::lwork, &HeevdArgs::lrwork, &HeevdArgs::liwork}) {
      HeevdArgs x = args;
      x.*length -= 1;
      EXPECT_FALSE(workspaces_of<HeevdSignature>(x).suffice);
      x.*length = -1;
      EXPECT_TRUE(workspaces_of<HeevdSignature>(x).asked);
    }
  }
}

TEST(LapackSignature, AWorkspaceWithoutALengthIsAsLargeAsFollows) {
  constexpr Places places = places_of<GeconSignature>(Interface::fortran);
  EXPECT_EQ((std::tuple{places.words(), places.workspace_count, places.status}), (std::tuple{9, 0, 8}));
  for (const bool wide : {false, true}) {
    double a[1], rcond, work[1];
    Array iwork(5, wide);
    const double anorm = 3;
    Fortran call(wide);
    call.letter('I').integer(5).at(a).integer(6).at(&anorm).at(&rcond).at(work).at(iwork.all.at).at(nullptr);
    const auto args = parsed<GeconSignature>(wide, call.words);
    EXPECT_EQ(to_words(args), "norm=I n=5 lda=6 anorm=3");
    const auto operands = operands_of(args);
    ASSERT_EQ(operands.size(), 4);
    EXPECT_EQ(operands[2].stored, (Stored{work, 20, 1, 20, sizeof(double)}));
    EXPECT_EQ(operands[3].stored, (Stored{iwork.all.at, 5, 1, 5, wide ? 8U : 4U}));
    EXPECT_TRUE(operands[2].scratch && operands[3].scratch);
    double b[1], other_rcond, other_work[1];
    Array other(5, wide);
    void* const at[] = {b, &other_rcond, other_work, other.all.at};
    CallWords expected = call.words;
    const int operand_words[] = {2, 5, 6, 7};
    for (int i = 0; i < 4; ++i) expected.set(operand_words[i], at[i]);
    const CallWords moved = readdressed<GeconSignature, Interface::fortran>(call.words, with_operands(args, at));
    for (int i = 0; i < places.words(); ++i) EXPECT_EQ(moved.word[i], expected.word[i]) << i;
  }
}

// ---- calls by a library of either width

/// P L U = A and A X = B, element by element: |A - P L U| <= gamma(n) |L| |U| and |B - A X| <= gamma(3 n) |L| |U| |X|
/// in exact arithmetic of their factors (Higham, Accuracy and Stability, 9.3 and 9.4); of complex numbers twice that
/// and a half (3.6).
TYPED_TEST(LapackSignatures, FactorsAndSolutionsAreALibrarysOfEitherWidth) {
  using T = TypeParam;
  const Lapack getrf(named<T>("getrf")), getrs(named<T>("getrs"));
  if (!getrf.function || !getrs.function) GTEST_SKIP() << "no liblapack.so.3";
  constexpr index n = 12, nrhs = 3;
  const double unit = std::numeric_limits<Real<T>>::epsilon() * (reference::complex_type<T> ? 3 : 1);
  std::vector<index> narrow_pivots;
  for (const bool wide : {false, true}) {
    Matrix<T> A(n, n, 3), B(n, nrhs, 2);
    A.random(1);
    B.random(2);
    Matrix<T> LU = A, X = B;
    Array ipiv(n, wide);
    ASSERT_TRUE(call_by(getrf, GetrfArgs<T>{n, n, LU.data(), LU.ld(), ipiv.all}));
    EXPECT_TRUE(LU.canaries_intact() && ipiv.canaries_intact());
    const std::vector<index> pivots = ipiv.values();
    if (!wide) narrow_pivots = pivots;
    EXPECT_EQ(pivots, narrow_pivots) << "all their bits";
    std::vector<index> row(n);
    for (index i = 0; i < n; ++i) row[static_cast<std::size_t>(i)] = i;
    bool moved = false;
    for (index i = 0; i < n; ++i) {
      const index p = pivots[static_cast<std::size_t>(i)] - 1;
      ASSERT_TRUE(p >= i && p < n) << p;
      moved = moved || p != i;
      std::swap(row[static_cast<std::size_t>(i)], row[static_cast<std::size_t>(p)]);
    }
    EXPECT_TRUE(moved) << "or the pivots say nothing";
    const auto L = [&](index i, index k) { return k < i ? wide_number(LU(i, k)) : Z(k == i ? 1 : 0); };
    const auto U = [&](index k, index j) { return k <= j ? wide_number(LU(k, j)) : Z(0); };
    Matrix<double> size(n, n);  // of |L| |U|, in A's rows
    for (index i = 0; i < n; ++i)
      for (index j = 0; j < n; ++j) {
        const index r = row[static_cast<std::size_t>(i)];
        Z sum = 0;
        size(r, j) = 0;
        for (index k = 0; k < n; ++k) sum += L(i, k) * U(k, j), size(r, j) += size_of(L(i, k)) * size_of(U(k, j));
        EXPECT_LE(size_of(sum - wide_number(A(r, j))), n * unit * size(r, j)) << i << ' ' << j;
      }
    const Matrix<T> kept = LU;
    ASSERT_TRUE(call_by(getrs, GetrsArgs<T>{Op::none, n, nrhs, LU.data(), LU.ld(), ipiv.all, X.data(), X.ld()}));
    EXPECT_EQ(ipiv.values(), pivots);
    EXPECT_TRUE(LU == kept && X.canaries_intact() && ipiv.canaries_intact());
    for (index i = 0; i < n; ++i)
      for (index j = 0; j < nrhs; ++j) {
        Z sum = 0;
        double bound = 0;
        for (index k = 0; k < n; ++k) {
          sum += wide_number(A(i, k)) * wide_number(X(k, j));
          bound += size(i, k) * size_of(wide_number(X(k, j)));
        }
        EXPECT_LE(size_of(sum - wide_number(B(i, j))), 3 * n * unit * bound) << i << ' ' << j;
      }
  }
}

/// Of a library of 64 bits: what its functions have been given, and what they leave.
struct {
  const void* ipiv;
  std::vector<std::int64_t> read;
} seen_wide;
void wide_dgetrf(const std::int64_t* m, const std::int64_t* n, double*, const std::int64_t*, std::int64_t* ipiv,
                 std::int64_t* status) {
  seen_wide.ipiv = ipiv;
  for (std::int64_t i = 0; i < std::min(*m, *n); ++i) ipiv[i] = *n - i;
  *status = 0;
}
void wide_dgetrs(const char*, const std::int64_t* n, const std::int64_t*, const double*, const std::int64_t*,
                 const std::int64_t* ipiv, double*, const std::int64_t*, std::int64_t* status, std::size_t) {
  seen_wide.ipiv = ipiv;
  seen_wide.read.assign(ipiv, ipiv + *n);
  *status = 0;
}

TEST(LapackSignature, ALibraryOf64BitsGetsAnArrayOfThose) {
  const StandIn getrf(wide_dgetrf, true), getrs(wide_dgetrs, true);
  double a[1];
  for (const bool wide : {false, true}) {
    Array ipiv(5, wide);
    ASSERT_TRUE(call_by(getrf, GetrfArgs<double>{6, 5, a, 6, ipiv.all}));
    EXPECT_EQ(seen_wide.ipiv == ipiv.all.at, wide) << "what is of its width is the caller's own";
    EXPECT_EQ(ipiv.values(), (std::vector<index>{5, 4, 3, 2, 1}));
    EXPECT_TRUE(ipiv.canaries_intact());
    ipiv.fill([](index i) { return 3 * i - 4; });
    const std::vector<std::uint32_t> before = ipiv.memory;
    ASSERT_TRUE(call_by(getrs, GetrsArgs<double>{Op::none, 5, 1, a, 5, ipiv.all, a, 5}));
    EXPECT_EQ(seen_wide.read, (std::vector<std::int64_t>{-4, -1, 2, 5, 8}));
    EXPECT_EQ(ipiv.memory, before);
  }
}

int narrow_calls = 0;
void narrow_dgetrs(const char*, const int*, const int*, const double*, const int*, const int*, double*, const int*,
                   int*, std::size_t) {
  ++narrow_calls;
}

TEST(LapackSignature, IntegersThatAreReadHaveToFit) {
  const StandIn getrs(narrow_dgetrs, false);
  double a[1];
  Array ipiv(3, true);
  ipiv.fill([](index i) { return i + 1; });
  const GetrsArgs<double> args{Op::none, 3, 1, a, 3, ipiv.all, a, 3};
  EXPECT_TRUE(call_by(getrs, args));
  ipiv.all.set(2, index{1} << 32);
  EXPECT_FALSE(call_by(getrs, args));
  EXPECT_EQ(narrow_calls, 1);
  // What is only written may be anything before.
  EXPECT_TRUE(is_narrow<GetrfSignature<double>>({3, 3, a, 3, ipiv.all}));
}

/// LAPACK's own test ratios (zhet21), below the threshold that it tests itself with (sep.in: 50).
void expect_eigenvectors(const Matrix<Z>& A, const HeevdMemory& m) {
  const index n = A.rows();
  double norm = 0, worst = 0, orthogonal = 0;
  for (index j = 0; j < n; ++j) {
    double column = 0;
    for (index i = 0; i < n; ++i) column += std::abs(A(i, j));
    norm = std::max(norm, column);
  }
  for (index j = 0; j < n; ++j) {
    double off = 0, angle = 0;
    for (index i = 0; i < n; ++i) {
      Z sum = 0, product = 0;
      for (index k = 0; k < n; ++k) {
        sum += A(i, k) * m.A(k, j);
        product += std::conj(m.A(k, i)) * m.A(k, j);
      }
      off += std::abs(sum - m.w(j, 0) * m.A(i, j));
      angle += std::abs(product - Z(i == j ? 1 : 0));
    }
    worst = std::max(worst, off);
    orthogonal = std::max(orthogonal, angle);
    if (j > 0) {
      EXPECT_LE(m.w(j - 1, 0), m.w(j, 0));
    }
  }
  const double unit = static_cast<double>(n) * std::numeric_limits<double>::epsilon();
  EXPECT_LE(worst, 50 * unit * norm);
  EXPECT_LE(orthogonal, 50 * unit);
}

Matrix<Z> hermitian(index n) {
  Matrix<Z> A(n, n, 2);
  A.random(7);
  for (index j = 0; j < n; ++j) {
    A(j, j) = A(j, j).real();
    for (index i = 0; i < j; ++i) A(i, j) = std::conj(A(j, i));
  }
  return A;
}

TEST(LapackSignature, EigenvaluesAreRealAndAllWorkspacesTheLibrarys) {
  const Lapack heevd("zheevd");
  if (!heevd.function) GTEST_SKIP() << "no liblapack.so.3";
  constexpr index n = 11;
  const Matrix<Z> A = hermitian(n);
  for (const bool wide : {false, true}) {
    HeevdMemory m(n, wide, 2 * n + n * n, 1 + 5 * n + 2 * n * n, 3 + 5 * n);
    for (index j = 0; j < n; ++j)
      for (index i = j; i < n; ++i) m.A(i, j) = A(i, j);  // above is NaN
    ASSERT_TRUE(call_by(heevd, m.args(true)));
    EXPECT_TRUE(m.canaries_intact());
    expect_eigenvectors(A, m);
    EXPECT_EQ(m.iwork.all.get(0), 3 + 5 * n) << "the best size, brought back";
    // In workspaces of the call's own: Args have none.
    HeevdMemory own(n, wide, 1, 1, 1);
    for (index j = 0; j < n; ++j)
      for (index i = j; i < n; ++i) own.A(i, j) = A(i, j);
    HeevdArgs args = own.args(true);
    args.work = nullptr, args.rwork = nullptr, args.iwork.at = nullptr;
    args.lwork = args.lrwork = args.liwork = 0;
    const HeevdArgs best = with_best_lengths(heevd, args);
    EXPECT_GE(best.lwork, args.least_work());
    EXPECT_GE(best.lrwork, args.least_rwork());
    EXPECT_GE(best.liwork, args.least_iwork());
    call_with_own_workspaces(heevd, args);
    EXPECT_TRUE(own.canaries_intact());
    expect_eigenvectors(A, own);
  }
}

/// What a library says that knows best.
void wide_zheevd(const char*, const char*, const std::int64_t*, Z*, const std::int64_t*, double*, Z* work,
                 const std::int64_t* lwork, double* rwork, const std::int64_t* lrwork, std::int64_t* iwork,
                 const std::int64_t* liwork, std::int64_t* status, std::size_t, std::size_t) {
  if (*lwork == -1 || *lrwork == -1 || *liwork == -1) {
    *work = 1000, *rwork = 2000, *iwork = 3000;
    return;
  }
  std::fill_n(work, *lwork, Z(1));
  std::fill_n(rwork, *lrwork, 2.0);
  std::fill_n(iwork, *liwork, 3);
  *status = 5;
}

TEST(LapackSignature, EachWorkspaceHasItsOwnBestSize) {
  const StandIn heevd(wide_zheevd, true);
  HeevdMemory m(4, false, 1, 1, 1);
  const HeevdArgs best = with_best_lengths(heevd, m.args(true));
  EXPECT_EQ((std::tuple{best.lwork, best.lrwork, best.liwork}), (std::tuple{1000, 2000, 3000}));
  call_with_own_workspaces(heevd, m.args(true));  // as large as that: sanitizers look
  EXPECT_TRUE(m.canaries_intact());
  EXPECT_TRUE(m.iwork.untouched());
}

TEST(LapackSignature, WhatFollowsFromTheOthersIsMadeForALibraryOfAnotherWidth) {
  const Lapack gecon("dgecon"), getrf("dgetrf");
  if (!gecon.function || !getrf.function) GTEST_SKIP() << "no liblapack.so.3";
  constexpr index n = 9;
  Matrix<double> A(n, n, 2);
  A.random(4);
  Array ipiv(n, false);
  ASSERT_TRUE(call_by(getrf, GetrfArgs<double>{n, n, A.data(), A.ld(), ipiv.all}));
  double expected = 0;
  for (const bool wide : {false, true}) {
    Matrix<double> rcond(1, 1), work(4 * n, 1);
    Array iwork(n, wide);
    const GeconArgs args{false, n, A.data(), A.ld(), 3, rcond.data(), work.data(), iwork.all};
    ASSERT_TRUE(call_by(gecon, args));
    if (!wide) expected = rcond(0, 0);
    EXPECT_EQ(rcond(0, 0), expected);
    EXPECT_TRUE(rcond.canaries_intact() && work.canaries_intact() && iwork.canaries_intact());
    EXPECT_EQ(iwork.untouched(), wide);
    GeconArgs own = args;
    own.work = nullptr, own.iwork.at = nullptr;
    rcond(0, 0) = -1;
    call_with_own_workspaces(gecon, own);
    EXPECT_EQ(rcond(0, 0), expected);
  }
  EXPECT_TRUE(expected > 0 && expected < 1) << expected;
}

// ---- entries

/// What a route of the test's is to do, and has seen.
struct {
  std::function<void(Replay)> with{};
  Computed end = Computed::no;
  bool valid = false;
  int calls = 0;
} routed;
template <class Args>
Computed route(const Site&, const Args* args, Replay replay) {
  routed.valid = args != nullptr;
  ++routed.calls;
  if (routed.with) routed.with(replay);
  return routed.end;
}
template <class S>
using Entry = LapackCall<S, route<typename S::Args>>;

int library_calls = 0;
void silent_getrf(const void*, const void*, double*, const void*, void*, void*) { ++library_calls; }

/// Of a routine without workspaces nothing is asked afterwards: it would compute.
TEST(LapackEntry, InfoIsTheEndingsInTheSitesWidth) {
  for (const bool wide : {false, true}) {
    for (const auto& [end, told] : {std::pair{Computed(Computed::yes, 3), 3},
                                    {Computed(Computed::yes), 0},
                                    {Computed(Computed::in_device_memory, 4), 4},
                                    {Computed(Computed::no, 5), -7}}) {
      const StandIn site(silent_getrf, wide);
      double a[1];
      Array ipiv(4, wide), status(1, wide);
      status.all.set(0, -7);
      Fortran call(wide);
      call.integer(6).integer(4).at(a).integer(8).at(ipiv.all.at).at(status.all.at);
      library_calls = 0;
      routed = {{}, end};
      Entry<GetrfSignature<double>>::make<Interface::fortran>(site, call.words);
      EXPECT_EQ(status.all.get(0), told);
      EXPECT_TRUE(status.canaries_intact() && ipiv.untouched());
      EXPECT_TRUE(routed.valid && routed.calls == 1 && library_calls == 0);
    }
  }
}

TEST(LapackEntry, OfASingularMatrixInfoIsTheFirstZeroOfItsFactor) {
  const Lapack getrf("dgetrf");
  if (!getrf.function) GTEST_SKIP() << "no liblapack.so.3";
  constexpr index n = 4;
  Matrix<double> A(n, n, 1), other(n, n, 1);
  A.random(3);
  for (index i = 0; i < n; ++i) A(i, 2) = 0;  // exactly: nothing else is subtracted from it
  other = A;
  const Matrix<double> before = A;
  Array ipiv(n, false), other_ipiv(n, false), status(1, false);
  Fortran call(false);
  call.integer(n).integer(n).at(A.data()).integer(A.ld()).at(ipiv.all.at).at(status.all.at);
  // Elsewhere: nothing of the caller's is touched, info neither.
  void* const at[] = {other.data(), other_ipiv.all.at};
  routed = {[&](Replay replay) { replay.elsewhere(at); }};
  Entry<GetrfSignature<double>>::make<Interface::fortran>(getrf, call.words);
  EXPECT_TRUE(A == before && ipiv.untouched() && status.untouched());
  routed = {[](Replay replay) { replay(); }};
  Entry<GetrfSignature<double>>::make<Interface::fortran>(getrf, call.words);
  EXPECT_EQ(status.all.get(0), 3);
  EXPECT_TRUE(A == other && !(A == before) && A.canaries_intact());
  EXPECT_EQ(ipiv.values(), other_ipiv.values());
  EXPECT_TRUE(ipiv.canaries_intact() && other_ipiv.canaries_intact() && status.canaries_intact());
}

/// zheevd with its integers of this width.
struct HeevdCall {
  HeevdCall(HeevdMemory& m, bool wide, index lwork, index lrwork, index liwork) : fortran(wide), status(1, wide) {
    fortran.letter('V').letter('L').integer(m.A.rows()).at(m.A.data()).integer(m.A.ld()).at(m.w.data());
    fortran.at(m.work.data()).integer(lwork).at(m.rwork.data()).integer(lrwork);
    fortran.at(m.iwork.all.at).integer(liwork).at(status.all.at);
  }
  Fortran fortran;
  Array status;
};

/// Tells nothing but that it was asked, and by which lengths.
int asked[3];
template <class Int>
void modest_zheevd(const char*, const char*, const Int*, Z*, const Int*, double*, Z* work, const Int* lwork,
                   double* rwork, const Int* lrwork, Int* iwork, const Int* liwork, Int* status, std::size_t,
                   std::size_t) {
  asked[0] = static_cast<int>(*lwork), asked[1] = static_cast<int>(*lrwork), asked[2] = static_cast<int>(*liwork);
  *work = 1, *rwork = 500, *iwork = 2, *status = 0;
}
struct Modest : StandIn {
  explicit Modest(bool is_wide)
      : StandIn(is_wide ? reinterpret_cast<void*>(modest_zheevd<std::int64_t>)
                        : reinterpret_cast<void*>(modest_zheevd<std::int32_t>),
                is_wide) {}
};

TEST(LapackEntry, AnyLengthOfMinusOneAsksForAllSizes) {
  constexpr index n = 6;
  for (const bool wide : {false, true})
    for (int which = 0; which < 3; ++which) {
      const Modest site(wide);
      HeevdMemory m(n, wide, 1, 1, 1);
      HeevdCall call(m, wide, which == 0 ? -1 : 0, which == 1 ? -1 : 0, which == 2 ? -1 : 0);
      routed = {};
      Entry<HeevdSignature>::make<Interface::fortran>(site, call.fortran.words);
      EXPECT_EQ(routed.calls, 0);
      EXPECT_EQ(asked[which], -1);
      EXPECT_EQ(asked[(which + 1) % 3], 0) << "as it came";
      EXPECT_EQ(m.work(0, 0), Z(2 * n + n * n)) << "what LAPACK promises to be enough";
      EXPECT_EQ(m.rwork(0, 0), 500) << "the library's, which is more";
      EXPECT_EQ(m.iwork.all.get(0), 3 + 5 * n);
      EXPECT_TRUE(m.canaries_intact() && call.status.canaries_intact());
    }
  // LAPACK itself.
  const Lapack heevd("zheevd");
  if (!heevd.function) GTEST_SKIP() << "no liblapack.so.3";
  HeevdMemory m(n, false, 1, 1, 1);
  HeevdCall call(m, false, 0, 0, -1);
  Entry<HeevdSignature>::make<Interface::fortran>(heevd, call.fortran.words);
  EXPECT_EQ(call.status.all.get(0), 0);
  EXPECT_GE(m.work(0, 0).real(), 2 * n + n * n);
  EXPECT_EQ(m.rwork(0, 0), 1 + 5 * n + 2 * n * n);
  EXPECT_EQ(m.iwork.all.get(0), 3 + 5 * n);
  EXPECT_TRUE(m.canaries_intact());
}

TEST(LapackEntry, EachWorkspaceHasToSuffice) {
  constexpr index n = 6, least[] = {2 * n + n * n, 1 + 5 * n + 2 * n * n, 3 + 5 * n};
  for (int which = -1; which < 3; ++which) {
    const Modest site(false);
    HeevdMemory m(n, false, 1, 1, 1);
    const auto length = [&](int i) { return least[i] - (i == which ? 1 : 0); };
    HeevdCall call(m, false, length(0), length(1), length(2));
    routed = {};
    Entry<HeevdSignature>::make<Interface::fortran>(site, call.fortran.words);
    EXPECT_EQ(routed.calls, 1);
    EXPECT_EQ(routed.valid, which == -1) << which;
  }
}

TEST(LapackEntry, WhatTheDeviceComputesLeavesTheBestSizeInEach) {
  constexpr index n = 6;
  for (const bool wide : {false, true})
    for (const Computed::How how : {Computed::yes, Computed::in_device_memory}) {
      const Modest site(wide);
      HeevdMemory m(n, wide, 2 * n + n * n, 1 + 5 * n + 2 * n * n, 3 + 5 * n);
      HeevdCall call(m, wide, m.work.rows(), m.rwork.rows(), m.iwork.size);
      routed = {{}, {how, 9}};
      std::fill(std::begin(asked), std::end(asked), 0);
      Entry<HeevdSignature>::make<Interface::fortran>(site, call.fortran.words);
      EXPECT_EQ(call.status.all.get(0), 9) << "did not converge";
      EXPECT_TRUE(m.canaries_intact() && call.status.canaries_intact());
      const int query = how == Computed::yes ? -1 : 0;
      for (const int one : asked) EXPECT_EQ(one, query);
      if (how == Computed::in_device_memory) {
        EXPECT_TRUE(m.iwork.untouched());
      } else {
        EXPECT_EQ((std::tuple{m.work(0, 0), m.rwork(0, 0), m.iwork.all.get(0)}), (std::tuple{Z(1), 500.0, 2}));
      }
    }
}

// ---- records

/// A getrs in a file, as verification keeps it: its operands that are read.
struct KeptSolve {
  explicit KeptSolve(bool wide) : ipiv(n, wide) {
    LU.random(1), B.random(2);
    for (index i = 0; i < n; ++i) LU(i, i) += 3;
    ipiv.fill([](index i) { return i + 1; });
    ipiv.all.set(0, 4), ipiv.all.set(2, 7);
  }
  GetrsArgs<double> args() { return {Op::none, n, 2, LU.data(), LU.ld(), ipiv.all, B.data(), B.ld()}; }
  cli::Recorded kept() {
    temporary::Directory directory;
    const std::string path = directory.path() / "one.call";
    std::vector<RecordBlock> blocks;
    for (const CheckedOperand& x : operands_of(args()))
      if (x.reads) blocks.push_back({x.name, x.stored});
    EXPECT_EQ(write_record(path, {.routine = "dgetrs", .arguments = to_words(args())}, blocks), "");
    return cli::read_record(path, true);
  }
  static constexpr index n = 7;
  Matrix<double> LU{n, n, 2}, B{n, 2, 3};
  Array ipiv;
};

TEST(LapackRecord, IntegersOfEitherWidthAreReplayedByALibraryOfEither) {
  const Lapack narrow("dgetrs");
  if (!narrow.function) GTEST_SKIP() << "no liblapack.so.3";
  const StandIn wide_one(wide_dgetrs, true);
  for (const bool wide : {false, true}) {
    KeptSolve call(wide);
    const cli::Recorded record = call.kept();
    const cli::RecordedCall<GetrsSignature<double>> again(record), once_more(record);
    EXPECT_EQ(again.args.ipiv.wide, wide);
    ASSERT_TRUE(call_by(wide_one, once_more.args));
    EXPECT_EQ(seen_wide.read, (std::vector<std::int64_t>{4, 2, 7, 4, 5, 6, 7}));
    ASSERT_TRUE(call_by(narrow, again.args));
    ASSERT_TRUE(call_by(narrow, call.args()));
    for (index j = 0; j < 2; ++j)
      for (index i = 0; i < KeptSolve::n; ++i)
        EXPECT_EQ(again.args.B[i + j * again.args.ldb], call.B(i, j)) << "the same call's bits";
  }
}

TEST(LapackRecord, WhatIsOnlyWrittenHasAnyWidth) {
  const Lapack getrf("dgetrf");
  if (!getrf.function) GTEST_SKIP() << "no liblapack.so.3";
  cli::Recorded record;
  record.text.arguments = "m=2 n=2 lda=2";
  const double A[] = {1, 4, 2, 3};
  const char* bytes = reinterpret_cast<const char*>(A);
  record.blocks.push_back({"A", 2, 2, sizeof(double), {bytes, bytes + sizeof A}});
  const cli::RecordedCall<GetrfSignature<double>> call(record);
  for (const bool wide : {false, true}) {
    const StandIn wide_one(wide_dgetrf, true);
    ASSERT_TRUE(call_by(wide ? static_cast<const Site&>(wide_one) : getrf, call.args));
    EXPECT_EQ((std::pair{call.args.ipiv.get(0), call.args.ipiv.get(1)}), (std::pair<index, index>{2, wide ? 1 : 2}));
  }
}

TEST(LapackRecord, NoRowIsBeyondTheMatrix) {
  for (const bool wide : {false, true})
    for (const index row : {index{0}, KeptSolve::n + 1, -KeptSolve::n - 1, wide ? index{1} << 40 : index{1} << 30}) {
      KeptSolve call(wide);
      call.ipiv.all.set(3, row);
      EXPECT_THROW(cli::RecordedCall<GetrsSignature<double>>{call.kept()}, std::runtime_error) << row;
    }
}

TEST(LapackRecord, EveryLengthIsAWord) {
  HeevdMemory m(4, false, 24, 53, 23);
  cli::Recorded record;
  record.text.arguments = to_words(m.args(true));
  EXPECT_EQ(record.text.arguments, "jobz=V uplo=L n=4 lda=6 lwork=24 lrwork=53 liwork=23");
  record.blocks.push_back({"A", 4, 4, sizeof(Z), std::vector<char>(16 * sizeof(Z))});
  const cli::RecordedCall<HeevdSignature> call(record);
  EXPECT_EQ(to_words(call.args), record.text.arguments);
  EXPECT_EQ(call.memory[3].size(), 53 * sizeof(double));
  record.text.arguments = "jobz=V uplo=L n=4 lda=6 lwork=24 lrwork=52 liwork=23";
  EXPECT_THROW(cli::RecordedCall<HeevdSignature>{record}, std::runtime_error);
}

/// What a call with such a range says of an operand.
template <class S>
CheckedOperand with_range(EigenRange range, const char* name) {
  static std::int64_t integers[8];
  typename S::Args args{};
  SyevdArgs<double>* eigen = nullptr;
  if constexpr (std::is_same_v<typename S::Args, SyevdArgs<double>>)
    eigen = &args;
  else
    eigen = &args.eigen;
  EXPECT_TRUE(S::complete(args));
  eigen->vectors = true;
  eigen->n = 3;
  eigen->lda = eigen->ldz = 4;
  eigen->range = range;
  eigen->il = eigen->iu = 2;
  eigen->m = eigen->of_vectors = eigen->iwork = {integers, true};
  for (const CheckedOperand& x : list_operands<S>(args))
    if (x.name == std::string_view(name)) return x;
  ADD_FAILURE() << "no " << name;
  return {};
}
template <class S>
void expect_an_intervals_vectors_to_be_nobodys(std::initializer_list<const char*> others) {
  for (const EigenRange range : {EigenRange::all, EigenRange::indices}) {
    const CheckedOperand z = with_range<S>(range, "Z");
    EXPECT_TRUE(z.writes && !z.scratch);
    EXPECT_EQ(z.stored.cols, range == EigenRange::all ? 3 : 1);
  }
  const CheckedOperand z = with_range<S>(EigenRange::interval, "Z");
  EXPECT_TRUE(z.scratch && !z.reads && !z.writes) << "how many columns there are is not known";
  EXPECT_EQ(z.stored.cols, 3) << "of a private one";
  for (const char* name : others) {
    const CheckedOperand x = with_range<S>(EigenRange::interval, name);
    EXPECT_TRUE(x.reads && x.writes) << name << ": what lies behind those found may stay as it was";
  }
}

TEST(LapackOperands, OfAnIntervalNobodyKnowsHowManyVectorsThereAre) {
  expect_an_intervals_vectors_to_be_nobodys<SyevrSignature<double>>({"m", "w"});
  expect_an_intervals_vectors_to_be_nobodys<SyevxSignature<double>>({"m", "w", "ifail"});
  expect_an_intervals_vectors_to_be_nobodys<SygvxSignature<double>>({"m", "w", "ifail"});
}

}  // namespace
}  // namespace blaslift::lapack_signatures_tests
