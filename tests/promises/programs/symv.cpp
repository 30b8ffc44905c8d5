// symv and hemv, one promise per first argument.  Everything that may not be read is NaN: the other triangle, the
// imaginary parts of a Hermitian diagonal, the gaps of matrix and vectors, y where beta is zero.  Results are checked
// against plain loops in higher precision.
//
//   symv semantics | nothing | overlap | invalid
//   symv faults PRECISION       as faults.cpp
//   symv reuse CALLS WRITES     calls with one matrix of 512 x 512, of which an element is written before so many
//   symv triangles              products of all kinds with what one array holds
//   symv threads                calls with one matrix from several threads, which is written between rounds of them
#include <sys/mman.h>

#include <barrier>
#include <string_view>
#include <thread>

#include "every_fault.hpp"
#include "routine_calls.hpp"

#define REAL(name, T)                                                                                                  \
  extern "C" void name##_(const char*, const int*, const T*, const T*, const int*, const T*, const int*, const T*, T*, \
                          const int*, std::size_t);                                                                    \
  extern "C" void cblas_##name(int, int, int, T, const T*, int, const T*, int, T, T*, int);
#define COMPLEX(name, T)                                                                                               \
  extern "C" void name##_(const char*, const int*, const T*, const T*, const int*, const T*, const int*, const T*, T*, \
                          const int*, std::size_t);                                                                    \
  extern "C" void cblas_##name(int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
#define SYMV REAL
#define HEMV COMPLEX
#include "api/routines.def"

using namespace promises;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

#define SYMV(name, T)                                                                                                \
  void raw_symv(Via via, char uplo, int n, const T& alpha, const T* A, int lda, const T* x, int incx, const T& beta, \
                T* y, int incy) {                                                                                    \
    note_call(#name);                                                                                                \
    if (via == Via::fortran) return name##_(&uplo, &n, &alpha, A, &lda, x, &incx, &beta, y, &incy, 1);               \
    const bool flipped = via == Via::row_major;                                                                      \
    const int code = uplo == 'U' || uplo == 'u' ? 121 : uplo == 'L' || uplo == 'l' ? 122 : uplo;                     \
    cblas_##name(flipped ? 101 : 102, flipped && (code == 121 || code == 122) ? 243 - code : code, n, scalar(alpha), \
                 A, lda, x, incx, scalar(beta), y, incy);                                                            \
  }
#define HEMV SYMV
#include "api/routines.def"

/// A matrix of which one triangle counts, and two vectors.
template <class T>
struct Symmetric {
  static constexpr bool hermitian = Scalars<T>::is_complex;
  char uplo;
  int n;
  T alpha, beta;
  int incx, incy;
  Matrix<T> A, x, y;

  Symmetric(char u, int size, T a, T b, int ix, int iy, std::uint32_t seed, int gap = 3)
      : uplo(u),
        n(size),
        alpha(a),
        beta(b),
        incx(ix),
        incy(iy),
        A(n, n, gap, seed),
        x(1, n, std::abs(ix) - 1, seed + 1),
        y(1, n, std::abs(iy) - 1, seed + 2) {
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i)
        if (!stored(i, j)) A.at(i, j) = Matrix<T>::canary();
    if constexpr (hermitian)
      for (int i = 0; i < n; ++i) A.at(i, i) = make<T>(A.at(i, i).real(), not_a_number);
    if (beta == T(0)) y.fill(make<T>(not_a_number, not_a_number));
  }

  bool stored(int i, int j) const { return uplo == 'U' ? i <= j : i >= j; }
  static int place(int n, int inc, int i) { return inc < 0 ? n - 1 - i : i; }

  /// Element (i, j) of the whole matrix; in row-major the same storage is the transposed one.
  Wide<T> element(Via via, int i, int j) const {
    if (via == Via::row_major) std::swap(i, j);
    Wide<T> a = widen(stored(i, j) ? A.at(i, j) : A.at(j, i));
    if constexpr (hermitian) {
      if (i == j) a = a.real();
      if (!stored(i, j)) a = std::conj(a);
    }
    return a;
  }

  std::string name() const {
    char text[120];
    std::snprintf(text, sizeof text, "%c%s %c n=%d incx=%d incy=%d", letter<T>(), hermitian ? "hemv" : "symv", uplo, n,
                  incx, incy);
    return text;
  }

  /// What is wrong with `got`; empty if nothing is.  Within gamma_n of the sum of magnitudes, whatever the order
  /// (Higham, Accuracy and Stability, 3.1); complex products round up to four times as often.
  std::string compare(Via via, const Matrix<T>& got) const {
    const long double unit = (hermitian ? 4 : 1) * (n + 4.0L) * std::numeric_limits<Real<T>>::epsilon();
    for (int i = 0; i < n; ++i) {
      Wide<T> sum{};
      long double size = 0;
      for (int j = 0; j < n && alpha != T(0); ++j) {
        const Wide<T> a = element(via, i, j), v = widen(x.at(0, place(n, incx, j)));
        sum += a * v;
        size += size_of(a) * size_of(v);
      }
      sum *= widen(alpha);
      size *= size_of(widen(alpha));
      if (beta != T(0)) {
        const Wide<T> before = widen(y.at(0, place(n, incy, i)));
        sum += widen(beta) * before;
        size += size_of(widen(beta)) * size_of(before);
      }
      if (!(size_of(widen(got.at(0, place(n, incy, i))) - sum) <= unit * size))
        return "y(" + std::to_string(i) + ") is wrong";
    }
    return got.guarded() ? "" : "storage outside of y was written";
  }

  void run_and_check(Via via) const {
    const Matrix<T> was_a = A, was_x = x;
    Matrix<T> out = y;
    raw_symv(via, uplo, n, alpha, A.data(), A.ld(), x.data(), incx, beta, out.data(), incy);
    if (const std::string wrong = compare(via, out); !wrong.empty())
      fail("%s by %s: %s", name().c_str(), name_of(via), wrong.c_str());
    if (!A.same_bits(was_a) || !x.same_bits(was_x)) fail("%s: an operand was written", name().c_str());
  }
};

template <class T>
T scalar_of(double re) {
  return make<T>(re, re == 0 || re == 1 ? 0 : 0.25);
}

void semantics() {
  constexpr int increments[][2] = {{1, 1}, {-1, 2}, {3, -2}, {-2, -1}};
  std::uint32_t seed = 1;
  for_each_precision([&]<class T>(T*) {
    for (const int n : {1, 2, 33, 67, 130})
      for (const char uplo : {'U', 'L'})
        for (const auto& [incx, incy] : increments)
          for (const double beta : {0.0, 1.0, -0.5})
            for (const Via via : every_via)
              Symmetric<T>(uplo, n, scalar_of<T>(0.75), scalar_of<T>(beta), incx, incy, seed += 3).run_and_check(via);
    // With panels.
    Symmetric<T>('U', 1100, scalar_of<T>(-0.5), scalar_of<T>(2), 1, -1, 7).run_and_check(Via::fortran);
    Symmetric<T>('L', 1100, scalar_of<T>(-0.5), scalar_of<T>(0), -1, 1, 8).run_and_check(Via::row_major);
  });
}

/// n = 0, or alpha = 0, which reads neither A nor x.
void nothing() {
  for_each_precision([&]<class T>(T*) {
    for (const Via via : every_via)
      for (const double beta : {1.0, -2.0}) {
        Symmetric<T> p('U', 20, T(0), make<T>(beta, 0), 1, -2, 5);
        p.A.fill(Matrix<T>::canary());
        p.x.fill(Matrix<T>::canary());
        p.run_and_check(via);
        Matrix<T> y = p.y;
        raw_symv(via, 'L', 0, T(1), p.A.data(), p.A.ld(), p.x.data(), 1, make<T>(beta, 0), y.data(), 1);
        if (!y.same_bits(p.y)) fail("%s with n = 0: y was written", p.name().c_str());
      }
  });
}

void overlap() {
  std::uint64_t hash = 0;
  for_each_precision([&]<class T>(T*) {
    const int n = 24;
    for (const Via via : every_via)
      for (int kind = 0; kind < 3; ++kind) {
        Matrix<T> storage(2 * n, n + 2, 5, 77);
        // y is x; y begins inside of x; y is a row of A.
        T* x = &storage.at(0, n);
        T* y = kind == 0 ? x : kind == 1 ? x + 3 : &storage.at(n / 2, 0);
        raw_symv(via, 'U', n, make<T>(0.5, 0.25), storage.data(), storage.ld(), x, 1, make<T>(-0.5, 0.5), y,
                 kind == 2 ? storage.ld() : 1);
        hash = hash * 31 + storage.hash();
      }
  });
  std::printf("bits %016llx\n", static_cast<unsigned long long>(hash));
}

/// Each invalid argument in turn, of which xerbla (below) tells.
void invalid() {
  struct Call {
    int uplo = 'U', n = 6, lda = 8, incx = 1, incy = -1;
  };
  const Call wrong[] = {{.uplo = 0}, {.uplo = 'X'}, {.n = -1},          {.lda = 5},         {.incx = 0},
                        {.incy = 0}, {.lda = 0},    {.n = -2000000000}, {.n = 0, .lda = 0}, {.n = 0, .incx = 0}};
  int refused = 0, made = 0;
  for_each_precision([&]<class T>(T*) {
    for (const Via via : every_via)
      for (const Call& c : wrong) {
        Matrix<T> A(16, 16, 0, 1), x(1, 16, 0, 2), y(1, 16, 0, 3);
        const Matrix<T> was = y;
        told.clear();
        raw_symv(via, static_cast<char>(c.uplo), c.n, T(1), A.data(), c.lda, x.data(), c.incx, T(2), y.data(), c.incy);
        // In row-major the reference's chemv and zhemv conjugate y before anybody looks at lda and the increments.
        std::printf("%c %s %d n=%d lda=%d inc=%d,%d: %s%s\n", letter<T>(), name_of(via), c.uplo, c.n, c.lda, c.incx,
                    c.incy, told.empty() ? "accepted" : told.c_str(), y.same_bits(was) ? "" : ", y written");
        refused += !told.empty();
        ++made;
      }
  });
  std::printf("refused %d of %d\n", refused, made);
}

/// Every operation of two products fails in turn.
template <class T>
void faults() {
  const Symmetric<T> problem('L', 40, scalar_of<T>(0.75), scalar_of<T>(-0.5), 2, -1, 11);
  at_every_fault([&] {
    problem.run_and_check(Via::row_major);
    problem.run_and_check(Via::fortran);
  });
}

/// In pages of its own: nothing else is written there.
template <class T>
T* pages(std::size_t elements) {
  void* p = mmap(nullptr, elements * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<T*>(p);
}

constexpr int edge = 512;  // a column of doubles is a page

/// An array of small integers, of which no two elements across the diagonal are the same.
double* whole_array() {
  auto* A = pages<double>(std::size_t{edge} * edge);
  for (int j = 0; A && j < edge; ++j)
    for (int i = 0; i < edge; ++i) A[i + j * edge] = (i * 7 + j * 3) % 17 - 8 + (i < j ? 0.5 : 0);
  return A;
}

/// Sums of multiples of 1/2 are exact in whatever order.
void check_symv(char uplo, int n, const double* A, const double* x) {
  std::vector<double> y(static_cast<std::size_t>(n), not_a_number);
  raw_symv(Via::fortran, uplo, n, 2, A, edge, x, 1, 0, y.data(), 1);
  for (int i = 0; i < n; ++i) {
    double sum = 0;
    for (int j = 0; j < n; ++j) sum += ((uplo == 'U') == (i <= j) || i == j ? A[i + j * edge] : A[j + i * edge]) * x[j];
    if (y[static_cast<std::size_t>(i)] != 2 * sum) return fail("%c, n = %d: y(%d) is wrong", uplo, n, i);
  }
}

void reuse(int count, int writes) {
  double *A = whole_array(), *x = pages<double>(edge);
  for (int i = 0; i < edge; ++i) x[i] = i % 5 - 2;
  for (int call = 0; call < count; ++call) {
    if (call > 0 && call <= writes) A[100 + 300 * edge] += 1;  // in the upper triangle
    check_symv('U', edge, A, x);
  }
}

/// A x as a product of matrices: both triangles.
void check_gemm(const double* A, const double* x) {
  std::vector<double> y(edge, not_a_number);
  note_call("dgemm");
  raw_gemm(Via::fortran, 'N', 'N', edge, 1, edge, 1, A, edge, x, edge, 0, y.data(), edge);
  for (int i = 0; i < edge; ++i) {
    double sum = 0;
    for (int j = 0; j < edge; ++j) sum += A[i + j * edge] * x[j];
    if (y[static_cast<std::size_t>(i)] != sum) return fail("dgemm: y(%d) is wrong", i);
  }
}

/// A copy of one triangle serves no product that reads anything else, and what is sent of one again leaves nothing
/// stale in a copy of both.
void triangles() {
  double *A = whole_array(), *x = pages<double>(edge);
  for (int i = 0; i < edge; ++i) x[i] = i % 5 - 2;
  for (const char uplo : {'U', 'L'})
    for (int call = 0; call < 3; ++call) check_symv(uplo, edge, A, x);
  for (int call = 0; call < 4; ++call) {
    check_gemm(A, x);
    check_symv('U', edge, A, x);
    // Blocks of it, on the diagonal and beside.
    check_symv('L', edge - 100, A + 100 + 100 * edge, x);
    check_symv('L', edge - 150, A + 100 + 150 * edge, x);
    A[5 + 300 * edge] += 1;
    A[400 + 300 * edge] += 1;
    check_symv(call % 2 ? 'U' : 'L', edge, A, x);
  }
}

/// Copies are shared; whoever finds one being filled, or written pages in one that others use, sends its own triangle.
void threads() {
  constexpr int count = 8, rounds = 8;
  double *A = whole_array(), *x = pages<double>(edge);
  for (int i = 0; i < edge; ++i) x[i] = i % 5 - 2;
  // Before the first round, too: the very first calls of the process meet.
  std::barrier round(count, [A]() noexcept {
    A[100 + 300 * edge] += 1;
    A[400 + 300 * edge] += 1;
  });
  const auto work = [&](int number) {
    for (int i = 0; i < rounds; ++i) {
      round.arrive_and_wait();
      check_symv(number % 4 == 3 ? 'L' : 'U', edge, A, x);
      check_symv(number % 4 == 3 ? 'L' : 'U', edge - 100, A + 100 + 100 * edge, x);  // a block on the diagonal
      check_symv(number % 2 ? 'L' : 'U', edge, A, x);
    }
  };
  std::vector<std::thread> others;
  for (int number = 0; number < count; ++number) others.emplace_back(work, number);
  for (std::thread& other : others) other.join();
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view which = count > 1 ? arguments[1] : "";
  if (which == "semantics" && count == 2) return semantics(), verdict_of_calls();
  if (which == "nothing" && count == 2) return nothing(), verdict_of_calls();
  if (which == "overlap" && count == 2) return overlap(), verdict_of_calls();
  if (which == "invalid" && count == 2) return invalid(), verdict_of_calls();
  if (which == "triangles" && count == 2) return triangles(), verdict_of_calls();
  if (which == "threads" && count == 2) return threads(), verdict_of_calls();
  if (which == "reuse" && count == 4)
    return reuse(std::atoi(arguments[2]), std::atoi(arguments[3])), verdict_of_calls();
  if (which != "faults" || count != 3) return 2;
  for_each_precision([&]<class T>(T*) {
    if (letter<T>() == arguments[2][0]) faults<T>();
  });
  return verdict_of_calls();
}
