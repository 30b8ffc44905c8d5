// syrk and herk, one promise per first argument.  Everything that may not be read is a signalling NaN: C's other
// triangle, the imaginary parts of a Hermitian diagonal, the gaps, all of C where beta is zero.  Results are checked
// against plain loops in higher precision, and the other triangle to be what it was, bit by bit.
//
//   syrk semantics | nothing | overlap | invalid | poison
//   syrk faults PRECISION UPLO N K as faults.cpp
//   syrk reuse CALLS WRITES        C := A A' + C of 512 x 512 again and again, with an element of A written before so
//   many syrk triangles                 what one array holds, by syrk and by gemm, in either triangle syrk threads
//   calls with one A from several threads, which is written between rounds of them
#include <sys/mman.h>

#include <array>
#include <barrier>
#include <string_view>
#include <thread>

#include "every_fault.hpp"
#include "routine_calls.hpp"

#define DECLARE(name, T, S, ByValue)                                                                                  \
  extern "C" void name##_(const char*, const char*, const int*, const int*, const S*, const T*, const int*, const S*, \
                          T*, const int*, std::size_t, std::size_t);                                                  \
  extern "C" void cblas_##name(int, int, int, int, int, ByValue, const T*, int, ByValue, T*, int);
DECLARE(ssyrk, float, float, float)
DECLARE(dsyrk, double, double, double)
DECLARE(csyrk, std::complex<float>, std::complex<float>, const void*)
DECLARE(zsyrk, std::complex<double>, std::complex<double>, const void*)
DECLARE(cherk, std::complex<float>, float, float)
DECLARE(zherk, std::complex<double>, double, double)

using namespace promises;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

int uplo_code(char uplo) { return uplo == 'U' || uplo == 'u' ? 121 : uplo == 'L' || uplo == 'l' ? 122 : uplo; }
char flipped(char uplo) { return uplo == 'U' ? 'L' : uplo == 'L' ? 'U' : uplo; }

/// In row-major the same storage is the transposed C's, of the transposed A.
#define RAW(name, T, S, function, other)                                                                          \
  void function(Via via, char uplo, char trans, int n, int k, const S& alpha, const T* A, int lda, const S& beta, \
                T* C, int ldc) {                                                                                  \
    note_call(#name);                                                                                             \
    if (via == Via::fortran) return name##_(&uplo, &trans, &n, &k, &alpha, A, &lda, &beta, C, &ldc, 1, 1);        \
    if (via == Via::row_major) uplo = flipped(uplo), trans = trans == 'N' ? other : trans == 'X' ? 'X' : 'N';     \
    cblas_##name(via == Via::row_major ? 101 : 102, uplo_code(uplo), trans == 'X' ? 0 : cblas_op(trans), n, k,    \
                 scalar(alpha), A, lda, scalar(beta), C, ldc);                                                    \
  }
RAW(ssyrk, float, float, raw_syrk, 'T')
RAW(dsyrk, double, double, raw_syrk, 'T')
RAW(csyrk, std::complex<float>, std::complex<float>, raw_syrk, 'T')
RAW(zsyrk, std::complex<double>, std::complex<double>, raw_syrk, 'T')
RAW(cherk, std::complex<float>, float, raw_herk, 'C')
RAW(zherk, std::complex<double>, double, raw_herk, 'C')

/// A product of which one triangle counts.
template <class T>
struct Update {
  bool hermitian;
  char uplo, trans;
  int n, k;
  T alpha, beta;
  Matrix<T> A, C;

  Update(bool h, char u, char t, int size, int depth, double a, double b, std::uint32_t seed, int gap = 3)
      : hermitian(h),
        uplo(u),
        trans(t),
        n(size),
        k(depth),
        alpha(make<T>(a, h || a == 0 ? 0 : 0.25)),
        beta(make<T>(b, h || b == 0 || b == 1 ? 0 : 0.25)),
        A(t == 'N' ? n : k, t == 'N' ? k : n, gap, seed),
        C(n, n, gap + 2, seed + 1) {
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i)
        if (!stored(i, j) || beta == T(0)) C.at(i, j) = Matrix<T>::canary();
    if constexpr (Scalars<T>::is_complex)
      if (hermitian && beta != T(0))
        for (int i = 0; i < n; ++i) C.at(i, i) = make<T>(C.at(i, i).real(), not_a_number);
  }

  bool stored(int i, int j) const { return uplo == 'U' ? i <= j : i >= j; }
  Wide<T> op_a(int i, int p) const {
    const Wide<T> a = widen(trans == 'N' ? A.at(i, p) : A.at(p, i));
    return trans == 'C' ? conjugate<T>(a) : a;
  }
  Wide<T> op_b(int p, int j) const { return hermitian ? conjugate<T>(op_a(j, p)) : op_a(j, p); }

  std::string name() const {
    char text[120];
    std::snprintf(text, sizeof text, "%c%s %c%c n=%d k=%d", letter<T>(), hermitian ? "herk" : "syrk", uplo, trans, n,
                  k);
    return text;
  }

  void run(Via via, Matrix<T>& out) const {
    if constexpr (Scalars<T>::is_complex) {
      if (hermitian)
        return raw_herk(via, uplo, trans, n, k, alpha.real(), A.data(), A.ld(), beta.real(), out.data(), out.ld());
    }
    raw_syrk(via, uplo, trans, n, k, alpha, A.data(), A.ld(), beta, out.data(), out.ld());
  }

  /// Runs it every way.  Within gamma_k of the sum of magnitudes, whatever the order (Higham, Accuracy and Stability,
  /// 3.5); complex products round up to four times as often.  By levels of Strassen's algorithm, the largest possible
  /// sum counts; that these are within their own bound is verification's.
  template <class Vias>
  void run_and_check(const Vias& vias) const {
    const long double unit = (Scalars<T>::is_complex ? 4 : 1) * (k + 4.0L) * std::numeric_limits<Real<T>>::epsilon();
    const bool by_levels = std::getenv("BLASLIFT_STRASSEN") != nullptr;
    std::vector<Matrix<T>> results;
    const Matrix<T> was_a = A;
    for (const Via via : vias) run(via, results.emplace_back(C));
    if (!A.same_bits(was_a)) fail("%s: A was written", name().c_str());
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        Wide<T> sum{};
        long double size = 0;
        if (stored(i, j) && alpha != T(0))
          for (int p = 0; p < k; ++p) {
            sum += op_a(i, p) * op_b(p, j);
            size += size_of(op_a(i, p)) * size_of(op_b(p, j));
          }
        sum *= widen(alpha);
        size *= size_of(widen(alpha));
        if (beta != T(0) && stored(i, j)) {
          Wide<T> c = widen(C.at(i, j));
          if constexpr (Scalars<T>::is_complex)
            if (hermitian && i == j) c = c.real();
          sum += widen(beta) * c;
          size += size_of(widen(beta)) * size_of(c);
        }
        if (by_levels && i != j) size = (2.0L * k + 1) * (size_of(widen(alpha)) + size_of(widen(beta)));
        for (std::size_t v = 0; v < results.size(); ++v) {
          const T& got = results[v].at(i, j);
          bool right =
              stored(i, j) ? size_of(widen(got) - sum) <= unit * size : std::memcmp(&got, &C.at(i, j), sizeof(T)) == 0;
          if constexpr (Scalars<T>::is_complex) right = right && !(hermitian && i == j && got.imag() != 0);
          if (!right) return fail("%s by %s: C(%d, %d) is wrong", name().c_str(), name_of(std::data(vias)[v]), i, j);
        }
      }
    for (const Matrix<T>& out : results)
      if (!out.guarded()) return fail("%s: storage outside of C was written", name().c_str());
  }
};

/// Calls f(T*, hermitian, op) for every routine and op of its.
template <class F>
void for_each_routine(F f) {
  for_each_precision([&]<class T>(T* t) {
    f(t, false, 'N');
    f(t, false, 'T');
    if constexpr (Scalars<T>::is_complex) {
      f(t, true, 'N');
      f(t, true, 'C');
    } else {
      f(t, false, 'C');
    }
  });
}

/// Primes, thin and long ones, more than a block where device memory is scarce.
void semantics() {
  constexpr int sizes[][2] = {{1, 1}, {3, 40}, {13, 5}, {31, 17}, {53, 19}};
  std::uint32_t seed = 1;
  for_each_routine([&]<class T>(T*, bool hermitian, char trans) {
    for (const auto& [n, k] : sizes)
      for (const char uplo : {'U', 'L'})
        for (const double beta : {0.0, 1.0, -0.5})
          Update<T>(hermitian, uplo, trans, n, k, 0.75, beta, seed += 2).run_and_check(every_via);
  });
}

/// n = 0, or alpha = 0 or k = 0, which do not read A.
void nothing() {
  for_each_routine([&]<class T>(T*, bool hermitian, char trans) {
    for (const double beta : {1.0, -2.0})
      for (const bool no_k : {false, true}) {
        Update<T> p(hermitian, 'L', trans, 12, 5, no_k ? 0.5 : 0, beta, 5);
        p.beta = make<T>(beta, 0);
        if constexpr (Scalars<T>::is_complex)  // with beta = 1 there is nothing to do, and nothing becomes zero
          for (int i = 0; hermitian && beta == 1 && i < p.n; ++i) p.C.at(i, i) = p.C.at(i, i).real();
        p.A.fill(Matrix<T>::canary());
        if (no_k) p.k = 0;
        p.run_and_check(every_via);
        Matrix<T> C = p.C;
        p.n = 0;
        for (const Via via : every_via) p.run(via, C);
        if (!C.same_bits(p.C)) fail("%s with n = 0: C was written", p.name().c_str());
      }
  });
}

/// C lies in A, or begins inside of it.  All three interfaces.
void overlap() {
  std::uint64_t hash = 0;
  for_each_routine([&]<class T>(T*, bool hermitian, char trans) {
    for (const Via via : every_via)
      for (const int at : {0, 3}) {
        Update<T> p(hermitian, 'U', trans, 12, 12, 0.5, -0.5, 77, 20);
        Matrix<T> storage(40, 20, 0, 78);
        const T *A = storage.data(), one = make<T>(1, 0);
        T* C = storage.data() + at;
        if constexpr (Scalars<T>::is_complex)
          if (hermitian) {
            raw_herk(via, 'U', trans, 12, 12, one.real(), A, 40, one.real(), C, 40);
            hash = hash * 31 + storage.hash();
            continue;
          }
        raw_syrk(via, 'U', trans, 12, 12, one, A, 40, one, C, 40);
        hash = hash * 31 + storage.hash();
      }
  });
  std::printf("bits %016llx\n", static_cast<unsigned long long>(hash));
}

/// Each invalid argument in turn, of which xerbla (below) tells.
void invalid() {
  struct Call {
    char uplo = 'U', trans = 'N';
    int n = 6, k = 4, lda = 8, ldc = 7;
  };
  const Call wrong[] = {{.uplo = 'X'}, {.trans = 'X'}, {.n = -1},          {.k = -1},          {.lda = 0},
                        {.lda = 3},    {.ldc = 5},     {.n = 0, .ldc = 0}, {.k = -2000000000}, {.n = 0, .k = -1}};
  int refused = 0, made = 0;
  for_each_routine([&]<class T>(T*, bool hermitian, char trans) {
    if (trans == 'C' && !hermitian) return;
    for (const Via via : every_via)
      for (const Call& c : wrong) {
        Matrix<T> A(16, 16, 0, 1), C(16, 16, 0, 2);
        const Matrix<T> was = C;
        told.clear();
        const char op = c.trans == 'N' ? trans : c.trans;
        const T one = make<T>(1, 0);
        if constexpr (Scalars<T>::is_complex) {
          if (hermitian)
            raw_herk(via, c.uplo, op, c.n, c.k, one.real(), A.data(), c.lda, one.real(), C.data(), c.ldc);
          else
            raw_syrk(via, c.uplo, op, c.n, c.k, one, A.data(), c.lda, one, C.data(), c.ldc);
        } else {
          raw_syrk(via, c.uplo, op, c.n, c.k, one, A.data(), c.lda, one, C.data(), c.ldc);
        }
        std::printf("%c %d %s %c%c n=%d k=%d ld=%d,%d: %s%s\n", letter<T>(), hermitian, name_of(via), c.uplo, op, c.n,
                    c.k, c.lda, c.ldc, told.empty() ? "accepted" : told.c_str(), C.same_bits(was) ? "" : ", C written");
        refused += !told.empty();
        ++made;
      }
  });
  // csyrk does not take 'C', nor cherk 'T'.
  Matrix<std::complex<double>> A(16, 16, 0, 1), C(16, 16, 0, 2);
  raw_syrk(Via::fortran, 'U', 'C', 6, 4, {1, 0}, A.data(), 16, {1, 0}, C.data(), 16);
  raw_herk(Via::fortran, 'U', 'T', 6, 4, 1, A.data(), 16, 1, C.data(), 16);
  std::printf("refused %d of %d\n", refused, made);
}

/// One Inf or NaN in a row of op(A) reaches that row and column of C, one in C its own element, and nothing else.
void poison() {
  for_each_routine([&]<class T>(T*, bool hermitian, char trans) {
    for (const char uplo : {'U', 'L'})
      for (const double value : {not_a_number, std::numeric_limits<double>::infinity()}) {
        const Update<T> good(hermitian, uplo, trans, 23, 9, 0.75, -0.5, 31);
        Update<T> in_a = good, in_c = good;
        (trans == 'N' ? in_a.A.at(11, 4) : in_a.A.at(4, 11)) = make<T>(value, 0);
        const int row = uplo == 'U' ? 7 : 16, col = uplo == 'U' ? 16 : 7;
        in_c.C.at(row, col) = make<T>(value, 0);
        for (const Via via : every_via) {
          Matrix<T> a = in_a.C, c = in_c.C;
          in_a.run(via, a);
          in_c.run(via, c);
          for (int j = 0; j < good.n; ++j)
            for (int i = 0; i < good.n; ++i) {
              if (!good.stored(i, j)) continue;
              if (finite(a.at(i, j)) == (i == 11 || j == 11) || finite(c.at(i, j)) == (i == row && j == col))
                return fail("%s by %s: poison at C(%d, %d)", good.name().c_str(), name_of(via), i, j);
            }
        }
      }
  });
}

/// Every operation of two products fails in turn.
template <class T>
void faults(char uplo, int n, int k) {
  constexpr bool hermitian = Scalars<T>::is_complex;
  const Update<T> reads(hermitian, uplo, 'N', n, k, 0.75, -0.5, 11),
      writes(hermitian, uplo, hermitian ? 'C' : 'T', n, k, 0.75, 0, 12);
  at_every_fault([&] {
    reads.run_and_check(std::array{Via::row_major});
    writes.run_and_check(std::array{Via::fortran});
  });
}

/// In pages of its own: nothing else is written there.
template <class T>
T* pages(std::size_t elements) {
  void* p = mmap(nullptr, elements * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<T*>(p);
}

constexpr int edge = 512;  // a column of doubles is a page

/// An array of small integers.
double* whole_array(int factor) {
  auto* A = pages<double>(std::size_t{edge} * edge);
  for (int j = 0; A && j < edge; ++j)
    for (int i = 0; i < edge; ++i) A[i + j * edge] = (i * factor + j * 3) % 7 - 3;
  return A;
}

/// C := A A' + beta C of the first k columns.  Sums of integers are exact in whatever order.
void check_syrk(char uplo, int n, int k, const double* A, double beta, double* C) {
  const std::vector<double> before(C, C + std::size_t{edge} * static_cast<std::size_t>(n - 1) + n);
  raw_syrk(Via::fortran, uplo, 'N', n, k, 1, A, edge, beta, C, edge);
  const int step = n > 200 ? 7 : 1;  // enough of them
  for (int j = 0; j < n; j += step)
    for (int i = 0; i < n; ++i) {
      double sum = before[static_cast<std::size_t>(i + j * edge)];
      if ((uplo == 'U') == (i <= j) || i == j) {
        sum *= beta;
        for (int p = 0; p < k; ++p) sum += A[i + p * edge] * A[j + p * edge];
      }
      if (C[i + j * edge] != sum) return fail("%c, n = %d: C(%d, %d) is wrong", uplo, n, i, j);
    }
}

void reuse(int count, int writes) {
  double *A = whole_array(5), *C = whole_array(2);
  for (int call = 0; call < count; ++call) {
    if (call > 0 && call <= writes) A[100 + 3 * edge] += 1;
    check_syrk('L', edge, 16, A, 1, C);
  }
}

/// C of one product is read by another, as a whole and in either triangle, from a copy or not.
void triangles() {
  double *A = whole_array(5), *C = whole_array(2), *D = pages<double>(std::size_t{edge} * edge);
  constexpr int n = 128;
  for (int call = 0; call < 6; ++call) {
    check_syrk(call % 2 ? 'U' : 'L', edge, 8, A, call % 3 == 0 ? 0 : 1, C);
    check_syrk('U', n, 8, A, 1, C + 64 + 64 * edge);  // a block on the diagonal
    check_syrk('L', n, 8, A, 0, C + 64 + 64 * edge);
    note_call("dgemm");
    raw_gemm(Via::fortran, 'N', 'N', edge, 4, edge, 1, C, edge, A, edge, 0, D, edge);
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < edge; ++i) {
        double sum = 0;
        for (int p = 0; p < edge; ++p) sum += C[i + p * edge] * A[p + j * edge];
        if (D[i + j * edge] != sum) return fail("dgemm: D(%d, %d) is wrong", i, j);
      }
    note_call("dgemm");  // now C is the result of a whole product, too
    raw_gemm(Via::fortran, 'N', 'T', edge, edge, 2, 1, A, edge, A + 5 * edge, edge, 0, C, edge);
    C[5 + 300 * edge] += 1;
    C[300 + 5 * edge] += 2;
  }
}

/// Copies of A are shared; each thread has its own C.
void threads() {
  constexpr int count = 8, rounds = 3;
  double* A = whole_array(5);
  std::barrier round(count, [A]() noexcept { A[100 + 3 * edge] += 1; });
  const auto work = [&](int number) {
    double* C = whole_array(number + 1);
    for (int i = 0; i < rounds; ++i) {
      round.arrive_and_wait();
      check_syrk(number % 2 ? 'L' : 'U', 384, 300, A, i == 0 ? 0 : 1, C);
      for (std::size_t at = 0; at < std::size_t{edge} * edge; ++at) C[at] = static_cast<double>(at % 5);
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
  if (which == "poison" && count == 2) return poison(), verdict_of_calls();
  if (which == "triangles" && count == 2) return triangles(), verdict_of_calls();
  if (which == "threads" && count == 2) return threads(), verdict_of_calls();
  if (which == "reuse" && count == 4)
    return reuse(std::atoi(arguments[2]), std::atoi(arguments[3])), verdict_of_calls();
  if (which != "faults" || count != 6) return 2;
  for_each_precision([&]<class T>(T*) {
    if (letter<T>() == arguments[2][0]) faults<T>(arguments[3][0], std::atoi(arguments[4]), std::atoi(arguments[5]));
  });
  return verdict_of_calls();
}
