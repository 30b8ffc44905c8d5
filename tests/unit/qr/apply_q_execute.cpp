// Products with Q on a backend's lane: right on every side, whatever order the lane runs things in, and nothing of the
// caller's changes if anything fails.
//
// Bounds as in qr_execute.cpp: (order + k) eps ||C||, twice that for complex numbers.
#include <gtest/gtest.h>

#include <deque>

#include "impl/qr/qr_execute.hpp"
#include "kernels/host/host.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/qr/qr_reference.hpp"
#include "tests/unit/support/lapack.hpp"
#include "tests/unit/support/shuffled.hpp"

namespace blaslift::apply_q_execute_tests {
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
  index m, n, k, block, panel, part;
  index window = 0;  ///< 0: all of C, and of the reflectors
};
constexpr Shape shapes[] = {{1, 1, 1, 1, 1, 1},     {20, 13, 9, 4, 2, 5}, {13, 20, 11, 8, 3, 20},
                            {30, 30, 30, 16, 4, 7}, {270, 9, 6, 3, 3, 4}, {25, 25, 25, 25, 5, 25}};

/// Reflectors of a QR by the CPU's own LAPACK, and a C.
template <class T>
struct Problem {
  QPlan plan;
  Matrix<T> A, tau, C0, C;
  std::vector<unsigned char> lease;

  Problem(const Shape& s, const QProduct& product)
      : plan(s.window == 0 ? plan_q(product, s.block, s.panel, s.part)
                           : plan_q(product, s.block, s.panel, s.part, s.window, true)),
        A(product.order(), product.of_identity ? product.n : product.k, 3),
        tau(product.k, 1),
        C0(product.stored_rows(), product.stored_cols(), 2),
        C(C0),
        lease(plan.bytes(sizeof(T)) + 256, 0xff) {  // NaN
    A.random(1);
    C0.random(2);
    C = C0;
    const auto size = [](index x) { return static_cast<int>(x); };
    Lapack<T>::get()->geqrf(size(A.rows()), size(product.k), A.data(), size(A.ld()), tau.data());
    if (product.rows) A = adjoint_of(A);
    if (product.reversed) {
      A = reverse_of(A);
      tau = reverse_of(tau);
    }
  }
  /// Rows and columns.
  static Matrix<T> reverse_of(const Matrix<T>& x) {
    Matrix<T> reverse(x.rows(), x.cols(), x.ld() - x.rows());
    for (index j = 0; j < x.cols(); ++j)
      for (index i = 0; i < x.rows(); ++i) reverse(x.rows() - 1 - i, x.cols() - 1 - j) = x(i, j);
    return reverse;
  }
  static Matrix<T> adjoint_of(const Matrix<T>& x) {
    Matrix<T> adjoint(x.cols(), x.rows(), 2);
    for (index j = 0; j < x.cols(); ++j)
      for (index i = 0; i < x.rows(); ++i)
        if constexpr (complex_type<T>)
          adjoint(j, i) = std::conj(x(i, j));
        else
          adjoint(j, i) = x(i, j);
    return adjoint;
  }

  void* aligned() {
    return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(lease.data()) + 255) / 256 * 256);
  }
  OrmqrArgs<T> args() {
    const bool own = plan.product.of_identity;
    return {plan.product, A.data(), A.ld(), tau.data(), own ? A.data() : C.data(), own ? A.ld() : C.ld()};
  }
  Outcome on(Lane& lane, std::size_t piece_bytes) {
    return execute(plan, args(), {.lease = aligned()}, piece_bytes, lane, always);
  }
  Outcome on(Backend& backend) { return on(backend, {.lease = aligned()}); }
  Outcome on(Backend& backend, const QPlacement& placement) {
    Status status;
    Lane* lane = backend.acquire(underlying, std::size_t{1} << 30, status);
    if (!lane) return {status};
    const Outcome outcome = execute(plan, args(), placement, backend.facts().piece_bytes, *lane, always);
    backend.release(lane);
    return outcome;
  }
  const Matrix<T>& result() const { return plan.product.of_identity ? A : C; }

  /// What it is to be, of `reflectors`, one reflector after the other.
  Wide<T> expected(const Matrix<T>& reflectors) const {
    const QProduct& p = plan.product;
    Wide<T> c = Wide<T>::of(C0);
    if (p.of_identity) {
      c = Wide<T>(p.m, p.n);
      for (index j = 0; j < p.n; ++j) c(j, j) = 1;
    }
    if (!p.left) c = c.adjoint();  // C Q = (Q^H C^H)^H
    const Matrix<T> columns = p.rows ? adjoint_of(reflectors) : reflectors;
    apply_lapack_q(p.left == p.adjoint, p.order(), p.k, columns.data(), columns.ld(), tau.data(), c, p.reversed);
    return p.left && !p.turned() ? c : c.adjoint();
  }
  void expect_right(const Matrix<T>& reflectors) const {
    const QProduct& p = plan.product;
    const Wide<T> due = expected(reflectors);
    const double allowed = static_cast<double>(p.order() + p.k) * eps<T>() * (complex_type<T> ? 2 : 1);
    EXPECT_LE((Wide<T>::of(p.stored_rows(), p.stored_cols(), result().data(), result().ld()) - due).norm(),
              allowed * due.norm());
    EXPECT_TRUE(A.canaries_intact() && tau.canaries_intact() && C.canaries_intact());
    EXPECT_TRUE(p.of_identity ? C == C0 : A == reflectors) << "an operand was written";
  }
};

/// Every product of the shapes.
template <class Act>
void for_products(const Act& act) {
  for (const Shape& s : shapes) {
    for (const bool left : {true, false})
      for (const bool adjoint : {true, false}) {
        if (s.k > (left ? s.m : s.n)) continue;
        for (const bool rows : {false, true}) act(s, QProduct{left, adjoint, s.m, s.n, s.k, false, rows});
      }
    if (s.n <= s.m && s.k <= s.n)
      for (const bool rows : {false, true}) act(s, QProduct{true, false, s.m, s.n, s.k, true, rows});
    Shape reversed = s;
    reversed.panel = s.block;
    for (const bool left : {true, false})
      for (const bool adjoint : {true, false})
        act(reversed, QProduct{left, adjoint, s.m, s.n, left ? s.m : s.n, false, false, true});
    act(reversed, QProduct{true, false, s.n, s.n, s.n, true, false, true});
  }
}

/// Also in windows: a part, almost two, and all of C.
template <class Act>
void for_products_and_windows(const Act& act) {
  for_products([&](const Shape& s, const QProduct& product) {
    act(s, product);
    for (const index window : {s.part, 2 * s.part - 1, product.length()}) {
      Shape in_windows = s;
      in_windows.window = std::min(window, product.length());
      act(in_windows, product);
    }
  });
}

template <class T>
class QExecute : public testing::Test {
 protected:
  void SetUp() override {
    if (!Lapack<T>::get()) GTEST_SKIP() << "no liblapack.so.3";
  }
};
TYPED_TEST_SUITE(QExecute, Precisions);

TYPED_TEST(QExecute, ComputesEveryProduct) {
  using T = TypeParam;
  Backend& backend = new_backend();
  ASSERT_TRUE(backend.facts().computes.can(Operation::Kind::qr_panel, precision_of<TypeParam>));
  for_products_and_windows([&](const Shape& s, const QProduct& product) {
    Problem<T> p(s, product);
    SCOPED_TRACE(to_string(p.plan));
    const Matrix<T> reflectors = p.A;
    const Outcome outcome = p.on(backend);
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_out, static_cast<double>(product.m * product.n) * sizeof(T));
    p.expect_right(reflectors);
  });
}

TYPED_TEST(QExecute, HasTheSameBitsInEveryOrderThatALaneMayChoose) {
  using T = TypeParam;
  Backend& backend = new_backend();
  for_products_and_windows([&](const Shape& s, const QProduct& product) {
    Problem<T> expected(s, product);
    ASSERT_EQ(expected.on(backend).status, Status::done);
    for (unsigned seed = 0; seed < 3; ++seed) {
      Problem<T> p(s, product);
      Shuffled lane(seed);
      ASSERT_EQ(p.on(lane, 160).status, Status::done);
      ASSERT_TRUE(p.A == expected.A && p.C == expected.C) << to_string(p.plan);
    }
  });
}

TYPED_TEST(QExecute, UsesCopiesAndTheProgramsDeviceMemory) {
  using T = TypeParam;
  Backend& backend = new_backend();
  for_products([&](const Shape& s, const QProduct& product) {
    Problem<T> expected(s, product);
    ASSERT_EQ(expected.on(backend).status, Status::done);
    const T nan(std::numeric_limits<Real<T>>::quiet_NaN());
    // Copies of both, the reflectors' whole, C's without its first column.
    Problem<T> p(s, product);
    Matrix<T> a(p.A), c(p.C0);
    for (index i = 0; i < c.rows(); ++i) c(i, 0) = nan;
    QPlacement placement{
        .lease = p.aligned(), .A = {.device = a.data(), .ld = a.ld()}, .C = {.device = c.data(), .ld = c.ld()}};
    if (!product.of_identity) placement.C.missing = {{0, 0, product.m, 1}};
    Outcome outcome = p.on(backend, placement);
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in,
              static_cast<double>(product.k + (product.of_identity ? product.n : product.m)) * sizeof(T));
    EXPECT_TRUE(p.result() == expected.result()) << to_string(p.plan);
    EXPECT_EQ((Wide<T>::of(c) - Wide<T>::of(c.rows(), c.cols(), p.result().data(), p.result().ld())).norm(), 0);
    // All of it in the program's device memory.
    Problem<T> q(s, product);
    Matrix<T> device_a(q.A), device_c(q.C0), device_tau(q.tau);
    Matrix<T>& result = product.of_identity ? device_a : device_c;
    placement = {.lease = q.aligned(),
                 .A = {.device = device_a.data(), .ld = device_a.ld(), .in_place = true},
                 .tau = device_tau.data(),
                 .C = {.device = result.data(), .ld = result.ld(), .in_place = true}};
    const Matrix<T> was = q.A;
    outcome = q.on(backend, placement);
    ASSERT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.bytes_in, static_cast<double>(product.of_identity ? product.n : 0) * sizeof(T));
    EXPECT_EQ(outcome.bytes_out, 0);
    EXPECT_TRUE(result == expected.result()) << to_string(q.plan);
    EXPECT_TRUE(q.A == was && q.C == q.C0) << "which is not what was given";
  });
}

TYPED_TEST(QExecute, AFailureLeavesTheCallersMemoryAlone) {
  using T = TypeParam;
  FaultPlan& faults = new_faults();
  Backend& backend = new_backend(&faults);
  const Shape whole{20, 13, 9, 4, 2, 5}, in_windows{20, 13, 9, 4, 2, 5, 7}, reversed{20, 13, 20, 4, 4, 5, 7};
  for (const auto& [s, product] : {std::pair{whole, QProduct{true, true, 20, 13, 9}},
                                   {whole, QProduct{true, false, 20, 13, 9, true}},
                                   {whole, QProduct{true, true, 20, 13, 9, false, true}},
                                   {in_windows, QProduct{true, true, 20, 13, 9}},
                                   {in_windows, QProduct{true, true, 20, 13, 9, false, true}},
                                   {in_windows, QProduct{true, false, 20, 13, 9, true}},
                                   {whole, QProduct{true, false, 20, 13, 9, true, true}},
                                   {in_windows, QProduct{true, false, 20, 13, 9, true, true}},
                                   {reversed, QProduct{true, true, 20, 13, 20, false, false, true}},
                                   {reversed, QProduct{true, false, 20, 20, 20, true, false, true}}}) {
    faults.at = 0;
    faults.seen = 0;
    Problem<T> good(s, product);
    ASSERT_EQ(good.on(backend).status, Status::done);
    const long operations = faults.seen;
    ASSERT_GT(operations, 30);
    faults.scribble = true;
    for (const Status status : {Status::lost, Status::no_memory})
      for (long at = 1; at <= operations; ++at) {
        Problem<T> p(s, product);
        const Matrix<T> A = p.A;
        faults.status = status;
        faults.seen = 0;
        faults.at = at;
        ASSERT_EQ(p.on(backend).status, status) << at;
        ASSERT_TRUE(p.A == A && p.C == p.C0) << at;
      }
  }
}

/// A Q whose reflectors begin a column before it, or a row above it, or a column behind it, as those of reductions do.
template <class T>
struct Beside {
  Problem<T> p;
  Matrix<T> A;
  index row, col;  ///< where Q begins

  Beside(const Shape& s, const QProduct& product)
      : p(s, product),
        A(product.n + product.rows, product.m + !product.rows, 3),
        row(product.rows ? 1 : 0),
        col(!product.rows && !product.reversed ? 1 : 0) {
    A.random(3);
    for (index j = 0; j < product.k; ++j)
      for (index i = 0; i < product.m; ++i)
        if (product.rows ? j > i : product.reversed ? i < j : i > j) A(i, j + product.reversed) = p.A(i, j);
  }
  Outcome on(Lane& lane) {
    const bool behind = p.plan.product.reversed;
    OrmqrArgs<T> args{p.plan.product, A.data() + behind * A.ld(),    A.ld(),
                      p.tau.data(),   A.data() + row + col * A.ld(), A.ld()};
    (behind ? args.after : args.before) = 1;
    return execute(p.plan, args, {.lease = p.aligned()}, 160, lane, always);
  }
};

TYPED_TEST(QExecute, MakesQBesideItsReflectors) {
  using T = TypeParam;
  Backend& backend = new_backend();
  FaultPlan& faults = new_faults();
  Backend& failing = new_backend(&faults);
  // In the last one a part ends where a block does, whose own reflectors are all that it needs.
  const auto test = [&](const Shape& s, const QProduct& product) {
    Problem<T> expected(s, product);
    ASSERT_EQ(expected.on(backend).status, Status::done);
    const auto is_right = [&](const Beside<T>& x, const Matrix<T>& was) {
      for (index j = 0; j < x.A.cols(); ++j)
        for (index i = 0; i < x.A.rows(); ++i) {
          const index row = i - x.row, col = j - x.col;
          const bool inside = row >= 0 && row < s.m && col >= 0 && col < s.n;
          ASSERT_EQ(x.A(i, j), inside ? expected.A(row, col) : was(i, j)) << s.window;
        }
      EXPECT_TRUE(x.A.canaries_intact());
    };
    for (unsigned seed = 0; seed < 3; ++seed) {
      Beside<T> x(s, product);
      const Matrix<T> was = x.A;
      Shuffled lane(seed);
      ASSERT_EQ(x.on(lane).status, Status::done);
      is_right(x, was);
    }
    faults.status = Status::lost;
    faults.scribble = true;
    for (long at = 1;; at += 7) {
      Beside<T> x(s, product);
      const Matrix<T> was = x.A;
      faults.seen = 0;
      faults.at = at;
      Status status;
      Lane* lane = failing.acquire(underlying, std::size_t{1} << 30, status);
      if (!lane) continue;  // which is an operation, too
      const Outcome outcome = x.on(*lane);
      failing.release(lane);
      if (outcome.status == Status::done) break;
      ASSERT_TRUE(x.A == was) << at;
    }
  };
  for (const Shape& s : {Shape{20, 20, 20, 4, 2, 5},
                         {20, 20, 20, 4, 2, 5, 5},
                         {20, 20, 20, 4, 2, 5, 9},
                         {20, 20, 20, 4, 2, 5, 20},
                         {8, 8, 8, 4, 2, 4, 8}}) {
    for (const bool rows : {false, true}) test(s, {true, false, s.m, s.n, s.k, true, rows});
    test({s.m, s.n, s.k, s.block, s.block, s.part, s.window}, {true, false, s.m, s.n, s.k, true, false, true});
  }
}

}  // namespace
}  // namespace blaslift::apply_q_execute_tests
