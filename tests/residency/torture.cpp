// Products and writes at random: no product may use a byte that is not in host memory any more.
//
//   torture steps=N seed=S pages=small|huge [scale=F] [threads=T] [fault=NAME]
//   torture writers      lists the writers that change contents
//
// Matrices lie in arenas of mapped and allocated memory, share pages, and overlap.  Between products, writers change
// any part of them in every way in which a process's memory can change.  Host memory is the truth: what a product must
// give is computed from it by plain loops.  All values are small integers, so that results do not depend on the order
// of summation, and one of two operands is sparse or has few columns, so that the loops are fast.
//
// fault=NAME proves that the checks find something: operands are then read from copies that the program keeps itself
// and brings up to date after every write but those of the writer NAME.  `none` misses no writer, `outside` changes a
// byte beside C.
#include <malloc.h>

#include <cmath>
#include <complex>
#include <deque>
#include <limits>
#include <map>
#include <string_view>
#include <type_traits>

#include "writers.hpp"

using Complex = std::complex<double>;

#define GEMM(name, T)                                                                                       \
  extern "C" void name##_(const char*, const char*, const int*, const int*, const int*, const T*, const T*, \
                          const int*, const T*, const int*, const T*, T*, const int*, std::size_t, std::size_t);
GEMM(sgemm, float)
GEMM(dgemm, double)
GEMM(zgemm, Complex)
#undef GEMM
#define SYMV(name, T)                                                                                                  \
  extern "C" void name##_(const char*, const int*, const T*, const T*, const int*, const T*, const int*, const T*, T*, \
                          const int*, std::size_t);
SYMV(ssymv, float)
SYMV(dsymv, double)
SYMV(zhemv, Complex)
#undef SYMV

namespace torture {
namespace {

void gemm(char ta, char tb, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb,
          float beta, float* c, int ldc) {
  sgemm_(&ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);
}
void gemm(char ta, char tb, int m, int n, int k, double alpha, const double* a, int lda, const double* b, int ldb,
          double beta, double* c, int ldc) {
  dgemm_(&ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);
}
void gemm(char ta, char tb, int m, int n, int k, Complex alpha, const Complex* a, int lda, const Complex* b, int ldb,
          Complex beta, Complex* c, int ldc) {
  zgemm_(&ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);
}

void symv(char uplo, int n, float alpha, const float* a, int lda, const float* x, float beta, float* y, int incy) {
  const int one = 1;
  ssymv_(&uplo, &n, &alpha, a, &lda, x, &one, &beta, y, &incy, 1);
}
void symv(char uplo, int n, double alpha, const double* a, int lda, const double* x, double beta, double* y, int incy) {
  const int one = 1;
  dsymv_(&uplo, &n, &alpha, a, &lda, x, &one, &beta, y, &incy, 1);
}
void symv(char uplo, int n, Complex alpha, const Complex* a, int lda, const Complex* x, Complex beta, Complex* y,
          int incy) {
  const int one = 1;
  zhemv_(&uplo, &n, &alpha, a, &lda, x, &one, &beta, y, &incy, 1);
}

template <class T>
constexpr bool is_complex = std::is_same_v<T, Complex>;
/// Sums up to this are exact, with room for differing orders and complex parts.
template <class T>
constexpr double exact_limit = std::is_same_v<T, float> ? 4e6 : 1e15;

template <class T>
double magnitude(T x) {
  double largest;
  if constexpr (is_complex<T>)
    largest = std::abs(x.real()) + std::abs(x.imag());
  else
    largest = std::abs(static_cast<double>(x));
  return largest <= 1e300 ? largest : std::numeric_limits<double>::infinity();  // NaN, too
}
template <class T>
T times(T a, T b) {
  if constexpr (is_complex<T>)  // without the library's care for infinities
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else
    return a * b;
}

/// op(X), copied out of host memory.
template <class T>
struct Operand {
  Operand(const View& v, char op) : rows(op == 'N' ? v.rows : v.cols), cols(op == 'N' ? v.cols : v.rows) {
    const T* from = reinterpret_cast<const T*>(v.range().at());
    values.resize(static_cast<std::size_t>(rows * cols));
    for (index j = 0; j < cols; ++j)
      for (index i = 0; i < rows; ++i) {
        T x = op == 'N' ? from[i + j * v.ld] : from[j + i * v.ld];
        if constexpr (is_complex<T>)
          if (op == 'C') x = std::conj(x);
        largest = std::max(largest, magnitude(x));
        nonzeros += x != T{};
        at(i, j) = x;
      }
  }
  T& at(index i, index j) { return values[static_cast<std::size_t>(i + j * rows)]; }
  const T* column(index j) const { return &values[static_cast<std::size_t>(j * rows)]; }

  index rows, cols, nonzeros = 0;
  double largest = 0;
  std::vector<T> values;
};

/// C += alpha A B; the sparser one says what there is to do.
template <class T>
void add_product(T alpha, const Operand<T>& A, const Operand<T>& B, Operand<T>& C) {
  if (B.nonzeros * A.rows <= A.nonzeros * B.cols) {
    for (index j = 0; j < B.cols; ++j)
      for (index l = 0; l < B.rows; ++l) {
        const T b = times(alpha, B.column(j)[l]);
        if (b == T{}) continue;
        const T* a = A.column(l);
        T* c = &C.at(0, j);
        for (index i = 0; i < A.rows; ++i) c[i] += times(a[i], b);
      }
  } else {
    for (index l = 0; l < A.cols; ++l)
      for (index i = 0; i < A.rows; ++i) {
        const T a = times(alpha, A.column(l)[i]);
        if (a == T{}) continue;
        for (index j = 0; j < B.cols; ++j) C.at(i, j) += times(a, B.column(j)[l]);
      }
  }
}

struct Count {
  long done = 0, refused = 0;  // refused: not to be had there, or by this kernel
};
struct Totals {
  long products = 0;
  std::map<std::string, Count> writes;
};

/// One thread's steps.
class Torture {
 public:
  Torture(std::uint64_t seed, index arena_bytes, const std::vector<View>& shared, Arena* tenancy)
      : w_(seed), seed_(seed), views_(shared) {
    const bool alone = shared.empty();
    w_.places.reserve(alone ? 9 : 5, arena_bytes);
    if (tenancy) w_.add(Origin::tenant, tenancy->bytes, 8, tenancy->base);
    w_.add(Origin::mapped, arena_bytes, 8);
    w_.add(Origin::mapped, arena_bytes, 4);
    w_.add(Origin::allocated, arena_bytes, 8);
    if (alone) {
      w_.add(Origin::mapped, arena_bytes, 8);
      w_.add(Origin::mapped, arena_bytes, 4);
      w_.add(Origin::allocated, static_cast<index>(400e3 * settings.scale), 8);  // on the heap
      w_.child_work = [this] { return product(); };
    }
    for (auto& arena : w_.arenas) {
      if (faulty()) see({arena.get(), 0, arena->bytes});
      for (int i = 0; i < 6; ++i) views_.push_back(View{arena.get()}), renew(views_.back());
    }
  }

  bool run(long steps) {
    for (const long end = step_ + steps; step_ < end && !failed.load(std::memory_order_relaxed); ++step_) {
      if (w_.random.chance(1)) {
        View& view = w_.random.of(views_);
        if (!view.read_only) renew(view);
      }
      while (w_.random.chance(35)) change();
      if (!product()) failed = true;
    }
    return !failed;
  }

  /// The matrices, for others to read.
  std::vector<View> views() const {
    std::vector<View> views = views_;
    for (View& v : views) v.read_only = true;
    return views;
  }

  void add_to(Totals& totals) const {
    totals.products += products_;
    for (const auto& [name, counts] : writes_) {
      totals.writes[name].done += counts.done;
      totals.writes[name].refused += counts.refused;
    }
  }

 private:
  void change() {
    if (w_.random.chance(1)) {
      Arena &a = *w_.random.of(w_.arenas), *b = w_.another(a);
      if (b) note("swap", {&a, 0, a.bytes}, swap_arenas(w_, a, *b)), note("swap", {b, 0, b->bytes}, true, 0);
      return;
    }
    static const int total = [] {
      int sum = 0;
      for (const Writer& writer : writers) sum += writer.weight;
      return sum;
    }();
    index ticket = w_.random.pick(1, total);
    const Writer* writer = writers;
    while ((ticket -= writer->weight) > 0) ++writer;
    if (Range r; choose(r)) {
      const bool done = writer->write(w_, r);
      note(writer->name, r, done);
    }
  }

  struct Event {
    long step;
    const char* writer;
    Range range;
  };

  static bool faulty() { return !settings.fault.empty(); }

  /// The copies of a library that misses no write.
  void see(const Range& r) {
    if (r.begin >= r.end) return;
    auto& copy = copies_[r.arena];
    copy.resize(static_cast<std::size_t>(r.arena->bytes));
    std::memcpy(&copy[static_cast<std::size_t>(r.begin)], r.at(), r.size());
  }

  void note(const char* writer, const Range& r, bool done, int count = 1) {
    (done ? writes_[writer].done : writes_[writer].refused) += count;
    events_.push_back({step_, writer, r});
    if (events_.size() > 2000) events_.pop_front();
    if (faulty() && settings.fault != writer) see(r);
  }

  /// What a writer is to change: mostly a little of a matrix, at an edge of it or of a page.
  bool choose(Range& r) {
    const View& v = w_.random.of(views_);
    if (v.read_only) return false;
    const index element = v.arena->element, length = v.range().end - v.offset;
    const index longest = w_.random.chance(70) ? 64 : w_.random.chance(80) ? 16384 : v.arena->bytes;
    const index some = w_.random.pick(1, std::min(longest, length) / element) * element;
    index begin = v.offset;
    switch (w_.random.pick(0, 6)) {
      case 0: break;
      case 1: begin += length - some; break;
      case 2: begin -= some; break;
      case 3: begin += length; break;
      case 4: {  // around the beginning of a page
        const std::byte* inside = v.arena->base + v.offset + w_.random.pick(0, length);
        begin = rounded(const_cast<std::byte*>(inside), w_.page(), w_.random.chance(50)) - v.arena->base;
        if (w_.random.chance(50)) begin -= element;
        break;
      }
      default: begin += w_.random.pick(0, (length - some) / element) * element;
    }
    begin = std::clamp<index>(begin, 0, v.arena->bytes - element);
    r = {v.arena, begin, std::min(begin + some, v.arena->bytes)};
    if (w_.random.chance(1)) widen_to_arena(r);
    return true;
  }

  /// A new matrix in the same arena, most often clear of the others.
  void renew(View& v) {
    static constexpr double sizes[] = {24, 40, 64, 90, 100, 128, 150};
    static constexpr index gaps[] = {0, 0, 1, 3, 16};
    Random& random = w_.random;
    v.type = v.arena->element == 4 ? 's' : random.chance(25) ? 'z' : 'd';
    v.rows = static_cast<index>(random.of(sizes) * settings.scale);
    v.ld = v.rows + random.of(gaps);
    v.cols = std::min(static_cast<index>(random.of(sizes) * settings.scale), v.arena->bytes / (v.ld * v.size()));
    v.sparse = random.chance(40);
    for (int attempt = 0; attempt < 10; ++attempt) {
      v.offset = random.pick(0, (v.arena->bytes - v.ld * v.cols * v.size()) / v.arena->element) * v.arena->element;
      if (std::none_of(views_.begin(), views_.end(),
                       [&v](const View& other) { return &other != &v && other.range().meets(v.range()); }))
        break;
    }
    refill(v);
    if (random.chance(50) && v.ld > v.rows) {
      for (index j = 0; j + 1 < v.cols; ++j)
        std::memset(v.range().at() + (j * v.ld + v.rows) * v.size(), 0xff,
                    static_cast<std::size_t>((v.ld - v.rows) * v.size()));
      note("new matrix", v.range(), true);
    }
  }

  /// Contents as the matrix is meant to have them.
  void refill(const View& v) {
    for (index j = 0; j < v.cols; ++j) {
      const Range column = v.block(0, j, v.rows, 1).range();
      if (!v.sparse) {
        fill(column, w_.random);
        continue;
      }
      std::memset(column.at(), 0, column.size());
      for (int i = 0; i < 3; ++i) {
        const index at = w_.random.pick(0, v.rows * v.size() / v.arena->element - 1) * v.arena->element;
        fill(column.at() + at, static_cast<std::size_t>(v.arena->element), v.arena->element, w_.random, 1);
      }
    }
    note("refill", v.range(), true);
  }

  /// False: a result was wrong.
  bool product() {
    if (w_.random.chance(20)) {
      const View& v = w_.random.of(views_);
      return v.type == 's' ? vector<float>(v) : v.type == 'd' ? vector<double>(v) : vector<Complex>(v);
    }
    const char type = w_.random.of(views_).type;
    auto one = [this, type](auto&& suits) {
      for (int attempt = 0; attempt < 1000; ++attempt)
        if (const View& v = w_.random.of(views_); v.type == type && suits(v)) return &v;
      return static_cast<const View*>(nullptr);
    };
    const View* a = one([](const View&) { return true; });
    const bool any = !a || a->sparse || w_.random.chance(20);  // products of large values would soon be too large
    const View* b = one([any](const View& v) { return any || v.sparse; });
    const View* c = one([](const View& v) { return !v.sparse && !v.read_only; });
    if (!a || !b || !c) return true;
    switch (type) {
      case 's': return product<float>(*a, *b, *c);
      case 'd': return product<double>(*a, *b, *c);
      default: return product<Complex>(*a, *b, *c);
    }
  }

  /// The product of a triangle with a vector, which the device begins before it is known whether its copy is good.
  template <class T>
  bool vector(View a) {
    Random& random = w_.random;
    const index most = std::min(a.rows, a.cols), n = random.chance(70) ? most : random.pick((most + 1) / 2, most);
    a = random.chance(60) ? a.block(0, 0, n, n) : a.block(random.pick(0, a.rows - n), random.pick(0, a.cols - n), n, n);
    const char uplo = random.chance(50) ? 'U' : 'L';
    const index incy = random.pick(1, 2);
    Operand<T> A(a, 'N');
    if (!(A.largest * 4 * static_cast<double>(n) < exact_limit<T>)) return true;
    std::vector<T> x(static_cast<std::size_t>(n)), y(static_cast<std::size_t>(n * incy), static_cast<T>(7));
    for (T& value : x) value = static_cast<T>(static_cast<double>(random.pick(-1, 2)));
    std::vector<T> expected = y;
    for (index i = 0; i < n; ++i) {
      T& sum = expected[static_cast<std::size_t>(i * incy)];
      for (index j = 0; j < n; ++j) {
        const bool there = uplo == 'L' ? i >= j : i <= j;
        T element = there ? A.at(i, j) : A.at(j, i);
        if constexpr (is_complex<T>) element = i == j ? element.real() : there ? element : std::conj(element);
        sum += times(element, x[static_cast<std::size_t>(j)]);
      }
    }
    const std::byte* at = a.range().at();
    if (faulty() && !a.read_only) at = &copies_[a.arena][static_cast<std::size_t>(a.offset)];
    symv(uplo, static_cast<int>(n), T{1}, reinterpret_cast<const T*>(at), static_cast<int>(a.ld), x.data(), T{1},
         y.data(), static_cast<int>(incy));
    ++products_;
    events_.push_back({step_, "vector", {a.arena, 0, 0}});
    const auto wrong = std::mismatch(y.begin(), y.end(), expected.begin()).first - y.begin();
    if (y == expected) return true;
    if (A.values != Operand<T>(a, 'N').values && writes_["FREE"].done > 0)
      return true;  // freed pages have gone meanwhile
    const std::lock_guard lock(telling_);
    std::printf("WRONG: seed %llu, step %ld: %c %s %c n %td, incy %td: element %td is %g, not %g\n",
                static_cast<unsigned long long>(seed_), step_, a.type, is_complex<T> ? "hemv" : "symv", uplo, n, incy,
                wrong / incy, std::real(y[static_cast<std::size_t>(wrong)]),
                std::real(expected[static_cast<std::size_t>(wrong)]));
    tell("A", a, a);
    std::fflush(stdout);  // a child ends without it
    return false;
  }

  template <class T>
  bool product(View a, View b, View c) {
    static constexpr double factors[] = {1, 1, 1, -1, -1, 2}, betas[] = {0, 0, 0, 1, -1, 2};
    static constexpr char ops[] = {'N', 'N', 'T', is_complex<T> ? 'C' : 'T'};
    Random& random = w_.random;
    const char ta = random.of(ops), tb = random.of(ops);
    const T alpha = static_cast<T>(random.chance(2) ? 0 : random.of(factors)), beta = static_cast<T>(random.of(betas));
    auto across = [](const View& v, char op) { return op == 'N' ? v.cols : v.rows; };
    auto down = [](const View& v, char op) { return op == 'N' ? v.rows : v.cols; };
    index m = std::min(down(a, ta), c.rows), n = std::min(across(b, tb), c.cols),
          k = std::min(across(a, ta), down(b, tb));
    if (!a.sparse && !b.sparse) k = std::min<index>(k, 8);
    for (index* extent : {&m, &n, &k})
      if (random.chance(20)) *extent = random.pick((*extent + 1) / 2, *extent);
    auto block = [&random](const View& v, char op, index rows, index cols) {
      if (op != 'N') std::swap(rows, cols);
      const bool first = random.chance(60);
      return v.block(first ? 0 : random.pick(0, v.rows - rows), first ? 0 : random.pick(0, v.cols - cols), rows, cols);
    };
    a = block(a, ta, m, k), b = block(b, tb, k, n), c = block(c, 'N', m, n);
    if (c.overlaps(a) || c.overlaps(b)) return true;

    Operand<T> A(a, ta), B(b, tb), C(c, 'N');
    for (int attempt = 0; !fits(alpha, A, B, beta, C); ++attempt) {
      if (attempt == 3) return true;  // they overlap, or nobody may write to them
      auto renew_if_worn = [this, attempt](const View& v, const Operand<T>& X) {
        const bool worn = X.largest > 1e4 || (v.sparse && X.nonzeros > X.rows * X.cols / 4);
        if (!v.read_only && (worn || attempt > 0)) refill(v);
      };
      renew_if_worn(a, A), renew_if_worn(b, B), renew_if_worn(c, C);
      A = Operand<T>(a, ta), B = Operand<T>(b, tb), C = Operand<T>(c, 'N');
    }
    if (beta == T{}) C.values.assign(C.values.size(), T{});
    for (T& x : C.values) x = times(beta, x);
    add_product(alpha, A, B, C);

    // Nothing else is written: around C always, everywhere from time to time.
    Range around{c.arena, std::max<index>(c.range().begin - 2 * small_page, 0),
                 std::min(c.range().end + 2 * small_page, c.arena->bytes)};
    Range elsewhere{random.of(w_.arenas).get(), 0, 0};
    if (random.chance(3)) widen_to_arena(elsewhere.arena == c.arena ? around : elsewhere);
    auto copy_of = [](const Range& r) { return std::vector<std::byte>(r.at(), r.at() + r.size()); };
    auto before = copy_of(around);
    const auto before_elsewhere = copy_of(elsewhere);

    auto operand = [this](const View& v) {
      const std::byte* p = v.range().at();
      if (faulty() && !v.read_only) p = &copies_[v.arena][static_cast<std::size_t>(v.offset)];
      return reinterpret_cast<const T*>(p);
    };
    T* result = reinterpret_cast<T*>(c.range().at());
    gemm(ta, tb, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), alpha, operand(a),
         static_cast<int>(a.ld), operand(b), static_cast<int>(b.ld), beta, result, static_cast<int>(c.ld));
    ++products_;
    if (settings.fault == "outside" && c.range().begin > around.begin) c.range().at()[-1] ^= std::byte{1};
    events_.push_back({step_, "product", c.range()});
    if (faulty()) see(c.range());

    index wrong = 0, first_i = 0, first_j = 0;
    for (index j = n - 1; j >= 0; --j)
      for (index i = m - 1; i >= 0; --i)
        if (result[i + j * c.ld] != C.at(i, j)) ++wrong, first_i = i, first_j = j;
    for (index j = 0; j < n; ++j)
      std::memcpy(&before[static_cast<std::size_t>(c.range().begin - around.begin + j * c.ld * c.size())],
                  result + j * c.ld, static_cast<std::size_t>(m) * sizeof(T));
    const bool neighbours = std::equal(before.begin(), before.end(), around.at());
    const bool others = std::equal(before_elsewhere.begin(), before_elsewhere.end(), elsewhere.at());
    if (!wrong && neighbours && others) return true;
    if (wrong && (A.values != Operand<T>(a, ta).values || B.values != Operand<T>(b, tb).values) &&
        writes_["FREE"].done > 0)
      return true;  // freed pages have gone meanwhile
    const std::lock_guard lock(telling_);
    std::printf("WRONG: seed %llu, step %ld: %cgemm %c%c m %td n %td k %td, alpha %g, beta %g\n",
                static_cast<unsigned long long>(seed_), step_, c.type, ta, tb, m, n, k, std::real(alpha),
                std::real(beta));
    if (!neighbours) std::printf("  memory around C has changed\n");
    if (!others) std::printf("  memory far from C has changed\n");
    if (wrong)
      std::printf("  %td elements of C, the first is (%td, %td): %g, not %g\n", wrong, first_i, first_j,
                  std::real(result[first_i + first_j * c.ld]), std::real(C.at(first_i, first_j)));
    tell("A", a, ta == 'N' ? a.block(first_i, 0, 1, k) : a.block(0, first_i, k, 1));
    tell("B", b, tb == 'N' ? b.block(0, first_j, k, 1) : b.block(first_j, 0, 1, k));
    tell("C", c, c.block(first_i, first_j, 1, 1));
    std::fflush(stdout);  // a child ends without it
    return false;
  }

  /// Whether the result is exact and soon computed.
  template <class T>
  static bool fits(T alpha, const Operand<T>& A, const Operand<T>& B, T beta, const Operand<T>& C) {
    const auto k = static_cast<double>(A.cols);
    double largest = magnitude(alpha) * A.largest * B.largest * k;
    if (beta != T{} || alpha == T{}) largest += std::max(magnitude(beta), 1.0) * C.largest;
    const index work = std::min(A.nonzeros * B.cols, B.nonzeros * A.rows);
    return largest < exact_limit<T> && static_cast<double>(work) < 3e5 * std::pow(settings.scale, 3);
  }

  /// Where an operand is, and the last writers of what the first wrong element depends on.
  void tell(const char* name, const View& v, const View& part) const {
    const Range r = v.range();
    std::printf("  %s: %p, ld %td, %td bytes, pages %#zx to %#zx, arena %d\n", name, static_cast<void*>(r.at()), v.ld,
                r.end - r.begin, reinterpret_cast<std::size_t>(r.at()) / small_page,
                (reinterpret_cast<std::size_t>(r.at()) + r.size() - 1) / small_page, v.arena->number);
    int told = 0;
    for (auto e = events_.rbegin(); e != events_.rend() && told < 6; ++e)
      if (e->range.meets(part.range()) && ++told)
        std::printf("    step %ld: %s, bytes %td to %td of it\n", e->step, e->writer, e->range.begin - r.begin,
                    e->range.end - r.begin);
  }

  static inline std::mutex telling_;
  World w_;
  const std::uint64_t seed_;
  std::vector<View> views_;
  long step_ = 0, products_ = 0;
  std::map<std::string, Count> writes_;
  std::deque<Event> events_;
  std::map<const Arena*, std::vector<std::byte>> copies_;
};

Totals torture_alone(index arena_bytes) {
  Totals totals;
  Torture torture(settings.seed, arena_bytes, {}, nullptr);
  torture.run(settings.steps);
  torture.add_to(totals);
  return totals;
}

/// Threads with arenas of their own, with pages in common, and with matrices that all of them read.
Totals torture_threads(index arena_bytes) {
  const int count = settings.threads, rounds = 8;
  Torture shared(settings.seed, arena_bytes, {}, nullptr);
  const index room = arena_bytes / 4 + 1000;  // so that bounds are within pages
  std::byte* common = map_pages(nullptr, room * (count + 1), 0);
  std::vector<Arena> tenancies;
  for (int t = 0; t < count; ++t) tenancies.push_back({0, Origin::tenant, room, 8, common + t * room});
  std::vector<std::unique_ptr<Torture>> tortures;
  for (int t = 0; t < count; ++t)
    tortures.push_back(std::make_unique<Torture>(settings.seed * 1000 + static_cast<std::uint64_t>(t), arena_bytes,
                                                 shared.views(), &tenancies[static_cast<std::size_t>(t)]));
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::thread> threads;
    for (auto& torture : tortures)
      threads.emplace_back([&torture, count] { torture->run(settings.steps / rounds / (count + 1)); });
    for (auto& thread : threads) thread.join();
    shared.run(settings.steps / rounds / (count + 1));
  }
  Totals totals;
  shared.add_to(totals);
  for (auto& torture : tortures) torture->add_to(totals);
  return totals;
}

bool parse(std::string_view argument) {
  const auto equals = argument.find('=');
  if (equals == argument.npos) return false;
  const std::string_view name = argument.substr(0, equals);
  const std::string value(argument.substr(equals + 1));
  if (name == "steps") return settings.steps = std::atol(value.c_str()), true;
  if (name == "seed") return settings.seed = static_cast<std::uint64_t>(std::atoll(value.c_str())), true;
  if (name == "pages") return settings.huge = value == "huge", value == "huge" || value == "small";
  if (name == "scale") return settings.scale = std::atof(value.c_str()), settings.scale >= 0.5;
  if (name == "threads") return settings.threads = std::atoi(value.c_str()), true;
  if (name == "fault") return settings.fault = value, true;
  return false;
}

void list_writers() {
  for (const Writer& writer : writers)
    if (writer.changes) std::printf("%s\n", writer.name);
  std::printf("swap\nrefill\n");
}

int run() {
  const double megabytes = std::pow(settings.scale, 2) * (settings.huge ? 4 : 1);
  const index unit = settings.huge ? huge_page : small_page;
  const index arena_bytes = static_cast<index>(megabytes * (1 << 20)) / unit * unit;
  // Arenas are mappings of their own for malloc, but one is on the heap.
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(512e3 * settings.scale));
  const Totals totals = settings.threads ? torture_threads(arena_bytes) : torture_alone(arena_bytes);
  std::printf("{\"steps\": %ld, \"products\": %ld, \"failed_moves\": %ld, \"writers\": {", settings.steps,
              totals.products, failed_moves.load());
  const char* separator = "";
  for (const auto& [name, writes] : totals.writes) {
    std::printf("%s\"%s\": [%ld, %ld]", separator, name.c_str(), writes.done, writes.refused);
    separator = ", ";
  }
  std::printf("}}\n%s\n", failed ? "failed" : "ok");
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace torture

int main(int count, char** arguments) {
  using namespace torture;
  if (count == 2 && std::string_view(arguments[1]) == "writers") return list_writers(), 0;
  for (int i = 1; i < count; ++i)
    if (!parse(arguments[i])) return std::fprintf(stderr, "torture: %s?\n", arguments[i]), 2;
  return run();
}
