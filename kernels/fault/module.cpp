// A stand-in for libblaslift_host.so in the tests: the host backend, failing as INJECTED_FAULT says:
// "K", "K:no_memory", "K:lost", with ":torn" behind it for garbage in a slot, or "never" for a device that does not
// open, "bare" for one that has nothing of what operations may need besides. Opening takes INJECTED_OPENING seconds.
// Writes the number of operations seen to the file INJECTED_FAULT_COUNT at exit.
//
// With INJECTED_ALGORITHMS=LIBRARY:OWN,FIRST,SECOND... it has algorithms to choose from, which delay a product by so
// many microseconds: the library's own choice, and the candidates.  Writes the number of products that followed a
// preference to the file INJECTED_ALGORITHMS_COUNT at exit.  With INJECTED_ALGORITHMS_REVERSED it proposes them in the
// other order.
//
// With INJECTED_MISTAKE it computes wrongly, products, SYMV, triangular systems and factors alike: "element:X" adds X
// eps |op(A)| |op(B)| to one element of a result (alpha = 1, beta = 0; of a system to one residual, of |op(A)| |X|),
// "block" spoils a quarter of a product's columns in their upper half, "bits" changes the last bit of an element in
// every second result, "outside" writes behind the last row of the last column brought back (of products only), "input"
// changes what was uploaded first, in the program's memory.  With INJECTED_MISTAKE_AT=MxNxK only products of that size
// are.
//
// With INJECTED_DEVICE_MEMORY=LEAST:MOST operands of so many bytes are said to be in the program's device memory, which
// is the heap anyway.
//
// With INJECTED_BUSY=PERCENT it says that it was so busy.
//
// With INJECTED_SYMV=N a SYMV computes nothing but takes its time: below n = N the strips are the fastest, above the
// tickets of 64x32x8x64.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/host/host.hpp"
#include "kernels/module.hpp"
#include "kernels/preference.hpp"

namespace {

using namespace blaslift;
using blaslift::index;  // and not <strings.h>'s

FaultPlan plan;

struct Delays {
  std::string library;
  std::vector<long> microseconds;  ///< of the library's own choice, then of the candidates
  long symv_meets = 0;             ///< INJECTED_SYMV
  std::string mistake;             ///< INJECTED_MISTAKE
  std::string mistake_at;          ///< INJECTED_MISTAKE_AT; empty: everywhere
};

/// Of LIBRARY:OWN,FIRST...
Delays delays_of(std::string_view text) {
  Delays delays{std::string(text.substr(0, text.find(':'))), {}, 0, {}, {}};
  for (std::size_t at = text.find_first_of(":,"); at != text.npos; at = text.find_first_of(":,", at + 1))
    delays.microseconds.push_back(std::atol(text.data() + at + 1));
  return delays;
}

std::atomic<long> followed{0};  ///< products that did what was preferred
std::atomic<long> results{0};   ///< that may have been computed wrongly

template <class T>
double size_of(T x) {
  return std::fabs(static_cast<double>(std::real(x))) + std::fabs(static_cast<double>(std::imag(x)));
}

/// Whose last element is to be wrong by so many units.
template <class T>
void spoil_element(T& element, double terms, double units) {
  using Real = decltype(std::real(T()));
  element += static_cast<Real>(units * terms * static_cast<double>(std::numeric_limits<Real>::epsilon()));
}

template <class T>
void change_last_bit(T& element) {
  std::uint32_t low;
  std::memcpy(&low, &element, sizeof low);
  low ^= 1;
  std::memcpy(static_cast<void*>(&element), &low, sizeof low);
}

template <class T>
void spoil(const Gemm& x, std::string_view mistake) {
  if (x.m == 0 || x.n == 0) return;
  T* C = static_cast<T*>(x.C);
  T& last = C[x.m - 1 + (x.n - 1) * x.ldc];
  if (mistake.starts_with("element:")) {
    const T *A = static_cast<const T*>(x.A), *B = static_cast<const T*>(x.B);
    double terms = 0;
    for (index p = 0; p < x.k; ++p)
      terms += size_of(x.transa == Op::none ? A[x.m - 1 + p * x.lda] : A[p + (x.m - 1) * x.lda]) *
               size_of(x.transb == Op::none ? B[p + (x.n - 1) * x.ldb] : B[x.n - 1 + p * x.ldb]);
    spoil_element(last, terms, std::atof(mistake.data() + mistake.find(':') + 1));
  } else if (mistake == "block") {
    for (index j = 0; j < (x.n + 3) / 4; ++j)
      for (index i = 0; i < (x.m + 1) / 2; ++i) C[i + j * x.ldc] = T(0);
  } else if (mistake == "bits" && results++ % 2 == 1) {
    change_last_bit(last);
  }
}

/// Of the last product.
template <class T>
void spoil(const GemmBatch& x, std::string_view mistake) {
  if (x.count > 0) spoil<T>(x.product(x.count - 1), mistake);
}

template <class T>
void spoil(const Symv& x, std::string_view mistake) {
  if (x.n == 0) return;
  T& last = static_cast<T*>(x.y)[x.incy > 0 ? (x.n - 1) * x.incy : 0];
  if (mistake.starts_with("element:")) {
    const T *A = static_cast<const T*>(x.A), *X = static_cast<const T*>(x.x);
    double terms = 0;
    for (index j = 0; j < x.n; ++j)
      terms += size_of(x.uplo == Uplo::lower ? A[x.n - 1 + j * x.lda] : A[j + (x.n - 1) * x.lda]) *
               size_of(X[x.incx > 0 ? j * x.incx : (j + 1 - x.n) * x.incx]);
    spoil_element(last, terms, std::atof(mistake.data() + mistake.find(':') + 1));
  } else if (mistake == "bits" && results++ % 2 == 1) {
    change_last_bit(last);
  }
}

template <class T>
void spoil(const Gemv& x, std::string_view mistake) {
  if (x.m == 0 || x.n == 0) return;
  T& last = static_cast<T*>(x.y)[x.incy > 0 ? (x.results() - 1) * x.incy : 0];
  if (mistake.starts_with("element:")) {
    const T *A = static_cast<const T*>(x.A), *X = static_cast<const T*>(x.x);
    double terms = 0;
    for (index k = 0; k < x.terms(); ++k)
      terms += size_of(x.transposed ? A[k + (x.n - 1) * x.lda] : A[x.m - 1 + k * x.lda]) *
               size_of(X[x.incx > 0 ? k * x.incx : (k + 1 - x.terms()) * x.incx]);
    spoil_element(last, terms, std::atof(mistake.data() + mistake.find(':') + 1));
  } else if (mistake == "bits" && results++ % 2 == 1) {
    change_last_bit(last);
  }
}

/// Of the element that is solved for last, on which no other one depends.
template <class T>
void spoil(const Trsm& x, std::string_view mistake) {
  if (x.m == 0 || x.n == 0) return;
  const bool left = x.side == Side::left, backward = (x.uplo == Uplo::lower) != ((x.trans == Op::none) == left);
  const index n = x.order(), last = backward ? 0 : n - 1;
  T* const B = static_cast<T*>(x.B);
  const auto at = [&](index i) -> T& { return left ? B[i + (x.n - 1) * x.ldb] : B[x.m - 1 + i * x.ldb]; };
  if (mistake.starts_with("element:")) {
    const T* const A = static_cast<const T*>(x.A);
    const bool by_rows = left == (x.trans == Op::none);
    const auto a = [&](index k) {
      return k == last && x.unit ? T(1) : by_rows ? A[last + k * x.lda] : A[k + last * x.lda];
    };
    double terms = 0;
    for (index k = 0; k < n; ++k) terms += size_of(a(k)) * size_of(at(k));
    spoil_element(at(last), terms / size_of(a(last)), std::atof(mistake.data() + mistake.find(':') + 1));
  } else if (mistake == "block") {
    for (index j = 0; j < (x.n + 3) / 4; ++j)
      for (index i = 0; i < (x.m + 1) / 2; ++i) B[i + j * x.ldb] = T(0);
  } else if (mistake == "bits" && results++ % 2 == 1) {
    change_last_bit(at(last));
  }
}

/// Of the element in the corner, which nothing depends on.
template <class T>
void spoil(const Potrf& x, std::string_view mistake) {
  if (x.n == 0) return;
  T* const A = static_cast<T*>(x.A);
  T& last = A[(x.n - 1) * (x.lda + 1)];
  if (mistake.starts_with("element:")) {
    spoil_element(last, size_of(last), std::atof(mistake.data() + mistake.find(':') + 1));
  } else if (mistake == "block") {
    for (index j = 0; j < (x.n + 3) / 4; ++j) A[j * (x.lda + 1)] = T(0);
  } else if (mistake == "bits" && results++ % 2 == 1) {
    change_last_bit(last);
  }
}

/// The same of U's last one.
template <class T>
void spoil(const Getrf& x, std::string_view mistake) {
  if (x.factored() == 0) return;
  T* const A = static_cast<T*>(x.A);
  T& last = A[x.factored() - 1 + (x.n - 1) * x.lda];
  if (mistake.starts_with("element:")) {
    double terms = 0;
    for (index k = 0; k < x.factored(); ++k)
      terms +=
          (k + 1 < x.factored() ? size_of(A[x.factored() - 1 + k * x.lda]) : 1) * size_of(A[k + (x.n - 1) * x.lda]);
    spoil_element(last, terms, std::atof(mistake.data() + mistake.find(':') + 1));
  } else if (mistake == "block") {
    for (index j = 0; j < (x.factored() + 3) / 4; ++j) A[j * (x.lda + 1)] = T(0);
  } else if (mistake == "bits" && results++ % 2 == 1) {
    change_last_bit(last);
  }
}

/// Of the last eigenvalue, and with vectors the last one's last element.
template <class T>
void spoil(const Syevd& x, std::string_view mistake) {
  if (x.count == 0) return;
  Real<T>& largest = static_cast<Real<T>*>(x.w)[x.count - 1];
  T* const V = static_cast<T*>(x.V);
  if (mistake.starts_with("element:")) {
    const double units = std::atof(mistake.data() + mistake.find(':') + 1);
    const double size = std::max(size_of(static_cast<const Real<T>*>(x.w)[0]), size_of(largest));
    spoil_element(largest, static_cast<double>(x.n) * size, units);
  } else if (mistake == "block") {
    for (index j = 0; x.vectors && j < (x.count + 3) / 4; ++j)
      for (index i = 0; i < (x.n + 1) / 2; ++i) V[i + j * x.ldv] = T(0);
    if (!x.vectors) largest = 0;
  } else if (mistake == "bits" && results++ % 2 == 1) {
    change_last_bit(largest);
  }
}

/// Of the first element of B's diagonal, with which the first reflector begins.
template <class T>
void spoil(const Gebrd& x, std::string_view mistake) {
  if (x.factored() == 0) return;
  auto* const d = static_cast<Real<T>*>(x.d);
  if (mistake.starts_with("element:")) {
    double sizes = 0;
    for (index j = 0; j < x.factored(); ++j) sizes = std::max(sizes, size_of(d[j]));
    spoil_element(d[0], static_cast<double>(std::max(x.m, x.n)) * sizes,
                  std::atof(mistake.data() + mistake.find(':') + 1));
  } else if (mistake == "block") {
    for (index j = 0; j < (x.factored() + 3) / 4; ++j) d[j] = 0;
  } else if (mistake == "bits" && results++ % 2 == 1) {
    change_last_bit(d[0]);
  }
}

/// Of the first element of T's diagonal.
template <class T>
void spoil(const Sytrd& x, std::string_view mistake) {
  if (x.n == 0) return;
  auto* const d = static_cast<Real<T>*>(x.d);
  if (mistake.starts_with("element:")) {
    double sizes = 0;
    for (index j = 0; j < x.n; ++j) sizes = std::max(sizes, size_of(d[j]));
    spoil_element(d[0], static_cast<double>(x.n) * sizes, std::atof(mistake.data() + mistake.find(':') + 1));
  } else if (mistake == "block") {
    for (index j = 0; j < (x.n + 3) / 4; ++j) d[j] = 0;
  } else if (mistake == "bits" && results++ % 2 == 1) {
    change_last_bit(d[0]);
  }
}

/// Of the first element of H that is right of its diagonal.
template <class T>
void spoil(const Gehrd& x, std::string_view mistake) {
  if (x.size() < 2) return;
  T* const column = static_cast<T*>(x.A) + x.lda;
  if (mistake.starts_with("element:")) {
    double sizes = 0;
    for (index i = 0; i < x.rows; ++i) sizes = std::max(sizes, size_of(column[i]));
    spoil_element(column[x.above], static_cast<double>(x.rows) * sizes,
                  std::atof(mistake.data() + mistake.find(':') + 1));
  } else if (mistake == "block") {
    for (index i = 0; i < x.above + 2; ++i) column[i] = T(0);
  } else if (mistake == "bits" && results++ % 2 == 1) {
    change_last_bit(column[x.above]);
  }
}

/// Of R's last column.
template <class T>
void spoil(const Geqp3& x, std::string_view mistake) {
  if (x.factored() == 0) return;
  T* const column = static_cast<T*>(x.A) + (x.n - 1) * x.lda;
  const index rows = std::min(x.m, x.n);
  if (mistake.starts_with("element:")) {
    double sizes = 0;
    for (index i = 0; i < rows; ++i) sizes = std::max(sizes, size_of(column[i]));
    spoil_element(column[0], static_cast<double>(x.m) * sizes, std::atof(mistake.data() + mistake.find(':') + 1));
  } else if (mistake == "block") {
    for (index i = 0; i < rows; ++i) column[i] = T(0);
  } else if (mistake == "bits" && results++ % 2 == 1) {
    change_last_bit(column[0]);
  }
}

/// Of the largest singular value, or of the first singular vectors of a side.
template <class T>
void spoil(const Svd& x, std::string_view mistake) {
  if (x.count() == 0) return;
  Real<T>& largest = static_cast<Real<T>*>(x.s)[0];
  if (mistake.starts_with("element:")) {
    spoil_element(largest, static_cast<double>(std::max(x.m, x.n)) * size_of(largest),
                  std::atof(mistake.data() + mistake.find(':') + 1));
  } else if (mistake == "block") {
    const bool left = x.u_cols > 0;
    T* const vectors = static_cast<T*>(left ? x.U : x.VT);
    const index rows = left ? (x.m + 1) / 2 : x.vt_rows, cols = left ? (x.u_cols + 3) / 4 : (x.n + 1) / 2;
    for (index j = 0; rows > 0 && j < cols; ++j)
      for (index i = 0; i < rows; ++i) vectors[i + j * (left ? x.ldu : x.ldvt)] = T(0);
    if (rows == 0) largest = 0;
  } else if (mistake == "bits" && results++ % 2 == 1) {
    change_last_bit(largest);
  }
}

/// Of the last element that it writes.
template <class T>
void spoil(const Assign& x, std::string_view mistake) {
  T* const C = static_cast<T*>(x.C);
  T* last = nullptr;
  for (index j = 0; j < x.n; ++j)
    for (index i = 0; i < x.m; ++i)
      if (x.covers(i, j)) {
        last = C + i + j * x.ldc;
        if (mistake == "block" && i < (x.m + 1) / 2 && j < (x.n + 3) / 4) *last = T(0);
      }
  if (!last) return;
  if (mistake.starts_with("element:"))
    spoil_element(*last, static_cast<double>(std::max(x.m, x.n)), std::atof(mistake.data() + mistake.find(':') + 1));
  else if (mistake == "bits" && results++ % 2 == 1)
    change_last_bit(*last);
}

/// Of the last element beside the diagonal that it writes.
template <class T>
void spoil(const Mirror& x, std::string_view mistake) {
  if (x.n < 2) return;
  T* const A = static_cast<T*>(x.A);
  const auto other = [&](index i, index j) -> T& {
    return x.uplo == Uplo::lower ? A[j + i * x.lda] : A[i + j * x.lda];
  };
  T& last = other(x.n - 1, x.n - 2);
  if (mistake.starts_with("element:")) {
    spoil_element(last, static_cast<double>(x.n), std::atof(mistake.data() + mistake.find(':') + 1));
  } else if (mistake == "block") {
    for (index j = 0; j < (x.n + 3) / 4; ++j)
      for (index i = j + 1; i < (x.n + 1) / 2; ++i) other(i, j) = T(0);
  } else if (mistake == "bits" && results++ % 2 == 1) {
    change_last_bit(last);
  }
}

/// Of the first eigenvalue, or of the last vectors.
template <class T>
void spoil(const Geev& x, std::string_view mistake) {
  if (x.n == 0) return;
  T* const w = static_cast<T*>(x.w);
  if (mistake.starts_with("element:")) {
    double sizes = 0;
    for (index i = 0; i < x.n; ++i)
      sizes = std::max(sizes, size_of(w[i]) + (x.wi ? size_of(static_cast<T*>(x.wi)[i]) : 0));
    spoil_element(w[0], static_cast<double>(x.n) * sizes, std::atof(mistake.data() + mistake.find(':') + 1));
  } else if (mistake == "block") {
    T* const V = static_cast<T*>(x.VR);
    for (index j = x.n - (x.n + 3) / 4; x.vectors && j < x.n; ++j)
      for (index i = 0; i < (x.n + 1) / 2; ++i) V[i + j * x.ldvr] = T(0);
    if (!x.vectors)
      for (index i = 0; i < x.n; ++i) w[i] = w[i] + w[i] + T(1);
  } else if (mistake == "bits" && results++ % 2 == 1) {
    change_last_bit(w[0]);
  }
}

template <class Computed>
void spoil(Precision precision, const Computed& x, std::string_view mistake) {
  switch (precision) {
    case Precision::s: return spoil<float>(x, mistake);
    case Precision::d: return spoil<double>(x, mistake);
    case Precision::c: return spoil<std::complex<float>>(x, mistake);
    case Precision::z: return spoil<std::complex<double>>(x, mistake);
  }
}

/// Another lane whose products wait.
class DelayedLane final : public Lane {
 public:
  DelayedLane(Lane& of, const Delays& delays, std::vector<Preference> preferences)
      : lane(of), delays_(delays), preferences_(std::move(preferences)) {}

  void join(std::uint64_t deal) override { lane.join(deal); }
  Status upload(const Transfer& x, After after) override {
    if (!first_uploaded_) first_uploaded_ = x.host;
    return lane.upload(x, after);
  }
  Status ask(const Operation& operation, After after) override {
    if (const auto* product = operation.get<Gemm>()) return multiply(*product, after);
    if (const auto* product = operation.get<GemmByResidues>()) return spoiled(*product, after);
    if (const auto* products = operation.get<GemmBatch>()) return spoiled(*products, after);
    if (const auto* product = operation.get<Symv>()) return multiply(*product, after);
    if (const auto* product = operation.get<Gemv>()) return spoiled(*product, after);
    if (const auto* system = operation.get<Trsm>()) return spoiled(*system, after);
    if (const auto* matrix = operation.get<Potrf>()) return spoiled(*matrix, after);
    if (const auto* matrix = operation.get<Getrf>()) return spoiled(*matrix, after);
    if (const auto* matrix = operation.get<Syevd>()) return spoiled(*matrix, after);
    if (const auto* matrix = operation.get<Gebrd>()) return spoiled(*matrix, after);
    if (const auto* matrix = operation.get<Sytrd>()) return spoiled(*matrix, after);
    if (const auto* matrix = operation.get<Gehrd>()) return spoiled(*matrix, after);
    if (const auto* matrix = operation.get<Geqp3>()) return spoiled(*matrix, after);
    if (const auto* matrix = operation.get<Svd>()) return spoiled(*matrix, after);
    if (const auto* matrix = operation.get<Assign>()) return spoiled(*matrix, after);
    if (const auto* matrix = operation.get<Geev>()) return spoiled(*matrix, after);
    if (const auto* matrix = operation.get<Mirror>()) return spoiled(*matrix, after);
    return lane.ask(operation, after);
  }
  Status download(const Transfer& x, After after, std::atomic<bool>& landed) override {
    // On the host backend what was asked for before has been done.
    if (delays_.mistake == "outside")
      std::memset(static_cast<char*>(x.host) + static_cast<std::size_t>((x.cols - 1) * x.ldh + x.rows) * x.element,
                  0x11, x.element);
    if (delays_.mistake == "input" && first_uploaded_) {
      const double other = 0.5;
      std::memcpy(first_uploaded_, &other, sizeof other);
    }
    return lane.download(x, after, landed);
  }
  Status share(After after, void*& mark) override { return lane.share(after, mark); }
  Status copy_shared(const OnDevice& from, const Transfer& to, After after) override {
    return lane.copy_shared(from, to, after);
  }
  bool started(Ticket upload) override { return lane.started(upload); }
  Status await(const std::atomic<bool>& landed) override { return lane.await(landed); }
  void abandon() override { lane.abandon(); }
  Status drain() override { return lane.drain(); }
  TransferTimes transfer_times() override { return lane.transfer_times(); }
  std::uint64_t exchanged_bytes() override { return lane.exchanged_bytes(); }

  Lane& lane;

 private:
  Status multiply(const Gemm& x, After after) {
    const Preference* found = nearest(preferences_.data(), static_cast<int>(preferences_.size()), x, alignment_of(x));
    const bool follows = found && !found->own;
    followed += follows;
    const std::size_t which = follows ? 1U + found->algorithm.words[0] : 0U;
    if (!delays_.library.empty())
      std::this_thread::sleep_for(std::chrono::microseconds(delays_.microseconds.at(which)));
    const Status status = lane.ask(x, after);
    const std::string size = std::to_string(x.m) + 'x' + std::to_string(x.n) + 'x' + std::to_string(x.k);
    if (status == Status::done && !delays_.mistake.empty() &&
        (delays_.mistake_at.empty() || size == delays_.mistake_at))
      spoil(x.precision, x, delays_.mistake);
    return status;
  }
  template <class X>
  Status spoiled(const X& x, After after) {
    const Status status = lane.ask(x, after);
    if (status == Status::done && !delays_.mistake.empty()) spoil(x.precision, x, delays_.mistake);
    return status;
  }
  Status multiply(const Symv& x, After after) {
    if (delays_.symv_meets <= 0) {
      const Status status = lane.ask(x, after);
      if (status == Status::done && !delays_.mistake.empty() && x.precision != Element::w)
        spoil(static_cast<Precision>(x.precision.name), x, delays_.mistake);
      return status;
    }
    const double size = std::pow(static_cast<double>(x.n) / static_cast<double>(delays_.symv_meets), 2);
    const bool best = x.blocking == SymvBlocking{64, 32, 8, 64} && x.way == SymvWay::tickets;
    const double microseconds = x.blocking.U == 0 ? 100 + 300 * size : (250 + 150 * size) * (best ? 1 : 1.3);
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::lround(1e3 * microseconds)));
    Symv nothing = x;  // others may come after it
    nothing.n = 0;
    return lane.ask(nothing, after);
  }

  const Delays& delays_;
  const std::vector<Preference> preferences_;
  void* first_uploaded_ = nullptr;
};

/// Another backend, with something changed.
class Around : public Backend {
 public:
  explicit Around(Backend& backend) : backend_(backend) {}

  const DeviceFacts& facts() const override { return backend_.facts(); }
  bool equip(Operation::Kind kind) override { return backend_.equip(kind); }
  Lane* acquire(const UnderlyingBlas& underlying, std::size_t bytes, Status& status) override {
    return backend_.acquire(underlying, bytes, status);
  }
  void release(Lane* lane) override { backend_.release(lane); }
  Status allocate(std::size_t bytes, void*& memory) override { return backend_.allocate(bytes, memory); }
  void free(void* memory) override { backend_.free(memory); }
  MemoryKind memory_kind(const void* memory, std::size_t bytes, bool everywhere) override {
    return backend_.memory_kind(memory, bytes, everywhere);
  }
  int candidates(const SquareProduct& product, std::uint32_t alignment, Candidate* candidates, int most) override {
    return backend_.candidates(product, alignment, candidates, most);
  }
  void prefer(const Preference* preferences, int count) override { backend_.prefer(preferences, count); }

 protected:
  ~Around() = default;
  Backend& backend_;
};

class WithAlgorithms final : public Around {
 public:
  WithAlgorithms(Backend& backend, Delays delays)
      : Around(backend), delays_(std::move(delays)), facts_(backend.facts()) {
    std::snprintf(facts_.algorithms, sizeof facts_.algorithms, "%s", delays_.library.c_str());
  }

  const DeviceFacts& facts() const override { return facts_; }
  Lane* acquire(const UnderlyingBlas& underlying, std::size_t bytes, Status& status) override {
    Lane* lane = backend_.acquire(underlying, bytes, status);
    std::lock_guard lock(mutex_);
    return lane ? new DelayedLane(*lane, delays_, preferences_) : nullptr;
  }
  void release(Lane* released) override {
    auto* lane = static_cast<DelayedLane*>(released);
    backend_.release(&lane->lane);
    delete lane;
  }
  int candidates(const SquareProduct&, std::uint32_t alignment, Candidate* candidates, int most) override {
    const int count = std::clamp(static_cast<int>(delays_.microseconds.size()) - 1, 0, most);
    const bool reversed = std::getenv("INJECTED_ALGORITHMS_REVERSED");
    for (int i = 0; i < count; ++i) {
      const int number = reversed ? count - 1 - i : i;
      candidates[i] = {};
      candidates[i].algorithm.words[0] = static_cast<unsigned char>(number);
      candidates[i].algorithm.alignment = alignment;
      std::snprintf(candidates[i].name, sizeof candidates[i].name, "number %d", number);
    }
    return count;
  }
  void prefer(const Preference* preferences, int count) override {
    std::lock_guard lock(mutex_);
    preferences_.assign(preferences, preferences + count);
  }

 private:
  const Delays delays_;
  DeviceFacts facts_;
  std::mutex mutex_;
  std::vector<Preference> preferences_;
};

/// Operands whose sizes are in a range are in the program's device memory.
class WithDeviceMemory final : public Around {
 public:
  WithDeviceMemory(Backend& backend, std::size_t least, std::size_t most)
      : Around(backend), least_(least), most_(most) {}

  MemoryKind memory_kind(const void* memory, std::size_t bytes, bool everywhere) override {
    return bytes >= least_ && bytes <= most_ ? MemoryKind::on_a_device
                                             : backend_.memory_kind(memory, bytes, everywhere);
  }

 private:
  const std::size_t least_, most_;
};

/// What operations of all kinds need besides is not there.
class Bare final : public Around {
 public:
  using Around::Around;
  bool equip(Operation::Kind) override { return false; }
};

/// Busy, with whatever.
class WithLoad final : public Around {
 public:
  WithLoad(Backend& backend, int percent) : Around(backend), percent_(percent) {}
  int busy_percent() override { return percent_; }

 private:
  const int percent_;
};

void write_count(const char* variable, long count) {
  const char* path = std::getenv(variable);
  if (std::FILE* file = path ? std::fopen(path, "we") : nullptr) {
    std::fprintf(file, "%ld\n", count);
    std::fclose(file);
  }
}
void write_counts() {
  write_count("INJECTED_FAULT_COUNT", plan.seen);
  write_count("INJECTED_ALGORITHMS_COUNT", followed);
}

Backend* open(const OpenRequest& request, char* why, std::size_t why_size) {
  const char* value = std::getenv("INJECTED_FAULT");
  const std::string_view text = value ? value : "0";
  if (text == "never") {
    std::snprintf(why, why_size, "the test's device does not open");
    return nullptr;
  }
  if (const char* seconds = std::getenv("INJECTED_OPENING")) {
    // As a driver has handlers of exit that must not run before it is initialised.
    static std::atomic<bool> initialised{false};
    std::atexit([] {
      if (!initialised) std::abort();
    });
    std::this_thread::sleep_for(std::chrono::duration<double>(std::atof(seconds)));
    initialised = true;
  }
  static std::once_flag once;  // one plan for all devices, which count on
  std::call_once(once, [&] {
    plan.at = std::atol(text.data());
    plan.status = text.find(":no_memory") != text.npos ? Status::no_memory : Status::lost;
    plan.scribble = text.find(":torn") != text.npos;
    std::atexit(write_counts);
  });
  Backend* backend = make_host_backend(request, &plan);
  if (text == "bare" && backend) backend = new Bare(*backend);
  if (const char* sizes = std::getenv("INJECTED_DEVICE_MEMORY"); sizes && backend) {
    char* most = nullptr;
    const std::size_t least = std::strtoul(sizes, &most, 10);
    backend = new WithDeviceMemory(*backend, least, std::strtoul(most + 1, nullptr, 10));
  }
  if (const char* percent = std::getenv("INJECTED_BUSY"); percent && backend)
    backend = new WithLoad(*backend, std::atoi(percent));
  const char* algorithms = std::getenv("INJECTED_ALGORITHMS");
  const char* symv = std::getenv("INJECTED_SYMV");
  const char* mistake = std::getenv("INJECTED_MISTAKE");
  if (!backend || (!algorithms && !symv && !mistake)) return backend;
  Delays delays = delays_of(algorithms ? algorithms : "");
  if (symv) delays.symv_meets = std::atol(symv);
  if (mistake) delays.mistake = mistake;
  if (const char* at = std::getenv("INJECTED_MISTAKE_AT")) delays.mistake_at = at;
  return new WithAlgorithms(*backend, delays);
}

}  // namespace

BLASLIFT_MODULE(open)
