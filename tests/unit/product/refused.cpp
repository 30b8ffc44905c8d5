// Products that the guard refuses: given up as soon as that is certain, and gone on with without levels from what has
// arrived, with the bits that they would have had from the beginning.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "impl/core/arena.hpp"
#include "impl/product/execute.hpp"
#include "impl/product/glance.hpp"
#include "impl/product/streams.hpp"
#include "impl/product/tiling.hpp"
#include "kernels/host/host.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/random.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/support/timed.hpp"

namespace blaslift::refused_tests {
namespace {

using namespace reference;
using Plan = std::shared_ptr<const GemmSchedule>;

constexpr std::size_t memory = std::size_t{16} << 20, piece_bytes = 320;
constexpr index panel = 5;
constexpr double inf = std::numeric_limits<double>::infinity();

const UnderlyingBlas underlying{[](const void*, const Operation& x) { naive(*x.get<Gemm>()); }, nullptr};

struct HostDevice {
  Backend& backend;
  Arena arena;
  explicit HostDevice(FaultPlan* faults = nullptr) : backend(*make_host_backend({.memory_limit = memory}, faults)) {
    arena.open(backend, {[](void*) { return false; }, nullptr});
  }
};
/// As long as the process, where a leak checker finds them.
HostDevice& device() {
  static auto& made = *new HostDevice;
  return made;
}
FaultPlan& faults() {
  static auto& made = *new FaultPlan;
  return made;
}
HostDevice& failing_device() {
  static auto& made = *new HostDevice(&faults());
  return made;
}

/// Another lane, counted.  What a download reads, no survey may write before: nothing but its tickets says so, since a
/// lane's threads start downloads in any order.
class Counting final : public Lane {
 public:
  explicit Counting(Lane& lane) : lane_(lane) {}
  Status upload(const Transfer& t, After after) override { return note(after), lane_.upload(t, after); }
  Status ask(const Operation& operation, After after) override {
    const Tickets& before = note(after);
    if (const Gemm* g = operation.get<Gemm>())
      multiplications += static_cast<double>(g->m) * static_cast<double>(g->n) * static_cast<double>(g->k);
    if (operation.kind == Operation::Kind::survey) {
      for (std::size_t i = 0; i < downloads_.size(); ++i)
        EXPECT_EQ(downloads_[i] & ~(i < before.size() ? before[i] : 0), 0u);
    }
    return lane_.ask(operation, after);
  }
  Status download(const Transfer& t, After after, std::atomic<bool>& landed) override {
    note(after);
    add(downloads_, before_.size() - 1);
    return lane_.download(t, after, landed);
  }
  bool started(Ticket upload) override { return lane_.started(upload); }
  Status await(const std::atomic<bool>& landed) override { return lane_.await(landed); }
  void abandon() override { lane_.abandon(); }
  Status drain() override {
    before_.clear();  // tickets count from 0 again
    downloads_.clear();
    return lane_.drain();
  }

  double multiplications = 0;

 private:
  using Tickets = std::vector<std::uint64_t>;  ///< a bit for each
  static void add(Tickets& to, std::size_t ticket) {
    to.resize(std::max(to.size(), ticket / 64 + 1));
    to[ticket / 64] |= std::uint64_t{1} << ticket % 64;
  }

  /// The tickets of all that an operation comes after.
  const Tickets& note(After after) {
    Tickets all;
    for (int i = 0; i < after.count; ++i) {
      const auto ticket = static_cast<std::size_t>(after.tickets[i]);
      add(all, ticket);
      const Tickets& earlier = before_[ticket];
      all.resize(std::max(all.size(), earlier.size()));
      for (std::size_t word = 0; word < earlier.size(); ++word) all[word] |= earlier[word];
    }
    return before_.emplace_back(std::move(all));
  }

  Lane& lane_;
  std::vector<Tickets> before_{};  ///< by ticket
  Tickets downloads_{};
};

/// A product that levels would be refused, with what of it is on the device before.
template <class T>
struct Problem {
  index m, n, k;
  Op transa;
  Part part = Part::whole;
  Update update = Update::rank_k;
  Op transb;
  bool reads_c = false, little = false;
  Residents residents{};
  Tiling tiling{};
  index head = 0, chunk = 0;
  Matrix<T> A, B, C;

  T alpha = scalar<T>(-0.5, 0.25), beta = T(0);

  Problem(Random& random, bool triangle)
      : m(random.up_to(14) + 4),
        n(triangle ? m : random.up_to(14) + 4),
        k(random.up_to(20) + 4),
        transa(random.coin() ? Op::none : Op::transpose),
        part(!triangle       ? Part::whole
             : random.coin() ? Part::lower
                             : Part::upper),
        update(triangle && random.coin() ? Update::product : Update::rank_k),
        transb(!own_b()        ? transa == Op::none ? Op::transpose : Op::none
               : random.coin() ? Op::none
                               : Op::conjugate),
        reads_c(random.coin()),
        little(random.coin()),
        A(transa == Op::none ? m : k, transa == Op::none ? k : m, 3),
        B(transb == Op::none ? k : n, transb == Op::none ? n : k, 2),
        C(m, n, 5) {
    A.random(1);
    B.random(2);
    if (reads_c) beta = scalar<T>(0.7, -0.3);
    reads_c ? C.random(3) : C.fill(scalar<T>(std::numeric_limits<double>::quiet_NaN(), 0));
    if (!own_b()) B = A;
    const int levels = random.coin() ? 1 : 2;
    const index most = triangle ? std::min(n / 2, k) : std::min({m, n, k});
    tiling.levels.assign(static_cast<std::size_t>(levels), &strassen::fused());
    tiling.tile = random.up_to(static_cast<std::size_t>(std::max<index>(1, most >> levels))) << levels;
    if (tiling.tile > most) tiling = {{&strassen::fused()}, most / 2 * 2};
    tiling.least_unjudged = random.coin() ? 0 : 5e9;
    const auto some = [&](index rows, index cols) {
      return random.coin() ? Resident{true, random.coin() ? std::vector<Block>{} : random_blocks(rows, cols, random)}
                           : Resident{};
    };
    if (random.coin()) {
      residents.a = some(m, k);
      if (own_b()) residents.b = some(k, n);
      if (!triangle) residents.c = some(m, n);
      residents.c.in_place = residents.c.whole && random.coin();
      if (residents.c.in_place) residents.c.missing.clear();
    }
    tiling.overwrite = !triangle && may_overwrite(m, n, tiling.tile, residents) && random.coin();
    head = random.coin() ? k / 4 : 0;
    const bool has_head = may_have_head(tiling, residents, reads_c, part) && k - head >= index{1} << levels;
    if (has_head) tiling.head = head;
    chunk = random.coin() ? (k + 1) / 2 : k;
  }

  bool own_b() const { return has_own_b(part, update); }
  GemmArgs<T> args(Matrix<T>& c) {
    GemmArgs<T> a{transa, transb, m, n, k, alpha, A.data(), A.ld(), B.data(), B.ld(), beta, c.data(), c.ld()};
    a.part = part;
    a.update = update;
    return a;
  }
  /// Makes levels lose something.
  void spoil(Random& random, int kind) {
    Matrix<T>& x = own_b() && random.coin() ? B : A;
    const index i = random.up_to(static_cast<std::size_t>(x.rows())) - 1,
                j = random.up_to(static_cast<std::size_t>(x.cols())) - 1;
    const bool by_columns = (&x == &A) == (transa != Op::none);
    if (kind == 0) x(i, j) = scalar<T>(inf, 0);
    if (kind == 1) x(i, j) = scalar<T>(1e20, 0);
    if (kind == 2)  // a row of op(A) or a column of op(B)
      for (index p = 0; p < k; ++p) {
        T& one = (&x == &A ? by_columns : transb == Op::none) ? x(p, j) : x(i, p);
        one *= static_cast<Real<T>>(1e-12);  // whose square is a normal number
      }
    if (!own_b()) B = A;
  }
  GemmSchedule by_levels() const {
    GemmSchedule s = plan_levels(m, n, k, transa != Op::none, transb != Op::none, reads_c, sizeof(T), tiling, residents,
                                 piece_bytes, part, update);
    spread(s, sizeof(T), complex_type<T>, {1e9, 1e8, 1e8, 1e-6, 1e-7});
    return s;
  }
  Plan classical() const {
    Cut cut{.mb = m, .nb = n, .kb = chunk, .operands = chunk < k ? 2 : 1};
    cut.whole_a = residents.a.whole;
    cut.whole_b = own_b() ? residents.b.whole : true;
    cut.whole_c = residents.c.whole;
    cut.part = part;
    cut.update = update;
    return std::make_shared<const GemmSchedule>(plan_gemm(m, n, k, reads_c, sizeof(T), cut, residents, piece_bytes,
                                                          tiling.head > 0 ? usual_panel : panel, head));
  }
};

/// The device's copy of an operand, NaN where something is missing.
template <class T>
Matrix<T> copy_of(const Matrix<T>& x, const Resident& resident, bool transposed) {
  Matrix<T> copy = x;
  for (const Block& b : resident.missing)
    for (index j = b.col; j < b.col + b.cols; ++j)
      for (index i = b.row; i < b.row + b.rows; ++i)
        fill_with_canaries(transposed ? &copy(j, i) : &copy(i, j), sizeof(T));
  return copy;
}

template <class T>
struct Came {
  ProductOutcome outcome;
  Matrix<T> c, a_copy, b_copy, c_copy;
  double multiplications = 0;

  /// C, wherever it is.
  const Matrix<T>& result(const Problem<T>& x) const { return x.residents.c.in_place ? c_copy : c; }
};

template <class T>
Came<T> run(Problem<T>& x, const GemmSchedule& schedule, const Refusal& refusal, HostDevice& on = device()) {
  Came<T> came{{},
               x.C,
               copy_of(x.A, x.residents.a, x.transa != Op::none),
               copy_of(x.B, x.residents.b, x.transb != Op::none),
               copy_of(x.C, x.residents.c, false)};
  Placement placement;
  if (x.residents.a.whole) placement.a = {came.a_copy.data(), came.a_copy.ld()};
  if (x.residents.b.whole) placement.b = {came.b_copy.data(), came.b_copy.ld()};
  if (x.residents.c.whole) placement.c = {came.c_copy.data(), came.c_copy.ld()};
  // As impl/product/gemm.cpp has it.
  const std::size_t bytes =
      std::max(schedule.bytes(sizeof(T)), schedule.cut.bytes(sizeof(T)) + leased_bytes(x.m, x.n, sizeof(T)));
  Status& status = came.outcome.status;
  if ((status = on.arena.take(bytes, true, placement.lease)) != Status::done) return came;
  const std::size_t much = std::size_t{2} << 20;
  if (Lane* lane = on.backend.acquire(underlying, x.little ? 1000 : much, status)) {
    Counting counting(*lane);
    came.outcome = execute(
        schedule, x.args(came.c), placement, counting, [] { return true; }, refusal);
    came.multiplications = counting.multiplications;
    on.backend.release(lane);
  }
  on.arena.give_back(placement.lease, bytes);
  return came;
}

template <class T>
Refusal instead_of(const Problem<T>& x, const Plan& plan) {
  (void)x;
  return {.plan = [&plan] { return plan; }};
}

template <class T>
class Refused : public testing::Test {};
TYPED_TEST_SUITE(Refused, Precisions);

TYPED_TEST(Refused, HaveTheBitsOfTheClassicalProductAndMoveWhatItMoves) {
  using T = TypeParam;
  Random random(7);
  std::map<std::string, int> times;
  for (int time = 0; time < 400; ++time) {
    Problem<T> x(random, time % 5 == 0);
    if (x.tiling.tile < 2) continue;
    const int kind = time % 3;
    x.spoil(random, kind);
    const GemmSchedule schedule = x.by_levels();
    const Plan plan = x.classical();
    SCOPED_TRACE(testing::Message() << describe(x.args(x.C)) << ", tile " << x.tiling.tile << ", kind " << kind
                                    << ", overwrites " << x.tiling.overwrite << ", time " << time);
    const Came<T> classical = run(x, *plan, {}), refused = run(x, schedule, instead_of(x, plan));
    ASSERT_EQ(classical.outcome.status, Status::done);
    ASSERT_EQ(refused.outcome.status, Status::done);
    if (refused.outcome.verdict == Verdict::sound) continue;  // a tile's slices may be such that little is lost
    ASSERT_EQ(refused.outcome.instead, plan);
    ASSERT_TRUE(refused.c == classical.c && refused.c.canaries_intact());
    ASSERT_TRUE(refused.result(x) == classical.result(x));
    ASSERT_EQ(refused.outcome.committed, classical.outcome.committed);
    ASSERT_EQ(refused.outcome.bytes_out, classical.outcome.bytes_out);
    // Copies hold what they are copies of.
    ASSERT_TRUE(refused.a_copy == classical.a_copy && refused.b_copy == classical.b_copy);
    ASSERT_TRUE(!x.residents.c.whole || refused.c_copy == classical.c_copy);
    // Nothing comes twice but what levels have destroyed, where they were let, or what of C they have computed over.
    ASSERT_GE(refused.outcome.bytes_in, classical.outcome.bytes_in);
    if (!x.tiling.overwrite && !x.reads_c && x.chunk == x.k) {
      ASSERT_EQ(refused.outcome.bytes_in, classical.outcome.bytes_in);
      ++times["moves the same"];
    }
    times["overwrites"] += x.tiling.overwrite;
    times["reads C"] += x.reads_c;
    times["in place"] += x.residents.c.in_place;
    times["triangle"] += x.part != Part::whole;
    times["resident"] += x.residents.a.whole || x.residents.b.whole;
    times["with a head"] += x.head > 0 && x.chunk == x.k;
    times["a head before levels, too"] += x.tiling.head > 0 && x.chunk == x.k;
    times["in chunks of k"] += x.chunk < x.k;
    times["several tiles"] += x.m >= 2 * x.tiling.tile && x.n >= 2 * x.tiling.tile;
    times["given up early"] += refused.multiplications < 1.5 * classical.multiplications;
    ++times["kind " + std::to_string(kind)];
  }
  EXPECT_EQ(times.size(), 14u);
  for (const auto& [what, count] : times) EXPECT_GT(count, 8) << what;
}

TYPED_TEST(Refused, WithoutAPlanNothingHasHappened) {
  using T = TypeParam;
  Random random(8);
  for (int time = 0; time < 40; ++time) {
    Problem<T> x(random, time % 5 == 0);
    if (x.tiling.tile < 2) continue;
    x.spoil(random, 0);
    for (const bool none : {false, true}) {
      const Came<T> came = run(x, x.by_levels(), none ? Refusal{.plan = [] { return nullptr; }} : Refusal{});
      ASSERT_EQ(came.outcome.status, Status::done);
      ASSERT_EQ(came.outcome.verdict, Verdict::not_finite);
      ASSERT_TRUE(came.outcome.untouched() && !came.outcome.instead && came.c == x.C);
      ASSERT_TRUE(!x.residents.c.in_place || !x.reads_c || came.c_copy == x.C);
    }
    const Came<T> came = run(x, x.by_levels(), {.plan = []() -> Plan { throw std::bad_alloc(); }});
    ASSERT_EQ(came.outcome.status, Status::no_memory);
    ASSERT_TRUE(came.outcome.untouched() && came.c == x.C);
  }
}

TYPED_TEST(Refused, AreFinishedByTheLibraryWhateverFails) {
  using T = TypeParam;
  Random random(9);
  constexpr bool watched =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
      true;
#else
      false;
#endif
  int failures = 0;
  for (int problem = 0; problem < (watched ? 2 : 8); ++problem) {
    Problem<T> x(random, problem % 4 == 3);
    if (x.tiling.tile < 2 || x.residents.c.in_place) continue;
    x.spoil(random, 2);
    const Plan plan = x.classical();
    const Came<T> classical = run(x, *plan, {});
    const auto expected = product(x.args(x.C));
    long operations = std::numeric_limits<long>::max();
    for (long at = 0; at <= operations; at += 1 + at / 10 + (at > 40 ? at * 7 % 9 : 0)) {
      faults().seen = 0;
      faults().at = at;  // 0: none
      faults().status = at % 2 == 0 ? Status::no_memory : Status::lost;
      const GemmSchedule schedule = x.by_levels();
      Came<T> came = run(x, schedule, instead_of(x, plan), failing_device());
      if (at == 0) operations = faults().seen;
      faults().at = 0;
      SCOPED_TRACE(testing::Message() << describe(x.args(x.C)) << ", fails at " << at << " of " << operations);
      if (came.outcome.status == Status::done) {
        ASSERT_TRUE(came.outcome.verdict == Verdict::sound || came.c == classical.c);
        continue;
      }
      ++failures;
      ASSERT_TRUE(!came.outcome.untouched() || came.c == x.C);
      finish(came.outcome.instead ? *came.outcome.instead : schedule, came.outcome, x.args(came.c), underlying);
      ASSERT_TRUE(came.c.canaries_intact());
      for (index j = 0; j < x.n; ++j)
        for (index i = 0; i < x.m; ++i) {
          if (!meets(x.part, {i, j, 1, 1})) continue;  // the library underneath is one of whole products here
          ASSERT_LE(expected[static_cast<std::size_t>(i + j * x.m)].excess(came.c(i, j)), 1.0);
        }
    }
  }
  EXPECT_GT(failures, 20);
}

// ---- the time it takes

/// sgemm on about an H100, from host to host.
struct OnTheWay {
  static constexpr index n = 16384;
  static constexpr TimedDevice h100{.flops = 53e12, .bytes = 2.9e12, .in = 50e9, .out = 52e9};

  GemmArgs<float> args;
  GemmSchedule by_levels;
  Plan classical;
  char* lease;
  static constexpr std::size_t lease_bytes = std::size_t{16} << 30;  // of address space

  explicit OnTheWay(bool reads_c, int levels = 3, index tile = n) {
    static float nothing;
    args = {Op::none, Op::none, n, n, n, 1.0F, &nothing, n, &nothing, n, reads_c ? 1.0F : 0.0F, &nothing, n};
    Tiling tiling{strassen::chain(strassen::fused(), levels), tile};
    if (!reads_c) tiling.head = best_head(n, n, n);
    by_levels = plan_levels(n, n, n, false, false, reads_c, sizeof(float), tiling, {}, std::size_t{4} << 20);
    spread(by_levels, sizeof(float), false, {h100.flops, h100.bytes, h100.in, 3e-6, 3e-6});
    Cut cut;
    EXPECT_TRUE(cut_to_fit(n, n, n, sizeof(float), std::size_t{60} << 30, {}, cut));
    classical = std::make_shared<const GemmSchedule>(
        plan_gemm(n, n, n, reads_c, sizeof(float), cut, {}, std::size_t{4} << 20, usual_panel, best_head(n, n, n)));
    lease = static_cast<char*>(
        mmap(nullptr, lease_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  ~OnTheWay() { munmap(lease, lease_bytes); }
  OnTheWay(const OnTheWay&) = delete;
  OnTheWay& operator=(const OnTheWay&) = delete;

  /// @param wild  of A (0) or B (1), at this row and column, an element is infinite; -1: none
  Timed time(const GemmSchedule& schedule, int wild = -1, index row = 0, index col = 0) {
    Timed lane(h100);
    lane.notes = schedule.findings();
    lane.finds = [=, this](const Survey& s) {
      const auto offset = static_cast<index>(static_cast<const char*>(s.at) - lease) / 4;
      const index i = offset % (n * n) % n, j = offset % (n * n) / n;
      const bool there = offset / (n * n) == wild && row >= i && row < i + s.rows && col >= j && col < j + s.cols;
      return there ? inf : 1.0;
    };
    const ProductOutcome outcome =
        execute(schedule, args, {.lease = lease}, lane, [] { return true; }, {.plan = [this] { return classical; }});
    EXPECT_EQ(outcome.status, Status::done);
    EXPECT_EQ(outcome.instead != nullptr, wild >= 0);
    return lane;
  }
  double all() const { return 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }
};

TEST(RefusedOnTheWay, WhatIsSoundPaysNothingForBeingWatched) {
  for (const bool reads_c : {false, true})
    for (const auto& [levels, tile] : {std::pair<int, index>{3, 16384}, {2, 8192}, {1, 16384}}) {
      OnTheWay x(reads_c, levels, tile);
      const Timed watched = x.time(x.by_levels);
      GemmSchedule all_at_once = x.by_levels;
      all_at_once.unjudged = std::numeric_limits<double>::infinity();
      const Timed unwatched = x.time(all_at_once);
      EXPECT_LE(watched.now, 1.005 * unwatched.now) << levels << (reads_c ? ", reads C" : "");
      EXPECT_EQ(watched.bytes_in, unwatched.bytes_in);
    }
}

TEST(RefusedOnTheWay, WhatIsFoundEarlyCostsATenthAtMostAndNothingIsSentTwice) {
  for (const bool reads_c : {false, true}) {
    OnTheWay x(reads_c);
    const Timed classical = x.time(*x.classical);
    for (const int which : {0, 1})
      for (const index at : {index{0}, index{3000}, index{8000}}) {
        const Timed refused = x.time(x.by_levels, which, at, at);
        EXPECT_LE(refused.now, 1.1 * classical.now) << "AB"[which] << at;
        EXPECT_LE(refused.flops, 1.12 * x.all());
        EXPECT_EQ(refused.bytes_in, classical.bytes_in);
        EXPECT_EQ(refused.bytes_out, classical.bytes_out);
      }
  }
}

TEST(RefusedOnTheWay, WhereverItIsItCostsATenthAtMostWithAHead) {
  OnTheWay x(false);
  const Timed classical = x.time(*x.classical);
  for (const int which : {0, 1})
    for (index k = 3; k < OnTheWay::n; k += 1260)
      for (const index other : {index{5}, index{8200}, OnTheWay::n - 1}) {
        const Timed refused = which == 0 ? x.time(x.by_levels, 0, other, k) : x.time(x.by_levels, 1, k, other);
        EXPECT_LE(refused.now, 1.1 * classical.now) << "AB"[which] << ", k = " << k << ", other " << other;
        EXPECT_LE(refused.flops, 1.1 * x.all());
        EXPECT_EQ(refused.bytes_in, classical.bytes_in);
        EXPECT_EQ(refused.bytes_out, classical.bytes_out);
      }
}

TEST(RefusedOnTheWay, WithoutAHeadWhatIsFoundLastCostsWhatHasBeenComputedMeanwhile) {
  // All of A and B arrives in a quarter of the time that the product takes.
  OnTheWay x(true);
  const Timed classical = x.time(*x.classical);
  for (const int which : {0, 1}) {
    const Timed refused =
        which == 0 ? x.time(x.by_levels, 0, 5, OnTheWay::n - 1) : x.time(x.by_levels, 1, OnTheWay::n - 1, 5);
    EXPECT_LE(refused.now, 1.3 * classical.now);
    EXPECT_LE(refused.flops, 1.2 * x.all());
    EXPECT_EQ(refused.bytes_in, classical.bytes_in);
  }
}

TEST(RefusedOnTheWay, AHeadCostsLittleWhereLevelsAreNotRefused) {
  OnTheWay x(false);
  const GemmSchedule without = plan_levels(OnTheWay::n, OnTheWay::n, OnTheWay::n, false, false, false, sizeof(float),
                                           {strassen::chain(strassen::fused(), 3), OnTheWay::n}, {}, 4 << 20);
  EXPECT_LE(x.time(x.by_levels).now, 1.01 * x.time(without).now);
}

// ---- the first glance

template <class T>
std::vector<Real<T>> magnitudes(const Matrix<T>& x, bool rows_across, index lines, index k, const GemmSchedule& s) {
  std::vector<Real<T>> found(static_cast<std::size_t>(lines * s.slices()));
  for (index i = 0; i < lines; ++i)
    for (index p = 0; p < k; ++p) {
      const T& one = rows_across ? x(p, i) : x(i, p);
      Real<T>& most = found[static_cast<std::size_t>(s.slice_of(p) * lines + i)];
      for (const Real<T> part : {std::abs(std::real(one)), std::abs(std::imag(one))})
        most = std::isnan(part) ? std::numeric_limits<Real<T>>::infinity() : std::max(most, part);
    }
  return found;
}

template <class T>
class Glance : public testing::Test {};
TYPED_TEST_SUITE(Glance, Precisions);

TYPED_TEST(Glance, RefusesNothingThatTheGuardLetsPass) {
  using T = TypeParam;
  Random random(11);
  std::map<std::string, int> times;
  for (int time = 0; time < 600; ++time) {
    const index m = random.up_to(60) + 3, n = random.up_to(60) + 3, k = random.up_to(90) + 3;
    const bool ta = random.coin(), tb = random.coin();
    const index tile = std::max<index>(2, std::min({m, n, k}) / 2 * 2);
    const GemmSchedule s = plan_levels(m, n, k, ta, tb, false, sizeof(T), {{&strassen::fused()}, tile}, {}, 4096);
    Matrix<T> A(ta ? k : m, ta ? m : k, 1), B(tb ? n : k, tb ? k : n, 2), C(m, n);
    A.random(static_cast<unsigned>(time));
    B.random(static_cast<unsigned>(time) + 1000);
    const int kind = time % 6;
    for (index j = 0; j < A.cols(); ++j)
      for (index i = 0; i < A.rows(); ++i) {
        const index row = ta ? j : i, p = ta ? i : j;
        double factor = 1;
        if (kind == 1) factor = std::pow(10, -3.0 * static_cast<double>(row) / static_cast<double>(m));
        if (kind == 2) factor = random.below(50) == 0 ? 1 : 1e-4;  // seems to be small where few look
        if (kind == 3) factor = std::pow(10, -5.0 * static_cast<double>(p) / static_cast<double>(k));
        if (kind == 4 && row == m / 2) factor = 0;
        A(i, j) *= static_cast<Real<T>>(factor);
      }
    for (index j = 0; j < B.cols(); ++j)
      for (index i = 0; i < B.rows(); ++i) {
        const index col = tb ? i : j, p = tb ? j : i;
        double factor = 1;
        if (kind == 1) factor = std::pow(10, -3.0 * static_cast<double>(col) / static_cast<double>(n));
        if (kind == 2) factor = random.below(50) == 0 ? 1 : 1e-4;
        if (kind == 3) factor = std::pow(10, -5.0 * static_cast<double>(k - p) / static_cast<double>(k));
        B(i, j) *= static_cast<Real<T>>(factor);
      }
    if (kind == 5) A(0, 0) = scalar<T>(random.coin() ? inf : std::numeric_limits<double>::quiet_NaN(), 0);
    const GemmArgs<T> args{ta ? Op::transpose : Op::none,
                           tb ? Op::transpose : Op::none,
                           m,
                           n,
                           k,
                           T(1),
                           A.data(),
                           A.ld(),
                           B.data(),
                           B.ld(),
                           T(0),
                           C.data(),
                           C.ld()};
    const Verdict early =
        judge_early<Real<T>>(glance(args, s.slice, s.slices()), static_cast<double>(k), s.depth, 1, false);
    const auto a_rows = magnitudes(A, ta, m, k, s), b_cols = magnitudes(B, !tb, n, k, s);
    std::vector<Real<T>> a_cols(static_cast<std::size_t>(k)), b_rows(a_cols);
    const auto raise = [](Real<T>& most, const T& one) {
      for (const Real<T> part : {std::abs(std::real(one)), std::abs(std::imag(one))})
        most = std::isnan(part) ? std::numeric_limits<Real<T>>::infinity() : std::max(most, part);
    };
    for (index p = 0; p < k; ++p) {
      for (index i = 0; i < m; ++i) raise(a_cols[static_cast<std::size_t>(p)], ta ? A(p, i) : A(i, p));
      for (index j = 0; j < n; ++j) raise(b_rows[static_cast<std::size_t>(p)], tb ? B(j, p) : B(p, j));
    }
    const Findings<Real<T>> findings{
        a_rows, a_cols, b_rows, b_cols, static_cast<std::size_t>(s.slices()), static_cast<std::size_t>(s.slice)};
    const Verdict whole = judge(findings, s.depth, 1, false);
    SCOPED_TRACE(testing::Message() << describe(args) << ", kind " << kind << ", time " << time);
    if (early != Verdict::sound) {
      ASSERT_NE(whole, Verdict::sound);
    }
    times["refused " + std::to_string(kind)] += early != Verdict::sound;
    times["refused by all " + std::to_string(kind)] += whole != Verdict::sound;
  }
  EXPECT_EQ(times["refused 0"], 0);
  for (const int kind : {1, 3, 4}) EXPECT_GE(times["refused " + std::to_string(kind)], 90) << kind;
}

}  // namespace
}  // namespace blaslift::refused_tests
