// Generalized eigenproblems on a backend's lane, in whatever order it runs things: the other triangles are never read,
// of B's nothing is written, nor of A's unless vectors take A's place, and nothing of the caller's changes if anything
// fails or a matrix will not do.
#include "impl/solve/sygv.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "compat/builtin.hpp"
#include "impl/core/args.hpp"
#include "impl/eigen/interval.hpp"
#include "impl/eigen/syevd.hpp"
#include "impl/judge/judge.hpp"
#include "impl/lu/getrf.hpp"
#include "impl/route/built_in_profiles.hpp"
#include "impl/solve/sygv_plan.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::sygv_tests {
namespace {

using namespace reference;
using Number = std::complex<long double>;

/// A matrix in higher precision.
struct Wide {
  index n;
  std::vector<Number> at;
  explicit Wide(index order) : n(order), at(static_cast<std::size_t>(order * order)) {}
  Number& operator()(index i, index j) { return at[static_cast<std::size_t>(i + j * n)]; }
};

/// A = L L^H.
Wide cholesky(Wide A) {
  for (index j = 0; j < A.n; ++j) {
    for (index k = 0; k < j; ++k) A(j, j) -= std::norm(A(j, k));
    A(j, j) = std::sqrt(A(j, j).real());
    for (index i = j + 1; i < A.n; ++i) {
      for (index k = 0; k < j; ++k) A(i, j) -= A(i, k) * std::conj(A(j, k));
      A(i, j) /= A(j, j);
      A(j, i) = 0;
    }
  }
  return A;
}

/// L^-1 A L^-H
Wide reduced(Wide A, Wide L) {
  for (int side = 0; side < 2; ++side) {
    for (index j = 0; j < A.n; ++j)
      for (index i = 0; i < A.n; ++i) {
        for (index k = 0; k < i; ++k) A(i, j) -= L(i, k) * A(k, j);
        A(i, j) /= L(i, i);
      }
    for (index j = 0; j < A.n; ++j)
      for (index i = 0; i <= j; ++i) {
        const Number x = A(i, j);
        A(i, j) = std::conj(A(j, i));
        A(j, i) = std::conj(x);
      }
  }
  return A;
}

/// L^H A L
Wide multiplied(Wide A, Wide L) {
  for (int side = 0; side < 2; ++side) {
    Wide product(A.n);
    for (index j = 0; j < A.n; ++j)
      for (index i = 0; i < A.n; ++i)
        for (index k = i; k < A.n; ++k) product(i, j) += std::conj(L(k, i)) * A(k, j);
    for (index j = 0; j < A.n; ++j)
      for (index i = 0; i < A.n; ++i) A(i, j) = std::conj(product(j, i));
  }
  return A;
}

/// In ascending order, by Jacobi's rotations.
std::vector<long double> eigenvalues(Wide A) {
  for (bool rotated = true; rotated;) {
    rotated = false;
    for (index q = 1; q < A.n; ++q)
      for (index p = 0; p < q; ++p) {
        const long double off = std::abs(A(p, q)), a = A(p, p).real(), b = A(q, q).real();
        if (off <= 1e-19L * (std::fabs(a) + std::fabs(b))) continue;
        rotated = true;
        const long double slope = (b - a) / (2 * off),
                          tangent = 1 / (slope + std::copysign(std::hypot(slope, 1.0L), slope)),
                          cosine = 1 / std::hypot(tangent, 1.0L);
        const Number sine = A(p, q) / off * (tangent * cosine);
        for (index k = 0; k < A.n; ++k) {
          const Number x = A(k, p), y = A(k, q);
          A(k, p) = x * cosine - y * std::conj(sine);
          A(k, q) = x * sine + y * cosine;
        }
        for (index k = 0; k < A.n; ++k) {
          const Number x = A(p, k), y = A(q, k);
          A(p, k) = x * cosine - y * sine;
          A(q, k) = x * std::conj(sine) + y * cosine;
        }
        A(p, q) = A(q, p) = 0;
      }
  }
  std::vector<long double> w;
  for (index i = 0; i < A.n; ++i) w.push_back(A(i, i).real());
  std::sort(w.begin(), w.end());
  return w;
}

template <class T>
T hermitian_element_of(Uplo uplo, const Matrix<T>& x, index i, index j) {
  const bool stored = uplo == Uplo::upper ? i <= j : i >= j;
  const T a = stored ? x(i, j) : x(j, i);
  if constexpr (is_complex(precision_of<T>))
    return stored ? a : std::conj(a);
  else
    return a;
}

template <class T>
bool same_storage(const Matrix<T>& x, const Matrix<T>& y) {
  return std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.ld() * x.cols()) * sizeof(T)) == 0;
}

template <class T>
struct Pencil {
  using R = Real<T>;

  index itype;
  EigenShape shape;
  index n;
  bool replaced;  ///< A, by the vectors
  PotrfCut cut;
  Matrix<T> A0, A, B0, B, Z0, Z;
  std::vector<T> w, pivots, failed{T(7)};

  static EigenShape random_shape(Random& r) {
    const bool vectors = r.coin(), apart = vectors && r.coin();
    const index n = r.up_to(20), first = r.coin() ? 0 : r.up_to(n) - 1;
    const index count = first == 0 && r.coin() ? n : r.up_to(n - first);
    const bool all = vectors && !apart;
    return {vectors, apart, r.coin() ? Uplo::upper : Uplo::lower, n, all ? 0 : first, all ? n : count};
  }
  Pencil(Random& r, unsigned seed)
      : itype(r.up_to(3)),
        shape(random_shape(r)),
        n(shape.n),
        replaced(shape.vectors && !shape.apart),
        cut{r.up_to(n)},
        A0(n, n, r.up_to(4) - 1),
        A(A0),
        B0(n, n, r.up_to(4) - 1),
        B(B0),
        Z0(n, shape.count, r.up_to(4) - 1),
        Z(Z0),
        w(static_cast<std::size_t>(elements_of_reals(shape.count, precision_of<T>))),
        pivots(static_cast<std::size_t>(cut.panels(n)), T(7)) {
    A0.random(seed);
    B0.random(seed + 1000);
    Z0.random(seed + 2000);
    for (Matrix<T>* x : {&A0, &B0})
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < n; ++i) {
          T& element = (*x)(i, j);
          if (!in_triangle(i, j))
            fill_with_canaries(&element, sizeof(T));
          else if (i == j)
            element = scalar<T>(static_cast<double>(std::real(element)) + (x == &B0 ? 3 : 0),
                                std::numeric_limits<double>::quiet_NaN());
          else if (x == &B0)  // less than half of the diagonal, all of a row
            element *= R(1) / static_cast<R>(2 * n);
        }
    restore();
  }
  bool in_triangle(index i, index j) const { return shape.uplo == Uplo::upper ? i <= j : i >= j; }

  Plan plan(const SygvHeld& held = {}) const {
    Plan plan = plan_sygv(itype, shape, precision_of<T>, cut, held);
    EXPECT_EQ(check(plan), "") << text() << "\n" << to_string(plan);
    return plan;
  }
  void restore() {
    A = A0;
    B = B0;
    Z = Z0;
    std::fill(pivots.begin(), pivots.end(), T(7));
    failed[0] = T(7);
  }
  bool untouched() const { return same_storage(A, A0) && same_storage(B, B0) && same_storage(Z, Z0); }
  static bool sound() { return true; }
  template <class Sound = bool (*)()>
  PlanOutcome run(const Plan& plan, Lane& lane, const SygvHeld& held = {}, const Sound& is_sound = sound) {
    const auto placed = [](bool own, void* at, index ld) {
      return own ? Placed{.device = at, .ld = ld, .in_place = true} : Placed{};
    };
    const auto count = static_cast<index>(w.size());
    std::vector<CallOperand<T>> operands{{A.data(), A.ld(), placed(held.a, A.data(), A.ld())},
                                         {B.data(), B.ld(), placed(held.b, B.data(), B.ld())}};
    if (shape.apart) operands.push_back({Z.data(), Z.ld(), placed(held.z, Z.data(), Z.ld())});
    operands.push_back({w.data(), count, placed(held.w, w.data(), count)});
    operands.push_back({pivots.data(), static_cast<index>(pivots.size())});
    operands.push_back({failed.data(), 1});
    return run_leased<T>(plan, operands, {}, lane, is_sound);
  }
  std::string text() const {
    return std::to_string(itype) + (shape.vectors ? "V" : "N") + static_cast<char>(shape.uplo) +
           (shape.apart ? " apart " : " ") + std::to_string(n) + ", " + std::to_string(shape.count) + " from " +
           std::to_string(shape.first) + " by panels of " + std::to_string(cut.panel);
  }

  R value(index i) const { return reinterpret_cast<const R*>(w.data())[i]; }
  Wide full(const Matrix<T>& x) const {
    Wide all(n);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        const T a = in_triangle(i, j) ? x(i, j) : x(j, i);
        const long double imaginary = std::imag(a);
        all(i, j) = i == j ? Number(std::real(a)) : Number(std::real(a), in_triangle(i, j) ? imaginary : -imaginary);
      }
    return all;
  }
  /// Of elements below 2, and a B whose eigenvalues are between 1 and 5: A and its eigenvalues are of the order n, and
  /// of products with B five times as large.
  void expect_right() const {
    Wide a = full(A0), b = full(B0);
    Wide l = cholesky(b);
    const std::vector<long double> due = eigenvalues(itype == 1 ? reduced(a, l) : multiplied(a, l));
    const long double eps = std::numeric_limits<R>::epsilon(),
                      order = static_cast<long double>(n) * (itype == 1 ? 1 : 5),
                      unit = 20 * static_cast<long double>(n) * eps;
    for (index j = 0; j < shape.count; ++j) {
      const auto off = static_cast<long double>(value(j)) - due[static_cast<std::size_t>(shape.first + j)];
      ASSERT_LE(std::fabs(off), unit * order) << text();
      if (j > 0) {
        ASSERT_LE(value(j - 1), value(j)) << text();
      }
    }
    ASSERT_TRUE(A.canaries_intact() && B.canaries_intact() && Z.canaries_intact()) << text();
    if (!replaced) {
      ASSERT_TRUE(A == A0) << text();
    }
    Wide factor = full(B);  // which is no whole matrix: of it the stored triangle counts
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        if (!in_triangle(i, j)) {
          ASSERT_TRUE(same_bits(B(i, j), B0(i, j))) << text();
          continue;
        }
        const index row = std::max(i, j), col = std::min(i, j);
        Number rest = i == j ? b(i, i) : b(row, col);
        for (index k = 0; k <= col; ++k) rest -= factor(row, k) * std::conj(factor(col, k));
        ASSERT_LE(std::abs(rest), unit) << text() << ": factor at " << i << ", " << j;
      }
    if (!shape.vectors) return;
    const Matrix<T>& V = shape.apart ? Z : A;
    const auto v = [&V](index i, index j) { return Number(std::real(V(i, j)), std::imag(V(i, j))); };
    const auto times = [this](Wide& M, const std::vector<Number>& x) {
      std::vector<Number> y(x.size());
      for (index i = 0; i < n; ++i)
        for (index k = 0; k < n; ++k) y[static_cast<std::size_t>(i)] += M(i, k) * x[static_cast<std::size_t>(k)];
      return y;
    };
    // What the vectors are orthogonal by: B, or its inverse.
    const auto weighted = [&](std::vector<Number> x) {
      if (itype < 3) return times(b, x);
      for (index i = 0; i < n; ++i) {  // L^-1
        for (index k = 0; k < i; ++k) x[static_cast<std::size_t>(i)] -= l(i, k) * x[static_cast<std::size_t>(k)];
        x[static_cast<std::size_t>(i)] /= l(i, i);
      }
      for (index i = n - 1; i >= 0; --i) {  // L^-H
        for (index k = i + 1; k < n; ++k)
          x[static_cast<std::size_t>(i)] -= std::conj(l(k, i)) * x[static_cast<std::size_t>(k)];
        x[static_cast<std::size_t>(i)] /= l(i, i);
      }
      return x;
    };
    for (index j = 0; j < shape.count; ++j) {
      std::vector<Number> x;
      for (index i = 0; i < n; ++i) x.push_back(v(i, j));
      const std::vector<Number> left = itype == 1   ? times(a, x)
                                       : itype == 2 ? times(a, times(b, x))
                                                    : times(b, times(a, x)),
                                right = itype == 1 ? times(b, x) : x, orthogonal = weighted(x);
      for (index i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        ASSERT_LE(std::abs(left[at] - right[at] * static_cast<long double>(value(j))), unit * order)
            << text() << " at " << i << ", " << j;
      }
      for (index i = 0; i < shape.count; ++i) {
        Number product = i == j ? -1 : 0;
        for (index k = 0; k < n; ++k) product += std::conj(v(k, i)) * orthogonal[static_cast<std::size_t>(k)];
        ASSERT_LE(std::abs(product), unit) << text() << " at " << i << ", " << j;
      }
    }
  }
};

template <class T>
class SygvExecute : public testing::Test {};
TYPED_TEST_SUITE(SygvExecute, Precisions);

TYPED_TEST(SygvExecute, IsRightInEveryOrderThatALaneMayChooseWithTheSameBits) {
  using T = TypeParam;
  Random r(1);
  int with = 0, apart = 0, in_panels = 0;
  for (unsigned round = 0; round < 80; ++round) {
    Pencil<T> x(r, round);
    const Plan plan = x.plan();
    with += x.shape.vectors;
    apart += x.shape.apart;
    in_panels += x.cut.panels(x.n) > 1;
    Matrix<T> first_a = x.A0, first_b = x.B0, first_z = x.Z0;
    std::vector<T> first_w;
    for (unsigned seed = 0; seed < 3; ++seed) {
      x.restore();
      Shuffled lane(seed);
      const PlanOutcome outcome = x.run(plan, lane);
      ASSERT_EQ(outcome.status, Status::done);
      ASSERT_EQ(x.failed[0], T(0)) << x.text();
      ASSERT_EQ(first_failure(x.pivots, x.cut.panel), 0) << x.text();
      x.expect_right();
      if (testing::Test::HasFatalFailure()) return;
      if (seed == 0) first_a = x.A, first_b = x.B, first_z = x.Z, first_w = x.w;
      ASSERT_TRUE(x.A == first_a && x.B == first_b && x.Z == first_z) << "other bits: " << x.text();
      ASSERT_EQ(std::memcmp(x.w.data(), first_w.data(), static_cast<std::size_t>(x.shape.count) * sizeof(Real<T>)), 0);
      const double all = static_cast<double>(x.n * x.n) * sizeof(T),
                   triangle = static_cast<double>(x.n * (x.n + 1) / 2) * sizeof(T),
                   vectors = static_cast<double>(x.n * x.shape.count) * sizeof(T);
      EXPECT_EQ(outcome.bytes_in, (x.replaced ? all : triangle) + triangle);
      EXPECT_EQ(outcome.bytes_out, (x.shape.vectors ? vectors : 0) + triangle);
    }
  }
  EXPECT_GT(with, 20);
  EXPECT_LT(with, 60);
  EXPECT_GT(apart, 8);
  EXPECT_GT(in_panels, 40);
}

TYPED_TEST(SygvExecute, InMemoryOfTheirOwnNothingMovesAndAStays) {
  using T = TypeParam;
  Random r(2);
  for (unsigned round = 0; round < 40; ++round) {
    Pencil<T> x(r, round);
    const SygvHeld all{true, true, x.shape.apart, true};
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(all), lane, all);
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in, 0);
    EXPECT_EQ(outcome.bytes_out, 0);
    x.expect_right();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(SygvExecute, SomeMayBeInMemoryOfTheirOwn) {
  using T = TypeParam;
  Random r(3);
  for (unsigned round = 0; round < 60; ++round) {
    Pencil<T> x(r, round);
    const SygvHeld some{r.coin(), r.coin(), x.shape.apart && r.coin(), r.coin()};
    Shuffled lane(round);
    ASSERT_EQ(x.run(x.plan(some), lane, some).status, Status::done);
    x.expect_right();
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(SygvExecute, AMatrixThatWillNotDoIsSaidToBeSoAndAllStays) {
  using T = TypeParam;
  Random r(4);
  int of_a = 0, of_b = 0;
  for (unsigned round = 0; round < 80; ++round) {
    Pencil<T> x(r, round);
    const index row = r.below(static_cast<std::size_t>(x.n)), col = r.below(static_cast<std::size_t>(x.n));
    constexpr double odd[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity()};
    const bool b = r.coin();
    if (b)
      x.B0(row, row) = scalar<T>(-4, 0);
    else
      (x.in_triangle(row, col) ? x.A0(row, col) : x.A0(col, row)) = scalar<T>(odd[round % 3], 0);
    x.restore();
    (b ? of_b : of_a) += 1;
    index pivot = 0;
    T failed(7);
    Shuffled lane(round);
    const PlanOutcome outcome = x.run(x.plan(), lane, {}, [&] {
      pivot = first_failure(x.pivots, x.cut.panel);
      failed = x.failed[0];
      return pivot == 0 && failed == T(0);
    });
    ASSERT_EQ(outcome.status, Status::done);
    ASSERT_EQ(pivot, b ? row + 1 : 0) << x.text();
    if (!b) {
      ASSERT_EQ(failed, T(1)) << x.text();
    }
    ASSERT_TRUE(outcome.taken_back);
    ASSERT_TRUE(x.untouched()) << x.text();
  }
  EXPECT_GT(of_a, 20);
  EXPECT_GT(of_b, 20);
}

TYPED_TEST(SygvExecute, AFaultAtEveryOperationLeavesTheMatricesAsTheyWere) {
  using T = TypeParam;
  Random r(5);
  int struck = 0;
  for (unsigned round = 0; round < 8; ++round) {
    Pencil<T> x(r, 90 + round);
    const Plan plan = x.plan();
    struck += with_each_operation_failing([&] { x.restore(); }, [&](Lane& lane) { return x.run(plan, lane); },
                                          [&] { x.expect_right(); }, [&] { ASSERT_TRUE(x.untouched()) << x.text(); });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(struck, 100);
}

// ---- verification, by the plain loops that stand in for a library

void set_library(Site& site, Symbol symbol) {
  site.symbol = symbol;
  site.wide = true;
  site.function = builtin(symbol, true);
}

template <class T>
struct Library {
  Site gemm{}, trsm{}, sygvd{}, sygvx{};
  const Site* beside[2] = {&gemm, &trsm};

  Library() {
#define GEMM(name, type) \
  if (std::is_same_v<T, type>) set_library(gemm, Symbol::name##_);
#define TRSM(name, type) \
  if (std::is_same_v<T, type>) set_library(trsm, Symbol::name##_);
#define SYGVD(name, type) \
  if (std::is_same_v<T, type>) set_library(sygvd, Symbol::name##_);
#define SYGVX(name, type) \
  if (std::is_same_v<T, type>) set_library(sygvx, Symbol::name##_);
#include "api/routines.def"
  }
};

/// A call, and what the loops make of it.
template <class T>
struct Solved {
  using R = Real<T>;
  static constexpr index n = 8;

  Library<T> library;
  Matrix<T> A0, A, B0, B, Z;
  std::vector<R> w;
  std::vector<std::int64_t> integers;
  SygvArgs<T> before, result;

  /// @param scale  by how much each row and column of B is smaller than the one before
  Solved(index itype, bool vectors, Uplo uplo, bool chooses, index first, index count, double scale = 1)
      : A0(n, n, 1), A(A0), B0(n, n, 2), B(B0), Z(n, count, 1), w(n), integers(n + 1) {
    A0.random(7);
    B0.random(8);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        B0(i, j) = (B0(i, j) / static_cast<R>(2 * n) + (i == j ? T(3) : T(0))) *
                   static_cast<R>(std::pow(scale, static_cast<double>(i + j)));
        if (i == j) A0(i, j) = T(std::real(A0(i, j))), B0(i, j) = T(std::real(B0(i, j)));
      }
    A = A0;
    B = B0;
    std::vector<T> work(1 + 8 * n + 2 * n * n);
    std::vector<R> rwork(1 + 7 * n + 2 * n * n);
    std::vector<std::int64_t> iwork(3 + 5 * n);
    before = {.itype = itype,
              .eigen = {.vectors = vectors, .uplo = uplo, .n = n, .A = A0.data(), .lda = A0.ld(), .w = w.data()},
              .B = B0.data(),
              .ldb = B0.ld()};
    SyevdArgs<T>& x = before.eigen;
    x.driver = chooses ? EigenDriver::evx : EigenDriver::evd;
    if (chooses) {
      x.range = count == n ? EigenRange::all : EigenRange::indices;
      x.il = first + 1;
      x.iu = first + count;
      x.m = {&integers[0], true};
      x.Z = Z.data();
      x.ldz = Z.ld();
      x.of_vectors = {&integers[1], true};
    }
    result = before;
    result.eigen.A = A.data();
    result.B = B.data();
    SygvArgs<T> made = result;
    made.eigen.work = work.data();
    made.eigen.lwork = static_cast<index>(work.size());
    made.eigen.rwork = rwork.data();
    made.eigen.lrwork = static_cast<index>(rwork.size());
    made.eigen.iwork = {iwork.data(), true};
    made.eigen.liwork = static_cast<index>(iwork.size());
    EXPECT_TRUE(made.valid());
    EXPECT_TRUE(call_by(chooses ? library.sygvx : library.sygvd, made));
  }
  Judgement judged(const Ending& ending = {Reason::forced}) const {
    return judge({site(), library.beside}, before, result, before, ending);
  }
  /// With reference eigenvalues of its own.
  Judgement judged_beside(std::vector<R> values) const {
    SygvArgs<T> reference = before;
    reference.eigen.w = values.data();
    return judge({site(), library.beside}, before, result, reference, {Reason::forced});
  }
  const Site& site() const { return before.eigen.chooses() ? library.sygvx : library.sygvd; }
  T* vectors() { return result.eigen.chooses() ? Z.data() : A.data(); }
  index ld() const { return result.eigen.chooses() ? Z.ld() : A.ld(); }
};

template <class T>
class SygvJudge : public testing::Test {};
TYPED_TEST_SUITE(SygvJudge, Precisions);

TYPED_TEST(SygvJudge, FindsWhatIsWrongAndNothingElse) {
  using T = TypeParam;
  const auto good = [](const Judgement& x) { return x.ratio <= x.limit / 4; };
  const auto bad = [](const Judgement& x) { return x.ratio > x.limit; };
  for (const index itype : {1, 2, 3})
    for (const Uplo uplo : {Uplo::lower, Uplo::upper})
      for (const bool chooses : {false, true}) {
        Solved<T> x(itype, true, uplo, chooses, 0, Solved<T>::n);
        ASSERT_TRUE(good(x.judged())) << x.judged().ratio;
        x.w[0] -= Real<T>(0.5);
        EXPECT_TRUE(bad(x.judged()));
        EXPECT_EQ(x.judged({.reason = Reason::forced, .info = 1}).ratio, 0);
        x.w[0] += Real<T>(0.5);
        std::swap(x.w[0], x.w[1]);
        EXPECT_EQ(x.judged().ratio, HUGE_VAL);
        std::swap(x.w[0], x.w[1]);
        x.vectors()[2] += Real<T>(0.5);
        EXPECT_TRUE(bad(x.judged()));
        x.vectors()[2] -= Real<T>(0.5);
        ASSERT_TRUE(good(x.judged())) << x.judged().ratio;
        for (index j = 0; j < x.n; ++j)
          for (index i = 0; i < x.n; ++i) x.vectors()[i + j * x.ld()] *= Real<T>(1.125);
        EXPECT_TRUE(bad(x.judged())) << "no longer of B's length 1";
        for (index j = 0; j < x.n; ++j)
          for (index i = 0; i < x.n; ++i) x.vectors()[i + j * x.ld()] /= Real<T>(1.125);
        x.B(3, 3) *= Real<T>(1.5);
        EXPECT_TRUE(bad(x.judged())) << "another factor";
        x.B(3, 3) /= Real<T>(1.5);
        ASSERT_TRUE(good(x.judged())) << x.judged().ratio;
        if (chooses) {
          x.integers[0] = 5;
          EXPECT_EQ(x.judged().ratio, HUGE_VAL);
          x.integers[0] = x.n;
        }
        x.vectors()[3] = scalar<T>(std::numeric_limits<double>::quiet_NaN(), 0);
        EXPECT_EQ(x.judged().ratio, HUGE_VAL);
        x.A0(0, 0) = scalar<T>(std::numeric_limits<double>::quiet_NaN(), 0);
        EXPECT_EQ(x.judged().ratio, 0) << "whatever a library makes of that";
      }
}

TYPED_TEST(SygvJudge, ComparesEigenvaluesAloneAndThoseOfSomeVectors) {
  using T = TypeParam;
  for (const index itype : {1, 2, 3})
    for (const bool vectors : {false, true}) {
      Solved<T> x(itype, vectors, Uplo::lower, true, 2, 4);
      std::vector<Real<T>> due = x.w;
      EXPECT_LE(x.judged_beside(due).ratio, 5);
      due[3] += Real<T>(0.125);
      EXPECT_GT(x.judged_beside(due).ratio, 20);
      if (!vectors) continue;
      // Those of another eigenvalue are some, but not those asked for.
      Solved<T> other(itype, true, Uplo::lower, true, 3, 4);
      EXPECT_GT(other.judged_beside(x.w).ratio, 20);
      EXPECT_LE(other.judged_beside(other.w).ratio, 5);
    }
}

TYPED_TEST(SygvJudge, KnowsHowManyAnIntervalHas) {
  using T = TypeParam;
  using R = Real<T>;
  for (const index itype : {1, 2, 3})
    for (const bool vectors : {false, true}) {
      constexpr index n = Solved<T>::n;
      Solved<T> x(itype, vectors, Uplo::lower, true, 0, n);
      const std::vector<R> all = x.w;
      const Matrix<T> whole = x.Z;
      for (SygvArgs<T>* call : {&x.before, &x.result}) {
        call->eigen.range = EigenRange::interval;
        call->eigen.vl = (all[1] + all[2]) / 2;
        call->eigen.vu = (all[4] + all[5]) / 2;
      }
      std::vector<T> packed;
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < n; ++i) packed.push_back(whole(i, j));
      x.Z.random(99);
      const Matrix<T> others = x.Z;
      x.integers[0] = hand_over(x.result.eigen, all.data(), vectors ? packed.data() : nullptr);
      ASSERT_EQ(x.integers[0], 3);
      for (index j = 0; j < n; ++j)
        for (index i = 0; i < n; ++i)
          ASSERT_EQ(x.Z(i, j), vectors && j < 3 ? whole(i, j + 2) : others(i, j)) << i << ", " << j;
      EXPECT_EQ(x.w[2], all[4]);
      EXPECT_EQ(x.w[3], R(0));
      ASSERT_LE(x.judged().ratio, 5);
      x.integers[0] = 2;
      EXPECT_EQ(x.judged().ratio, HUGE_VAL) << "too few";
      x.integers[0] = 4;
      EXPECT_EQ(x.judged().ratio, HUGE_VAL) << "one that is none";
      x.integers[0] = n + 1;
      EXPECT_EQ(x.judged().ratio, HUGE_VAL);
      x.integers[0] = 3;
      x.w[1] += (all[4] - all[3]) / 4;
      EXPECT_GT(x.judged().ratio, 20);
      x.w[1] = all[3];
      for (SygvArgs<T>* call : {&x.before, &x.result}) call->eigen.vl = (all[2] + all[3]) / 2;
      EXPECT_EQ(x.judged().ratio, HUGE_VAL) << "one that lies below it";
      for (SygvArgs<T>* call : {&x.before, &x.result}) call->eigen.vl = all[0] - R(1);
      EXPECT_EQ(x.judged().ratio, HUGE_VAL) << "two are missing";
      if (!vectors) continue;
      for (SygvArgs<T>* call : {&x.before, &x.result}) call->eigen.vl = (all[1] + all[2]) / 2;
      ASSERT_LE(x.judged().ratio, 5);
      x.Z(2, 2) += R(0.5);
      EXPECT_GT(x.judged().ratio, 20);
    }
}

/// Cholesky's method loses as many digits as B's condition has: no fault of whose result it is.
TYPED_TEST(SygvJudge, AllowsForBsCondition) {
  using T = TypeParam;
  for (const index itype : {1, 2, 3})
    for (const double scale : {0.5, 0.25, 0.125}) {
      const Solved<T> x(itype, true, Uplo::upper, false, 0, Solved<T>::n, scale);
      EXPECT_LE(x.judged().ratio, 10) << scale;
    }
}

/// The loops are of all types: A B x = w x, and B A x = w x.
TYPED_TEST(SygvJudge, TheLoopsSolveTheOtherTypesToo) {
  using T = TypeParam;
  const long double unit = 200 * static_cast<long double>(std::numeric_limits<Real<T>>::epsilon());
  for (const index itype : {2, 3})
    for (const Uplo uplo : {Uplo::lower, Uplo::upper}) {
      Solved<T> x(itype, true, uplo, false, 0, Solved<T>::n);
      const auto element = [uplo](const Matrix<T>& M, index i, index j) {
        const T a = hermitian_element_of(uplo, M, i, j);
        return Number(std::real(a), std::imag(a));
      };
      const Matrix<T>&first = itype == 2 ? x.B0 : x.A0, &second = itype == 2 ? x.A0 : x.B0;
      for (index j = 0; j < x.n; ++j) {
        std::vector<Number> between(x.n);
        for (index i = 0; i < x.n; ++i)
          for (index k = 0; k < x.n; ++k) {
            const T v = x.A(k, j);
            between[static_cast<std::size_t>(i)] += element(first, i, k) * Number(std::real(v), std::imag(v));
          }
        for (index i = 0; i < x.n; ++i) {
          const T v = x.A(i, j);
          const auto value = static_cast<long double>(x.w[static_cast<std::size_t>(j)]);
          Number rest = -Number(std::real(v), std::imag(v)) * value;
          for (index k = 0; k < x.n; ++k) rest += element(second, i, k) * between[static_cast<std::size_t>(k)];
          ASSERT_LE(std::abs(rest), unit * 30) << "type " << itype << " at " << i << ", " << j;
        }
      }
    }
}

/// B's factor is prepared by the first solve, and by it alone; the panels that make it have a workspace of their own.
TEST(SygvPlan, PreparesTheFactorOnce) {
  for (const Uplo uplo : {Uplo::lower, Uplo::upper})
    for (const bool apart : {false, true}) {
      const EigenShape shape{true, apart, uplo, 3000, 0, apart ? 200 : 3000};
      for (const index itype : {2, 3})
        ASSERT_EQ(check(plan_sygv(itype, shape, Precision::d, sygv_cut(3000, Precision::d))), "");
      const Plan plan = plan_sygv(1, shape, Precision::d, sygv_cut(3000, Precision::d));
      ASSERT_EQ(check(plan), "") << to_string(plan);
      std::vector<bool> prepared;
      int last = -1;
      for (const Plan::Step& s : plan.steps)
        if (const auto* solve = std::get_if<Trsm>(&s.operation); solve && s.kind == Plan::Kind::compute) {
          ASSERT_EQ(s.accesses.size(), 3u);
          const int workspace = s.accesses[2].region.area;
          if (workspace != last) prepared.clear();
          last = workspace;
          prepared.push_back(solve->prepared);
        }
      EXPECT_EQ(prepared, (std::vector<bool>{false, true, true}));
    }
}

TEST(SygvFits, WithWhatALibraryWorksInOrNotAtAll) {
  const auto fits = [](index n, Precision precision, bool vectors, index apart, std::size_t memory) {
    return sygv_fits(1, {vectors, apart > 0, Uplo::lower, n, 0, apart > 0 ? apart : n}, precision, memory);
  };
  EXPECT_TRUE(fits(1000, Precision::d, true, 0, 49'700'000));
  EXPECT_FALSE(fits(1000, Precision::d, true, 0, 49'500'000));
  EXPECT_TRUE(fits(1000, Precision::d, false, 0, 57'700'000));
  EXPECT_FALSE(fits(1000, Precision::d, false, 0, 57'500'000));
  EXPECT_TRUE(fits(1000, Precision::d, true, 1000, 65'700'000));
  EXPECT_FALSE(fits(1000, Precision::d, true, 1000, 65'500'000));
  EXPECT_FALSE(fits((index{1} << 31) - 1, Precision::z, false, 0, std::size_t{1} << 40));
}

TEST(SygvCost, IsThatOfItsParts) {
  const Profile profile = built_in_profile("sm_90");
  const Facts facts{.device = DeviceState::ready, .profile = &profile, .cpu_rate = 1, .slowdown = 1};
  const auto problem = [](Routine routine, index n, index vectors) {
    return counted({.routine = routine, .element = Element::d, .m = n, .n = n, .k = vectors});
  };
  constexpr index n = 3000;
  const double cube = static_cast<double>(n) * n * n;
  EXPECT_DOUBLE_EQ(problem(Routine::dsygvd, n, n).flops, (14.0 / 3 + 1.0 / 3 + 2) * cube);
  EXPECT_DOUBLE_EQ(problem(Routine::dsygv, n, n).flops, (26.0 / 3 + 1.0 / 3 + 2) * cube);
  EXPECT_DOUBLE_EQ(problem(Routine::dsygvx, n, 30).flops, (4.0 / 3 + 0.02 + 1.0 / 3 + 1.01) * cube);
  for (const Routine routine : {Routine::dsygvd, Routine::dsygv, Routine::dsygvx})
    EXPECT_DOUBLE_EQ(problem(routine, n, 0).flops, (4.0 / 3 + 1.0 / 3 + 1) * cube);
  const double triangle = static_cast<double>(n * (n + 1) / 2) * 8, all = static_cast<double>(n) * n * 8;
  EXPECT_EQ(problem(Routine::dsygvd, n, n).bytes_in, all + triangle);
  EXPECT_EQ(problem(Routine::dsygvd, n, n).bytes_out, all + triangle);
  EXPECT_EQ(problem(Routine::dsygvx, n, 30).bytes_in, 2 * triangle);
  EXPECT_EQ(problem(Routine::dsygvx, n, 30).bytes_out, 30.0 * n * 8 + triangle);
  for (index order = 1024; order <= 16384; order *= 2)
    for (const index vectors : {index{0}, order}) {
      const double standard = syevd_family.cost(problem(Routine::dsyevd, order, vectors), facts, {}, 0).seconds,
                   generalized = sygvd_family.cost(problem(Routine::dsygvd, order, vectors), facts, {}, 0).seconds;
      EXPECT_GT(generalized, standard) << order;
      EXPECT_LT(generalized, 2 * standard) << order;
    }
}

}  // namespace
}  // namespace blaslift::sygv_tests
