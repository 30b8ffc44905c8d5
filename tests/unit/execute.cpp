// Promise 1 at its root: a schedule executed on a device that fails at its k-th operation, for every k, then finished
// by the library underneath.
#include "impl/execute.hpp"

#include <gtest/gtest.h>

#include "kernels/fault/fault.hpp"
#include "kernels/host/host.hpp"
#include "tests/unit/reference.hpp"

namespace blaslift {
namespace {

using namespace reference;

bool always() { return true; }

/// Backends live as long as the process: kept where a leak checker finds them.
Backend& kept(Backend* backend) {
  static auto& all = *new std::vector<Backend*>;
  all.push_back(backend);
  return *backend;
}

/// The library underneath, counting the elements of C that it is asked for.
struct Library {
  double elements = 0;
  UnderlyingGemm gemm() {
    return {[](const void* self, const Gemm& g) {
              const_cast<Library*>(static_cast<const Library*>(self))->elements +=
                  static_cast<double>(g.m) * static_cast<double>(g.n);
              naive(g);
            },
            this};
  }
};

struct Shape {
  index m, n, k;
  Op transa, transb;
  bool beta_zero;
  std::size_t memory_elements;  ///< device memory: decides how C and k are cut, and with it how small the pieces are
};

/// Blocks of C and chunks of k in every combination; the comments are for double.
constexpr Shape shapes[] = {
    {23, 19, 17, Op::none, Op::none, false, 400},           // 2 x 2 blocks or more, k in two chunks
    {23, 19, 17, Op::transpose, Op::conjugate, true, 400},  // the same, C not read
    {40, 3, 9, Op::conjugate, Op::none, false, 250},        // tall
    {5, 31, 12, Op::none, Op::transpose, true, 250},        // wide
    {1, 1, 70, Op::transpose, Op::transpose, false, 110},   // one element, k cut
    {12, 12, 12, Op::none, Op::conjugate, false, 3000},     // one block, one piece
};

template <class T>
struct Case {
  Shape shape;
  Matrix<T> A, B, C;
  T alpha = scalar<T>(-0.5, 0.25), beta;
  std::vector<Element<T>> expected;
  std::size_t memory;

  explicit Case(const Shape& s)
      : shape(s),
        A(s.transa == Op::none ? s.m : s.k, s.transa == Op::none ? s.k : s.m, 3),
        B(s.transb == Op::none ? s.k : s.n, s.transb == Op::none ? s.n : s.k, 2),
        C(s.m, s.n, 5),
        beta(s.beta_zero ? T(0) : scalar<T>(0.7, -0.3)),
        memory(3 * 256 + s.memory_elements * sizeof(T)) {
    A.random(1);
    B.random(2);
    if (s.beta_zero)
      C.fill(scalar<T>(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()));
    else
      C.random(3);
    expected = product(args(C));
  }

  GemmArgs<T> args(Matrix<T>& c) {
    return {shape.transa, shape.transb, shape.m, shape.n, shape.k,  alpha, A.data(),
            A.ld(),       B.data(),     B.ld(),  beta,    c.data(), c.ld()};
  }

  GemmSchedule plan(std::size_t ring_bytes) const {
    Cut cut{};
    if (!cut_to_fit(shape.m, shape.n, shape.k, sizeof(T), memory, cut)) throw std::runtime_error("does not fit");
    return plan_gemm(shape.m, shape.n, shape.k, !shape.beta_zero, sizeof(T), cut, ring_bytes);
  }
};

/// What one attempt left behind.
template <class T>
struct Attempt {
  Outcome outcome;
  GemmSchedule schedule;
  Matrix<T> half;   ///< C when the device had ended
  Matrix<T> whole;  ///< C when the library underneath had finished it
  double finished = 0;
};

/// As impl/gemm.cpp does it.
template <class T>
Attempt<T> attempt(Case<T>& x, Backend& backend, bool (*keep_going)()) {
  Library on_device, underneath;
  Matrix<T> c = x.C;
  GemmArgs<T> args = x.args(c);
  Attempt<T> a{.outcome = {}, .schedule = {}, .half = c, .whole = c};
  Lane* lane = backend.acquire(on_device.gemm(), a.outcome.status);
  if (lane) {
    a.schedule = x.plan(lane->ring_bytes());
    a.outcome = execute(a.schedule, args, *lane, keep_going);
    backend.release(lane);
  }
  a.half = c;
  if (a.outcome.status != Status::done) finish(a.schedule, a.outcome.steps, args, underneath.gemm());
  a.whole = c;
  a.finished = underneath.elements;
  return a;
}

/// Which elements the attempt's steps committed.
template <class T>
std::vector<bool> committed(const Attempt<T>& a, const Shape& s) {
  std::vector<bool> done(static_cast<std::size_t>(s.m * s.n));
  for (std::size_t i = 0; i < a.outcome.steps; ++i) {
    const auto& [kind, b, k0, kb, first, slot] = a.schedule.steps[i];
    for (index j = b.col; kind == StepKind::commit && j < b.col + b.cols; ++j)
      for (index r = b.row; r < b.row + b.rows; ++r) done[static_cast<std::size_t>(r + j * s.m)] = true;
  }
  return done;
}

template <class T>
void expect_result_never_lost(Case<T>& x, const Attempt<T>& a) {
  const Shape& s = x.shape;
  // Bound: reference.hpp; chunks of k only change the order of its sums.
  ASSERT_LE(worst_excess(x.expected, a.whole), 1.0) << "wrong result";
  ASSERT_TRUE(a.whole.canaries_intact()) << "wrote between m and ldc";
  ASSERT_TRUE(a.half.canaries_intact()) << "wrote between m and ldc";
  // Before the library underneath came: committed elements right, all others bit for bit the caller's.
  const auto done = committed(a, s);
  double missing = 0;
  for (index j = 0; j < s.n; ++j)
    for (index i = 0; i < s.m; ++i) {
      const auto at = static_cast<std::size_t>(i + j * s.m);
      if (done[at])
        ASSERT_LE(x.expected[at].excess(a.half(i, j)), 1.0) << "committed too early: " << i << "," << j;
      else
        ASSERT_TRUE(same_bits(a.half(i, j), x.C(i, j))) << "touched before it was whole: " << i << "," << j;
      missing += !done[at];
    }
  // The library underneath computes just what is missing; bytes_out counts what was committed.
  if (a.outcome.status != Status::done)
    ASSERT_EQ(a.finished, missing) << "the library underneath computed more or less than what was missing";
  else
    ASSERT_EQ(missing, 0);
  ASSERT_EQ(a.outcome.bytes_out, (static_cast<double>(s.m * s.n) - missing) * sizeof(T));
}

template <class T>
class Execute : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Execute, Types);

TYPED_TEST(Execute, WithoutFaultEveryShapeIsRight) {
  using T = TypeParam;
  bool blocks = false, chunks = false, pieces = false;
  for (const Shape& shape : shapes) {
    Case<T> x(shape);
    SCOPED_TRACE(describe(x.args(x.C)));
    const Matrix<T> A = x.A, B = x.B;
    const auto a = attempt(x, kept(make_host_backend(x.memory)), always);
    ASSERT_EQ(a.outcome.status, Status::done);
    ASSERT_EQ(a.outcome.steps, a.schedule.steps.size());
    ASSERT_EQ(check(a.schedule), "");
    expect_result_never_lost(x, a);
    EXPECT_TRUE(x.A == A && x.B == B) << "inputs modified";
    blocks |= a.schedule.cut.mb < shape.m || a.schedule.cut.nb < shape.n;
    chunks |= a.schedule.cut.kb < shape.k;
    std::size_t commits = 0, firsts = 0;
    double in = 0;
    for (const Step& step : a.schedule.steps) {
      commits += step.kind == StepKind::commit;
      firsts += step.first;
      if (step.kind < StepKind::multiply) in += static_cast<double>(step.block.rows * step.block.cols) * sizeof(T);
    }
    pieces |= commits > firsts;
    EXPECT_EQ(a.outcome.bytes_in, in);
    if (this->HasFatalFailure()) return;
  }
  EXPECT_TRUE(blocks && chunks && pieces) << "the shapes no longer cut everything that can be cut";
}

TYPED_TEST(Execute, AFaultAtEveryOperationLosesNothing) {
  using T = TypeParam;
  for (const Shape& shape : shapes) {
    Case<T> x(shape);
    const Matrix<T> A = x.A, B = x.B;
    FaultPlan plan;
    Backend& backend = kept(make_fault_backend(kept(make_host_backend(x.memory)), plan));
    attempt(x, backend, always);
    const long operations = plan.seen;
    ASSERT_GT(operations, 6);  // acquire, lease, two uploads, gemm, fetch, arrived
    for (const Status status : {Status::lost, Status::no_memory})
      for (const bool scribble : {false, true})
        for (plan.at = 1; plan.at <= operations; ++plan.at) {
          SCOPED_TRACE(testing::Message() << describe(x.args(x.C)) << ", operation " << plan.at << " of " << operations
                                          << (scribble ? ", torn" : ""));
          plan.status = status;
          plan.scribble = scribble;
          plan.seen = 0;
          const auto a = attempt(x, backend, always);
          ASSERT_EQ(a.outcome.status, status);
          ASSERT_EQ(plan.seen, plan.at) << "operations asked for after the failure";
          expect_result_never_lost(x, a);
          ASSERT_TRUE(x.A == A && x.B == B) << "inputs modified";
          if (this->HasFatalFailure()) return;
        }
    plan.at = 0;  // and the device, had it survived, works on
    ASSERT_EQ(attempt(x, backend, always).outcome.status, Status::done);
  }
}

int questions_left;
bool until_told() { return questions_left-- > 0; }

TYPED_TEST(Execute, StoppedBeforeAnyStepLosesNothing) {
  using T = TypeParam;
  for (const Shape& shape : shapes) {
    Case<T> x(shape);
    const Matrix<T> A = x.A, B = x.B;
    Backend& backend = kept(make_host_backend(x.memory));
    const std::size_t steps = attempt(x, backend, always).schedule.steps.size();
    for (std::size_t stop = 0; stop < steps; ++stop) {
      SCOPED_TRACE(testing::Message() << describe(x.args(x.C)) << ", stopped before step " << stop);
      questions_left = static_cast<int>(stop);
      const auto a = attempt(x, backend, until_told);
      ASSERT_EQ(a.outcome.status, Status::lost);
      ASSERT_EQ(a.outcome.steps, stop);
      expect_result_never_lost(x, a);
      ASSERT_TRUE(x.A == A && x.B == B) << "inputs modified";
      if (this->HasFatalFailure()) return;
    }
  }
}

/// A lane on which a fetch takes its time: the ring holds canaries until its arrival has been asked for.
class Slow final : public Lane {
 public:
  explicit Slow(Lane& lane) : lane_(lane) {
    for (auto* slots : {&ring_, &arriving_})
      for (auto& slot : *slots) slot.resize(lane.ring_bytes());
  }
  Status lease(std::size_t bytes, void*& memory) override { return lane_.lease(bytes, memory); }
  Status upload(void* to, index ldd, const void* from, index lds, index rows, index cols,
                std::size_t element) override {
    return lane_.upload(to, ldd, from, lds, rows, cols, element);
  }
  Status gemm(const Gemm& product) override { return lane_.gemm(product); }
  Status fetch(int slot, const void* from, index lds, index rows, index cols, std::size_t element) override {
    const Status status = lane_.fetch(slot, from, lds, rows, cols, element);
    std::memcpy(arriving_[slot].data(), lane_.ring(slot), lane_.ring_bytes());
    fill_with_canaries(ring_[slot].data(), lane_.ring_bytes() / 4 * 4);
    return status;
  }
  Status arrived(int slot) override {
    ring_[slot] = arriving_[slot];
    return lane_.arrived(slot);
  }
  const void* ring(int slot) const override { return ring_[slot].data(); }
  std::size_t ring_bytes() const override { return lane_.ring_bytes(); }

 private:
  Lane& lane_;
  std::vector<unsigned char> ring_[ring_slots], arriving_[ring_slots];
};

TYPED_TEST(Execute, LooksIntoTheRingOnlyAfterArrival) {
  using T = TypeParam;
  for (const Shape& shape : shapes) {
    Case<T> x(shape);
    Library library;
    Status status = Status::lost;
    Backend& backend = kept(make_host_backend(x.memory));
    Lane* lane = backend.acquire(library.gemm(), status);
    ASSERT_NE(lane, nullptr);
    Slow slow(*lane);
    Matrix<T> c = x.C;
    const Outcome outcome = execute(x.plan(lane->ring_bytes()), x.args(c), slow, always);
    backend.release(lane);
    ASSERT_EQ(outcome.status, Status::done);
    ASSERT_LE(worst_excess(x.expected, c), 1.0) << describe(x.args(c));
    ASSERT_TRUE(c.canaries_intact());
  }
}

TYPED_TEST(Execute, WhateverCheckPassesIsRight) {
  // Pieces that plan_gemm would not make: several columns of a part of the block's rows.
  using T = TypeParam;
  Case<T> x({11, 7, 9, Op::none, Op::transpose, false, 100000});
  GemmSchedule tiled = x.plan(std::size_t{1} << 20);
  ASSERT_EQ(tiled.steps.back().kind, StepKind::commit);
  tiled.steps.resize(tiled.steps.size() - 2);  // one block in one piece: its fetch and commit
  int slot = 0;
  for (index col = 0; col < 7; col += 3)
    for (index row = 0; row < 11; row += 4, slot = 1 - slot) {
      const Block tile{row, col, std::min<index>(4, 11 - row), std::min<index>(3, 7 - col)};
      tiled.steps.push_back({.kind = StepKind::fetch, .block = tile, .slot = slot});
      tiled.steps.push_back({.kind = StepKind::commit, .block = tile, .slot = slot});
    }
  ASSERT_EQ(check(tiled), "");
  Library library;
  Status status = Status::lost;
  Backend& backend = kept(make_host_backend(x.memory));
  Lane* lane = backend.acquire(library.gemm(), status);
  ASSERT_NE(lane, nullptr);
  Matrix<T> c = x.C;
  const Outcome outcome = execute(tiled, x.args(c), *lane, always);
  backend.release(lane);
  ASSERT_EQ(outcome.status, Status::done);
  EXPECT_LE(worst_excess(x.expected, c), 1.0);
  EXPECT_TRUE(c.canaries_intact());
}

/// A lane that remembers the largest lease, and has no memory to give.
class Miser final : public Lane {
 public:
  std::size_t asked = 0;
  Status lease(std::size_t bytes, void*&) override { return asked = bytes, Status::no_memory; }
  Status upload(void*, index, const void*, index, index, index, std::size_t) override { return Status::lost; }
  Status gemm(const Gemm&) override { return Status::lost; }
  Status fetch(int, const void*, index, index, index, std::size_t) override { return Status::lost; }
  Status arrived(int) override { return Status::lost; }
  const void* ring(int) const override { return nullptr; }
  std::size_t ring_bytes() const override { return 4096; }
};

TYPED_TEST(Execute, LeasesNoMoreThanTheMemoryItWasCutFor) {
  using T = TypeParam;
  Matrix<T> x(1, 1);
  for (std::size_t memory = 768; memory < 200000; memory = memory * 21 / 20 + 1)
    for (const auto& [m, n, k] :
         {std::array<index, 3>{100, 100, 100}, std::array<index, 3>{300, 1, 77}, std::array<index, 3>{1, 1, 5000}}) {
      Cut cut{};
      ASSERT_TRUE(cut_to_fit(m, n, k, sizeof(T), memory, cut));
      Miser lane;
      const GemmArgs<T> args{Op::none, Op::none, m, n, k, T(1), x.data(), m, x.data(), k, T(0), x.data(), m};
      execute(plan_gemm(m, n, k, false, sizeof(T), cut, 4096), args, lane, always);
      ASSERT_GT(lane.asked, 0u);
      ASSERT_LE(lane.asked, memory) << m << " x " << n << " x " << k;
    }
}

}  // namespace
}  // namespace blaslift
