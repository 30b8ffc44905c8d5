// What every backend must do (kernels/backend.hpp), asked of a module through the door the library uses:
//
//   blaslift_conformance --backend host|cuda [--modules DIR] [GoogleTest's options]
//
// DIR is where libblaslift_<backend>.so lies (../lib beside this program).  Ends with 77 where the cuda module cannot
// be opened.  Needs nothing but libc and the module: "the library underneath" is a triple loop (reference.hpp).
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <thread>

#include "impl/device.hpp"
#include "impl/execute.hpp"
#include "tests/unit/reference.hpp"

namespace blaslift {
namespace {

using namespace reference;

constexpr std::size_t memory_limit = std::size_t{64} << 20;
constexpr int exit_skipped = 77;

Backend* backend;
std::string backend_name = "host", modules;

const UnderlyingGemm underlying{[](const void*, const Gemm& g) { naive(g); }, nullptr};

/// One call's lane, and a lease dealt out in parts.
class Call {
 public:
  explicit Call(std::size_t bytes = 0) {
    Status status = Status::lost;
    lane_ = backend->acquire(underlying, status);
    if (!lane_) throw std::runtime_error("no lane, status " + std::to_string(static_cast<int>(status)));
    void* memory = nullptr;
    if (bytes && (status = lane_->lease(bytes, memory)) != Status::done) {
      backend->release(lane_);
      throw std::runtime_error("no lease, status " + std::to_string(static_cast<int>(status)));
    }
    next_ = static_cast<char*>(memory);
  }
  ~Call() { backend->release(lane_); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Lane& lane() { return *lane_; }

  template <class T>
  T* part(index elements) {
    return reinterpret_cast<T*>(std::exchange(next_, next_ + part_size<T>(elements)));
  }
  template <class T>
  static std::size_t part_size(index elements) {
    return (static_cast<std::size_t>(elements) * sizeof(T) + 255) / 256 * 256;
  }

  /// Puts a matrix on the device, the rows between its last and ld included.
  template <class T>
  T* put(const Matrix<T>& x) {
    T* to = part<T>(x.ld() * x.cols());
    if (x.cols() > 0) done(lane_->upload(to, x.ld(), x.data(), x.ld(), x.ld(), x.cols(), sizeof(T)));
    return to;
  }

  /// Brings such a matrix back into `x`, piece by piece through alternating slots.
  template <class T>
  void get(Matrix<T>& x, const T* from) {
    fetch(x.data(), x.ld(), from, x.ld(), x.ld(), x.cols());
  }

  template <class T>
  void fetch(T* to, index ldt, const T* from, index lds, index rows, index cols) {
    const auto most = static_cast<index>(lane_->ring_bytes() / sizeof(T));
    const index r = std::min(rows, most), c = std::max<index>(1, most / std::max<index>(1, rows));
    int slot = 0;
    for (index j = 0; j < cols; j += c)
      for (index i = 0; i < rows; i += r, slot = 1 - slot) {
        const index pr = std::min(r, rows - i), pc = std::min(c, cols - j);
        done(lane_->fetch(slot, from + i + j * lds, lds, pr, pc, sizeof(T)));
        done(lane_->arrived(slot));
        const T* packed = static_cast<const T*>(lane_->ring(slot));
        for (index q = 0; q < pc; ++q)
          std::memcpy(to + i + (j + q) * ldt, packed + q * pr, static_cast<std::size_t>(pr) * sizeof(T));
      }
  }

  static void done(Status status) {
    if (status != Status::done)
      throw std::runtime_error("operation failed, status " + std::to_string(static_cast<int>(status)));
  }

 private:
  Lane* lane_;
  char* next_;
};

template <class T>
std::size_t room(const Matrix<T>& x) {
  return Call::part_size<T>(x.ld() * x.cols());
}

/// One product on the device: operands up with their gaps, result back with its gaps.
template <class T>
struct Problem {
  Op transa, transb;
  index m, n, k;
  T alpha, beta;
  Matrix<T> A, B, C;

  Problem(Op ta, Op tb, index m_, index n_, index k_, T a, T b, index gap = 3)
      : transa(ta),
        transb(tb),
        m(m_),
        n(n_),
        k(k_),
        alpha(a),
        beta(b),
        A(ta == Op::none ? m : k, ta == Op::none ? k : m, gap),
        B(tb == Op::none ? k : n, tb == Op::none ? n : k, gap + 1),
        C(m, n, gap + 2) {
    A.random(1);
    B.random(2);
    C.random(3);
  }

  GemmArgs<T> args() {
    return {transa, transb, m, n, k, alpha, A.data(), A.ld(), B.data(), B.ld(), beta, C.data(), C.ld()};
  }
  T& op_a(index row, index col) { return transa == Op::none ? A(row, col) : A(col, row); }
  T& op_b(index row, index col) { return transb == Op::none ? B(row, col) : B(col, row); }
  std::size_t bytes() const { return room(A) + room(B) + room(C) + 256; }

  Matrix<T> run(Call& call) {
    Gemm g = as_gemm(args());
    struct alignas(16) {  // scalars where the element type's own alignment allows them, and no better
      char gap[alignof(T)];
      T alpha, beta;
    } scalars{{}, alpha, beta};
    g.alpha = &scalars.alpha;
    g.beta = &scalars.beta;
    g.A = call.put(A);
    g.B = call.put(B);
    T* c = call.put(C);
    g.C = c;
    Call::done(call.lane().gemm(g));
    Matrix<T> result = C;
    call.get(result, c);
    return result;
  }
  Matrix<T> run() {
    Call call(bytes());
    return run(call);
  }

  /// Runs and compares; bound as in reference.hpp, gaps bit for bit.
  void expect_right() {
    const auto expected = product(args());
    const Matrix<T> result = run();
    EXPECT_LE(worst_excess(expected, result), 1.0) << describe(args());
    EXPECT_TRUE(result.canaries_intact()) << "rows between m and ldc written: " << describe(args());
  }
};

const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

// ---- the module and its facts

TEST(Module, SaysWhyItCannotBeOpened) {
  std::string why;
  EXPECT_EQ(open_module("/nowhere", backend_name.c_str(), {}, why), nullptr);
  EXPECT_NE(why.find("/nowhere"), std::string::npos) << why;
}

TEST(Module, RefusesAnotherVersion) {
  void* module = dlopen((modules + "/libblaslift_" + backend_name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(module, nullptr) << dlerror();
  const auto open = reinterpret_cast<OpenBackend>(dlsym(module, open_backend_name));
  ASSERT_NE(open, nullptr);
  char why[128] = "";
  const OpenRequest request{};
  EXPECT_EQ(open(backend_version + 1, &request, why, sizeof why), nullptr);
  EXPECT_NE(std::string(why).find("version"), std::string::npos) << why;
}

TEST(Facts, AreFilledIn) {
  const DeviceFacts& facts = backend->facts();
  EXPECT_GT(strnlen(facts.name, sizeof facts.name), 0u);
  EXPECT_LT(strnlen(facts.name, sizeof facts.name), sizeof facts.name);
  EXPECT_LT(strnlen(facts.driver, sizeof facts.driver), sizeof facts.driver);
  EXPECT_GT(strnlen(facts.profile, sizeof facts.profile), 0u);
  EXPECT_LT(strnlen(facts.profile, sizeof facts.profile), sizeof facts.profile);
  EXPECT_GT(facts.memory, 0u);
  EXPECT_LE(facts.memory, memory_limit);
}

// ---- copies

using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
struct TypeNames {
  template <class T>
  static std::string GetName(int) {
    return std::string(1, letter(precision_of<T>));
  }
};

template <class T>
class Copies : public testing::Test {};
TYPED_TEST_SUITE(Copies, Types, TypeNames);

/// `elements` of memory that end where unreadable memory begins.
template <class T>
class Guarded {
 public:
  explicit Guarded(index elements) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(T), whole = (bytes + page - 1) / page * page;
    size_ = whole + page;
    start_ = static_cast<char*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (start_ == MAP_FAILED || mprotect(start_ + whole, page, PROT_NONE))
      throw std::runtime_error("no guarded memory");
    data_ = reinterpret_cast<T*>(start_ + whole - bytes);
    fill_with_canaries(data_, bytes);
  }
  ~Guarded() { munmap(start_, size_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  T* data() { return data_; }

 private:
  char* start_;
  std::size_t size_;
  T* data_;
};

TYPED_TEST(Copies, StridedBlocksArriveAndGapsStay) {
  using T = TypeParam;
  const struct {
    index rows, cols, lds_gap, ldd_gap;
  } cases[] = {{1, 1, 0, 0},   {7, 5, 0, 0},  {7, 5, 4, 0},      {7, 5, 0, 6},
               {65, 33, 3, 9}, {1, 40, 2, 1}, {300, 129, 31, 15}};
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::Message() << c.rows << " x " << c.cols << " lds+" << c.lds_gap << " ldd+" << c.ldd_gap);
    const index lds = c.rows + c.lds_gap;
    // The source's last column ends at unreadable memory: reading its gap would end the test.
    Guarded<T> source((c.cols - 1) * lds + c.rows);
    Matrix<T> expected(c.rows, c.cols, c.ldd_gap);
    expected.random(11);
    for (index j = 0; j < c.cols; ++j)
      for (index i = 0; i < c.rows; ++i) source.data()[i + j * lds] = expected(i, j);

    Call call(room(expected));
    Matrix<T> there(c.rows, c.cols, c.ldd_gap);  // nothing but canaries
    T* device = call.put(there);
    Call::done(call.lane().upload(device, expected.ld(), source.data(), lds, c.rows, c.cols, sizeof(T)));
    call.get(there, device);
    EXPECT_TRUE(there == expected) << "uploaded block, or the device's gaps, differ";

    // Back the other way: the block alone, out of its leading dimension, packed in the ring.
    Matrix<T> packed(c.rows, c.cols);
    call.fetch(packed.data(), c.rows, device, expected.ld(), c.rows, c.cols);
    for (index j = 0; j < c.cols; ++j)
      for (index i = 0; i < c.rows; ++i) ASSERT_TRUE(same_bits(packed(i, j), expected(i, j))) << i << "," << j;
  }
}

TEST(Copy, SourceMayChangeOnceUploadReturns) {
  const auto slot = [] { return Call().lane().ring_bytes(); }();
  // Several times what a lane can stage at once, in columns of a quarter slot.
  const auto rows = static_cast<index>(slot / sizeof(double) / 4);
  Matrix<double> x(rows, 13);
  const Matrix<double> original = x.random(5);
  Call call(room(x));
  double* device = call.put(x);
  x.fill(-7);
  call.get(x, device);
  EXPECT_TRUE(x == original);
}

TEST(Copy, ColumnsLongerThanARingSlot) {
  const auto slot = [] { return Call().lane().ring_bytes(); }();
  const auto rows = static_cast<index>(slot / sizeof(double) * 3 / 2 + 1);
  Matrix<double> source(rows, 3, 5), there(rows, 3, 3);
  source.random(6);
  Call call(room(there));
  double* device = call.put(there);
  Call::done(call.lane().upload(device, there.ld(), source.data(), source.ld(), rows, 3, sizeof(double)));
  call.get(there, device);
  EXPECT_TRUE(there.canaries_intact());
  for (index j = 0; j < 3; ++j)
    ASSERT_EQ(std::memcmp(&there(0, j), &source(0, j), static_cast<std::size_t>(rows) * sizeof(double)), 0)
        << "column " << j;
}

// ---- the ring

TEST(Ring, ASlotHoldsWhatItPromises) {
  const auto elements = static_cast<index>(Call().lane().ring_bytes() / sizeof(double));
  ASSERT_GE(elements, 1);
  Matrix<double> x(elements, 1);
  x.random(7);
  Call call(room(x));
  double* device = call.put(x);
  for (int slot = 0; slot < ring_slots; ++slot) {
    Call::done(call.lane().fetch(slot, device, elements, elements, 1, sizeof(double)));
    Call::done(call.lane().arrived(slot));
    EXPECT_EQ(std::memcmp(call.lane().ring(slot), x.data(), static_cast<std::size_t>(elements) * sizeof(double)), 0)
        << slot;
  }
}

TEST(Ring, SlotsKeepWhatWasFetchedWhileTheDeviceGoesOn) {
  // fetch, overwrite on the device, fetch into the other slot: each slot holds its own moment, whichever is asked
  // first.
  const index n = 200;
  Matrix<double> first(n, n), second(n, n);
  first.random(8);
  second.random(9);
  for (const bool ascending : {true, false}) {
    Call call(room(first));
    double* device = call.put(first);
    Call::done(call.lane().fetch(0, device, n, n, n, sizeof(double)));
    Call::done(call.lane().upload(device, n, second.data(), n, n, n, sizeof(double)));
    Call::done(call.lane().fetch(1, device, n, n, n, sizeof(double)));
    for (const int slot : {ascending ? 0 : 1, ascending ? 1 : 0}) Call::done(call.lane().arrived(slot));
    const auto bytes = static_cast<std::size_t>(n * n) * sizeof(double);
    EXPECT_EQ(std::memcmp(call.lane().ring(0), first.data(), bytes), 0);
    EXPECT_EQ(std::memcmp(call.lane().ring(1), second.data(), bytes), 0);
  }
}

TEST(Lane, RunsOperationsInOrder) {
  // x := x * I doubled ten times by ten products, operands replaced in between: 2^10 x exactly.
  const index n = 150;
  Matrix<double> x(n, n), identity(n, n);
  identity.fill(0);
  for (index i = 0; i < n; ++i) identity(i, i) = 1;
  const Matrix<double> original = x.random(10);
  Call call(3 * room(x));
  double *a = call.put(x), *i = call.put(identity), *c = call.put(x);
  const double two = 2, zero = 0;
  for (int step = 0; step < 10; ++step) {
    Call::done(call.lane().gemm({.precision = Precision::d,
                                 .transa = Op::none,
                                 .transb = Op::none,
                                 .m = n,
                                 .n = n,
                                 .k = n,
                                 .alpha = &two,
                                 .A = a,
                                 .lda = n,
                                 .B = i,
                                 .ldb = n,
                                 .beta = &zero,
                                 .C = c,
                                 .ldc = n}));
    call.get(x, c);
    Call::done(call.lane().upload(a, n, x.data(), n, n, n, sizeof(double)));
    Call::done(call.lane().upload(c, n, identity.data(), n, n, n, sizeof(double)));
  }
  for (index col = 0; col < n; ++col)
    for (index row = 0; row < n; ++row) ASSERT_EQ(x(row, col), 1024 * original(row, col));
}

// ---- products

template <class T>
class Products : public testing::Test {
 public:
  const T zero = scalar<T>(0, 0), one = scalar<T>(1, 0), some_alpha = scalar<T>(-0.5, 0.25),
          some_beta = scalar<T>(0.7, -0.3);
};
TYPED_TEST_SUITE(Products, Types, TypeNames);

TYPED_TEST(Products, EveryTransposeScalarAndSize) {
  using T = TypeParam;
  constexpr index shapes[][3] = {{0, 4, 3}, {4, 0, 3}, {0, 0, 0},    {5, 4, 0},    {1, 1, 1},   {1, 7, 2},
                                 {9, 1, 4}, {2, 3, 5}, {17, 13, 11}, {65, 33, 64}, {64, 65, 3}, {33, 2, 129}};
  for (const Op ta : ops)
    for (const Op tb : ops)
      for (const T& alpha : {this->zero, this->one, this->some_alpha})
        for (const T& beta : {this->zero, this->one, this->some_beta})
          for (const auto& [m, n, k] : shapes) {
            Problem<T> p(ta, tb, m, n, k, alpha, beta);
            if (alpha == T(0)) {  // not read
              p.A.fill(scalar<T>(nan, nan));
              p.B.fill(scalar<T>(inf, -inf));
            }
            if (beta == T(0)) p.C.fill(scalar<T>(nan, nan));  // not read
            p.expect_right();
            if (testing::Test::HasFailure()) return;
          }
}

TYPED_TEST(Products, LargerThanTiles) {
  for (const Op ta : ops)
    for (const Op tb : ops) {
      Problem<TypeParam> p(ta, tb, 301, 67, 305, this->some_alpha, this->some_beta, 19);
      p.expect_right();
    }
}

TYPED_TEST(Products, WithoutProductCIsScaledAloneAndExactly) {
  // alpha = 0 or k = 0: beta = 1 leaves every bit, infinities and NaN payloads too; beta = 0 clears them.
  using T = TypeParam;
  for (const bool no_k : {false, true})
    for (const T& beta : {this->one, this->zero}) {
      Problem<T> p(Op::none, Op::none, 70, 41, no_k ? 0 : 6, no_k ? this->some_alpha : this->zero, beta);
      p.A.fill(scalar<T>(nan, inf));
      p.B.fill(scalar<T>(inf, nan));
      p.C(3, 3) = scalar<T>(inf, 0);
      p.C(69, 40) = scalar<T>(1, -inf);
      p.C(0, 7) = scalar<T>(nan, 1);
      const Matrix<T> result = p.run();
      if (beta == T(1)) {
        EXPECT_TRUE(result == p.C) << describe(p.args());
      } else {
        for (index j = 0; j < p.n; ++j)
          for (index i = 0; i < p.m; ++i) ASSERT_EQ(result(i, j), T(0)) << i << "," << j;
        EXPECT_TRUE(result.canaries_intact());
      }
    }
}

TYPED_TEST(Products, PoisonStaysWhereTheClassicalProductPutsIt) {
  using T = TypeParam;
  const T poisons[] = {scalar<T>(nan, 0), scalar<T>(inf, 0), scalar<T>(-inf, inf), scalar<T>(0.5, nan)};
  enum Where { in_a, in_b, in_c };
  for (const Op ta : ops)
    for (const Op tb : ops)
      for (const auto& [m, n, k] : {std::array<index, 3>{19, 23, 31}, std::array<index, 3>{130, 66, 70}}) {
        Problem<T> p(ta, tb, m, n, k, this->some_alpha, this->some_beta);
        const auto clean = product(p.args());
        for (const T& poison : poisons) {
          if (finite(poison)) continue;  // its NaN was in the imaginary part that this type lacks
          for (const Where where : {in_a, in_b, in_c}) {
            const index row = m * 2 / 3, col = n - 1, at = k / 2;
            T& element = where == in_a ? p.op_a(row, at) : where == in_b ? p.op_b(at, col) : p.C(row, col);
            const T before = std::exchange(element, poison);
            const Matrix<T> result = p.run();
            element = before;
            for (index j = 0; j < n; ++j)
              for (index i = 0; i < m; ++i) {
                const bool poisoned = (where == in_b || i == row) && (where == in_a || j == col);
                const T& x = result(i, j);
                if (poisoned)
                  ASSERT_FALSE(finite(x)) << "poison lost at " << i << "," << j << " " << describe(p.args());
                else
                  ASSERT_LE(clean[static_cast<std::size_t>(i + j * m)].excess(x), 1.0)
                      << "poison spread to " << i << "," << j << " " << describe(p.args());
              }
            ASSERT_TRUE(result.canaries_intact());
          }
        }
      }
}

TYPED_TEST(Products, RepeatBitForBit) {
  // Promise 5, on one lane and on lanes given back and acquired again.
  Problem<TypeParam> p(Op::none, Op::transpose, 257, 129, 200, this->some_alpha, this->some_beta);
  const auto first = p.run();
  for (int time = 1; time < 10; ++time) ASSERT_TRUE(p.run() == first) << "differs the " << time + 1 << "th time";
  Call call(10 * p.bytes());
  for (int time = 0; time < 10; ++time)
    ASSERT_TRUE(p.run(call) == first) << "differs the " << time + 1 << "th time in one call";
}

// ---- memory and many lanes

TEST(Memory, LeasesAreAlignedAndWholeAndMayBeLarge) {
  const std::size_t bytes = backend->facts().memory / 4 * 3;
  Call call(bytes);
  auto* start = call.part<unsigned char>(0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(start) % 256, 0u);
  // Its last bytes are there.
  Matrix<double> x(16, 4), back(16, 4);
  x.random(3);
  auto* last = reinterpret_cast<double*>(start + bytes / 256 * 256 - 16 * 4 * sizeof(double));
  Call::done(call.lane().upload(last, 16, x.data(), 16, 16, 4, sizeof(double)));
  call.fetch(back.data(), 16, last, 16, 16, 4);
  EXPECT_TRUE(back == x);
}

TEST(Memory, TooLargeALeaseFailsAndTheDeviceStaysUsable) {
  for (const std::size_t bytes : {backend->facts().memory + 1, SIZE_MAX / 2}) {
    {
      Call call;
      void* memory = nullptr;
      EXPECT_EQ(call.lane().lease(bytes, memory), Status::no_memory) << bytes << " of " << backend->facts().memory;
      // The same lane, with less.
      ASSERT_EQ(call.lane().lease(4096, memory), Status::done);
    }
    Problem<double>(Op::none, Op::none, 20, 30, 40, 1, 0).expect_right();
  }
}

TEST(Memory, ComesBackWithTheLane) {
  // More in all than there is; whatever leaked would show as no_memory or as waiting for ever.
  for (int time = 0; time < 20; ++time) Call call(backend->facts().memory / 4 * 3);
}

/// Runs `work(thread)` on 8 threads that begin together, and reports what they throw.
void on_threads(const std::function<void(int)>& work) {
  std::atomic<int> ready{0};
  std::vector<std::string> problems(8);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      ready.fetch_add(1);
      while (ready.load() < 8) std::this_thread::yield();
      try {
        work(t);
      } catch (const std::exception& e) {
        problems[static_cast<std::size_t>(t)] = e.what();
      }
    });
  for (auto& t : threads) t.join();
  for (const auto& problem : problems) EXPECT_EQ(problem, "");
}

TEST(Memory, LeasesThatDoNotFitTogetherWaitForEachOther) {
  const std::size_t bytes = backend->facts().memory / 5 * 3;
  std::atomic<std::size_t> leased{0}, most{0};
  on_threads([&](int) {
    for (int time = 0; time < 3; ++time) {
      Call call(bytes);
      const std::size_t now = leased.fetch_add(bytes) + bytes;
      std::size_t seen = most.load();
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      leased.fetch_sub(bytes);
    }
  });
  EXPECT_LE(most.load(), backend->facts().memory) << "leased at one time";
}

TEST(Lanes, EightThreadsAtOnce) {
  using T = std::complex<float>;
  const auto problem = [](int t) {
    Problem<T> p(ops[t % 3], ops[t / 3], 60 + 7 * t, 90 - 5 * t, 40 + t, {1, -0.5f}, {0.25f, 1});
    p.A.random(static_cast<unsigned>(t) + 100);
    return p;
  };
  std::vector<Matrix<T>> alone;
  for (int t = 0; t < 8; ++t) {
    problem(t).expect_right();
    alone.push_back(problem(t).run());
  }
  std::atomic<int> wrong{0};
  on_threads([&](int t) {
    Problem<T> mine = problem(t);
    for (int time = 0; time < 10; ++time)
      if (!(mine.run() == alone[static_cast<std::size_t>(t)])) ++wrong;  // the same bits as alone
  });
  EXPECT_EQ(wrong.load(), 0);
}

std::string beside_this_program() {
  char path[4096];
  const auto length = readlink("/proc/self/exe", path, sizeof path);
  const std::string self(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  return self.substr(0, self.rfind('/')) + "/../lib";
}

}  // namespace

int run_conformance(int argc, char** argv) {
  modules = beside_this_program();
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--backend" && i + 1 < argc) {
      backend_name = argv[++i];
    } else if (option == "--modules" && i + 1 < argc) {
      modules = argv[++i];
    } else {
      std::fprintf(stderr, "usage: %s --backend host|cuda [--modules DIR] [GoogleTest's options]\n", argv[0]);
      return 2;
    }
  }
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  std::string why;
  backend =
      open_module(modules, backend_name.c_str(), {.memory_limit = memory_limit, .local_rank = 0, .local_size = 1}, why);
  if (!backend) {
    std::fprintf(stderr, "the %s module cannot be opened: %s\n", backend_name.c_str(), why.c_str());
    return backend_name == "cuda" ? exit_skipped : 1;
  }
  std::printf("backend %s: %s, %s\n", backend_name.c_str(), backend->facts().name, backend->facts().driver);
  return RUN_ALL_TESTS();
}

}  // namespace blaslift

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return blaslift::run_conformance(argc, argv);
}
