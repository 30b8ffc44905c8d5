// Blocked QR on a backend's lane: that LAPACK's format comes back, whatever order the lane runs things in, and that
// nothing of the caller's changes if anything fails.
//
// Bounds as in qr_tiles.cpp: (m + k) eps ||A|| and (m + k) eps sqrt(k), twice that for complex numbers.
#include "impl/qr/qr_execute.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "kernels/host/host.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/qr/qr_reference.hpp"
#include "tests/unit/support/lapack.hpp"
#include "tests/unit/support/plans.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::qr_execute_tests {
namespace {

using namespace reference;

bool always() { return true; }
const UnderlyingBlas underlying{[](const void*, const Operation& x) { naive(*x.get<Gemm>()); }, nullptr};

/// Backends live as long as the process, and so do their fault plans: kept where a leak checker finds them.
FaultPlan& new_faults() {
  static auto& all = *new std::deque<FaultPlan>;
  return all.emplace_back();
}
Backend& new_backend(FaultPlan* faults = nullptr) {
  static auto& all = *new std::deque<Backend*>;
  return *all.emplace_back(make_host_backend({.memory_limit = std::size_t{1} << 20}, faults));
}

struct Shape {
  index m, n, block, panel;
  index part = n;
  index lead = 0;
};

template <class T>
struct Problem {
  QrPlan plan;
  Matrix<T> A0, A, tau;
  std::vector<unsigned char> lease;

  Problem(const Shape& s, Kind kind = Kind::random)
      : plan(plan_qr(s.m, s.n, s.block, s.panel, s.part, s.lead)),
        A0(matrix_of<T>(kind, s.m, s.n)),
        A(A0),
        tau(plan.factored(), 1),
        lease(plan.bytes(sizeof(T)) + 256, 0xff) {}  // NaN

  void* aligned() {
    return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(lease.data()) + 255) / 256 * 256);
  }
  GeqrfArgs<T> args() { return {A.rows(), A.cols(), A.data(), A.ld(), tau.data()}; }
  Outcome on(Lane& lane, std::size_t piece_bytes) {
    return execute(plan, args(), {.lease = aligned()}, piece_bytes, lane, always);
  }
  Outcome on(Backend& backend) { return on(backend, {.lease = aligned()}); }
  Outcome on(Backend& backend, const QrPlacement& placement) {
    Status status;
    Lane* lane = backend.acquire(underlying, std::size_t{1} << 30, status);
    if (!lane) return {status};
    const Outcome outcome = execute(plan, args(), placement, backend.facts().piece_bytes, *lane, always);
    backend.release(lane);
    return outcome;
  }

  void expect_qr() const {
    const index m = A.rows(), n = A.cols(), k = plan.factored();
    const double allowed = static_cast<double>(m + k) * eps<T>() * (complex_type<T> ? 2 : 1);
    Wide<T> r = Wide<T>::of(A0), q(m, k);
    const double norm = r.norm();
    apply_lapack_q(true, m, k, A.data(), A.ld(), tau.data(), r);
    EXPECT_LE((r - upper_part(m, n, A.data(), A.ld())).norm(), allowed * norm);
    for (index j = 0; j < k; ++j) q(j, j) = 1;
    apply_lapack_q(false, m, k, A.data(), A.ld(), tau.data(), q);
    EXPECT_LE(orthogonality(q), allowed * std::sqrt(static_cast<double>(k)));
    EXPECT_TRUE(A.canaries_intact() && tau.canaries_intact());
  }
};

constexpr Shape shapes[] = {{2, 29, 1, 1},      {3, 50, 2, 2},      {60, 50, 6, 3, 50, 2}, {48, 80, 4, 2, 80, 3},
                            {1, 1, 1, 1},       {40, 40, 16, 4},    {45, 30, 16, 4},       {30, 45, 16, 4},
                            {33, 33, 8, 8},     {50, 7, 16, 3},     {7, 50, 16, 3},        {300, 24, 8, 4},
                            {40, 40, 40, 10},   {31, 1, 8, 8},      {40, 40, 8, 4, 16},    {45, 30, 8, 8, 8},
                            {30, 45, 8, 4, 16}, {300, 40, 8, 3, 16}};

template <class T>
class QrExecute : public testing::Test {};
TYPED_TEST_SUITE(QrExecute, Precisions);

TYPED_TEST(QrExecute, LeavesWhatLapackPromises) {
  using T = TypeParam;
  Backend& backend = new_backend();
  ASSERT_TRUE(backend.facts().computes.can(Operation::Kind::qr_panel, precision_of<TypeParam>));
  for (const Kind kind : kinds)
    for (const Shape& s : shapes) {
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " " << s.m << " x " << s.n << " by "
                                      << s.block << ", " << s.panel);
      Problem<T> p(s, kind);
      const Outcome outcome = p.on(backend);
      ASSERT_EQ(outcome.status, Status::done);
      // Parts on the right of others get their reflectors, as far as these are not there.
      const double sent = static_cast<double>(s.m * s.n) * sizeof(T),
                   again = sent_again(s.m, s.n, {s.block, s.panel, s.part}, sizeof(T));
      EXPECT_EQ(outcome.bytes_in > sent, again > 0);
      EXPECT_LE(outcome.bytes_in, sent + again);
      EXPECT_EQ(outcome.bytes_out, static_cast<double>(s.m * s.n + p.plan.factored()) * sizeof(T));
      p.expect_qr();
      if (testing::Test::HasFailure()) return;
    }
}

TYPED_TEST(QrExecute, HasTheSameBitsInEveryOrderThatALaneMayChoose) {
  using T = TypeParam;
  Backend& backend = new_backend();
  for (const Shape& s : shapes) {
    Problem<T> expected(s);
    ASSERT_EQ(expected.on(backend).status, Status::done);
    for (unsigned seed = 0; seed < 6; ++seed) {
      Problem<T> p(s);
      Shuffled lane(seed);
      ASSERT_EQ(p.on(lane, 160).status, Status::done);
      ASSERT_TRUE(p.A == expected.A && p.tau == expected.tau) << s.m << " x " << s.n << " seed " << seed;
    }
  }
}

/// A place's part of one, on the lane.
template <class T>
Outcome on_place(const QrPlan& plan, Matrix<T>& A, Matrix<T>& tau, Lane& lane, Seat& seat) {
  std::vector<unsigned char> lease(plan.bytes(sizeof(T)) + 256, 0xff);  // NaN
  void* const aligned = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(lease.data()) + 255) / 256 * 256);
  const GeqrfArgs<T> args{A.rows(), A.cols(), A.data(), A.ld(), tau.data()};
  return execute(plan, args, {.lease = aligned}, 160, lane, always, &seat);
}

TYPED_TEST(QrExecute, PlacesFactorTogetherInEveryOrderWithTheSameBits) {
  using T = TypeParam;
  for (const int places : {2, 3, 5})
    for (const Shape& s : shapes) {
      Problem<T> p(s);
      Matrix<T> first = p.A, first_tau = p.tau;
      for (unsigned seed = 0; seed < 3; ++seed) {
        p.A = p.A0;
        const std::vector<Outcome> outcomes = run_together(places, [&](Seat& seat) {
          Shuffled lane(seed);
          const QrPlan plan = plan_qr_together(s.m, s.n, s.block, s.panel, seat.number(), places);
          EXPECT_EQ(check(plan), "") << to_string(plan);
          return on_place(plan, p.A, p.tau, lane, seat);
        });
        ASSERT_TRUE(all_well(outcomes)) << s.m << " x " << s.n;
        p.expect_qr();
        if (testing::Test::HasFailure()) return;
        if (seed == 0) first = p.A, first_tau = p.tau;
        ASSERT_TRUE(p.A == first && p.tau == first_tau) << s.m << " x " << s.n << " seed " << seed;
        double in = 0, out = 0;
        for (const Outcome& x : outcomes) in += x.bytes_in, out += x.bytes_out;
        EXPECT_EQ(in, static_cast<double>(s.m * s.n) * sizeof(T));
        EXPECT_EQ(out, static_cast<double>(s.m * s.n + std::min(s.m, s.n)) * sizeof(T));
      }
    }
}

TYPED_TEST(QrExecute, AFaultAtAnyPlaceLeavesTheCallersMemoryAlone) {
  using T = TypeParam;
  int struck = 0;
  for (const Shape& s : {Shape{30, 20, 4, 2}, {20, 30, 5, 3}}) {
    Problem<T> p(s);
    Matrix<T> tau = p.tau;
    const int places = 3;
    struck += with_each_operation_failing_together(
        places, [&] { p.A = p.A0, p.tau = tau; },
        [&](Lane& lane, Seat& seat) {
          return on_place(plan_qr_together(s.m, s.n, s.block, s.panel, seat.number(), places), p.A, p.tau, lane, seat);
        },
        [&] { p.expect_qr(); }, [&] { ASSERT_TRUE(p.A == p.A0 && p.tau == tau); });
  }
  EXPECT_GT(struck, 100);
}

TYPED_TEST(QrExecute, AFailureLeavesTheCallersMemoryAlone) {
  using T = TypeParam;
  FaultPlan& faults = new_faults();
  Backend& backend = new_backend(&faults);
  faults.scribble = true;
  for (const Shape& s : {Shape{30, 20, 8, 4}, {30, 20, 4, 2, 8}, {30, 20, 4, 2, 20, 1}}) {
    faults.at = 0;
    faults.seen = 0;
    Problem<T> good(s);
    ASSERT_EQ(good.on(backend).status, Status::done);
    const long operations = faults.seen;
    ASSERT_GT(operations, 50);
    for (const Status status : {Status::lost, Status::no_memory})
      for (long at = 1; at <= operations; ++at) {
        Problem<T> p(s);
        const Matrix<T> tau = p.tau;
        faults.status = status;
        faults.seen = 0;
        faults.at = at;
        ASSERT_EQ(p.on(backend).status, status) << at;
        ASSERT_TRUE(p.A == p.A0 && p.tau == tau) << at;
      }
    faults.at = 0;
    Problem<T> again(s);
    ASSERT_EQ(again.on(backend).status, Status::done);
    EXPECT_TRUE(again.A == good.A);
  }
}

TYPED_TEST(QrExecute, FactorsACopyOfWhichSomeIsThere) {
  using T = TypeParam;
  Backend& backend = new_backend();
  const Shape s{40, 30, 8, 4};
  Problem<T> expected(s);
  ASSERT_EQ(expected.on(backend).status, Status::done);
  Problem<T> p(s);
  Matrix<T> copy(s.m, s.n, 5);
  for (index j = 0; j < s.n; ++j)
    for (index i = 0; i < s.m; ++i) copy(i, j) = p.A0(i, j);
  QrPlacement placement{.lease = p.aligned(), .A = {.device = copy.data(), .ld = copy.ld()}};
  placement.A.missing = {{3, 2, 20, 17}, {0, 25, s.m, 1}};
  double missing = 0;
  for (const Block& b : placement.A.missing) {
    missing += static_cast<double>(b.rows * b.cols);
    for (index j = b.col; j < b.col + b.cols; ++j)
      for (index i = b.row; i < b.row + b.rows; ++i) copy(i, j) = T(std::numeric_limits<Real<T>>::quiet_NaN());
  }
  const Outcome outcome = p.on(backend, placement);
  ASSERT_EQ(outcome.status, Status::done);
  EXPECT_EQ(outcome.bytes_in, missing * sizeof(T));
  EXPECT_TRUE(p.A == expected.A && p.tau == expected.tau);
  EXPECT_TRUE(copy.canaries_intact());
  for (index j = 0; j < s.n; ++j)
    for (index i = 0; i < s.m; ++i) ASSERT_TRUE(same_bits(copy(i, j), p.A(i, j))) << "what the copy holds";
}

TYPED_TEST(QrExecute, FactorsTheProgramsDeviceMemoryInPlace) {
  using T = TypeParam;
  Backend& backend = new_backend();
  const Shape s{30, 40, 8, 4};
  Problem<T> expected(s);
  ASSERT_EQ(expected.on(backend).status, Status::done);
  for (const bool tau_too : {false, true}) {
    Problem<T> p(s);
    Matrix<T> A = p.A0, tau = p.tau;
    QrPlacement placement{.lease = p.aligned(), .A = {.device = A.data(), .ld = A.ld(), .in_place = true}};
    if (tau_too) placement.tau = tau.data();
    const Outcome outcome = p.on(backend, placement);
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in, 0);
    EXPECT_EQ(outcome.bytes_out, tau_too ? 0 : 30.0 * sizeof(T));
    EXPECT_TRUE(A == expected.A);
    EXPECT_TRUE((tau_too ? tau : p.tau) == expected.tau);
    EXPECT_TRUE(p.A == p.A0) << "which is not what was given";
  }
}

TYPED_TEST(QrExecute, StopsWhenTheProcessExits) {
  using T = TypeParam;
  Problem<T> p({30, 20, 8, 4});
  Backend& backend = new_backend();
  Status status;
  Lane* lane = backend.acquire(underlying, 1, status);
  ASSERT_TRUE(lane);
  static int steps;
  steps = 0;
  const Outcome outcome = execute(
      p.plan, p.args(), {.lease = p.aligned()}, backend.facts().piece_bytes, *lane, +[] { return ++steps < 5; });
  backend.release(lane);
  EXPECT_EQ(outcome.status, Status::lost);
  EXPECT_TRUE(p.A == p.A0);
}

TYPED_TEST(QrExecute, NotANumberSpreadsAsInLapack) {
  using T = TypeParam;
  const Lapack<T>* lapack = Lapack<T>::get();
  if (!lapack) GTEST_SKIP() << "no liblapack.so.3";
  for (const index col : {0, 5, 20, 39}) {
    Problem<T> p({300, 40, 16, 4});
    p.A(170, col) = T(std::numeric_limits<Real<T>>::quiet_NaN());
    Matrix<T> A = p.A, tau = p.tau;
    ASSERT_EQ(p.on(new_backend()).status, Status::done);
    ASSERT_EQ(lapack->geqrf(300, 40, A.data(), static_cast<int>(A.ld()), tau.data()), 0);
    // In the columns before, nothing; in its own and those behind, wherever LAPACK has one.
    for (index j = 0; j < 40; ++j)
      for (index i = 0; i < 300; ++i)
        if (j < col) {
          ASSERT_TRUE(finite(p.A(i, j)) && finite(A(i, j))) << i << " " << j;
        } else if (!finite(A(i, j)) && i >= col) {
          ASSERT_FALSE(finite(p.A(i, j))) << i << " " << j;
        }
  }
}

TYPED_TEST(QrExecute, TheCpusLapackConsumesTheFactors) {
  using T = TypeParam;
  const Lapack<T>* lapack = Lapack<T>::get();
  if (!lapack) GTEST_SKIP() << "no liblapack.so.3";
  for (const Shape& s : {Shape{40, 40, 16, 4}, {300, 24, 8, 4}, {30, 45, 16, 4}}) {
    Problem<T> p(s);
    ASSERT_EQ(p.on(new_backend()).status, Status::done);
    const int m = static_cast<int>(s.m), n = static_cast<int>(s.n), k = std::min(m, n), ld = static_cast<int>(p.A.ld());
    const double allowed = static_cast<double>(m + k) * eps<T>() * (complex_type<T> ? 2 : 1);
    Matrix<T> C = p.A0, Q = p.A;
    ASSERT_EQ(lapack->ormqr('L', Op::conjugate, m, n, k, p.A.data(), ld, p.tau.data(), C.data(), ld), 0);
    const double norm = Wide<T>::of(p.A0).norm();
    EXPECT_LE((Wide<T>::of(C) - upper_part(s.m, s.n, p.A.data(), p.A.ld())).norm(), allowed * norm);
    ASSERT_EQ(lapack->orgqr(m, k, k, Q.data(), ld, p.tau.data()), 0);
    EXPECT_LE(orthogonality(Wide<T>::of(s.m, k, Q.data(), Q.ld())), allowed * std::sqrt(static_cast<double>(k)));
  }
}

}  // namespace
}  // namespace blaslift::qr_execute_tests
