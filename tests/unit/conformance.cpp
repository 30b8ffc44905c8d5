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
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "impl/product/execute.hpp"
#include "impl/qr/qr_execute.hpp"
#include "impl/route/device.hpp"
#include "kernels/copy.hpp"
#include "kernels/host/symv.hpp"
#include "tests/unit/qr/qr_reference.hpp"
#include "tests/unit/support/reference.hpp"
#include "tests/unit/symv/symv_reference.hpp"

namespace blaslift {
namespace {

using namespace reference;

const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

constexpr std::size_t memory_limit = std::size_t{64} << 20;
constexpr int exit_skipped = 77;

Backend* backend;
std::string backend_name = "host", modules;

/// A triangle, column by column.
template <class T>
void naive_triangle(const Gemm& g) {
  for (index j = 0; j < g.n; ++j) {
    const Rows rows = rows_in(g.part, -j, g.n);
    Gemm column = g;
    column.part = Part::whole;
    column.m = rows.count;
    column.n = 1;
    column.A = static_cast<const T*>(g.A) + rows.first * (g.transa == Op::none ? 1 : g.lda);
    column.B = static_cast<const T*>(g.A) + j * (g.transb == Op::none ? g.lda : 1);
    column.ldb = g.lda;
    T* C = static_cast<T*>(g.C) + j * g.ldc;
    column.C = C + rows.first;
    if (g.hermitian()) C[j] = std::real(C[j]);
    naive(column);
    if (g.hermitian()) C[j] = std::real(C[j]);
  }
}

const UnderlyingGemm underlying{[](const void*, const Gemm& g) {
                                  if (g.part == Part::whole) return naive(g);
                                  switch (g.precision) {
                                    case Precision::s: return naive_triangle<float>(g);
                                    case Precision::d: return naive_triangle<double>(g);
                                    case Precision::c: return naive_triangle<std::complex<float>>(g);
                                    case Precision::z: return naive_triangle<std::complex<double>>(g);
                                  }
                                },
                                nullptr};

using Tickets = std::vector<Ticket>;
constexpr Ticket nothing = -1;  ///< among what an operation comes after: nothing to wait for

/// Where a matrix lies on the device, and the upload that brings it there.
template <class T>
struct Placed {
  T* at;
  Ticket ready;
};

/// What a call moves, as it is told the backend: so much that threads do it, or so little that its own thread does.
constexpr std::size_t much = std::size_t{2} << 20, little = 1000;

std::size_t piece_bytes() { return backend->facts().piece_bytes; }

/// Device memory of the test's own.
class Lease {
 public:
  explicit Lease(std::size_t bytes) {
    if (const Status status = bytes ? backend->allocate(bytes, memory_) : Status::done; status != Status::done)
      throw std::runtime_error("no memory, status " + std::to_string(static_cast<int>(status)));
  }
  ~Lease() {
    if (memory_) backend->free(memory_);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  char* memory() const { return static_cast<char*>(memory_); }

 private:
  void* memory_ = nullptr;
};

/// One call's lane, and a lease dealt out in parts.  Host memory given to it stays until drain() or a failure, which
/// drains, too.
class Call {
 public:
  explicit Call(std::size_t bytes = 0, std::size_t moves = much) : lease_(bytes), next_(lease_.memory()) {
    Status status = Status::lost;
    lane_ = backend->acquire(underlying, moves, status);
    if (!lane_) throw std::runtime_error("no lane, status " + std::to_string(static_cast<int>(status)));
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

  /// Asks for a copy to the device; an empty one needs no asking.
  template <class T>
  Ticket upload(T* to, index ldd, const T* from, index ldh, index rows, index cols, const Tickets& after = {},
                bool direct = false) {
    if (rows < 1 || cols < 1) return nothing;
    const Tickets earlier = only_real(after);
    return asked(lane_->upload({to, ldd, const_cast<T*>(from), ldh, rows, cols, sizeof(T), direct}, as_after(earlier)));
  }

  Ticket gemm(const Gemm& product, const Tickets& after) {
    const Tickets earlier = only_real(after);
    return asked(lane_->gemm(product, as_after(earlier)));
  }

  Ticket survey(const Survey& survey, const Tickets& after) {
    const Tickets earlier = only_real(after);
    return asked(lane_->survey(survey, as_after(earlier)));
  }

  Ticket symv(const Symv& product, const Tickets& after) {
    const Tickets earlier = only_real(after);
    return asked(lane_->symv(product, as_after(earlier)));
  }

  Ticket panel(const QrPanel& panel, const Tickets& after) {
    const Tickets earlier = only_real(after);
    return asked(lane_->panel(panel, as_after(earlier)));
  }

  Ticket combine(const Combination& combination, const Tickets& after) {
    const Tickets earlier = only_real(after);
    return asked(lane_->combine(combination, as_after(earlier)));
  }

  /// Asks for a copy to the host, piece by piece: whole columns where a piece holds one, else parts of a column.
  template <class T>
  Tickets download(T* to, index ldh, const T* from, index ldd, index rows, index cols, const Tickets& after = {},
                   bool direct = false, T* keep = nullptr, index ldk = 0) {
    const Tickets earlier = only_real(after);
    const auto most = static_cast<index>(piece_bytes() / sizeof(T));
    const index r = std::min(rows, most), c = std::max<index>(1, most / std::max<index>(1, rows));
    Tickets pieces;
    for (index j = 0; j < cols; j += c)
      for (index i = 0; i < rows; i += r) {
        Transfer piece{const_cast<T*>(from) + i + j * ldd,
                       ldd,
                       to + i + j * ldh,
                       ldh,
                       std::min(r, rows - i),
                       std::min(c, cols - j),
                       sizeof(T),
                       direct};
        if (keep) {
          piece.keep = keep + i + j * ldk;
          piece.ldk = ldk;
        }
        pieces.push_back(asked(lane_->download(piece, as_after(earlier), landed_.emplace_back(false))));
      }
    return pieces;
  }

  /// Until every download asked for so far has landed; the rest may go on.
  void await() {
    for (const auto& landed : landed_) {
      done(lane_->await(landed));
      if (!landed.load()) throw std::runtime_error("a download that was awaited has not landed");
    }
  }

  /// Until everything asked for has ended and, if it was a download, has landed.  Tickets begin again at 0.
  void drain() {
    done(lane_->drain());
    next_ticket_ = 0;
    const auto missing = std::count_if(landed_.begin(), landed_.end(), [](const auto& x) { return !x.load(); });
    landed_.clear();
    if (missing > 0) throw std::runtime_error(std::to_string(missing) + " downloads have not landed");
  }

  /// Puts a matrix on the device, the rows between its last and ld included, `offset` elements from where addresses
  /// are multiples of 256.
  template <class T>
  Placed<T> put(const Matrix<T>& x, index offset = 0) {
    T* to = part<T>(x.ld() * x.cols() + offset) + offset;
    return {to, upload(to, x.ld(), x.data(), x.ld(), x.ld(), x.cols())};
  }

  /// Brings such a matrix back into `x`, and drains.
  template <class T>
  void get(Matrix<T>& x, const T* from, const Tickets& after) {
    fetch(x.data(), x.ld(), from, x.ld(), x.ld(), x.cols(), after);
  }

  template <class T>
  void fetch(T* to, index ldh, const T* from, index ldd, index rows, index cols, const Tickets& after) {
    download(to, ldh, from, ldd, rows, cols, after);
    drain();
  }

 private:
  void done(Status status) {
    if (status == Status::done) return;
    (void)lane_->drain();
    throw std::runtime_error("operation failed, status " + std::to_string(static_cast<int>(status)));
  }
  Ticket asked(Status status) {
    done(status);
    return next_ticket_++;
  }
  static Tickets only_real(Tickets after) {
    std::erase(after, nothing);
    return after;
  }
  static After as_after(const Tickets& tickets) { return {tickets.data(), static_cast<int>(tickets.size())}; }

  const Lease lease_;  ///< outlives the lane
  char* next_;
  Lane* lane_;
  Ticket next_ticket_ = 0;
  std::deque<std::atomic<bool>> landed_;  ///< by download since the last drain
};

template <class T>
std::size_t room(const Matrix<T>& x, index offset = 0) {
  return Call::part_size<T>(x.ld() * x.cols() + offset);
}

/// A scalar where the element type's own alignment allows it, and no better.
template <class T>
struct alignas(16) Scalar {
  char gap[alignof(T)];
  T value;
};

/// One product on the device: operands up with their gaps, result back with its gaps.
template <class T>
struct Problem {
  Op transa, transb;
  index m, n, k;
  T alpha, beta;
  Matrix<T> A, B, C;
  std::optional<Matrix<T>> E{};
  index offset = 0;  ///< of A on the device; twice that for B, and so on

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
  /// C holds nothing that the product may read; E, with rows of its own between its last and ld, does instead.
  void add_e(unsigned seed = 4) {
    E.emplace(m, n, C.ld() - m + 1).random(seed);
    C.fill(scalar<T>(nan, nan));
  }
  /// The same product by the classical definition.
  GemmArgs<T> expected_args() {
    GemmArgs<T> classical = args();
    if (E) classical.C = E->data(), classical.ldc = E->ld();
    return classical;
  }
  T& op_a(index row, index col) { return transa == Op::none ? A(row, col) : A(col, row); }
  T& op_b(index row, index col) { return transb == Op::none ? B(row, col) : B(col, row); }
  std::size_t bytes() const {
    return room(A, offset) + room(B, 2 * offset) + room(C, 3 * offset) + (E ? room(*E, 4 * offset) : 0) + 256;
  }

  Matrix<T> run(Call& call) {
    Gemm g = as_gemm(args());
    const Scalar<T> for_alpha{{}, alpha}, for_beta{{}, beta};
    g.alpha = &for_alpha.value;
    g.beta = &for_beta.value;
    const Placed<T> a = call.put(A, offset), b = call.put(B, 2 * offset), c = call.put(C, 3 * offset);
    const Placed<T> e = E ? call.put(*E, 4 * offset) : Placed<T>{nullptr, nothing};
    g.A = a.at;
    g.B = b.at;
    g.C = c.at;
    if (E) g.E = e.at, g.lde = E->ld();
    const Ticket product = call.gemm(g, {a.ready, b.ready, c.ready, e.ready});
    Matrix<T> result = C;
    call.get(result, c.at, {product});
    if (E) {
      Matrix<T> e_after = *E;
      call.get(e_after, e.at, {});
      EXPECT_TRUE(e_after == *E) << "E written: " << describe(args());
    }
    return result;
  }
  Matrix<T> run(std::size_t moves = much) {
    Call call(bytes(), moves);
    return run(call);
  }

  /// Runs and compares; bound as in reference.hpp, gaps bit for bit.
  void expect_right(std::size_t moves = much) {
    const auto expected = product(expected_args());
    const Matrix<T> result = run(moves);
    EXPECT_LE(worst_excess(expected, result), 1.0) << describe(args());
    EXPECT_TRUE(result.canaries_intact()) << "rows between m and ldc written: " << describe(args());
  }
};

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
  EXPECT_GE(facts.piece_bytes, sizeof(std::complex<double>));
}

// ---- copies

using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
struct TypeNames {
  template <class T>
  static std::string GetName(int) {
    return std::string(1, letter(symv_precision_of<T>));
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

  void make_read_only() {
    if (mprotect(start_, size_ - static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), PROT_READ))
      throw std::runtime_error("memory cannot be made read-only");
  }

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
    // The source's last column ends at unreadable memory, and nothing of it can be written: reading its gap, or using
    // it as room to work in, would end the test.
    Guarded<T> source((c.cols - 1) * lds + c.rows), back((c.cols - 1) * lds + c.rows);
    Matrix<T> expected(c.rows, c.cols, c.ldd_gap);
    expected.random(11);
    for (index j = 0; j < c.cols; ++j)
      for (index i = 0; i < c.rows; ++i) source.data()[i + j * lds] = expected(i, j);
    source.make_read_only();

    Matrix<T> there(c.rows, c.cols, c.ldd_gap);  // nothing but canaries
    Call call(room(expected));
    const Placed<T> device = call.put(there);
    call.upload(device.at, expected.ld(), source.data(), lds, c.rows, c.cols, {device.ready});
    call.drain();  // before `there`, the source of the first upload, is written
    call.get(there, device.at, {});
    EXPECT_TRUE(there == expected) << "uploaded block, or the device's gaps, differ";

    // Back the other way: the block alone, out of its leading dimension and into the program's, up to the last byte.
    call.fetch(back.data(), lds, device.at, expected.ld(), c.rows, c.cols, {});
    Guarded<T> untouched((c.cols - 1) * lds + c.rows);
    for (index j = 0; j < c.cols; ++j)
      for (index i = 0; i < lds && (i < c.rows || j + 1 < c.cols); ++i)
        ASSERT_TRUE(same_bits(back.data()[i + j * lds], i < c.rows ? expected(i, j) : untouched.data()[i + j * lds]))
            << i << "," << j;
  }
}

TYPED_TEST(Copies, OfATriangleTouchNothingElseOnTheHost) {
  using T = TypeParam;
  const struct {
    index rows, cols, below;
  } cases[] = {{1, 1, 0},    {9, 9, 0}, {40, 7, 0}, {7, 40, -33}, {30, 30, 5},
               {30, 30, -7}, {5, 5, 9}, {5, 5, -9}, {200, 130, 0}};
  for (const auto& c : cases)
    for (const Part part : {Part::upper, Part::lower})
      for (const std::size_t moves : {much, little}) {
        SCOPED_TRACE(testing::Message() << c.rows << " x " << c.cols << " below " << c.below << " of part "
                                        << static_cast<int>(part) << ", " << moves << " bytes");
        const auto counts = [&](index i, index j) {
          const Rows rows = rows_in(part, c.below - j, c.rows);
          return (part == Part::upper ? i + c.below <= j : i + c.below >= j) && i >= rows.first &&
                 i < rows.first + rows.count;
        };
        Matrix<T> from(c.rows, c.cols, 3), back(c.rows, c.cols, 5);
        from.random(5);
        const Matrix<T> before = back;
        Call call(room(from), moves);
        T* device = call.part<T>(from.ld() * c.cols);
        const index most = static_cast<index>(piece_bytes() / sizeof(T)), width = std::max<index>(1, most / c.rows);
        const Transfer up{device, from.ld(), from.data(), from.ld(), c.rows, c.cols, sizeof(T), false, part, c.below};
        ASSERT_EQ(call.lane().upload(up, {nullptr, 0}), Status::done);
        const Ticket first = 0;
        std::deque<std::atomic<bool>> landed;
        for (index j = 0; j < c.cols; j += width) {
          const Transfer down{device + j * from.ld(),
                              from.ld(),
                              back.data() + j * back.ld(),
                              back.ld(),
                              c.rows,
                              std::min(width, c.cols - j),
                              sizeof(T),
                              false,
                              part,
                              c.below - j};
          ASSERT_EQ(call.lane().download(down, {&first, 1}, landed.emplace_back(false)), Status::done);
        }
        call.drain();
        for (const auto& x : landed) EXPECT_TRUE(x.load());
        for (index j = 0; j < c.cols; ++j)
          for (index i = 0; i < c.rows; ++i)
            ASSERT_TRUE(same_bits(back(i, j), counts(i, j) ? from(i, j) : before(i, j))) << i << "," << j;
        EXPECT_TRUE(back.canaries_intact());
      }
}

TEST(Copy, SourceMayChangeAfterDrain) {
  // Several times what a lane can stage at once, in columns of a quarter piece.
  const auto rows = static_cast<index>(piece_bytes() / sizeof(double) / 4);
  Matrix<double> x(rows, 13);
  const Matrix<double> original = x.random(5);
  Call call(room(x));
  const double* device = call.put(x).at;
  call.drain();
  x.fill(-7);
  call.get(x, device, {});
  EXPECT_TRUE(x == original);
}

TEST(Copy, TimesSayWhenBytesMoved) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
  };
  const auto rows = static_cast<index>(piece_bytes() / sizeof(double) / 4);
  for (const auto& [moves, cols] : {std::pair{much, index{13}}, std::pair{little, index{1}}}) {
    Matrix<double> x(rows, cols);
    x.random(5);
    Call call(room(x), moves);
    call.drain();
    TransferTimes times = call.lane().transfer_times();
    EXPECT_EQ(times.in_begin | times.in_end | times.out_begin | times.out_end, 0u) << "nothing has moved";
    const std::uint64_t before = now();
    const double* device = call.put(x).at;
    call.drain();
    const std::uint64_t between = now();
    times = call.lane().transfer_times();
    EXPECT_TRUE(before <= times.in_begin && times.in_begin <= times.in_end && times.in_end <= between);
    EXPECT_EQ(times.out_begin | times.out_end, 0u);
    call.get(x, device, {});
    times = call.lane().transfer_times();
    EXPECT_EQ(times.in_begin | times.in_end, 0u) << "told once";
    EXPECT_TRUE(between <= times.out_begin && times.out_begin <= times.out_end && times.out_end <= now());
  }
}

TEST(Copy, ADownloadKeepsWhatItOverwrites) {
  for (const index rows : {index{50}, static_cast<index>(piece_bytes() / sizeof(double) / 3)}) {
    Matrix<double> source(rows, 9, 2), back(rows, 9, 7), kept(rows, 9, 4);
    source.random(3);
    back.random(4);
    const Matrix<double> before = back;
    Call call(room(source));
    const auto device = call.put(source);
    call.download(back.data(), back.ld(), device.at, source.ld(), rows, 9, {device.ready}, false, kept.data(),
                  kept.ld());
    call.drain();
    EXPECT_TRUE(back.canaries_intact() && kept.canaries_intact());
    for (index j = 0; j < 9; ++j) {
      const std::size_t column = static_cast<std::size_t>(rows) * sizeof(double);
      ASSERT_EQ(std::memcmp(&back(0, j), &source(0, j), column), 0) << "column " << j;
      ASSERT_EQ(std::memcmp(&kept(0, j), &before(0, j), column), 0) << "column " << j;
    }
  }
}

TEST(Copy, ColumnsLongerThanAPiece) {
  const auto rows = static_cast<index>(piece_bytes() / sizeof(double) * 3 / 2 + 1);
  const Matrix<double> blank(rows, 3, 3);
  Matrix<double> source(rows, 3, 5), there = blank, back(rows, 3, 7);
  source.random(6);
  Call call(room(blank));
  const auto device = call.put(blank);
  const Ticket uploaded = call.upload(device.at, there.ld(), source.data(), source.ld(), rows, 3, {device.ready});
  call.download(back.data(), back.ld(), device.at, there.ld(), rows, 3, {uploaded});
  call.get(there, device.at, {uploaded});
  EXPECT_TRUE(there.canaries_intact());
  EXPECT_TRUE(back.canaries_intact());
  for (index j = 0; j < 3; ++j)
    for (const Matrix<double>* x : {&there, &back})
      ASSERT_EQ(std::memcmp(&(*x)(0, j), &source(0, j), static_cast<std::size_t>(rows) * sizeof(double)), 0)
          << "column " << j;
}

TEST(Copy, APieceHoldsWhatItPromises) {
  const auto elements = static_cast<index>(piece_bytes() / sizeof(std::complex<double>));
  ASSERT_GE(elements, 1);
  for (const index cols : {index{1}, elements}) {
    Matrix<std::complex<double>> x(elements / cols, cols), back(elements / cols, cols);
    x.random(7);
    Call call(room(x));
    const auto device = call.put(x);
    ASSERT_EQ(call.download(back.data(), back.ld(), device.at, x.ld(), x.rows(), cols, {device.ready}).size(), 1u);
    call.drain();
    EXPECT_TRUE(back == x);
  }
}

TEST(Copy, OneColumnMayHaveAnyLeadingDimension) {
  constexpr index huge = index{1} << 40;
  for (const index rows : {index{1}, index{1000}, static_cast<index>(piece_bytes() / sizeof(double) + 1)}) {
    Guarded<double> source(rows), back(rows);
    Matrix<double> x(rows, 1);
    x.random(12);
    std::memcpy(source.data(), x.data(), static_cast<std::size_t>(rows) * sizeof(double));
    Call call(room(x));
    auto* device = call.part<double>(rows);
    const Ticket uploaded = call.upload(device, huge, source.data(), huge, rows, 1);
    call.fetch(back.data(), huge, device, huge, rows, 1, {uploaded});
    EXPECT_EQ(std::memcmp(back.data(), x.data(), static_cast<std::size_t>(rows) * sizeof(double)), 0) << rows;
  }
}

TEST(Copy, DownloadsLandAndLeaveTheGaps) {
  // Many at once, of many widths, into one matrix side by side.
  const index rows = 333, widths[] = {1, 2, 50, 3, 200, 7, 1, 90, 11};
  index cols = 0;
  for (const index width : widths) cols += width;
  Matrix<float> x(rows, cols, 5);
  x.random(13);
  for (int time = 0; time < 10; ++time) {
    Matrix<float> back(rows, cols, 9);
    Call call(room(x));
    const auto device = call.put(x);
    index col = 0;
    for (const index width : widths) {
      call.download(&back(0, col), back.ld(), device.at + col * x.ld(), x.ld(), rows, width, {device.ready});
      col += width;
    }
    call.drain();
    EXPECT_TRUE(back.canaries_intact());
    for (index j = 0; j < cols; ++j)
      ASSERT_EQ(std::memcmp(&back(0, j), &x(0, j), static_cast<std::size_t>(rows) * sizeof(float)), 0) << j;
  }
}

// ---- what comes after what

constexpr double zero = 0, one = 1, two = 2;

/// C := alpha * A * B + beta * C
Gemm plain(index m, index n, index k, const double* alpha, const double* a, const double* b, const double* beta,
           double* c) {
  return {Precision::d, Op::none, Op::none, m, n, k, alpha, a, m, b, k, beta, c, m};
}

Matrix<double> identity(index n) {
  Matrix<double> x(n, n);
  x.fill(0);
  for (index i = 0; i < n; ++i) x(i, i) = 1;
  return x;
}

/// Products that keep the device longer than the upload of an operand takes, so that a missing wait shows; the host
/// backend's, by a triple loop, may be small.
struct Load {
  bool host = std::string_view(backend->facts().profile) == "host";
  index n = host ? 192 : 1024;
  int products = host ? 1 : 60;

  /// d := i * i, over and over.
  Ticket put_on(Call& call, const double* i, double* d, Tickets after) const {
    for (int time = 0; time < products; ++time) after = {call.gemm(plain(n, n, n, &one, i, i, &zero, d), after)};
    return after.front();
  }
};

// ---- where memory is, and transfers without staging

TEST(Place, OrdinaryMemoryIsPageable) {
  std::vector<double> heap(std::size_t{1} << 20);
  double stack[16];
  static double global[16];
  Guarded<double> mapped(100000), constant(1000);
  constant.make_read_only();
  for (const bool everywhere : {false, true}) {
    EXPECT_EQ(backend->place(heap.data(), heap.size() * sizeof(double), everywhere), Place::pageable);
    EXPECT_EQ(backend->place(heap.data() + 77, 1, everywhere), Place::pageable);
    EXPECT_EQ(backend->place(stack, sizeof stack, everywhere), Place::pageable);
    EXPECT_EQ(backend->place(global, sizeof global, everywhere), Place::pageable);
    EXPECT_EQ(backend->place(mapped.data(), 100000 * sizeof(double), everywhere), Place::pageable);
    EXPECT_EQ(backend->place(constant.data(), 1000 * sizeof(double), everywhere), Place::pageable);
    // Nothing is touched to find out: behind `mapped`, nothing is readable.
    EXPECT_EQ(backend->place(mapped.data() + 100000, 100, everywhere), Place::pageable);
  }
}

/// Memory that the program may have got from the device's own libraries, to be looked up in those that the module
/// brought along.
struct Reachable {
  const char* library;
  const char* allocate;  ///< int (void**, size_t)
  const char* free;      ///< int (void*)
  Place place;
  unsigned flags = 0;  ///< a third argument of the first
};
constexpr Reachable reachable[] = {
    {"libcuda.so.1", "cuMemAllocHost_v2", "cuMemFreeHost", Place::reachable},
    {"libcuda.so.1", "cuMemAllocManaged", "cuMemFree_v2", Place::reachable, 1},
    {"libcuda.so.1", "cuMemAlloc_v2", "cuMemFree_v2", Place::on_a_device},
};

TEST(Direct, CopiesToAndFromWhereTheDeviceReaches) {
  const bool cuda = backend_name == "cuda";
  void* library = cuda ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) : nullptr;
  if (!library) GTEST_SKIP() << "this device reaches nothing but its own memory";
  const auto set_current = reinterpret_cast<int (*)(void*)>(dlsym(library, "cuCtxSetCurrent"));
  const auto retain = reinterpret_cast<int (*)(void**, int)>(dlsym(library, "cuDevicePrimaryCtxRetain"));
  void* context = nullptr;
  ASSERT_TRUE(set_current && retain && retain(&context, 0) == 0 && set_current(context) == 0);
  for (const Reachable& r : reachable) {
    SCOPED_TRACE(r.allocate);
    const auto allocate = reinterpret_cast<int (*)(void**, std::size_t, unsigned)>(dlsym(library, r.allocate));
    const auto release = reinterpret_cast<int (*)(void*)>(dlsym(library, r.free));
    ASSERT_TRUE(allocate && release);
    constexpr index rows = 300, cols = 170, ldh = 311;
    constexpr std::size_t bytes = ldh * cols * sizeof(double);
    void* memory[2] = {};
    for (void*& m : memory) ASSERT_EQ(allocate(&m, bytes, r.flags), 0);
    for (const bool everywhere : {false, true}) {
      EXPECT_EQ(backend->place(memory[0], bytes, everywhere), r.place);
      EXPECT_EQ(backend->place(static_cast<char*>(memory[0]) + 8, 1, everywhere), r.place);
    }
    auto *from = static_cast<double*>(memory[0]), *to = static_cast<double*>(memory[1]);
    Matrix<double> x(rows, cols, ldh - rows), back(rows, cols, ldh - rows);
    x.random(14);
    for (const std::size_t moves : {much, little}) {
      Call call(3 * room(x), moves);
      // Through the device's memory into theirs, from there directly to the device and back into the other, and out.
      const auto first = call.put(x);
      double* second = call.part<double>(ldh * cols);
      double* third = call.part<double>(ldh * cols);
      Tickets after = call.download(from, ldh, first.at, ldh, ldh, cols, {first.ready}, true);
      const Ticket up = call.upload(second, rows, from, ldh, rows, cols, after, true);
      const Tickets clear = call.download(to, ldh, first.at, ldh, ldh, cols, {first.ready}, true);
      after = clear;
      after.push_back(up);
      after = call.download(to, ldh, second, rows, rows, cols, after, true);
      const Ticket last = call.upload(third, ldh, to, ldh, ldh, cols, after, true);
      call.get(back, third, {last});
      EXPECT_TRUE(back == x);
    }
    for (void* m : memory) EXPECT_EQ(release(m), 0);
  }
  set_current(nullptr);
}

TEST(Order, DrainsMayBeEmptyAndMany) {
  Call call;
  call.drain();
  call.drain();
  Call(0).drain();
}

TEST(Order, EachDownloadHoldsItsOwnMoment) {
  const index n = 200;
  Matrix<double> first(n, n), second(n, n);
  first.random(8);
  second.random(9);
  for (int time = 0; time < 20; ++time) {
    Matrix<double> before(n, n), after(n, n);
    Call call(room(first));
    const auto device = call.put(first);
    const Tickets down = call.download(before.data(), n, device.at, n, n, n, {device.ready});
    const Ticket up = call.upload(device.at, n, second.data(), n, n, n, down);
    call.get(after, device.at, {up});
    ASSERT_TRUE(before == first) << time;
    ASSERT_TRUE(after == second) << time;
  }
}

TEST(Order, WhatIsAwaitedIsThereBeforeTheDrain) {
  const Load load;
  const index n = 200;
  Matrix<double> first(n, n), second(n, n);
  first.random(8);
  second.random(9);
  const Matrix<double> i = identity(load.n);
  for (const std::size_t moves : {little, much}) {
    Matrix<double> back(n, n);
    Call call(room(first) + 2 * room(i), moves);
    const auto device = call.put(first), factor = call.put(i);
    load.put_on(call, factor.at, call.part<double>(load.n * load.n), {factor.ready});  // under way all the time
    const Tickets down = call.download(back.data(), n, device.at, n, n, n, {device.ready});
    call.await();
    ASSERT_TRUE(back == first) << moves;
    const Ticket up = call.upload(device.at, n, second.data(), n, n, n, down);
    call.download(back.data(), n, device.at, n, n, n, {up});
    call.await();
    call.await();
    ASSERT_TRUE(back == second) << moves;
    call.drain();
    ASSERT_TRUE(back == second) << moves;
  }
}

TEST(Order, AwaitingEndsWhereALaneIsAbandoned) {
  for (const std::size_t moves : {little, much}) {
    {
      Call call(0, moves);
      const std::atomic<bool> never{false};
      call.lane().abandon();
      EXPECT_EQ(call.lane().await(never), Status::lost);
      EXPECT_EQ(call.lane().drain(), Status::lost);
    }
    Problem<double>(Op::none, Op::none, 20, 30, 40, 0.5, -2).expect_right(moves);  // the lane is as good as new
  }
}

TEST(Order, ProductsFollowEachOther) {
  // 2^10 x exactly, to and fro between two blocks.
  const index n = 150;
  Matrix<double> x(n, n);
  const Matrix<double> original = Matrix<double>(n, n).random(10), unit = identity(n);
  Call call(3 * room(x));
  const auto i = call.put(unit), from = call.put(original);
  double *a = from.at, *c = call.part<double>(n * n);
  Tickets after{i.ready, from.ready};
  for (int step = 0; step < 10; ++step, std::swap(a, c))
    after = {call.gemm(plain(n, n, n, &two, a, i.at, &zero, c), after)};
  call.get(x, a, after);
  for (index col = 0; col < n; ++col)
    for (index row = 0; row < n; ++row) ASSERT_EQ(x(row, col), 1024 * original(row, col));
}

TEST(Order, UploadsDoNotOvertakeTheProductThatReadsTheBlock) {
  // a, times the identity, is replaced over and over, while the product that reads it waits behind others.
  constexpr int rounds = 12;
  const Load load;
  const index n = load.n;
  const Matrix<double> unit = identity(n);
  Matrix<double> sources[] = {{n, n}, {n, n}};
  for (Matrix<double>& x : sources) x.random(static_cast<unsigned>(&x - sources) + 20);
  std::vector<Matrix<double>> results(rounds, Matrix<double>(n, n));
  Call call(4 * room(unit));
  const auto i = call.put(unit);
  double *a = call.part<double>(n * n), *c = call.part<double>(n * n), *d = call.part<double>(n * n);
  Ticket product = nothing, loaded = i.ready;
  Tickets down;  // what was in c before
  for (int round = 0; round < rounds; ++round) {
    const Ticket up = call.upload(a, n, sources[round % 2].data(), n, n, n, {product});
    loaded = load.put_on(call, i.at, d, {i.ready, loaded});
    Tickets after{i.ready, up, loaded};
    after.insert(after.end(), down.begin(), down.end());
    product = call.gemm(plain(n, n, n, &one, a, i.at, &zero, c), after);
    down = call.download(results[static_cast<std::size_t>(round)].data(), n, c, n, n, n, {product});
  }
  call.drain();
  for (int round = 0; round < rounds; ++round)
    EXPECT_TRUE(results[static_cast<std::size_t>(round)] == sources[round % 2]) << "round " << round;
}

TEST(Order, DownloadsGetTheFinishedProductWhileUploadsStream) {
  const Load load;
  const index n = load.n;
  const Matrix<double> unit = identity(n);
  Matrix<double> x(n, n), result(n, n), stream(n, 2 * n), streamed(n, 2 * n);
  x.random(30);
  stream.random(31);
  const Matrix<double> blank = Matrix<double>(n, n).fill(-1);
  for (int time = 0; time < 6; ++time) {
    result.fill(-1);
    streamed.fill(-1);
    Call call(4 * room(unit) + room(stream));
    const auto i = call.put(unit), a = call.put(x), c = call.put(blank);
    auto* d = call.part<double>(n * n);
    auto* s = call.part<double>(2 * n * n);
    const Ticket first = call.upload(s, n, stream.data(), n, n, n);
    const Ticket loaded = load.put_on(call, i.at, d, {i.ready});
    const Ticket product =
        call.gemm(plain(n, n, n, &one, a.at, i.at, &zero, c.at), {a.ready, i.ready, c.ready, loaded});
    const Ticket second = call.upload(s + n * n, n, stream.data() + n * n, n, n, n);
    call.download(result.data(), n, c.at, n, n, n, {product});
    call.get(streamed, s, {first, second});
    ASSERT_TRUE(result == x) << "time " << time;
    ASSERT_TRUE(streamed == stream) << "time " << time;
  }
}

/// c := (step + 1) x b - c, 200 times, with x in one of two blocks that are replaced in turn, and c brought down now
/// and then.  In small integers: exact in any order.
void chain(unsigned seed) {
  constexpr int steps = 200, sources = 7, seldom = 20;
  constexpr index m = 400, n = 3, k = 100;
  const auto integers = [&seed](Matrix<double> x) {
    x.random(++seed);
    for (index j = 0; j < x.cols(); ++j)
      for (index i = 0; i < x.rows(); ++i) x(i, j) = std::round(4 * x(i, j));
    return x;
  };
  std::vector<Matrix<double>> x, expected, results;
  for (int s = 0; s < sources; ++s) x.push_back(integers({m, k}));
  const Matrix<double> b = integers({k, n}), c = integers({m, n});
  const double minus_one = -1;
  std::vector<double> alphas(steps);
  for (int step = 0; step < steps; ++step) alphas[static_cast<std::size_t>(step)] = step + 1;

  Matrix<double> here = c;
  for (std::size_t step = 0; step < steps; ++step) {
    naive(plain(m, n, k, &alphas[step], x[step % sources].data(), b.data(), &minus_one, here.data()));
    if (step % seldom == seldom - 1) expected.push_back(here);
  }

  results.assign(expected.size(), Matrix<double>(m, n));
  Call call(room(b) + room(c) + 2 * room(x[0]));
  const auto there_b = call.put(b), there_c = call.put(c);
  double* blocks[] = {call.part<double>(m * k), call.part<double>(m * k)};
  Ticket readers[] = {nothing, nothing};
  Tickets after{there_b.ready, there_c.ready};
  for (std::size_t step = 0; step < steps; ++step) {
    double* block = blocks[step % 2];
    Ticket& reader = readers[step % 2];
    after.push_back(call.upload(block, m, x[step % sources].data(), m, m, k, {reader}));
    reader = call.gemm(plain(m, n, k, &alphas[step], block, there_b.at, &minus_one, there_c.at), after);
    after = {reader};
    if (step % seldom == seldom - 1)
      for (const Ticket down : call.download(results[step / seldom].data(), m, there_c.at, m, m, n, {reader}))
        after.push_back(down);
  }
  call.drain();
  for (std::size_t r = 0; r < results.size(); ++r)
    if (!(results[r] == expected[r])) throw std::runtime_error("wrong after " + std::to_string((r + 1) * seldom));
}

TEST(Order, AChainOfProductsAndUploads) { chain(0); }

TEST(Order, AReleasedLaneLeavesNothingBehind) {
  // No drain: release does it, and then the memory goes away at once.
  const index n = 200;
  Matrix<double> x(n, n);
  x.random(40);
  const Matrix<double> unit = identity(n);
  const auto bytes = static_cast<std::size_t>(n * n) * sizeof(double);
  for (int time = 0; time < 6; ++time) {
    Guarded<double> up(n * n), down(n * n);
    std::memcpy(up.data(), x.data(), bytes);
    {
      Call call(3 * room(x));
      const auto i = call.put(unit);
      double *a = call.part<double>(n * n), *c = call.part<double>(n * n);
      const Ticket uploaded = call.upload(a, n, up.data(), n, n, n);
      const Ticket product = call.gemm(plain(n, n, n, &one, a, i.at, &zero, c), {uploaded, i.ready});
      call.download(down.data(), n, c, n, n, n, {product});
      for (int more = 0; more < 5; ++more) call.upload(a, n, up.data(), n, n, n, {product});
    }
    ASSERT_EQ(std::memcmp(down.data(), x.data(), bytes), 0) << "time " << time;
  }
  Problem<double>(Op::none, Op::none, 20, 30, 40, 1, 0).expect_right();
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

TYPED_TEST(Products, OfLittleDataAreRightToo) {
  using T = TypeParam;
  for (const Op ta : ops)
    for (const Op tb : ops)
      for (const auto& [m, n, k] : {std::array<index, 3>{1, 1, 1}, std::array<index, 3>{17, 13, 11},
                                    std::array<index, 3>{65, 33, 64}, std::array<index, 3>{5, 4, 0}}) {
        Problem<T> p(ta, tb, m, n, k, this->some_alpha, this->some_beta);
        p.expect_right(little);
        const Matrix<T> by_threads = p.run();
        EXPECT_TRUE(p.run(little) == by_threads) << "not the same bits: " << describe(p.args());
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

// ---- triangles of products

template <class T>
class Triangles : public Products<T> {};
TYPED_TEST_SUITE(Triangles, Types, TypeNames);

TYPED_TEST(Triangles, OfEveryKindReadAndWriteNothingElse) {
  using T = TypeParam;
  constexpr index shapes[][2] = {{1, 1}, {2, 7}, {5, 0}, {17, 13}, {65, 3}, {130, 40}};
  for (const auto& [ta, tb] : {std::pair{Op::none, Op::transpose}, std::pair{Op::transpose, Op::none},
                               std::pair{Op::none, Op::conjugate}, std::pair{Op::conjugate, Op::none}})
    for (const Part part : {Part::upper, Part::lower})
      for (const auto& [alpha, beta] :
           {std::pair{-0.5, 0.0}, {-0.5, 1.0}, {-0.5, -0.7}, {0.0, 0.0}, {0.0, 1.0}, {0.0, -0.7}})
        for (const auto& [n, k] : shapes) {
          if (!complex_type<T> && (ta == Op::conjugate || tb == Op::conjugate)) continue;
          const bool hermitian = ta == Op::conjugate || tb == Op::conjugate;
          Matrix<T> A(ta == Op::none ? n : k, ta == Op::none ? k : n, 3), C(n, n, 2);
          A.random(1);
          C.random(2);
          GemmArgs<T> args{ta,
                           tb,
                           n,
                           n,
                           k,
                           scalar<T>(alpha, hermitian || alpha == 0 ? 0 : 0.25),
                           A.data(),
                           A.ld(),
                           A.data(),
                           A.ld(),
                           scalar<T>(beta, hermitian || beta == 0 ? 0 : 0.25),
                           C.data(),
                           C.ld(),
                           part};
          const auto counts = [part](index i, index j) { return part == Part::upper ? i <= j : i >= j; };
          std::vector<Element<T>> expected;
          for (index j = 0; j < n; ++j)
            for (index i = 0; i < n; ++i) {
              if (hermitian && i == j) C(i, j) = std::real(C(i, j));
              expected.push_back(element(args, i, j));
              if (!counts(i, j) || beta == 0) C(i, j) = scalar<T>(nan, nan);
              // With nothing to add to C, BLAS does not touch it.
              if (hermitian && i == j && beta != 0 && ((k > 0 && alpha != 0) || beta != 1))
                C(i, j) = scalar<T>(std::real(C(i, j)), nan);
            }
          if (alpha == 0) A.fill(scalar<T>(nan, inf));  // not read
          Call call(room(A) + room(C) + 256);
          Gemm g = as_gemm(args);
          const Placed<T> a = call.put(A), c = call.put(C);
          g.A = g.B = a.at;
          g.C = c.at;
          const Ticket product = call.gemm(g, {a.ready, c.ready});
          Matrix<T> result = C;
          call.get(result, c.at, {product});
          for (index j = 0; j < n; ++j)
            for (index i = 0; i < n; ++i) {
              const std::string where = describe(args) + ", part " + std::to_string(static_cast<int>(part)) + " at " +
                                        std::to_string(i) + "," + std::to_string(j);
              if (!counts(i, j)) {
                ASSERT_TRUE(same_bits(result(i, j), C(i, j))) << where;
              } else {
                ASSERT_LE(expected[static_cast<std::size_t>(i + j * n)].excess(result(i, j)), 1.0) << where;
              }
              if (hermitian && i == j) {
                ASSERT_EQ(std::imag(result(i, j)), 0) << where;
              }
            }
          ASSERT_TRUE(result.canaries_intact());
        }
}

// ---- products added to another matrix than the one they are written to

template <class T>
class ProductsPlusE : public Products<T> {};
TYPED_TEST_SUITE(ProductsPlusE, Types, TypeNames);

TYPED_TEST(ProductsPlusE, EveryTransposeScalarAndSize) {
  using T = TypeParam;
  constexpr index shapes[][3] = {{0, 4, 3}, {4, 0, 3},  {5, 4, 0},    {1, 1, 1},    {1, 7, 2},   {9, 1, 4},
                                 {2, 3, 5}, {8, 16, 4}, {17, 13, 11}, {65, 33, 64}, {64, 64, 3}, {33, 2, 129}};
  for (const Op ta : ops)
    for (const Op tb : ops)
      for (const T& alpha : {this->zero, this->one, this->some_alpha})
        for (const T& beta : {this->zero, this->one, this->some_beta})
          for (const auto& [m, n, k] : shapes) {
            Problem<T> p(ta, tb, m, n, k, alpha, beta);
            p.add_e();
            if (alpha == T(0)) {  // not read
              p.A.fill(scalar<T>(nan, nan));
              p.B.fill(scalar<T>(inf, -inf));
            }
            if (beta == T(0)) p.E->fill(scalar<T>(nan, inf));  // not read
            p.expect_right(little);
            if (testing::Test::HasFailure()) return;
          }
}

TYPED_TEST(ProductsPlusE, WhereverTheMatricesLie) {
  using T = TypeParam;
  for (const index offset : {index{1}, index{2}, index{3}})
    for (const index gap : {index{0}, index{1}, index{4}})
      for (const Op op : ops)
        for (const index size : {index{32}, index{47}, index{64}}) {
          Problem<T> p(op, Op::none, size, size, size, this->some_alpha, this->some_beta, gap);
          p.add_e();
          p.offset = offset;
          p.expect_right();
          if (testing::Test::HasFailure()) return;
        }
}

TYPED_TEST(ProductsPlusE, LargerThanTiles) {
  for (int op = 0; op < 3; ++op) {
    Problem<TypeParam> p(ops[op], ops[(op + 1) % 3], 301, 67, 305, this->some_alpha, this->some_beta, 19);
    p.add_e();
    p.expect_right();
  }
}

TYPED_TEST(ProductsPlusE, WithoutProductEIsCopiedExactly) {
  // alpha = 0 or k = 0: beta = 1 copies every bit, infinities and NaN payloads too.
  using T = TypeParam;
  for (const bool no_k : {false, true}) {
    Problem<T> p(Op::none, Op::none, 70, 41, no_k ? 0 : 6, no_k ? this->some_alpha : this->zero, this->one);
    p.A.fill(scalar<T>(nan, inf));
    p.B.fill(scalar<T>(inf, nan));
    p.add_e();
    (*p.E)(3, 3) = scalar<T>(inf, 0);
    (*p.E)(69, 40) = scalar<T>(1, -inf);
    (*p.E)(0, 7) = scalar<T>(nan, 1);
    (*p.E)(1, 7) = scalar<T>(-0.0, -0.0);
    std::memcpy(&(*p.E)(2, 7), p.C.data() + p.m, sizeof(T));  // a canary
    const Matrix<T> result = p.run();
    EXPECT_TRUE(result.canaries_intact());
    for (index j = 0; j < p.n; ++j)
      ASSERT_EQ(std::memcmp(&result(0, j), &(*p.E)(0, j), static_cast<std::size_t>(p.m) * sizeof(T)), 0) << j;
  }
}

TYPED_TEST(ProductsPlusE, PoisonInEStaysInItsElement) {
  using T = TypeParam;
  for (const index offset : {index{0}, index{1}}) {
    Problem<T> p(Op::transpose, Op::none, 66, 50, 70, this->some_alpha, this->some_beta);
    p.add_e();
    p.offset = offset;
    const auto clean = product(p.expected_args());
    (*p.E)(65, 7) = scalar<T>(inf, 0);
    const Matrix<T> result = p.run();
    for (index j = 0; j < p.n; ++j)
      for (index i = 0; i < p.m; ++i)
        if (i == 65 && j == 7)
          ASSERT_FALSE(finite(result(i, j)));
        else
          ASSERT_LE(clean[static_cast<std::size_t>(i + j * p.m)].excess(result(i, j)), 1.0) << i << "," << j;
  }
}

TYPED_TEST(ProductsPlusE, RepeatBitForBit) {
  // Promise 5; the second shape invites to add up parts of k.
  using T = TypeParam;
  for (const auto& [m, n, k] : {std::array<index, 3>{256, 128, 200}, std::array<index, 3>{32, 32, 3000}}) {
    Problem<T> p(Op::none, Op::transpose, m, n, k, this->some_alpha, this->some_beta, 0);
    p.add_e();
    const auto first = p.run();
    for (int time = 1; time < 10; ++time) ASSERT_TRUE(p.run() == first) << "differs the " << time + 1 << "th time";
    Call call(10 * p.bytes());
    for (int time = 0; time < 10; ++time)
      ASSERT_TRUE(p.run(call) == first) << "differs the " << time + 1 << "th time in one call";
  }
}

// ---- algorithms that are preferred to the backend's own choice

/// Gives the backend its own choice back.
struct Preferring {
  explicit Preferring(const Preference& x) { backend->prefer(&x, 1); }
  ~Preferring() { backend->prefer(nullptr, 0); }
  Preferring(const Preferring&) = delete;
  Preferring& operator=(const Preferring&) = delete;
};

template <class T>
class Algorithms : public Products<T> {
 public:
  static constexpr std::uint32_t alignment = 16;

  static std::vector<Candidate> candidates(const SquareProduct& product, int most = 16) {
    std::vector<Candidate> some(static_cast<std::size_t>(most));
    some.resize(static_cast<std::size_t>(backend->candidates(product, alignment, some.data(), most)));
    return some;
  }

  /// With columns as far apart as the alignment asks, or somewhat farther.
  Problem<T> problem(const SquareProduct& x, index m, index n, index k, bool aligned = true) const {
    Problem<T> p(x.transa, x.transb, m, n, k, this->some_alpha, x.adds_e ? this->some_beta : this->zero);
    if (!x.adds_e) p.C.fill(scalar<T>(nan, nan));  // not read
    if (x.adds_e) p.add_e();
    if (!aligned) return p;
    const auto lie_aligned = [](Matrix<T>& matrix) {
      constexpr index unit = 64;
      Matrix<T> other(matrix.rows(), matrix.cols(), (matrix.rows() + unit - 1) / unit * unit - matrix.rows());
      for (index j = 0; j < matrix.cols(); ++j)
        for (index i = 0; i < matrix.rows(); ++i) other(i, j) = matrix(i, j);
      matrix = other;
    };
    lie_aligned(p.A);
    lie_aligned(p.B);
    lie_aligned(p.C);
    if (p.E) lie_aligned(*p.E);
    return p;
  }
};
TYPED_TEST_SUITE(Algorithms, Types, TypeNames);

TYPED_TEST(Algorithms, AllCandidatesAreRightAndRepeatBitForBit) {
  using T = TypeParam;
  if (!*backend->facts().algorithms) {
    EXPECT_EQ(this->candidates({precision_of<T>, Op::none, Op::none, false, 256}).size(), 0u);
    GTEST_SKIP() << "this backend has one way to compute a product";
  }
  constexpr index n = 128;
  for (const auto& [ta, tb] : {std::pair{Op::none, Op::none}, std::pair{Op::transpose, Op::none},
                               std::pair{Op::none, Op::conjugate}, std::pair{Op::transpose, Op::transpose}})
    for (const bool adds_e : {false, true}) {
      const SquareProduct square{precision_of<T>, ta, tb, adds_e, n};
      Problem<T> right = this->problem(square, n, n, n), near = this->problem(square, n - 5, n + 7, n - 9),
                 crooked = this->problem(square, n, n, n, false);
      const auto of_right = product(right.expected_args()), of_near = product(near.expected_args()),
                 of_crooked = product(crooked.expected_args());
      const std::vector<Candidate> candidates = this->candidates(square);
      EXPECT_GT(candidates.size(), 0u) << describe(right.args());
      for (const Candidate& candidate : candidates) {
        SCOPED_TRACE(testing::Message() << candidate.name << " " << describe(right.args()) << (adds_e ? " + E" : ""));
        EXPECT_GT(strnlen(candidate.name, sizeof candidate.name), 0u);
        EXPECT_LT(strnlen(candidate.name, sizeof candidate.name), sizeof candidate.name);
        EXPECT_EQ(candidate.algorithm.alignment, this->alignment);
        const Preferring preferring({square, false, candidate.algorithm});
        const Matrix<T> first = right.run();
        EXPECT_LE(worst_excess(of_right, first), 1.0);
        EXPECT_TRUE(first.canaries_intact());
        for (int time = 0; time < 3; ++time) ASSERT_TRUE(right.run() == first) << "other bits";
        EXPECT_LE(worst_excess(of_near, near.run()), 1.0) << "another shape";
        EXPECT_LE(worst_excess(of_crooked, crooked.run()), 1.0) << "not aligned";
        if (testing::Test::HasFailure()) return;
      }
    }
}

TYPED_TEST(Algorithms, AsFewAsAreAskedFor) {
  const SquareProduct square{precision_of<TypeParam>, Op::none, Op::none, false, 256};
  const std::vector<Candidate> all = this->candidates(square), first = this->candidates(square, 1);
  if (all.empty()) GTEST_SKIP() << "this backend has one way to compute a product";
  ASSERT_EQ(first.size(), 1u);
  // Not always the same one: what cuBLAS proposes first depends on what it was asked before.
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Candidate& x) {
    return std::memcmp(first[0].algorithm.words, x.algorithm.words, sizeof x.algorithm.words) == 0;
  }));
}

TYPED_TEST(Algorithms, WhatIsNoneIsPassedOver) {
  // Words of no algorithm, one that wants more than any workspace, and one of another precision.
  using T = TypeParam;
  constexpr Precision other = precision_of<T> == Precision::s ? Precision::d : Precision::s;
  for (const bool adds_e : {false, true}) {
    const SquareProduct square{precision_of<T>, Op::none, Op::none, adds_e, 128};
    Problem<T> p = this->problem(square, 128, 128, 128);
    std::vector<Algorithm> some{{{}, 0, 1}, {{}, std::uint64_t{1} << 60, 1}};
    for (const Candidate& x : this->candidates({other, Op::none, Op::none, adds_e, 128}, 2))
      some.push_back(x.algorithm);
    for (const Algorithm& algorithm : some) {
      const Preferring preferring({square, false, algorithm});
      p.expect_right();
    }
    p.expect_right();
  }
}

// ---- combinations

/// How a matrix lies on the device.
struct Layout {
  index gap, offset;
};

/// By turns.  Ways for a kernel that reads 16 bytes at a time to take: all of them, all but the last rows, none.
const std::vector<Layout> all_layouts[] = {{{0, 0}}, {{4, 0}}, {{0, 4}, {8, 0}},
                                           {{1, 0}}, {{0, 1}}, {{0, 0}, {5, 3}, {2, 2}}};

/// A combination of matrices on the device and what it should make of them.
template <class T>
struct Sums {
  index rows, cols;
  std::vector<Matrix<T>> matrices;  ///< the sources, then targets of their own
  std::vector<index> offsets;
  Combination p{};
  std::vector<std::size_t> target_of;  ///< which matrix is which target

  /// @param shared  targets that are sources, as far as there are such: the last source is the first target
  Sums(index rows_, index cols_, int sources, int targets, int shared, const std::vector<Layout>& layouts,
       unsigned seed = 1)
      : rows(rows_), cols(cols_) {
    shared = std::min({shared, sources, targets});
    for (int i = 0; i < sources + targets - shared; ++i) {
      const Layout& layout = layouts[static_cast<std::size_t>(i) % layouts.size()];
      matrices.emplace_back(rows, cols, layout.gap).random(seed + static_cast<unsigned>(i));
      offsets.push_back(layout.offset);
      if (i >= sources) matrices.back().fill(scalar<T>(nan, nan));
    }
    p.precision = precision_of<T>;
    p.rows = rows;
    p.cols = cols;
    p.sources = sources;
    p.targets = targets;
    std::minstd_rand bits(seed);
    for (int t = 0; t < targets; ++t) {
      target_of.push_back(static_cast<std::size_t>(t < shared ? sources - 1 - t : sources + t - shared));
      for (int s = 0; s < sources; ++s) p.target[t].sign[s] = static_cast<signed char>(bits() / 7 % 3) - 1;
      p.target[t].sign[bits() / 7 % static_cast<unsigned>(sources)] = bits() / 7 % 2 ? 1 : -1;
    }
  }

  void scale(int source, const T& by) {
    p.source[source].scaled = true;
    scalar_.value = by;
  }

  /// The matrices after the combination, gaps included.
  std::vector<Matrix<T>> run(std::size_t moves = little) {
    std::size_t bytes = 256;
    for (std::size_t i = 0; i < matrices.size(); ++i) bytes += room(matrices[i], offsets[i]);
    Call call(bytes, moves);
    std::vector<T*> at;
    Tickets ready;
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      const Placed<T> there = call.put(matrices[i], offsets[i]);
      at.push_back(there.at);
      ready.push_back(there.ready);
    }
    const Ticket combined = call.combine(on(at), ready);
    std::vector<Matrix<T>> after = matrices;
    for (std::size_t i = 0; i < after.size(); ++i)
      call.download(after[i].data(), after[i].ld(), at[i], after[i].ld(), after[i].ld(), cols, {combined});
    call.drain();
    return after;
  }

  /// The same in the working precision, in the order of the sources.
  std::vector<Matrix<T>> expected() const {
    std::vector<Matrix<T>> after = matrices;
    std::vector<T*> at;
    for (Matrix<T>& x : after) at.push_back(x.data());
    naive(on(at));
    return after;
  }

  /// An element of a target exactly.  The bound: at most `sources` terms, each rounded once where it is scaled (a
  /// complex one thrice), then sources - 1 sums, is within gamma(sources + 2) of the terms' absolute values, and twice
  /// that for |re| + |im|; (sources + 3) eps, and twice it for complex types, covers either.
  Element<T> element(int target, index i, index j) const {
    using Wide = typename Element<T>::Wide;
    Element<T> e;
    for (int s = 0; s < p.sources; ++s) {
      const int sign = p.target[target].sign[s];
      if (sign == 0) continue;
      const T &x = matrices[static_cast<std::size_t>(s)](i, j), by = p.source[s].scaled ? scalar_.value : T(1);
      const Wide re = std::real(x), im = std::imag(x), by_re = std::real(by), by_im = std::imag(by);
      e.re += sign * (by_re * re - by_im * im);
      e.im += sign * (by_re * im + by_im * re);
      e.bound += (std::fabs(re) + std::fabs(im)) * (std::fabs(by_re) + std::fabs(by_im));
    }
    e.bound *= static_cast<Wide>(p.sources + 3) * static_cast<Wide>(std::numeric_limits<Real<T>>::epsilon()) *
               (complex_type<T> ? 2 : 1);
    return e;
  }

  /// Sums of unscaled sources are the same bits everywhere; what is no target stays as it was, as do gaps.
  void expect_right(std::size_t moves = little) {
    const auto result = run(moves), right = expected();
    bool scales = false;
    for (int s = 0; s < p.sources; ++s) scales = scales || p.source[s].scaled;
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      const auto found = std::find(target_of.begin(), target_of.end(), i);
      if (!scales || found == target_of.end()) {
        EXPECT_TRUE(result[i] == right[i]) << (found == target_of.end() ? "no target: " : "target: ") << *this;
        continue;
      }
      EXPECT_TRUE(result[i].canaries_intact()) << *this;
      for (index col = 0; col < cols; ++col)
        for (index row = 0; row < rows; ++row)
          ASSERT_LE(element(static_cast<int>(found - target_of.begin()), row, col).excess(result[i](row, col)), 1.0)
              << row << "," << col << " of " << *this;
    }
  }

  friend std::ostream& operator<<(std::ostream& out, const Sums& x) {
    out << x.rows << " x " << x.cols << ", " << x.p.sources << " sources,";
    for (int t = 0; t < x.p.targets; ++t) {
      out << " target " << x.target_of[static_cast<std::size_t>(t)] << ':';
      for (int s = 0; s < x.p.sources; ++s) out << ' ' << static_cast<int>(x.p.target[t].sign[s]);
    }
    return out;
  }

 private:
  /// The combination of matrices at these addresses.
  Combination on(const std::vector<T*>& at) const {
    Combination there = p;
    for (std::size_t s = 0; s < static_cast<std::size_t>(p.sources); ++s) {
      there.source[s].at = at[s];
      there.source[s].ld = matrices[s].ld();
    }
    for (std::size_t t = 0; t < target_of.size(); ++t) {
      there.target[t].at = at[target_of[t]];
      there.target[t].ld = matrices[target_of[t]].ld();
    }
    there.scale = &scalar_.value;
    return there;
  }

  Scalar<T> scalar_{};
};

template <class T>
class Combinations : public testing::Test {
 public:
  const T some_scale = scalar<T>(-0.75, 0.4);
};
TYPED_TEST_SUITE(Combinations, Types, TypeNames);

TYPED_TEST(Combinations, OfEveryNumberOfSourcesAndTargets) {
  constexpr index shapes[][2] = {{1, 1}, {2, 3}, {5, 7}, {16, 4}, {67, 9}};
  unsigned seed = 0;
  for (int sources = 1; sources <= Combination::most_sources; ++sources)
    for (int targets = 1; targets <= Combination::most_targets; ++targets)
      for (const int shared : {0, 1, targets})
        for (const auto& layouts : all_layouts) {
          const auto& [rows, cols] = shapes[++seed % std::size(shapes)];
          Sums<TypeParam>(rows, cols, sources, targets, shared, layouts, seed).expect_right();
          if (testing::Test::HasFailure()) return;
        }
}

TYPED_TEST(Combinations, OfEverySizeAndLayout) {
  constexpr index shapes[][2] = {{1, 1}, {1, 300}, {2, 2}, {3, 5}, {4, 4}, {8, 33}, {31, 1}, {300, 3}, {257, 65}};
  for (const auto& [rows, cols] : shapes)
    for (const auto& layouts : all_layouts) {
      Sums<TypeParam>(rows, cols, 3, 2, 1, layouts).expect_right();
      Sums<TypeParam> scaled(rows, cols, 3, 2, 2, layouts);
      scaled.scale(1, this->some_scale);
      scaled.expect_right();
      if (testing::Test::HasFailure()) return;
    }
}

TYPED_TEST(Combinations, OfLargeMatrices) {
  for (const std::size_t way : {1, 3, 5}) {
    Sums<TypeParam> sums(700, 513, 5, 3, 2, all_layouts[way]);
    sums.expect_right(much);
    sums.scale(0, this->some_scale);
    sums.scale(3, this->some_scale);
    sums.expect_right(much);
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(Combinations, OfScaledSources) {
  using T = TypeParam;
  for (const T& by : {T(1), T(0), this->some_scale})
    for (int scaled = 1; scaled < 1 << 4; ++scaled)
      for (const auto& layouts : all_layouts) {
        Sums<T> sums(13, 6, 4, 3, 2, layouts, static_cast<unsigned>(scaled));
        for (int s = 0; s < 4; ++s)
          if (scaled >> s & 1) sums.scale(s, by);
        sums.expect_right();
        if (testing::Test::HasFailure()) return;
      }
}

TYPED_TEST(Combinations, SourcesWithoutASignDoNotCount) {
  using T = TypeParam;
  for (const auto& layouts : all_layouts)
    for (const bool scaled : {false, true}) {
      Sums<T> sums(37, 11, 5, 3, 1, layouts);
      const signed char signs[][5] = {{1, 0, 0, -1, 0}, {0, 1, 0, 0, 0}, {-1, 0, 0, 1, 0}};
      for (int t = 0; t < 3; ++t) std::copy_n(signs[t], 5, sums.p.target[t].sign);
      sums.matrices[1].fill(scalar<T>(nan, inf));  // in the second target alone
      sums.matrices[2].fill(scalar<T>(nan, nan));  // in none
      sums.matrices[4].fill(scalar<T>(inf, nan));  // overwritten by the first
      if (scaled)
        for (const int s : {1, 2, 3}) sums.scale(s, this->some_scale);
      const auto result = sums.run();
      for (index j = 0; j < sums.cols; ++j)
        for (index i = 0; i < sums.rows; ++i) {
          for (const int t : {0, 2})
            ASSERT_LE(sums.element(t, i, j).excess(result[sums.target_of[static_cast<std::size_t>(t)]](i, j)), 1.0)
                << "target " << t << " at " << i << "," << j;
          ASSERT_FALSE(finite(result[sums.target_of[1]](i, j)));
        }
    }
}

TYPED_TEST(Combinations, OfOneSourceAreCopies) {
  // Every bit, those of NaN and -0 too.
  using T = TypeParam;
  for (const auto& layouts : all_layouts) {
    Sums<T> sums(37, 11, 1, 1, 0, layouts);
    sums.p.target[0].sign[0] = 1;
    Matrix<T>& x = sums.matrices[0];
    x(0, 0) = scalar<T>(-0.0, -0.0);
    x(36, 10) = scalar<T>(-inf, nan);
    fill_with_canaries(&x(5, 5), 4 * sizeof(T));
    const auto result = sums.run();
    for (index j = 0; j < sums.cols; ++j)
      for (index i = 0; i < sums.rows; ++i) ASSERT_TRUE(same_bits(result[1](i, j), x(i, j))) << i << "," << j;
    EXPECT_TRUE(result[1].canaries_intact());
    EXPECT_TRUE(result[0] == x);
  }
}

TEST(Combination, OfMoreThanAGridHolds) {
  // On their own places: -x of one column, then of very many.
  for (const auto& [rows, cols, offset] : {std::array<index, 3>{5000000, 1, 1}, std::array<index, 3>{257, 16500, 1}})
    for (const index gap : {0, 4}) {
      Sums<float> sums(rows, cols, 1, 1, 1, {{gap, offset}});
      sums.p.target[0].sign[0] = -1;
      sums.expect_right(much);
    }
}

template <class T>
class Surveys : public testing::Test {};
TYPED_TEST_SUITE(Surveys, Types, TypeNames);

/// What surveys of these blocks of x note, in reals for each row and then for each column.  NaN equals NaN.
template <class T>
void expect_surveyed(const Matrix<T>& x, const std::vector<Block>& blocks, index offset, std::size_t moves = little) {
  using R = Real<T>;
  const index notes = x.rows() + x.cols();
  std::vector<R> begun(static_cast<std::size_t>(notes)), found(begun.size()), expected;
  begun[0] = R(0.25);  // noted before
  expected = begun;
  Call call(Call::part_size<T>(x.ld() * x.cols() + offset) + Call::part_size<R>(notes), moves);
  const Placed<T> there = call.put(x, offset);
  R* at = call.part<R>(notes);
  const Ticket ready = call.upload(at, notes, begun.data(), notes, notes, 1);
  Tickets surveys;
  for (const Block& b : blocks) {
    const Survey on_device{precision_of<T>,      b.rows, b.cols, there.at + b.row + b.col * x.ld(), x.ld(), at + b.row,
                           at + x.rows() + b.col};
    surveys.push_back(call.survey(on_device, {there.ready, ready}));
    naive(Survey{precision_of<T>, b.rows, b.cols, x.data() + b.row + b.col * x.ld(), x.ld(), expected.data() + b.row,
                 expected.data() + x.rows() + b.col});
  }
  call.download(found.data(), notes, at, notes, notes, 1, surveys);
  call.drain();
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_TRUE(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i])))
        << "note " << i << " of " << x.rows() << " + " << x.cols() << ": " << found[i] << ", not " << expected[i];
}

TYPED_TEST(Surveys, FindTheLargestOfEachRowAndColumn) {
  using T = TypeParam;
  constexpr index shapes[][2] = {{1, 1}, {1, 200}, {200, 1}, {5, 7}, {32, 32}, {33, 65}, {257, 31}, {2051, 3}};
  for (const auto& [rows, cols] : shapes)
    for (const index offset : {0, 1}) {
      Matrix<T> x(rows, cols, offset * 3);  // NaN in the gaps
      expect_surveyed(x.random(static_cast<unsigned>(rows)), {{0, 0, rows, cols}}, offset);
      if (testing::Test::HasFailure()) return;
    }
  Matrix<T> x(4099, 611, 2);
  expect_surveyed(x.random(1), {{0, 0, 4099, 611}}, 0, much);
}

TYPED_TEST(Surveys, OfSeveralBlocksNoteIntoTheSamePlaces) {
  using T = TypeParam;
  Matrix<T> x(90, 70, 1);
  expect_surveyed(x.random(2), {{0, 0, 40, 70}, {40, 0, 50, 30}, {40, 30, 50, 40}}, 0);
  expect_surveyed(x, {{3, 5, 40, 30}, {10, 5, 40, 30}}, 1);  // what is in none stays as it was
}

TYPED_TEST(Surveys, OfPoisonAndExtremes) {
  using T = TypeParam;
  using R = Real<T>;
  const R values[] = {R(inf),
                      R(-inf),
                      R(nan),
                      R(-0.0),
                      std::numeric_limits<R>::denorm_min(),
                      std::numeric_limits<R>::max(),
                      -std::numeric_limits<R>::max()};
  for (const R value : values)
    for (const bool imaginary : {false, true}) {
      if (imaginary && !complex_type<T>) continue;
      Matrix<T> x(45, 37, 2);
      x.random(3);
      x(40, 20) = x(7, 36) =
          imaginary ? scalar<T>(0.5, static_cast<double>(value)) : scalar<T>(static_cast<double>(value), 0.5);
      expect_surveyed(x, {{0, 0, 45, 37}}, 0);
      x.fill(scalar<T>(0, 0));
      x(3, 4) = imaginary ? scalar<T>(0, static_cast<double>(value)) : scalar<T>(static_cast<double>(value), 0);
      expect_surveyed(x, {{0, 0, 45, 37}}, 0);
      if (testing::Test::HasFailure()) return;
    }
  // NaN stays, whatever comes later.
  Matrix<T> x(3, 3);
  x.random(4);
  x(1, 0) = scalar<T>(nan, 0);
  x(1, 2) = scalar<T>(inf, 0);
  expect_surveyed(x, {{0, 0, 3, 3}, {0, 0, 3, 3}}, 0);
}

// ---- panels of QR

template <class T>
class Panels : public testing::Test {
 protected:
  void SetUp() override {
    if (!backend->facts().factors) GTEST_SKIP() << "no panels on this backend";
  }

  struct Factored {
    Matrix<T> A0, A, tau, V, t;
    friend bool operator==(const Factored&, const Factored&) = default;
  };

  /// As columns from `above` on of a block.
  /// @param done_already  the factors of A, to be factored no more
  static Factored run(const Matrix<T>& A, index above, index block, const Factored* done_already = nullptr) {
    const index m = A.rows(), n = A.cols();
    Factored f{A, A, Matrix<T>(n, 1), Matrix<T>(above + m, n, 3), Matrix<T>(block, n, 2)};
    if (done_already) f.A = done_already->A, f.tau = done_already->tau;
    Call call(room(f.A) + room(f.tau) + room(f.V) + room(f.t));
    const Placed<T> a = call.put(f.A), tau = call.put(f.tau), v = call.put(f.V), t = call.put(f.t);
    const Ticket done = call.panel({.precision = precision_of<T>,
                                    .m = m,
                                    .n = n,
                                    .A = a.at,
                                    .lda = f.A.ld(),
                                    .tau = tau.at,
                                    .above = above,
                                    .block = block,
                                    .V = v.at,
                                    .ldv = f.V.ld(),
                                    .T = t.at,
                                    .ldt = f.t.ld(),
                                    .factored = done_already != nullptr},
                                   {a.ready, tau.ready, v.ready, t.ready});
    for (const auto& [to, from] : {std::pair{&f.A, a.at}, {&f.tau, tau.at}, {&f.V, v.at}, {&f.t, t.at}})
      call.download(to->data(), to->ld(), from, to->ld(), to->ld(), to->cols(), {done});
    call.drain();
    return f;
  }

  static void expect_right(const Factored& f, index above) {
    const index m = f.A.rows(), n = f.A.cols();
    // As many roundings as Householder's way has (qr_tiles.cpp).
    const double allowed = static_cast<double>(m + n) * eps<T>() * (complex_type<T> ? 2 : 1);
    Wide<T> r = Wide<T>::of(f.A0), q(m, n);
    const double norm = r.norm();
    apply_lapack_q(true, m, n, f.A.data(), f.A.ld(), f.tau.data(), r);
    EXPECT_LE((r - upper_part(m, n, f.A.data(), f.A.ld())).norm(), allowed * norm);
    for (index j = 0; j < n; ++j) q(j, j) = 1;
    Wide<T> by_t = q;
    apply_lapack_q(false, m, n, f.A.data(), f.A.ld(), f.tau.data(), q);
    EXPECT_LE(orthogonality(q), allowed * std::sqrt(static_cast<double>(n)));
    // V and T as products take them, zeros and ones included.
    for (index j = 0; j < n; ++j) {
      for (index i = 0; i < above + m; ++i) {
        const T due = i < above + j ? T(0) : i == above + j ? T(1) : f.A(i - above, j);
        EXPECT_EQ(f.V(i, j), due) << i << " " << j;
      }
      for (index i = 0; i < f.t.rows(); ++i)
        if (i < above || i > above + j) {
          EXPECT_EQ(f.t(i, j), T(0));
        }
      EXPECT_EQ(std::imag(f.A(j, j)), 0);
    }
    const Wide<T> V = Wide<T>::of(m, n, f.V.data() + above, f.V.ld()),
                  t = Wide<T>::of(n, n, f.t.data() + above, f.t.ld());
    EXPECT_LE((by_t - V * (t * (V.adjoint() * by_t)) - q).norm(), allowed * std::sqrt(static_cast<double>(n)));
    EXPECT_TRUE(f.A.canaries_intact() && f.tau.canaries_intact() && f.V.canaries_intact() && f.t.canaries_intact());
  }
};
TYPED_TEST_SUITE(Panels, Types, TypeNames);

TYPED_TEST(Panels, OfAllKindsAndSizesAreLapacks) {
  using T = TypeParam;
  for (const Kind kind : kinds)
    for (const auto& [m, n] :
         {std::pair<index, index>{1, 1}, {2, 1}, {5, 5}, {257, 1}, {300, 32}, {600, 7}, {130, 128}}) {
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " " << m << " x " << n);
      this->expect_right(this->run(matrix_of<T>(kind, m, n), 0, n), 0);
      if (testing::Test::HasFailure()) return;
    }
}

TYPED_TEST(Panels, OfTallMatricesAreLapacks) {
  using T = TypeParam;
  // More rows than any kernel takes at a time, and numbers of them that are multiples of nothing.
  for (const auto& [m, n] : {std::pair<index, index>{70001, 1}, {4095, 5}, {2001, 17}, {1025, 40}})
    for (const Kind kind : {Kind::random, Kind::repeated_columns, Kind::vandermonde}) {
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " " << m << " x " << n);
      if (kind != Kind::random && m * n * n > 200000) continue;  // the reference takes long
      this->expect_right(this->run(matrix_of<T>(kind, m, n), 0, n), 0);
      if (testing::Test::HasFailure()) return;
    }
}

/// Whole factorisations by a plan: what a backend's panels, products and transfers are for.
TYPED_TEST(Panels, MakePlansComeTrue) {
  using T = TypeParam;
  const struct {
    index m, n, block, panel, part = n;
  } shapes[] = {{200, 200, 64, 16}, {300, 130, 128, 64}, {100, 160, 64, 32},
                {700, 40, 40, 20},  {1, 5, 1, 1},        {90, 85, 16, 8, 32}};
  for (const auto& s : shapes)
    for (const Kind kind : {Kind::random, Kind::rank_one}) {
      if (s.part < s.n && !backend->facts().applies) continue;
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " " << s.m << " x " << s.n << " by "
                                      << s.block << ", " << s.panel);
      const index k = std::min(s.m, s.n);
      const Matrix<T> A0 = matrix_of<T>(kind, s.m, s.n);
      const QrPlan plan = plan_qr(s.m, s.n, s.block, s.panel, s.part);
      const Lease lease(plan.bytes(sizeof(T)));
      const auto run = [&](Matrix<T>& A, Matrix<T>& tau) {
        Status status = Status::lost;
        Lane* const lane = backend->acquire(underlying, much, status);
        if (!lane) throw std::runtime_error("no lane");
        const GeqrfArgs<T> args{s.m, s.n, A.data(), A.ld(), tau.data()};
        const QrOutcome outcome = execute(
            plan, args, {.lease = lease.memory()}, piece_bytes(), *lane, +[] { return true; });
        backend->release(lane);
        return outcome.status;
      };
      Matrix<T> A = A0, tau(k, 1), again = A0, tau_again(k, 1);
      ASSERT_EQ(run(A, tau), Status::done);
      const double allowed = static_cast<double>(s.m + k) * eps<T>() * (complex_type<T> ? 2 : 1);
      Wide<T> r = Wide<T>::of(A0), q(s.m, k);
      const double norm = r.norm();
      apply_lapack_q(true, s.m, k, A.data(), A.ld(), tau.data(), r);
      EXPECT_LE((r - upper_part(s.m, s.n, A.data(), A.ld())).norm(), allowed * norm);
      for (index j = 0; j < k; ++j) q(j, j) = 1;
      apply_lapack_q(false, s.m, k, A.data(), A.ld(), tau.data(), q);
      EXPECT_LE(orthogonality(q), allowed * std::sqrt(static_cast<double>(k)));
      EXPECT_TRUE(A.canaries_intact() && tau.canaries_intact());
      // The same bits again.
      ASSERT_EQ(run(again, tau_again), Status::done);
      EXPECT_TRUE(A == again && tau == tau_again);
      if (testing::Test::HasFailure()) return;
    }
}

TYPED_TEST(Panels, ThatAreFactoredGetTheirVAndT) {
  using T = TypeParam;
  if (!backend->facts().applies) GTEST_SKIP() << "this backend factors only";
  for (const Kind kind : {Kind::random, Kind::rank_one, Kind::zero_column})
    for (const auto& [m, n] : {std::pair<index, index>{1, 1}, {5, 5}, {600, 7}, {300, 24}})
      for (const index above : {0, 6}) {
        SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " " << m << " x " << n);
        const auto factored = this->run(matrix_of<T>(kind, m, n), above, above + n);
        const auto again = this->run(factored.A0, above, above + n, &factored);
        EXPECT_TRUE(again.A == factored.A && again.tau == factored.tau) << "which are only read";
        this->expect_right(again, above);
        if (testing::Test::HasFailure()) return;
      }
}

TYPED_TEST(Panels, AreParts) {
  using T = TypeParam;
  for (const index above : {1, 6})
    for (const index block : {11, 16})
      this->expect_right(this->run(matrix_of<T>(Kind::random, 300, 5), above, block), above);
}

TYPED_TEST(Panels, RepeatBitForBit) {
  using T = TypeParam;
  const Matrix<T> A = matrix_of<T>(Kind::random, 1500, 24);
  const auto first = this->run(A, 0, 24);
  for (int again = 0; again < 5; ++again) ASSERT_TRUE(this->run(A, 0, 24) == first);
}

TYPED_TEST(Panels, PoisonStaysInItsColumnAndThoseBehind) {
  using T = TypeParam;
  for (const double bad : {nan, inf}) {
    Matrix<T> A = matrix_of<T>(Kind::random, 600, 9);
    A(400, 4) = T(static_cast<Real<T>>(bad));
    const auto f = this->run(A, 0, 9);
    for (index j = 0; j < 9; ++j)
      for (index i = 0; i < 600; ++i)
        if (j < 4) {
          ASSERT_TRUE(finite(f.A(i, j)));
        } else if (j > 4 && i > 4) {
          ASSERT_FALSE(finite(f.A(i, j)));
        }
  }
}

// ---- symv

template <class T>
class SymvProducts : public testing::Test {
 protected:
  const T general_alpha = scalar<T>(1.25, -0.5), general_beta = scalar<T>(-0.75, 0.375);
  const std::vector<T> scalars{T(0), T(1), T(-1), general_beta};
  const std::vector<SymvBlocking> blockings = all_blockings(symv_precision_of<T>);

  /// On the device, with A, x and y so many elements from where addresses are multiples of 256, and a workspace full of
  /// NaN behind which nothing may be written.
  static Matrix<T> run(SymvProblem<T>& problem, const SymvBlocking& blocking, SymvWay way, index offset = 0) {
    const auto aligned = [](const T& from) {
      Scalar<T> to{};
      to.value = from;
      return to;
    };
    const Scalar<T> alpha = aligned(problem.alpha), beta = aligned(problem.beta);
    Symv p = problem.symv(blocking);
    p.alpha = &alpha.value;
    p.beta = &beta.value;
    p.way = way;
    constexpr index words_behind = 64;
    const index words = static_cast<index>(symv_workspace(p) / sizeof(canary)) + words_behind;
    const std::vector<std::uint32_t> full(static_cast<std::size_t>(words), canary);
    Call call(room(problem.A, offset) + room(problem.x, offset) + room(problem.y, offset) +
              Call::part_size<std::uint32_t>(words));
    const Placed<T> a = call.put(problem.A, offset), x = call.put(problem.x, offset), y = call.put(problem.y, offset);
    auto* workspace = call.part<std::uint32_t>(words);
    const Ticket filled = call.upload(workspace, words, full.data(), words, words, 1);
    p.A = a.at;
    p.x = x.at;
    p.y = y.at;
    p.workspace = workspace;
    const Ticket product = call.symv(p, {a.ready, x.ready, y.ready, filled});
    std::vector<std::uint32_t> behind(words_behind);
    call.download(behind.data(), words_behind, workspace + words - words_behind, words, words_behind, 1, {product});
    Matrix<T> result = problem.y;
    call.get(result, y.at, {product});
    EXPECT_EQ(std::count(behind.begin(), behind.end(), canary), words_behind) << problem.describe(blocking);
    return result;
  }

  /// Within the bound, and the same bits either way, by the host's own code, and again.
  static void expect_right(SymvProblem<T> problem, const SymvBlocking& blocking, index offset = 0) {
    const Matrix<T> result = run(problem, blocking, SymvWay::parts, offset);
    ASSERT_LE(problem.worst_excess(result), 1.0) << problem.describe(blocking);
    ASSERT_TRUE(result.canaries_intact()) << "gaps of y written: " << problem.describe(blocking);
    ASSERT_TRUE(run(problem, blocking, SymvWay::tickets, offset) == result) << problem.describe(blocking);
    ASSERT_TRUE(run(problem, blocking, SymvWay::parts, offset) == result) << problem.describe(blocking);
    blaslift::symv(problem.symv(blocking));
    ASSERT_TRUE(problem.y == result) << "not the host's bits: " << problem.describe(blocking);
  }

  /// Calls `check(uplo, hermitian)`.
  template <class Check>
  static void for_all_kinds(Check check) {
    for (const Uplo uplo : {Uplo::upper, Uplo::lower})
      for (const bool hermitian : {false, true}) {
        if (hermitian && !complex_type<T>) continue;
        check(uplo, hermitian);
        if (testing::Test::HasFatalFailure()) return;
      }
  }
};
using SymvTypes = testing::Types<float, double, std::complex<float>, std::complex<double>, DoubleDouble>;
TYPED_TEST_SUITE(SymvProducts, SymvTypes, TypeNames);

TYPED_TEST(SymvProducts, OfAllSmallSizes) {
  using T = TypeParam;
  this->for_all_kinds([&](Uplo uplo, bool hermitian) {
    for (index n = 0; n <= 70; ++n) {
      const auto seed = static_cast<unsigned>(n);
      const SymvBlocking& panels = this->blockings[1 + seed % (this->blockings.size() - 1)];
      SymvProblem<T> problem(uplo, hermitian, n, this->general_alpha, this->scalars[seed % 4], 1, 1, seed % 3, seed);
      problem.conjugated = complex_type<T> && n % 2 == 1;
      for (const SymvBlocking& b : {SymvBlocking{}, panels}) this->expect_right(problem, b, seed % 5 == 0);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TYPED_TEST(SymvProducts, AwkwardSizesByEveryBlocking) {
  using T = TypeParam;
  this->for_all_kinds([&](Uplo uplo, bool hermitian) {
    unsigned seed = 0;
    for (const index n : {127, 128, 129, 255, 257, 384, 513, 1000, 1025})
      for (const SymvBlocking& b : this->blockings) {
        if (n > 600 && (++seed + (uplo == Uplo::upper)) % 2) continue;  // every other one: they take long
        SymvProblem<T> problem(uplo, hermitian, n, this->general_alpha, this->general_beta, 1, 1, n % 2 ? n % 4 : 0,
                               static_cast<unsigned>(n));
        problem.conjugated = complex_type<T> && (&b - this->blockings.data() + n) % 2 != 0;
        this->expect_right(problem, b, n == 384);
        if (testing::Test::HasFatalFailure()) return;
      }
  });
  // As the rules would have it.
  const index n = 1100;
  this->expect_right(SymvProblem<T>(Uplo::lower, false, n, this->general_alpha, this->general_beta),
                     symv_blocking(symv_precision_of<T>, Uplo::lower, n));
}

TYPED_TEST(SymvProducts, OfAllIncrementsScalarsAndOffsets) {
  using T = TypeParam;
  this->for_all_kinds([&](Uplo uplo, bool hermitian) {
    unsigned seed = 0;
    for (const index incx : {1, 2, -1, -3})
      for (const index incy : {1, 2, -1, -3})
        for (const T& alpha : {T(0), T(1), T(-1), this->general_alpha})
          for (const T& beta : this->scalars) {
            const SymvBlocking& b = this->blockings[++seed % this->blockings.size()];
            SymvProblem<T> problem(uplo, hermitian, 45, alpha, beta, incx, incy, 3);
            problem.conjugated = complex_type<T> && seed / 2 % 2 == 1;
            this->expect_right(problem, b, seed % 3);
            if (testing::Test::HasFatalFailure()) return;
          }
  });
}

TYPED_TEST(SymvProducts, WithAlphaZeroReadNeitherANorX) {
  using T = TypeParam;
  for (const SymvBlocking& b : this->blockings)
    for (const T& beta : this->scalars) {
      SymvProblem<T> problem(Uplo::upper, false, 150, T(0), beta);
      problem.A.fill(scalar<T>(nan, inf));
      problem.x.fill(scalar<T>(inf, nan));
      this->expect_right(problem, b);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TYPED_TEST(SymvProducts, PoisonReachesWhatItReachesInTheClassicalProduct) {
  using T = TypeParam;
  constexpr index n = 140, row = 37, col = 101;
  this->for_all_kinds([&](Uplo uplo, bool hermitian) {
    for (const SymvBlocking& b : this->blockings) {
      const auto poisoned = [&](index i, index j, T value) {
        SymvProblem<T> problem(uplo, hermitian, n, this->general_alpha, this->general_beta);
        const bool there = problem.stored(i, j);
        problem.A(there ? i : j, there ? j : i) = value;
        const Matrix<T> result = this->run(problem, b, SymvWay::parts);
        for (index k = 0; k < n; ++k)
          ASSERT_EQ(finite(result(0, k)), k != i && k != j) << k << " of " << problem.describe(b);
      };
      poisoned(row, col, scalar<T>(nan, nan));
      poisoned(row, col, scalar<T>(inf, 0.5));
      poisoned(row, row, scalar<T>(nan, 0.5));
      // An infinite x(k) makes every element that is not NaN infinite.
      SymvProblem<T> problem(uplo, hermitian, n, this->general_alpha, this->general_beta);
      problem.x(0, col) = scalar<T>(inf, 0);
      const Matrix<T> result = this->run(problem, b, SymvWay::tickets);
      for (index k = 0; k < n; ++k) ASSERT_FALSE(finite(result(0, k))) << k << " of " << problem.describe(b);
      // y is scaled, not multiplied, by 1: infinity stays in its part of it.
      SymvProblem<T> once(uplo, hermitian, n, this->general_alpha, T(1));
      once.y(0, row) = scalar<T>(inf, 0.5);
      const Matrix<T> y = this->run(once, b, SymvWay::tickets);
      if constexpr (std::is_same_v<T, DoubleDouble>)
        ASSERT_FALSE(finite(y(0, row))) << once.describe(b);
      else
        ASSERT_TRUE(std::isinf(std::real(y(0, row))) && std::isfinite(std::imag(y(0, row)))) << once.describe(b);
    }
  });
}

/// @param all_awaited  or every other one is said not to be, though another stream's operation comes after it
void follow_each_other_in_two_streams(bool all_awaited) {
  // Twice the sum of ones, again and again, in one stream and in the other; a product with one in between.
  constexpr index n = 200;
  Matrix<double> x(n, n), identity(n, n), result(n, n);
  x.fill(1);
  identity.fill(0);
  for (index i = 0; i < n; ++i) identity(i, i) = 1;
  Call call(4 * Call::part_size<double>(n * n), much);
  const auto ones = call.put(x), unit = call.put(identity);
  double* sum = call.part<double>(n * n);
  double* product = call.part<double>(n * n);
  const double alpha = 1, beta = 0;
  Ticket last = call.combine({.precision = Precision::d,
                              .rows = n,
                              .cols = n,
                              .sources = 1,
                              .targets = 1,
                              .source = {{ones.at, n, false}},
                              .target = {{sum, n, {1}}},
                              .scale = nullptr,
                              .stream = 1},
                             {ones.ready});
  double expected = 1;
  for (std::int8_t round = 0; round < 40; ++round, expected *= 2) {
    const auto stream = static_cast<std::int8_t>(round / 2 % 2), other = static_cast<std::int8_t>(1 - stream);
    last = call.gemm({.precision = Precision::d,
                      .transa = Op::none,
                      .transb = Op::none,
                      .m = n,
                      .n = n,
                      .k = n,
                      .alpha = &alpha,
                      .A = sum,
                      .lda = n,
                      .B = unit.at,
                      .ldb = n,
                      .beta = &beta,
                      .C = product,
                      .ldc = n,
                      .stream = stream,
                      .awaited = all_awaited || round % 3 == 0},
                     {last, unit.ready});
    last = call.combine({.precision = Precision::d,
                         .rows = n,
                         .cols = n,
                         .sources = 2,
                         .targets = 1,
                         .source = {{sum, n, false}, {product, n, false}},
                         .target = {{sum, n, {1, 1}}},
                         .scale = nullptr,
                         .stream = other,
                         .awaited = all_awaited || round % 2 == 0},
                        {last});
  }
  call.download(result.data(), n, sum, n, n, n, {last});
  call.drain();
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < n; ++i) ASSERT_EQ(result(i, j), expected) << i << "," << j;
}

TEST(Order, OperationsOfTwoStreamsFollowEachOtherWhereTheySaySo) { follow_each_other_in_two_streams(true); }

TEST(Order, WhatIsAwaitedAgainstExpectationIsStillWaitedFor) { follow_each_other_in_two_streams(false); }

/// Blocks of doubles without gaps.
Combination of_two(index n, const double* x, const double* y, double* target, signed char sign_y) {
  return {.precision = Precision::d,
          .rows = n,
          .cols = n,
          .sources = 2,
          .targets = 1,
          .source = {{x, n, false}, {y, n, false}},
          .target = {{target, n, {1, sign_y}}},
          .scale = nullptr};
}

TEST(Order, CombinationsComeAfterUploadsAndProductsAndBeforeDownloads) {
  // Each round: s := a + b of a new a, c := s * identity, d := c - b, which is brought back.  In small integers: exact.
  constexpr int rounds = 12;
  const Load load;
  const index n = load.n;
  const auto integers = [n](unsigned seed) {
    Matrix<double> x(n, n);
    x.random(seed);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) x(i, j) = std::round(100 * x(i, j));
    return x;
  };
  const Matrix<double> unit = identity(n), b = integers(60);
  const Matrix<double> sources[] = {integers(61), integers(62)};
  std::vector<Matrix<double>> results(rounds, Matrix<double>(n, n));
  Call call(7 * room(unit));
  const auto i = call.put(unit), there_b = call.put(b);
  double *a = call.part<double>(n * n), *s = call.part<double>(n * n), *c = call.part<double>(n * n),
         *d = call.part<double>(n * n), *idle = call.part<double>(n * n);
  Ticket first = nothing, last = i.ready;
  Tickets down;
  for (int round = 0; round < rounds; ++round) {
    // Now the upload is in a hurry, now the sum.
    Tickets after{call.upload(a, n, sources[round % 2].data(), n, n, n, {first}), there_b.ready, last};
    if (round % 2) after.push_back(load.put_on(call, i.at, idle, {i.ready, last}));
    first = call.combine(of_two(n, a, there_b.at, s, 1), after);
    down.push_back(call.gemm(plain(n, n, n, &one, s, i.at, &zero, c), {first, i.ready}));
    last = call.combine(of_two(n, c, there_b.at, d, -1), down);
    down = call.download(results[static_cast<std::size_t>(round)].data(), n, d, n, n, n, {last});
  }
  call.drain();
  for (int round = 0; round < rounds; ++round)
    EXPECT_TRUE(results[static_cast<std::size_t>(round)] == sources[round % 2]) << "round " << round;
}

// ---- memory and many lanes

/// Whether these bytes of the device hold what they are given.
void expect_usable(char* begin, std::size_t bytes, unsigned seed) {
  ASSERT_GE(bytes, 16 * 4 * sizeof(double));
  Matrix<double> x(16, 4), y(16, 4), back(16, 4);
  x.random(seed);
  y.random(seed + 1);
  auto* first = reinterpret_cast<double*>(begin);
  auto* last = reinterpret_cast<double*>(begin + bytes / 256 * 256 - 16 * 4 * sizeof(double));
  for (const std::size_t moves : {much, little}) {
    Call call(0, moves);
    const Ticket up = call.upload(first, 16, x.data(), 16, 16, 4),
                 second = call.upload(last, 16, y.data(), 16, 16, 4, {up});
    call.fetch(back.data(), 16, last, 16, 16, 4, {second});
    EXPECT_TRUE(back == y);
    if (last < first + 16 * 4) continue;
    call.fetch(back.data(), 16, first, 16, 16, 4, {});
    EXPECT_TRUE(back == x);
  }
}

TEST(Memory, IsAlignedAndWholeAndMayBeLarge) {
  const std::size_t large = backend->facts().memory / 4 * 3;
  for (const std::size_t bytes : {std::size_t{512}, std::size_t{513}, std::size_t{100001}, large}) {
    const Lease lease(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lease.memory()) % 256, 0u) << bytes;
    expect_usable(lease.memory(), bytes, 3);  // to its last bytes
  }
}

TEST(Memory, OfSeveralAllocationsIsNotShared) {
  std::deque<Lease> leases;
  std::vector<std::pair<char*, std::size_t>> parts;
  for (const std::size_t bytes : {1, 256, 255, 512, 4096, 100000, 3, 1 << 20})
    parts.emplace_back(leases.emplace_back(bytes).memory(), bytes);
  for (const auto& [x, x_bytes] : parts)
    for (const auto& [y, y_bytes] : parts) EXPECT_TRUE(x == y || x + x_bytes <= y || y + y_bytes <= x);
  for (const auto& [at, bytes] : parts) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 256, 0u) << bytes;
}

TEST(Memory, TooMuchOfItFailsAndTheDeviceStaysUsable) {
  for (const std::size_t bytes : {std::size_t{1} << 48, SIZE_MAX / 2, SIZE_MAX - 4096}) {
    void* memory = nullptr;
    EXPECT_EQ(backend->allocate(bytes, memory), Status::no_memory) << bytes;
    const Lease less(4096);
    expect_usable(less.memory(), 4096, 8);
    Problem<double>(Op::none, Op::none, 20, 30, 40, 1, 0).expect_right();
  }
}

TEST(Memory, ComesBack) {
  // More in all than there is; whatever leaked would show as no_memory.
  for (int time = 0; time < 20; ++time) Lease(backend->facts().memory / 4 * 3);
  for (int time = 0; time < 20; ++time) Call call(backend->facts().memory / 4 * 3);
}

TEST(Memory, StaysWhereLanesComeAndGo) {
  // Copies outlive calls: what one lane has left there the next ones find.
  Matrix<double> x(40, 30, 2), back(40, 30, 2);
  x.random(50);
  const Lease lease(room(x));
  auto* at = reinterpret_cast<double*>(lease.memory());
  Call(0).upload(at, x.ld(), x.data(), x.ld(), x.ld(), x.cols());  // released without a drain
  for (const std::size_t moves : {much, little, much}) {
    back.fill(-1);
    Call call(0, moves);
    call.get(back, at, {});
    EXPECT_TRUE(back == x);
  }
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

TEST(Memory, IsGivenToManyThreadsAtOnce) {
  const std::size_t most = backend->facts().memory / 32;
  on_threads([most](int t) {
    std::deque<Lease> kept;
    for (int time = 0; time < 20; ++time) {
      const Lease& mine = kept.emplace_back(most / static_cast<std::size_t>(1 + (t + time) % 5));
      expect_usable(mine.memory(), 4096, static_cast<unsigned>(100 * t + time));
      if (time % 3 == 2) kept.clear();  // allocated in the middle of what others do
    }
  });
}

TEST(Lanes, OfLittleDataAmongOthers) {
  on_threads([](int t) {
    Problem<double> p(ops[t % 3], ops[t / 3], 20 + t, 31, 17, 0.5, -2);
    p.A.random(static_cast<unsigned>(t));
    for (int time = 0; time < 20; ++time) p.expect_right(t % 2 ? much : little);
  });
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

TEST(Lanes, CombinationsOfEightThreadsAtOnce) {
  on_threads([](int t) {
    for (unsigned time = 0; time < 20; ++time)
      Sums<double>(40 + 7 * t, 30, 1 + t, 1 + t % 4, 1, {{t, t % 3}}, time).expect_right(t % 2 ? much : little);
  });
}

TYPED_TEST(SymvProducts, OfEightThreadsAtOnceAreTheSame) {
  using T = TypeParam;
  const SymvBlocking blocking = this->blockings[3];
  const auto problem = [](int t) {
    return SymvProblem<T>(t % 2 ? Uplo::upper : Uplo::lower, false, 300 + 11 * t, T(0.5), T(-2), 1, 1, 0,
                          static_cast<unsigned>(t));
  };
  on_threads([&](int t) {
    SymvProblem<T> mine = problem(t), expected = problem(t);
    blaslift::symv(expected.symv(blocking));
    for (int time = 0; time < 10; ++time) {
      const Matrix<T> y = this->run(mine, blocking, time % 2 ? SymvWay::parts : SymvWay::tickets);
      if (!(y == expected.y)) throw std::runtime_error("other bits");
    }
  });
}

TEST(Lanes, EightChainsAtOnce) {
  on_threads([](int t) { chain(1000 * static_cast<unsigned>(t)); });
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
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what has been said outlives a crash
  testing::InitGoogleTest(&argc, argv);
  return blaslift::run_conformance(argc, argv);
}
