// Promise 1 at its root: a schedule executed on a device that fails at its k-th operation, for every k, then finished
// by the library underneath; and that what execute() says about dependencies is all that a device needs to know.
#include "impl/product/execute.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include "impl/core/arena.hpp"
#include "impl/product/streams.hpp"
#include "impl/product/tiling.hpp"
#include "kernels/copy.hpp"
#include "kernels/engine/lane.hpp"
#include "kernels/host/host.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/by_residues.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"

namespace blaslift::execute_tests {
namespace {

using namespace reference;

bool always() { return true; }

/// A host backend and the arena that counts its memory.
struct Device {
  Backend& backend;
  Arena arena;

  explicit Device(std::size_t memory, FaultPlan* faults)
      : backend(*make_host_backend({.memory_limit = memory}, faults)) {
    arena.open(backend, {[](void*) { return false; }, nullptr});
  }
};

/// Backends live as long as the process: kept where a leak checker finds them.
Device& new_device(std::size_t memory, FaultPlan* faults = nullptr) {
  static auto& all = *new std::deque<Device>;
  return all.emplace_back(memory, faults);
}

/// So do their fault plans.
FaultPlan& new_plan() {
  static auto& all = *new std::deque<FaultPlan>;
  return all.emplace_back();
}

/// The library underneath, counting what it is asked for.
struct Library {
  double elements = 0;  ///< of C
  int calls = 0;
  UnderlyingBlas gemm() {
    return {[](const void* context, const Operation& operation) {
              const Gemm& g = *operation.get<Gemm>();
              auto* self = const_cast<Library*>(static_cast<const Library*>(context));
              self->elements += static_cast<double>(g.m) * static_cast<double>(g.n);
              ++self->calls;
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
  Cut by_hand{0, 0, 0};         ///< instead: cut_to_fit doubles buffers only for blocks too large to test with
  unsigned resident = 0;        ///< operands with device memory of their own, in part filled before: 1 A, 2 B, 4 C
  // Or by levels:
  const strassen::Level& (*level)() = nullptr;
  int levels = 0;
  index tile = 0;
  bool overwrite = false;
  // Or with this much of k first:
  index head = 0;
  // Or by residues:
  bool residues = false;
};

constexpr index panel = 8;  ///< small, so that blocks have several

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool watched = true;  ///< every access is: slow
#else
constexpr bool watched = false;
#endif

/// Blocks of C, chunks of k and panels in every combination; the comments are for double.
constexpr Shape shapes[] = {
    {23, 19, 17, Op::none, Op::none, false, 400},           // 2 x 2 blocks or more, k in two chunks
    {23, 19, 17, Op::transpose, Op::conjugate, true, 400},  // the same, C not read
    {40, 3, 9, Op::conjugate, Op::none, false, 250},        // tall
    {5, 31, 12, Op::none, Op::transpose, true, 250},        // wide
    {1, 1, 70, Op::transpose, Op::transpose, false, 110},   // one element, k cut
    {12, 12, 12, Op::none, Op::conjugate, false, 3000},     // one block, panels
    // Operands that have been on the device before; the others share what memory is left.
    {23, 19, 17, Op::none, Op::transpose, false, 300, {0, 0, 0}, 1},
    {23, 19, 17, Op::conjugate, Op::none, true, 300, {0, 0, 0}, 2},
    {23, 19, 17, Op::transpose, Op::none, false, 300, {0, 0, 0}, 4},
    {23, 19, 17, Op::none, Op::none, true, 150, {0, 0, 0}, 4 + 1},
    {14, 13, 33, Op::transpose, Op::conjugate, false, 0, {14, 6, 10, 2, 1}, 2 + 1},
    {14, 13, 33, Op::none, Op::transpose, false, 0, {14, 13, 33, 1, 1}, 4 + 2 + 1},  // nothing is streamed
    // Two sets of buffers.
    {21, 17, 13, Op::none, Op::transpose, false, 0, {10, 9, 5, 2, 2}},       // blocks and chunks, none of them even
    {18, 20, 11, Op::conjugate, Op::none, true, 0, {18, 10, 6, 2, 2}},       // A's chunks serve the next block, too
    {14, 13, 33, Op::none, Op::none, false, 0, {14, 13, 10, 2, 1}},          // a long k
    {19, 12, 10, Op::transpose, Op::conjugate, false, 0, {7, 6, 10, 1, 2}},  // only C doubled, A kept over blocks
    // By levels: over private copies, and with operands to be kept.
    {4, 4, 4, Op::none, Op::none, true, 0, {}, 0, strassen::fused, 2, 4, true},
    {5, 6, 9, Op::conjugate, Op::transpose, false, 0, {}, 0, strassen::absorbed, 1, 4, true},
    {5, 4, 8, Op::none, Op::conjugate, true, 0, {}, 2, strassen::fused, 1, 4},
    {7, 5, 6, Op::transpose, Op::none, false, 0, {}, 4 + 1, strassen::rum, 1, 4},
    {4, 4, 4, Op::none, Op::transpose, false, 0, {}, 0, strassen::lai, 1, 4},
    // With a head: in C, and beside a C that comes late, in a buffer or in memory of its own.
    {14, 13, 33, Op::transpose, Op::none, true, 0, {14, 13, 33, 1, 1}, 0, nullptr, 0, 0, false, 8},
    {14, 13, 33, Op::none, Op::conjugate, false, 0, {14, 13, 33, 1, 1}, 0, nullptr, 0, 0, false, 8},
    {14, 13, 33, Op::none, Op::none, false, 0, {14, 13, 33, 1, 1}, 4 + 2 + 1, nullptr, 0, 0, false, 9},
    // By residues: operands that arrive, and such as are there.
    {20, 17, 9, Op::none, Op::none, true, 0, {20, 17, 9, 1, 1}, 0, nullptr, 0, 0, false, 0, true},
    {14, 13, 33, Op::transpose, Op::transpose, false, 0, {14, 13, 33, 1, 1}, 4 + 1, nullptr, 0, 0, false, 0, true},
};

/// For tests that run a shape again and again: under sanitizers the precisions take turns, and one shape by levels
/// does.
template <class T>
bool too_slow(const Shape& shape) {
  constexpr std::ptrdiff_t turn = 2 * complex_type<T> + (sizeof(Real<T>) == 8);
  return watched && ((&shape - shapes) % 4 != turn || (shape.level && shape.level != strassen::absorbed));
}

template <class T>
struct Case {
  Shape shape;
  Matrix<T> A, B, C;
  T alpha = scalar<T>(-0.5, 0.25), beta;
  std::vector<Expected<T>> expected;
  std::size_t memory;
  Residents residents;
  Cut cut;

  explicit Case(const Shape& s)
      : shape(s),
        A(s.transa == Op::none ? s.m : s.k, s.transa == Op::none ? s.k : s.m, 3),
        B(s.transb == Op::none ? s.k : s.n, s.transb == Op::none ? s.n : s.k, 2),
        C(s.m, s.n, 5),
        beta(s.beta_zero ? T(0) : scalar<T>(0.7, -0.3)),
        memory(3 * 256 + s.memory_elements * sizeof(T)),
        cut(s.by_hand) {
    A.random(1);
    B.random(2);
    if (s.beta_zero)
      C.fill(scalar<T>(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()));
    else
      C.random(3);
    expected = product(args(C));
    Random random(s.resident);
    if (s.resident & 1) residents.a = {true, random_blocks(s.m, s.k, random)};
    if (s.resident & 2) residents.b = {true, random_blocks(s.k, s.n, random)};
    if (s.resident & 4) residents.c = {true, random_blocks(s.m, s.n, random)};
    if (s.level) {
      cut = plan(1).cut;
      memory = plan(1).bytes(sizeof(T));
      const double factor = strassen_bound<T>(s.levels, static_cast<double>(s.tile >> s.levels));
      // Elements are at most 1, complex ones 2; alpha too; as many tile products as k holds.
      for (Expected<T>& e : expected) e.bound += factor * 8 * static_cast<double>(s.k / s.tile);
    } else if (cut.mb) {
      cut.whole_a = residents.a.whole, cut.whole_b = residents.b.whole, cut.whole_c = residents.c.whole;
      memory = plan(sizeof(T)).bytes(sizeof(T));
    } else if (!cut_to_fit(s.m, s.n, s.k, sizeof(T), memory, residents, cut)) {
      throw std::runtime_error("does not fit");
    }
  }

  GemmArgs<T> args(Matrix<T>& c) {
    return {shape.transa, shape.transb, shape.m, shape.n, shape.k,  alpha, A.data(),
            A.ld(),       B.data(),     B.ld(),  beta,    c.data(), c.ld()};
  }

  GemmSchedule plan(std::size_t piece_bytes) const {
    if (shape.level) {
      const std::vector<const strassen::Level*> levels(static_cast<std::size_t>(shape.levels), &shape.level());
      GemmSchedule s = plan_levels(
          shape.m, shape.n, shape.k, shape.transa != Op::none, shape.transb != Op::none, !shape.beta_zero, sizeof(T),
          {.levels = levels, .tile = shape.tile, .overwrite = shape.overwrite, .two_streams = true}, residents,
          piece_bytes);
      if (!strassen::says_streams(shape.level())) spread(s, sizeof(T), complex_type<T>, {1e9, 1e8, 1e8, 1e-6, 1e-7});
      return s;
    }
    if (shape.residues)
      return plan_by_residues(shape.m, shape.n, shape.k, !shape.beta_zero, precision_of<T>, cut, residents, piece_bytes,
                              panel);
    return plan_gemm(shape.m, shape.n, shape.k, !shape.beta_zero, sizeof(T), cut, residents, piece_bytes, panel,
                     shape.head);
  }
};

/// The device's copy of a stored matrix, with a leading dimension of its own.  NaN in the gaps and where something is
/// missing, so that reading either shows.
template <class T>
Matrix<T> copy_of(const Matrix<T>& x, const Resident& resident, bool transposed) {
  Matrix<T> copy(x.rows(), x.cols(), x.ld() - x.rows() + 4);
  for (index j = 0; j < x.cols(); ++j)
    for (index i = 0; i < x.rows(); ++i) copy(i, j) = x(i, j);
  for (const Block& b : resident.missing)
    for (index j = b.col; j < b.col + b.cols; ++j)
      for (index i = b.row; i < b.row + b.rows; ++i)
        fill_with_canaries(transposed ? &copy(j, i) : &copy(i, j), sizeof(T));
  return copy;
}

template <class T>
struct Copies {
  Matrix<T> a, b, c;

  explicit Copies(const Case<T>& x)
      : a(copy_of(x.A, x.residents.a, x.shape.transa != Op::none)),
        b(copy_of(x.B, x.residents.b, x.shape.transb != Op::none)),
        c(copy_of(x.C, x.residents.c, false)) {}

  Placement placement(const Case<T>& x, void* lease) {
    Placement p{.lease = lease};
    if (x.residents.a.whole) p.a = {a.data(), a.ld()};
    if (x.residents.b.whole) p.b = {b.data(), b.ld()};
    if (x.residents.c.whole) p.c = {c.data(), c.ld()};
    return p;
  }
};

/// What one attempt left behind.
template <class T>
struct Attempt {
  ProductOutcome outcome;
  GemmSchedule schedule;
  Matrix<T> half;   ///< C when the device had ended
  Matrix<T> whole;  ///< C when the library underneath had finished it
  Library underneath{};
  long seen = 0;  ///< operations until execute() returned: by then a fault must have shown
  std::optional<Copies<T>> copies{};
};

template <class T>
void finish_if_needed(Case<T>& x, Attempt<T>& a) {
  a.whole = a.half;
  if (a.outcome.status != Status::done) finish(a.schedule, a.outcome, x.args(a.whole), a.underneath.gemm());
}

/// What a call moves, as it is told the backend: so much that threads do it, or so little that its own thread does.
constexpr std::size_t much = std::size_t{2} << 20, little = 1000;

/// As impl/product/gemm.cpp does it.
template <class T>
Attempt<T> attempt(Case<T>& x, Device& device, bool (*keep_going)() = always, const FaultPlan* faults = nullptr,
                   std::size_t moves = much) {
  Library on_device;
  Attempt<T> a{.outcome = {}, .schedule = x.plan(device.backend.facts().piece_bytes), .half = x.C, .whole = x.C};
  a.copies.emplace(x);
  void* lease = nullptr;
  const std::size_t bytes = a.schedule.bytes(sizeof(T));
  if (bytes) a.outcome.status = device.arena.take(bytes, true, lease);
  if (a.outcome.status == Status::done) {
    Lane* lane = device.backend.acquire(on_device.gemm(), moves, a.outcome.status);
    if (lane) a.outcome = execute(a.schedule, x.args(a.half), a.copies->placement(x, lease), *lane, keep_going);
    if (faults) a.seen = faults->seen;
    if (lane) device.backend.release(lane);
    if (bytes) device.arena.give_back(lease, bytes);
  } else if (faults) {
    a.seen = faults->seen;
  }
  finish_if_needed(x, a);
  return a;
}

/// The same on a lane of the test's own.
template <class T>
Attempt<T> attempt(Case<T>& x, const GemmSchedule& schedule, Lane& lane) {
  Attempt<T> a{.outcome = {}, .schedule = schedule, .half = x.C, .whole = x.C};
  a.copies.emplace(x);
  std::vector<std::complex<double>> lease(schedule.bytes(sizeof(T)) / sizeof(std::complex<double>));
  fill_with_canaries(lease.data(), lease.size() * sizeof lease[0]);  // NaN: what is read too early shows
  a.outcome = execute(schedule, x.args(a.half), a.copies->placement(x, lease.data()), lane, always);
  finish_if_needed(x, a);
  return a;
}

/// Which elements the attempt's steps committed.
template <class T>
std::vector<bool> committed(const Attempt<T>& a, const Shape& s) {
  std::vector<bool> done(static_cast<std::size_t>(s.m * s.n));
  for (std::size_t i = 0; i < a.outcome.committed.size(); ++i) {
    const Block& b = a.schedule.steps[i].block;
    for (index j = b.col; a.outcome.committed[i] && j < b.col + b.cols; ++j)
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
  ASSERT_EQ(a.outcome.verdict, Verdict::sound);
  ASSERT_TRUE(a.half.canaries_intact()) << "wrote between m and ldc";
  for (std::size_t i = 0; i < a.outcome.committed.size(); ++i)
    ASSERT_TRUE(!a.outcome.committed[i] || a.schedule.steps[i].kind == StepKind::download);
  // Copies that later calls may use: nothing around them is touched, and in the end they are what the program has.
  const Copies<T>& copies = *a.copies;
  ASSERT_TRUE(copies.a.canaries_intact() && copies.b.canaries_intact() && copies.c.canaries_intact());
  if (a.outcome.status == Status::done) {
    ASSERT_TRUE(!x.residents.a.whole || copies.a == copy_of(x.A, {}, false));
    ASSERT_TRUE(!x.residents.b.whole || copies.b == copy_of(x.B, {}, false));
    ASSERT_TRUE(!x.residents.c.whole || copies.c == copy_of(a.half, {}, false));
  }
  // Before the library underneath came: committed elements right, all others bit for bit the caller's.
  const auto done = committed(a, s);
  double missing = 0;
  for (index j = 0; j < s.n; ++j)
    for (index i = 0; i < s.m; ++i) {
      const auto at = static_cast<std::size_t>(i + j * s.m);
      if (done[at]) {
        ASSERT_LE(x.expected[at].excess(a.half(i, j)), 1.0) << "committed too early: " << i << "," << j;
      } else {
        ASSERT_TRUE(same_bits(a.half(i, j), x.C(i, j))) << "touched before it was whole: " << i << "," << j;
      }
      missing += !done[at];
    }
  // The library underneath computes just what is missing, in one call if that is all; bytes_out counts what was
  // committed.
  if (a.outcome.status != Status::done) {
    ASSERT_EQ(a.underneath.elements, missing) << "computed more or less than what was missing";
    ASSERT_EQ(a.outcome.untouched(), missing == static_cast<double>(s.m * s.n));
    ASSERT_TRUE(a.underneath.calls == 1 || !a.outcome.untouched());
  } else {
    ASSERT_EQ(missing, 0);
    ASSERT_EQ(a.underneath.calls, 0);
  }
  ASSERT_EQ(a.outcome.bytes_out, (static_cast<double>(s.m * s.n) - missing) * sizeof(T));
}

template <class T>
class Execute : public testing::Test {};
TYPED_TEST_SUITE(Execute, Precisions);

TYPED_TEST(Execute, WithoutFaultEveryShapeIsRight) {
  using T = TypeParam;
  bool blocks = false, chunks = false, pieces = false, panels = false, all_resident = false;
  for (const Shape& shape : shapes) {
    Case<T> x(shape);
    SCOPED_TRACE(describe(x.args(x.C)));
    const Matrix<T> A = x.A, B = x.B;
    const auto a = attempt(x, new_device(std::max<std::size_t>(x.memory, 1)));
    ASSERT_EQ(a.outcome.status, Status::done);
    ASSERT_EQ(shape.level ? "" : check(a.schedule), "");
    expect_result_never_lost(x, a);
    EXPECT_TRUE(x.A == A && x.B == B) << "inputs modified";
    ASSERT_EQ(a.outcome.committed.size(), a.schedule.steps.size());
    const Cut& cut = a.schedule.cut;
    std::size_t downloads = 0, finals = 0;
    double in = 0;
    for (std::size_t i = 0; i < a.schedule.steps.size(); ++i) {
      const Step& step = a.schedule.steps[i];
      EXPECT_EQ(a.outcome.committed[i], step.kind == StepKind::download) << "step " << i;
      downloads += step.kind == StepKind::download;
      finals += step.kind == StepKind::multiply && step.k0 + step.kb == shape.k;
      if (step.kind <= StepKind::upload_c) in += static_cast<double>(step.block.rows * step.block.cols) * sizeof(T);
      panels |= step.kind == StepKind::upload_a && step.block.rows < std::min(cut.mb, shape.m - step.block.row);
    }
    blocks |= cut.mb < shape.m || cut.nb < shape.n;
    chunks |= cut.kb < shape.k;
    pieces |= downloads > finals;
    EXPECT_EQ(a.outcome.bytes_in, in);
    if (shape.resident == 7) {
      double missing = 0;
      for (const Resident* r : {&x.residents.a, &x.residents.b, &x.residents.c})
        for (const Block& b : r->missing) missing += static_cast<double>(b.rows * b.cols) * sizeof(T);
      EXPECT_EQ(a.outcome.bytes_in, missing);
      all_resident = missing > 0;
    }
    EXPECT_EQ(a.outcome.bytes_out, static_cast<double>(shape.m * shape.n) * sizeof(T));
    if (this->HasFatalFailure()) return;
  }
  EXPECT_TRUE(blocks && chunks && pieces && panels && all_resident)
      << "the shapes no longer cut everything that can be cut";
}

TYPED_TEST(Execute, AFaultAtEveryOperationLosesNothing) {
  // Which operation is the k-th differs from run to run: several threads ask.  That none of them loses anything does
  // not.
  using T = TypeParam;
  for (const Shape& shape : shapes) {
    if (too_slow<T>(shape)) continue;
    Case<T> x(shape);
    const Matrix<T> A = x.A, B = x.B;
    FaultPlan& plan = new_plan();
    Device& device = new_device(std::max<std::size_t>(x.memory, 1), &plan);
    attempt(x, device);
    const long operations = plan.seen;
    ASSERT_GT(operations, 12);  // acquire, lease; settle, send, mark for two uploads; multiply, mark; a download; idle
    for (const Status status : {Status::lost, Status::no_memory})
      for (const bool scribble : {false, true})
        for (plan.at = 1; plan.at <= operations; ++plan.at) {
          SCOPED_TRACE(testing::Message() << describe(x.args(x.C)) << ", operation " << plan.at << " of " << operations
                                          << (scribble ? ", torn" : ""));
          plan.status = status;
          plan.scribble = scribble;
          plan.seen = 0;
          const auto a = attempt(x, device, always, &plan);
          ASSERT_GE(plan.seen, plan.at);
          // What fails only while the lane is given back comes too late to matter.
          ASSERT_EQ(a.outcome.status, a.seen >= plan.at ? status : Status::done);
          expect_result_never_lost(x, a);
          ASSERT_TRUE(x.A == A && x.B == B) << "inputs modified";
          if (this->HasFatalFailure()) return;
        }
    plan.at = 0;  // and the device, had it survived, works on
    const auto after = attempt(x, device);
    ASSERT_EQ(after.outcome.status, Status::done);
    expect_result_never_lost(x, after);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(Execute, PoisonBySomeLevelsAndAFaultAtEveryOperationIsTheClassicalProducts) {
  using T = TypeParam;
  if (watched && !std::is_same_v<T, double>) GTEST_SKIP() << "one precision is enough under a sanitizer";
  const double inf = std::numeric_limits<double>::infinity();
  for (const bool beta_zero : {true, false}) {
    Case<T> x({8, 5, 9, Op::none, Op::transpose, beta_zero, 0, {}, 0, strassen::fused, 1, 4});
    x.A(2, 3) = scalar<T>(inf, 0);
    const GemmArgs<T> args = x.args(x.C);
    Matrix<T> classical = x.C;
    GemmArgs<T> whole = args;
    whole.C = classical.data();
    naive(as_gemm(whole));
    FaultPlan& plan = new_plan();
    Device& device = new_device(std::max<std::size_t>(x.memory, 1), &plan);
    attempt(x, device);
    const long operations = plan.seen;
    for (plan.at = 1; plan.at <= operations; ++plan.at) {
      plan.seen = 0;
      const auto a = attempt(x, device, always, &plan);
      if (a.outcome.status == Status::done) {  // the fault came too late
        ASSERT_EQ(a.outcome.verdict, Verdict::not_finite);
        continue;
      }
      for (index j = 0; j < 5; ++j)
        for (index i = 0; i < 8; ++i)
          ASSERT_EQ(finite(a.whole(i, j)), finite(classical(i, j))) << i << "," << j << ", operation " << plan.at;
    }
    plan.at = 0;
  }
}

TYPED_TEST(Execute, ALittleIsMovedByTheCallersThreadAndLosesNothingEither) {
  using T = TypeParam;
  constexpr std::size_t memory = std::size_t{8} << 20;  // slots are large enough only on a device of that size
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  for (const Shape& shape : shapes) {
    if (too_slow<T>(shape)) continue;
    Case<T> x(shape);
    SCOPED_TRACE(describe(x.args(x.C)));
    const Matrix<T> A = x.A, B = x.B;
    FaultPlan& plan = new_plan();
    Device& device = new_device(memory, &plan);
    const auto before = threads();
    const auto without = attempt(x, device, always, &plan, little);
    EXPECT_EQ(threads(), before) << "the engine's threads were started";
    ASSERT_EQ(without.outcome.status, Status::done);
    expect_result_never_lost(x, without);
    const long operations = plan.seen;
    ASSERT_GT(operations, 12);
    for (const Status status : {Status::lost, Status::no_memory})
      for (plan.at = 1; plan.at <= operations; ++plan.at) {
        SCOPED_TRACE(testing::Message() << "operation " << plan.at << " of " << operations);
        plan.status = status;
        plan.scribble = plan.at % 2;
        plan.seen = 0;
        const auto a = attempt(x, device, always, &plan, little);
        ASSERT_GE(plan.seen, plan.at) << "one thread, so always the same operations";
        ASSERT_EQ(a.outcome.status, a.seen >= plan.at ? status : Status::done);
        expect_result_never_lost(x, a);
        ASSERT_TRUE(x.A == A && x.B == B) << "inputs modified";
        if (this->HasFatalFailure()) return;
      }
    plan.at = 0;
    const auto after = attempt(x, device, always, &plan, little);
    ASSERT_EQ(after.outcome.status, Status::done);
    expect_result_never_lost(x, after);
    EXPECT_EQ(device.arena.taken(), 0u);
    if (this->HasFatalFailure()) return;
  }
}

int questions_left;
bool until_told() { return questions_left-- > 0; }

TYPED_TEST(Execute, StoppedBeforeAnyStepLosesNothing) {
  using T = TypeParam;
  for (const Shape& shape : shapes) {
    if (too_slow<T>(shape)) continue;
    Case<T> x(shape);
    const Matrix<T> A = x.A, B = x.B;
    Device& device = new_device(std::max<std::size_t>(x.memory, 1));
    const std::size_t steps = attempt(x, device).schedule.steps.size();
    for (std::size_t stop = 0; stop <= steps; ++stop) {
      SCOPED_TRACE(testing::Message() << describe(x.args(x.C)) << ", stopped before step " << stop);
      questions_left = static_cast<int>(stop);
      const auto a = attempt(x, device, until_told);
      ASSERT_EQ(a.outcome.status, stop < steps ? Status::lost : Status::done);
      expect_result_never_lost(x, a);
      ASSERT_TRUE(x.A == A && x.B == B) << "inputs modified";
      if (this->HasFatalFailure()) return;
      // What waits in line when the process exits is not waited for, so nothing more can be said of a stop.
      if (stop == steps) {
        ASSERT_EQ(a.outcome.bytes_out, static_cast<double>(shape.m * shape.n) * sizeof(T));
      }
    }
  }
}

/// A lane that only remembers what it is asked for.  drain() does it one by one, in an order that respects nothing but
/// `after`: at random, or whatever was asked for last as early as it may be.
class Shuffled final : public Lane {
 public:
  static constexpr unsigned newest_first = 0;  ///< as a seed
  static constexpr std::size_t piece_bytes = 160;

  /// @param refused  the operation, counted from 0, that is refused; -1: none
  /// @param failing  drain() fails when it has done so many; -1: never
  explicit Shuffled(unsigned seed, int refused = -1, int failing = -1)
      : seed_(seed), random_(seed + 1), refused_(refused), failing_(failing) {}

  Status upload(const Transfer& t, After after) override { return add(after, {.kind = Kind::upload, .transfer = t}); }
  Status ask(const Operation& operation, After after) override {
    return operation.visit([&](const auto& x) { return ask_for(x, after); });
  }
  Status ask_for(const Gemm& product, After after) {
    Asked x{.kind = Kind::gemm, .product = product};
    // Whoever asks may forget the scalars at once.
    std::memcpy(x.scalars[0], product.alpha, element_size(product.precision));
    std::memcpy(x.scalars[1], product.beta, element_size(product.precision));
    return add(after, x);
  }
  Status ask_for(const GemmByResidues& product, After after) {
    Asked x{.kind = Kind::residues, .by_residues = product};
    std::memcpy(x.scalars[0], product.alpha, element_size(product.precision));
    std::memcpy(x.scalars[1], product.beta, element_size(product.precision));
    return add(after, x);
  }
  Status ask_for(const Combination& combination, After after) {
    Asked x{.kind = Kind::combine, .combination = combination};
    if (combination.scale) std::memcpy(x.scalars[0], combination.scale, element_size(combination.precision));
    return add(after, x);
  }
  Status ask_for(const Survey& survey, After after) { return add(after, {.kind = Kind::survey, .survey_of = survey}); }
  template <class Other>
  Status ask_for(const Other&, After) {  // no schedule has one
    return Status::lost;
  }
  Status download(const Transfer& t, After after, std::atomic<bool>& landed) override {
    too_large |= static_cast<std::size_t>(t.rows * t.cols) * t.element > piece_bytes;
    return add(after, {.kind = Kind::download, .transfer = t, .landed = &landed});
  }
  void abandon() override {}  // everything has begun as soon as it was asked for
  Status await(const std::atomic<bool>&) override { return run_all(); }
  Status drain() override {
    const Status status = run_all();
    if (status == Status::done) operations_.clear();
    return status;
  }

  int asked = 0, done = 0;      ///< operations
  bool in_order = true;         ///< nothing was reordered
  bool unknown_ticket = false;  ///< was asked to come after something not asked for before
  bool asked_on = false;        ///< was asked for something after a refusal
  bool too_large = false;       ///< a piece was
  Ticket first_waits_for = -1;  ///< the last one that the first operation on the device comes after

 private:
  Status run_all() {
    const std::size_t count = operations_.size();
    std::vector<int> missing(count);
    std::vector<std::vector<std::size_t>> then(count);
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < count; ++i) {
      for (const Ticket t : operations_[i].after)
        if (!operations_[static_cast<std::size_t>(t)].ended) {
          then[static_cast<std::size_t>(t)].push_back(i);
          ++missing[i];
        }
      if (missing[i] == 0 && !operations_[i].ended) ready.push_back(i);
    }
    for (std::size_t turn = static_cast<std::size_t>(
             std::count_if(operations_.begin(), operations_.end(), [](const Asked& x) { return x.ended; }));
         !ready.empty();) {
      if (done == failing_) return Status::lost;
      const auto chosen = seed_ == newest_first ? std::max_element(ready.begin(), ready.end())
                                                : ready.begin() + static_cast<std::ptrdiff_t>(random_() % ready.size());
      const std::size_t now = *chosen;
      if (begins(operations_[now])) continue;
      ready.erase(chosen);
      in_order &= now == turn++;
      ++done;
      run(operations_[now]);
      operations_[now].ended = true;
      for (const std::size_t next : then[now])
        if (--missing[next] == 0) ready.push_back(next);
    }
    return Status::done;
  }

  enum class Kind : std::uint8_t { upload, gemm, residues, combine, survey, download };
  struct Asked {
    Kind kind;
    Transfer transfer{};
    Gemm product{};
    GemmByResidues by_residues{};
    Combination combination{};
    Survey survey_of{};
    alignas(16) unsigned char scalars[2][16]{};
    std::atomic<bool>* landed = nullptr;
    std::vector<Ticket> after{};
    bool begun = false, ended = false;
  };
  Status add(After after, Asked operation) {
    asked_on |= refused_ >= 0 && asked > refused_;
    if (asked++ == refused_) return Status::no_memory;
    const auto own = static_cast<Ticket>(operations_.size());
    for (int i = 0; i < after.count; ++i) {
      const Ticket t = after.tickets[i];
      if (t >= 0 && t < own)
        operation.after.push_back(t);
      else
        unknown_ticket = true;
    }
    const bool computes = operation.kind != Kind::upload && operation.kind != Kind::download;
    if (computes && first_waits_for < 0)
      for (const Ticket t : operation.after) first_waits_for = std::max(first_waits_for, t);
    operations_.push_back(std::move(operation));
    return Status::done;
  }

  /// An upload takes two turns, so that others come in between: its target is garbage from the first on.  Without this
  /// it would not show if what is there already were overwritten with the same while it is being read.
  static bool begins(Asked& x) {
    const Transfer& t = x.transfer;
    if (x.kind != Kind::upload || std::exchange(x.begun, true)) return false;
    for (index j = 0; j < t.cols; ++j)
      fill_with_canaries(static_cast<char*>(t.device) + static_cast<std::size_t>(j * t.ldd) * t.element,
                         static_cast<std::size_t>(t.rows) * t.element);
    return true;
  }

  static void run(Asked& x) {
    const Transfer& t = x.transfer;
    switch (x.kind) {
      case Kind::upload: return copy_block(t.device, t.ldd, t.host, t.ldh, t.rows, t.cols, t.element);
      case Kind::gemm:
        x.product.alpha = x.scalars[0];
        x.product.beta = x.scalars[1];
        return naive(x.product);
      case Kind::residues:
        x.by_residues.alpha = x.scalars[0];
        x.by_residues.beta = x.scalars[1];
        return split_and_multiply(x.by_residues);
      case Kind::combine: x.combination.scale = x.scalars[0]; return naive(x.combination);
      case Kind::survey: return naive(x.survey_of);
      case Kind::download: copy_block(t.host, t.ldh, t.device, t.ldd, t.rows, t.cols, t.element); x.landed->store(true);
    }
  }

  const unsigned seed_;
  std::minstd_rand random_;
  const int refused_, failing_;
  std::vector<Asked> operations_;
};

TYPED_TEST(Execute, AnyOrderThatTheDependenciesAllowIsRight) {
  using T = TypeParam;
  for (const Shape& shape : shapes) {
    Case<T> x(shape);
    const GemmSchedule schedule = x.plan(Shuffled::piece_bytes);
    ASSERT_EQ(shape.level ? "" : check(schedule), "");
    for (unsigned seed = Shuffled::newest_first; seed <= 20; ++seed) {
      SCOPED_TRACE(testing::Message() << describe(x.args(x.C)) << ", seed " << seed);
      Shuffled lane(seed);
      const auto a = attempt(x, schedule, lane);
      ASSERT_EQ(a.outcome.status, Status::done);
      ASSERT_FALSE(lane.unknown_ticket);
      ASSERT_FALSE(lane.too_large);
      ASSERT_FALSE(lane.in_order) << "nothing may overlap";
      ASSERT_EQ(lane.done, static_cast<int>(schedule.steps.size()));
      expect_result_never_lost(x, a);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(Execute, WhatIsComputedFirstDoesNotWaitForTheLastUpload) {
  for (const Shape& shape : shapes) {
    Case<TypeParam> x(shape);
    const GemmSchedule schedule = x.plan(Shuffled::piece_bytes);
    Shuffled lane(1);
    (void)attempt(x, schedule, lane);
    // Uploads move one after the other: what the first operation on the device comes after is asked for before others.
    Ticket needed = 0;
    for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
      if (schedule.steps[i].kind <= StepKind::upload_c || schedule.steps[i].kind == StepKind::begin) continue;
      needed = static_cast<Ticket>(i);
      break;
    }
    ASSERT_GE(lane.first_waits_for, 0);
    ASSERT_LT(lane.first_waits_for, needed) << describe(x.args(x.C));
  }
}

TYPED_TEST(Execute, WhateverOfAnyOrderIsLeftUndoneIsFinished) {
  using T = TypeParam;
  for (const Shape& shape : shapes) {
    if (too_slow<T>(shape)) continue;
    Case<T> x(shape);
    const GemmSchedule schedule = x.plan(Shuffled::piece_bytes);
    const auto steps = static_cast<int>(schedule.steps.size());
    // What is asked for before the findings are waited for, if they are: uploads as early as may be.
    int before_verdict = 0;
    for (std::size_t i = 0; i < schedule.steps.size(); ++i)
      before_verdict += i < schedule.first_if_sound || schedule.steps[i].kind <= StepKind::upload_c;
    for (int at = 0; at < steps; ++at) {
      SCOPED_TRACE(testing::Message() << describe(x.args(x.C)) << ", operation " << at);
      // Refused when asked for: nothing more is asked for, and what was before is still done.
      Shuffled refusing(static_cast<unsigned>(at), at);
      const auto refused = attempt(x, schedule, refusing);
      ASSERT_EQ(refused.outcome.status, Status::no_memory);
      ASSERT_FALSE(refusing.asked_on || refusing.unknown_ticket);
      ASSERT_EQ(refusing.done, at);
      expect_result_never_lost(x, refused);
      // Failing when it is done, which only drain() tells.
      Shuffled failing(static_cast<unsigned>(at), -1, at);
      const auto failed = attempt(x, schedule, failing);
      ASSERT_EQ(failed.outcome.status, Status::lost);
      ASSERT_EQ(failing.asked, at < before_verdict ? before_verdict : steps);
      expect_result_never_lost(x, failed);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(Execute, WhateverCheckPassesIsRight) {
  // Pieces that plan_gemm would not make: several columns of a part of the block's rows.
  using T = TypeParam;
  Case<T> x({11, 7, 9, Op::none, Op::transpose, false, 100000});
  GemmSchedule tiled = x.plan(std::size_t{1} << 20);
  std::erase_if(tiled.steps, [](const Step& step) { return step.kind == StepKind::download; });
  for (index col = 0; col < 7; col += 3)
    for (index row = 0; row < 11; row += 4)
      tiled.steps.push_back(
          {.kind = StepKind::download, .block = {row, col, std::min<index>(4, 11 - row), std::min<index>(3, 7 - col)}});
  tiled.after = depend(tiled);
  tiled.awaited = awaited_elsewhere(tiled);
  ASSERT_EQ(check(tiled), "");
  Library library;
  Status status = Status::lost;
  Backend& backend = new_device(x.memory).backend;
  Lane* lane = backend.acquire(library.gemm(), much, status);
  ASSERT_NE(lane, nullptr);
  const auto a = attempt(x, tiled, *lane);
  backend.release(lane);
  ASSERT_EQ(a.outcome.status, Status::done);
  expect_result_never_lost(x, a);
}

/// A device with queues of its own, as late as one may be: it does nothing before somebody waits for it, and then no
/// more than that needs.  Whoever touches a slot without having waited for what was last asked of it destroys it.
class Late final : public EngineLane {
 public:
  Late(Engine& engine, std::size_t moves) : EngineLane(engine, moves) {}
  ~Late() { (void)drain(); }

  static Engine& engine() {
    const auto make = [](void*, Slot* slots, int count, std::size_t bytes) {
      auto* memory = static_cast<char*>(std::malloc(static_cast<std::size_t>(count) * bytes));
      for (int i = 0; i < count; ++i) slots[i] = {memory + static_cast<std::size_t>(i) * bytes, new Mark};
      return true;
    };
    static Engine& made = *new Engine({std::size_t{1} << 20, std::size_t{1} << 20}, {2, 2},
                                      {nullptr, [](void*) { return true; }, make, [](void*) {}});
    return made;
  }

 private:
  struct Mark {
    int lane = 0;  ///< the number of
    Queue queue{};
    std::size_t end = 0;
  };
  struct Line {
    std::deque<std::function<void()>> actions;
    std::size_t done = 0;
  };

  Status wait(Queue queue, Ticket ticket) override {
    const std::lock_guard lock(mutex_);
    return add(queue, [this, mark = marks_.at(static_cast<std::size_t>(ticket))] { catch_up(mark); });
  }
  Status mark(Queue queue, Ticket ticket) override {
    const std::lock_guard lock(mutex_);
    if (marks_.size() <= static_cast<std::size_t>(ticket)) marks_.resize(static_cast<std::size_t>(ticket) + 1);
    marks_[static_cast<std::size_t>(ticket)] = {number_, queue, line(queue).actions.size()};
    return Status::done;
  }
  Status compute(Queue queue, const Operation& operation) override {
    return operation.visit([&](const auto& x) { return compute_later(queue, x); });
  }
  Status compute_later(Queue queue, const Gemm& product) {
    std::array<unsigned char, 16> alpha{}, beta{};
    std::memcpy(alpha.data(), product.alpha, element_size(product.precision));
    std::memcpy(beta.data(), product.beta, element_size(product.precision));
    const std::lock_guard lock(mutex_);
    return add(queue, [g = Gemm(product), alpha, beta]() mutable {
      g.alpha = alpha.data();
      g.beta = beta.data();
      naive(g);
    });
  }
  Status compute_later(Queue queue, const GemmByResidues& product) {
    std::array<unsigned char, 16> alpha{}, beta{};
    std::memcpy(alpha.data(), product.alpha, element_size(product.precision));
    std::memcpy(beta.data(), product.beta, element_size(product.precision));
    const std::lock_guard lock(mutex_);
    return add(queue, [g = GemmByResidues(product), alpha, beta]() mutable {
      g.alpha = alpha.data();
      g.beta = beta.data();
      split_and_multiply(g);
    });
  }
  Status compute_later(Queue queue, const Combination& combination) {
    std::array<unsigned char, 16> scale{};
    if (combination.scale) std::memcpy(scale.data(), combination.scale, element_size(combination.precision));
    const std::lock_guard lock(mutex_);
    return add(queue, [p = Combination(combination), scale]() mutable {
      p.scale = scale.data();
      naive(p);
    });
  }
  Status compute_later(Queue queue, const Survey& survey) {
    const std::lock_guard lock(mutex_);
    return add(queue, [survey] { naive(survey); });
  }
  template <class Other>
  Status compute_later(Queue, const Other&) {  // no schedule has one
    return Status::lost;
  }
  Status send(Queue queue, Slot& slot, const Transfer& p) override {
    return move(queue, slot, [p, memory = slot.memory] {
      p.direct ? copy_block(p.device, p.ldd, p.host, p.ldh, p.rows, p.cols, p.element)
               : copy_block(p.device, p.ldd, memory, p.rows, p.rows, p.cols, p.element);
    });
  }
  Status receive(Queue queue, Slot& slot, const Transfer& p) override {
    return move(queue, slot, [p, memory = slot.memory] {
      p.direct ? copy_block(p.host, p.ldh, p.device, p.ldd, p.rows, p.cols, p.element)
               : copy_block(memory, p.rows, p.device, p.ldd, p.rows, p.cols, p.element);
    });
  }
  Status settle(Slot& slot) override {
    const std::lock_guard lock(mutex_);
    if (const Mark& last = *static_cast<Mark*>(slot.mark); last.lane == number_) catch_up(last);
    return Status::done;
  }
  Status idle(Queue) override {
    const std::lock_guard lock(mutex_);
    for (const Queue queue : {Queue::out, Queue::second, Queue::compute, Queue::in})
      catch_up({number_, queue, line(queue).actions.size()});
    return Status::done;
  }

  Line& line(Queue queue) { return lines_[static_cast<int>(queue)]; }
  Status add(Queue queue, std::function<void()> action) {
    line(queue).actions.push_back(std::move(action));
    return Status::done;
  }
  Status move(Queue queue, Slot& slot, std::function<void()> action) {
    const std::lock_guard lock(mutex_);
    const Status added = add(queue, std::move(action));
    if (slot.mark) *static_cast<Mark*>(slot.mark) = {number_, queue, line(queue).actions.size()};
    return added;
  }
  void catch_up(const Mark& mark) {
    for (Line& x = line(mark.queue); x.done < mark.end;) x.actions[x.done++]();
  }

  static inline int lanes_ = 0;
  const int number_ = ++lanes_;
  std::recursive_mutex mutex_;
  Line lines_[queues];
  std::vector<Mark> marks_;
};

TYPED_TEST(Execute, ADeviceThatIsLateGetsEverythingRight) {
  using T = TypeParam;
  for (const Shape& shape : shapes) {
    Case<T> x(shape);
    for (const std::size_t piece : {std::size_t{160}, std::size_t{1} << 20})
      for (const std::size_t moves : {much, little}) {
        SCOPED_TRACE(testing::Message() << describe(x.args(x.C)) << ", resident " << shape.resident << ", pieces of "
                                        << piece << ", moves " << moves);
        Late lane(Late::engine(), moves);
        const auto a = attempt(x, x.plan(piece), lane);
        ASSERT_EQ(a.outcome.status, Status::done);
        expect_result_never_lost(x, a);
        if (this->HasFatalFailure()) return;
      }
  }
}

TYPED_TEST(Execute, ManyThreadsShareTheEngine) {
  using T = TypeParam;
  constexpr int threads = 8, rounds = 6;
  std::deque<Case<T>> cases;
  std::size_t memory = 0;
  for (const Shape& shape : shapes) memory = std::max(memory, cases.emplace_back(shape).memory);
  FaultPlan& plan = new_plan();
  // Room for two or three at a time: the others wait.
  Device& device = new_device(5 * memory / 2, &plan);
  std::atomic<int> failures{0};
  auto all_at_once = [&] {
    failures = 0;
    plan.seen = 0;
    std::vector<std::thread> team;
    for (std::size_t t = 0; t < threads; ++t)
      team.emplace_back([&, t] {
        for (std::size_t i = 0; i < cases.size(); ++i) {
          Case<T>& x = cases[(t + i) % cases.size()];
          SCOPED_TRACE(testing::Message() << describe(x.args(x.C)) << ", thread " << t);
          const auto a = attempt(x, device);
          failures += a.outcome.status != Status::done;
          expect_result_never_lost(x, a);
        }
      });
    for (std::thread& thread : team) thread.join();
  };
  for (int round = 0; round < rounds; ++round) {
    all_at_once();
    ASSERT_EQ(failures, 0);
    if (this->HasFailure()) return;
  }
  // One product's fault is none of the others' business.
  const long operations = plan.seen;
  for (int round = 1; round <= rounds; ++round) {
    plan.at = operations * round / (rounds + 1);
    all_at_once();
    ASSERT_LE(failures, 1);
    if (this->HasFailure()) return;
  }
  EXPECT_EQ(device.arena.taken(), 0u);
}

/// A lane that does nothing but note which device memory it is asked to use, and which transfers are to be direct.
class Surveyor final : public Lane {
 public:
  std::uintptr_t lowest = UINTPTR_MAX, highest = 0;
  int direct_uploads = 0, staged_uploads = 0, direct_downloads = 0, staged_downloads = 0;

  Status upload(const Transfer& t, After) override {
    ++(t.direct ? direct_uploads : staged_uploads);
    return note(t.device, t.ldd, t.rows, t.cols, t.element);
  }
  Status ask(const Operation& operation, After) override {
    if (!operation.get<Gemm>()) return Status::done;
    const Gemm& g = *operation.get<Gemm>();
    const bool a = g.transa == Op::none, b = g.transb == Op::none;
    const std::size_t element = element_size(g.precision);
    note(g.A, g.lda, a ? g.m : g.k, a ? g.k : g.m, element);
    note(g.B, g.ldb, b ? g.k : g.n, b ? g.n : g.k, element);
    return note(g.C, g.ldc, g.m, g.n, element);
  }
  Status download(const Transfer& t, After, std::atomic<bool>& landed) override {
    landed = true;
    ++(t.direct ? direct_downloads : staged_downloads);
    return note(t.device, t.ldd, t.rows, t.cols, t.element);
  }
  void abandon() override {}
  Status await(const std::atomic<bool>&) override { return Status::done; }
  Status drain() override { return Status::done; }

 private:
  Status note(const void* at, index ld, index rows, index cols, std::size_t element) {
    const auto begin = reinterpret_cast<std::uintptr_t>(at);
    lowest = std::min(lowest, begin);
    highest = std::max(highest, begin + static_cast<std::size_t>((cols - 1) * ld + rows) * element);
    return Status::done;
  }
};

TYPED_TEST(Execute, UsesNoMoreThanTheMemoryItWasCutFor) {
  using T = TypeParam;
  Matrix<T> x(1, 1);
  for (std::size_t memory = 768; memory < 200000; memory = memory * 21 / 20 + 1)
    for (const auto& [m, n, k] :
         {std::array<index, 3>{100, 100, 100}, std::array<index, 3>{300, 1, 77}, std::array<index, 3>{1, 1, 5000},
          std::array<index, 3>{3, 2, 20000}}) {  // the last streams, with two sets of buffers
      Cut cut{};
      ASSERT_TRUE(cut_to_fit(m, n, k, sizeof(T), memory, {}, cut));
      ASSERT_LE(cut.bytes(sizeof(T)), memory);
      if (cut.mb * cut.nb * cut.kb * 3000 < m * n * k) continue;  // too many units to look at all of them
      Surveyor lane;
      const GemmArgs<T> args{Op::none, Op::transpose, m, n, k, T(1), x.data(), m, x.data(), n, T(0), x.data(), m};
      constexpr std::uintptr_t lease = std::uintptr_t{1} << 40;
      const ProductOutcome outcome = execute(plan_gemm(m, n, k, false, sizeof(T), cut, {}, 4096), args,
                                             {.lease = reinterpret_cast<void*>(lease)}, lane, always);
      ASSERT_EQ(outcome.status, Status::done);
      ASSERT_EQ(lane.lowest, lease);
      ASSERT_LE(lane.highest, lease + cut.bytes(sizeof(T))) << m << " x " << n << " x " << k;
    }
}

TYPED_TEST(Execute, OnlyTransfersOfWhatTheDeviceReachesAreDirect) {
  using T = TypeParam;
  Case<T> x({12, 12, 12, Op::none, Op::none, false, 3000});
  const GemmSchedule schedule = x.plan(100000);
  auto count = [&schedule](StepKind kind) {
    const auto& steps = schedule.steps;
    return static_cast<int>(
        std::count_if(steps.begin(), steps.end(), [kind](const Step& step) { return step.kind == kind; }));
  };
  const int uploads[] = {count(StepKind::upload_a), count(StepKind::upload_b), count(StepKind::upload_c)};
  const int downloads = count(StepKind::download);
  for (unsigned direct = 0; direct < 8; ++direct) {
    Surveyor lane;
    Placement placement{.lease = x.A.data()};
    placement.a.direct = direct & 1;
    placement.b.direct = direct & 2;
    placement.c.direct = direct & 4;
    Matrix<T> C = x.C;
    ASSERT_EQ(execute(schedule, x.args(C), placement, lane, always).status, Status::done);
    int expected = 0;
    for (int operand = 0; operand < 3; ++operand) expected += direct >> operand & 1 ? uploads[operand] : 0;
    EXPECT_EQ(lane.direct_uploads, expected);
    EXPECT_EQ(lane.staged_uploads, uploads[0] + uploads[1] + uploads[2] - expected);
    EXPECT_EQ(lane.direct_downloads, direct & 4 ? downloads : 0);
    EXPECT_EQ(lane.staged_downloads, direct & 4 ? 0 : downloads);
  }
}

}  // namespace
}  // namespace blaslift::execute_tests
