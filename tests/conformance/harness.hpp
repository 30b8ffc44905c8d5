// What the conformance suite's units share: the backend under test, lanes that are asked with their tickets kept, and
// products beside the classical definition.
#pragma once
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

#include "impl/core/args.hpp"
#include "kernels/backend.hpp"
#include "kernels/copy.hpp"
#include "tests/precisions.hpp"
#include "tests/unit/support/reference.hpp"

namespace blaslift::conformance {

using namespace reference;

inline const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

constexpr std::size_t memory_limit = std::size_t{64} << 20;
constexpr int exit_skipped = 77;

inline Backend* backend;
inline std::string backend_name = "host", modules;

/// A triangle, column by column.
template <class T>
void naive_triangle(const Gemm& g) {
  const T one(1);
  T exchanged = *static_cast<const T*>(g.alpha);
  if constexpr (complex_type<T>)
    if (g.hermitian()) exchanged = std::conj(exchanged);
  const bool own_b = has_own_b(g.part, g.update);
  const void* const B = own_b ? g.B : g.A;
  const index ldb = own_b ? g.ldb : g.lda;
  for (index j = 0; j < g.n; ++j) {
    const Rows rows = rows_in(g.part, -j, g.n);
    T* C = static_cast<T*>(g.C) + j * g.ldc;
    const auto product = [&](const void* left, index ldl, const void* right, index ldr) {
      Gemm column = g;
      column.part = Part::whole;
      column.m = rows.count;
      column.n = 1;
      column.A = static_cast<const T*>(left) + rows.first * (g.transa == Op::none ? 1 : ldl);
      column.lda = ldl;
      column.B = static_cast<const T*>(right) + j * (g.transb == Op::none ? ldr : 1);
      column.ldb = ldr;
      column.C = C + rows.first;
      return column;
    };
    if (g.hermitian()) C[j] = std::real(C[j]);
    naive(product(g.A, g.lda, B, ldb));
    if (g.update == Update::rank_2k) {
      Gemm second = product(B, ldb, g.A, g.lda);
      second.alpha = &exchanged;
      second.beta = &one;
      naive(second);
    }
    if (g.hermitian()) C[j] = std::real(C[j]);
  }
}

inline const UnderlyingBlas underlying{[](const void*, const Operation& operation) {
                                         const Gemm& g = *operation.get<Gemm>();
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

inline std::size_t piece_bytes() { return backend->facts().piece_bytes; }

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

  Ticket ask(const Operation& operation, const Tickets& after) {
    const Tickets earlier = only_real(after);
    return asked(lane_->ask(operation, as_after(earlier)));
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
    const Ticket product = call.ask(g, {a.ready, b.ready, c.ready, e.ready});
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

// ---- test suites by element type

struct TypeNames {
  template <class T>
  static std::string GetName(int) {
    return std::string(1, letter(element_of<T>));
  }
};

template <class T>
class Products : public testing::Test {
 public:
  const T zero = scalar<T>(0, 0), one = scalar<T>(1, 0), some_alpha = scalar<T>(-0.5, 0.25),
          some_beta = scalar<T>(0.7, -0.3);
};

// ---- memory

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

// ---- loads

constexpr double zero = 0, one = 1, two = 2;

/// C := alpha * A * B + beta * C
inline Gemm plain(index m, index n, index k, const double* alpha, const double* a, const double* b, const double* beta,
                  double* c) {
  return {Precision::d, Op::none, Op::none, m, n, k, alpha, a, m, b, k, beta, c, m};
}

inline Matrix<double> identity(index n) {
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
    for (int time = 0; time < products; ++time) after = {call.ask(plain(n, n, n, &one, i, i, &zero, d), after)};
    return after.front();
  }
};

/// Runs `work(thread)` on 8 threads that begin together, and reports what they throw.
inline void on_threads(const std::function<void(int)>& work) {
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

}  // namespace blaslift::conformance
