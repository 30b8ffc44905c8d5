// BLAS semantics to the letter, one promise per first argument.  Every product is checked against plain loops.
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "check.hpp"

using namespace promises;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

struct Shape {
  int m, n, k;
};
// Thin ones, primes, more than a block where device memory is scarce.
constexpr Shape shapes[] = {{1, 1, 1}, {7, 1, 5}, {1, 9, 3}, {13, 11, 1}, {17, 19, 23}, {40, 6, 33}, {5, 37, 65}};

template <class F>
void for_each_op(bool complex, F f) {
  for (const char ta : {'N', 'T', 'C'})
    for (const char tb : {'N', 'T', 'C'})
      if (complex || (ta != 'C' && tb != 'C')) f(ta, tb);
}

/// Calls `f(problem)` for every precision, shape and op.
template <class F>
void for_each_problem(double alpha, double beta, F f) {
  std::uint32_t seed = 1;
  for_each_precision([&]<class T>(T*) {
    for (const Shape& s : shapes)
      for_each_op(Scalars<T>::is_complex, [&](char ta, char tb) {
        const double imaginary = alpha == 0 ? 0 : 0.25, imaginary_beta = beta == 0 || beta == 1 ? 0 : -0.5;
        f(Problem<T>(ta, tb, s.m, s.n, s.k, make<T>(alpha, imaginary), make<T>(beta, imaginary_beta), seed += 3));
      });
  });
}

/// Only m x n of C is written, whatever lies between m and ldc, before and behind; A and B are never written.
void canaries_ldc() {
  for_each_problem(0.75, -0.5, [](const auto& p) {
    const Expected expected(p);
    for (const Via via : every_via) run_and_check(p, expected, via);
  });
}

/// A product of a power of two that reads C.
void reads_c() {
  const Problem<double> p('N', 'T', 64, 64, 64, 0.75, -0.5, 7);
  run_and_check(p, Expected(p), every_via[0]);
}

/// beta = 0 does not read C: NaN there leaves no trace.
void beta_zero_nan() {
  for_each_problem(-1.25, 0, []<class T>(Problem<T> p) {
    const Expected expected(p);  // does not read C either
    for (const T value : {make<T>(not_a_number, not_a_number), make<T>(infinity, -infinity)}) {
      p.C.fill(value);
      for (const Via via : every_via) run_and_check(p, expected, via);
    }
  });
}

/// alpha = 0 reads neither A nor B, and k = 0 has none: C := beta C, exactly for these beta.  OpenBLAS keeps NaN in C
/// alive where beta = 0, too, so a hash of all results lets the runner compare with a run without blaslift.
void alpha_zero_nan() {
  std::uint64_t hash = 0;
  for (const double beta : {0.0, 1.0, -2.0})
    for (const bool no_k : {false, true})
      for_each_problem(no_k ? 1.0 : 0.0, beta, [&]<class T>(Problem<T> p) {
        p.beta = make<T>(beta, 0);
        p.A.fill(make<T>(not_a_number, infinity));
        p.B.fill(make<T>(infinity, not_a_number));
        if (no_k) p.k = 0;  // the operands' leading dimensions stay valid
        const Matrix<T> before = p.C;
        if (beta == 0) p.C.fill(make<T>(not_a_number, infinity));
        for (const Via via : every_via) {
          Matrix<T> out = p.C;
          p.run(via, out);
          hash = hash * 31 + out.hash();
          if (!out.guarded()) fail("%s: storage outside of C was written", p.name().c_str());
          for (int j = 0; j < p.n; ++j)
            for (int i = 0; i < p.m; ++i)
              if (!(out.at(i, j) == make<T>(beta, 0) * before.at(i, j)))
                return fail("%s by %s, beta %g: C(%d, %d)", p.name().c_str(), name_of(via), beta, i, j);
        }
      });
  std::printf("bits %016llx\n", static_cast<unsigned long long>(hash));
}

/// What an infinity or NaN at one place reaches, and nothing else.  The interfaces take turns.
template <class T, class Hit>
void check_poison(const Problem<T>& poisoned, const Expected<T>& expected, const char* what, Hit hit) {
  static unsigned turn = 0;
  const Via via = every_via[turn++ % std::size(every_via)];
  Matrix<T> out = poisoned.C;
  poisoned.run(via, out);
  for (int j = 0; j < poisoned.n; ++j)
    for (int i = 0; i < poisoned.m; ++i)
      if (hit(i, j) ? finite(out.at(i, j)) : !expected.near(i, j, out.at(i, j)))
        return fail("%s by %s, %s: C(%d, %d) is %s", poisoned.name().c_str(), name_of(via), what, i, j,
                    hit(i, j) ? "finite" : "wrong");
}

/// One Inf or NaN in op(A)'s row poisons that row of C, one in op(B)'s column that column, one in C itself, no more.
void poison_only_classical() {
  for_each_problem(0.75, -0.5, []<class T>(const Problem<T>& p) {
    const Expected<T> expected(p);
    const int row = p.m / 2, col = p.n / 2, q = p.k / 2;
    for (const double value : {infinity, not_a_number}) {
      const T poison = make<T>(value, 0);
      Problem<T> in_a = p, in_b = p, in_c = p;
      (p.ta == 'N' ? in_a.A.at(row, q) : in_a.A.at(q, row)) = poison;
      (p.tb == 'N' ? in_b.B.at(q, col) : in_b.B.at(col, q)) = poison;
      in_c.C.at(row, col) = poison;
      check_poison(in_a, expected, "poison in A", [=](int i, int) { return i == row; });
      check_poison(in_b, expected, "poison in B", [=](int, int j) { return j == col; });
      check_poison(in_c, expected, "poison in C", [=](int i, int j) { return i == row && j == col; });
    }
  });
}

/// Products of 64 with A's and B's elements multiplied by `scale_a(i, p)` and `scale_b(p, j)`, to the accuracy of each
/// element's own terms.
template <class A, class B>
void scaled(A scale_a, B scale_b) {
  for_each_precision([&]<class T>(T*) {
    for_each_op(Scalars<T>::is_complex, [&](char ta, char tb) {
      for (const bool reads_c : {false, true}) {
        Problem<T> p(ta, tb, 64, 64, 64, make<T>(0.75, 0), make<T>(reads_c ? -0.5 : 0, 0), 11);
        using Real = decltype(std::abs(T{}));
        for (int q = 0; q < 64; ++q)
          for (int i = 0; i < 64; ++i) {
            (ta == 'N' ? p.A.at(i, q) : p.A.at(q, i)) *= static_cast<Real>(scale_a(T{}, i, q));
            (tb == 'N' ? p.B.at(q, i) : p.B.at(i, q)) *= static_cast<Real>(scale_b(T{}, q, i));
          }
        const Expected<T> expected(p);
        for (const Via via : every_via) run_and_check(p, expected, via);
      }
    });
  });
}

/// One level's sums of A's blocks overflow, though the result does not.
void sums_that_overflow() {
  const auto exponent = []<class T>(T) { return std::numeric_limits<decltype(std::abs(T{}))>::max_exponent - 4; };
  scaled([=](auto t, int, int) { return std::ldexp(1.0, exponent(t)); },
         [=](auto t, int, int) { return std::ldexp(1.0, 4 - exponent(t)); });
}

/// A's third row and B's fifth column are small.
void small_rows() {
  scaled([](auto, int i, int) { return i == 2 ? 1e-4 : 1; }, [](auto, int, int j) { return j == 4 ? 1e-4 : 1; });
}

/// Both are nearly block-diagonal, so that each row and each column holds something large.
void small_blocks() {
  const auto scale = [](auto, int i, int j) { return i / 32 == j / 32 ? 1 : 1e-6; };
  scaled(scale, scale);
}

/// Outputs that share storage with an input: what the library underneath makes of them, bit for bit.  Prints a hash of
/// all the results; the runner compares with a run without blaslift.
void overlap() {
  std::uint64_t hash = 0;
  for_each_precision([&]<class T>(T*) {
    const int n = 24;
    for (const Via via : every_via)
      for (int kind = 0; kind < 3; ++kind) {
        Matrix<T> storage(3 * n, 2 * n, 5, 77);
        T* C = &storage.at(0, 0);
        // C is A; C begins inside of A; C's last column is B's first.
        const T* A = kind == 0 ? C : kind == 1 ? &storage.at(1, 0) : &storage.at(2 * n, 0);
        const T* B = kind == 2 ? &storage.at(0, n - 1) : &storage.at(n + 1, 0);
        calls_made[static_cast<int>(letter<T>())].fetch_add(1);
        raw_gemm(via, 'N', 'T', n, n, n, make<T>(0.5, 0.25), A, storage.ld(), B, storage.ld(), make<T>(-0.5, 0.5), C,
                 storage.ld());
        if (!storage.guarded()) fail("overlap, %cgemm: storage outside was written", letter<T>());
        hash = hash * 31 + storage.hash();
      }
  });
  std::printf("bits %016llx\n", static_cast<unsigned long long>(hash));
}

/// A few products on either side of the size from which a device may be worth its while; prints a hash of each result.
void same_bits() {
  std::uint32_t seed = 500;
  for (int round = 0; round < 2; ++round)
    for_each_precision([&]<class T>(T*) {
      for (const int n : {31, 300, 97, 260}) {
        const Problem<T> p('N', 'T', n, n, n, make<T>(1, 0.5), make<T>(-0.5, 0), seed);
        Matrix<T> out = p.C;
        p.run(Via::fortran, out);
        std::printf("bits %cgemm %d %016llx\n", letter<T>(), n, static_cast<unsigned long long>(out.hash()));
      }
    });
}

}  // namespace

int main(int, char** arguments) {
  const std::string_view which = arguments[1] ? arguments[1] : "";
  struct {
    std::string_view name;
    void (*run)();
  } const promises[] = {{"canaries_ldc", canaries_ldc},
                        {"reads_c", reads_c},
                        {"beta_zero_nan", beta_zero_nan},
                        {"alpha_zero_nan", alpha_zero_nan},
                        {"poison_only_classical", poison_only_classical},
                        {"sums_that_overflow", sums_that_overflow},
                        {"small_rows", small_rows},
                        {"small_blocks", small_blocks},
                        {"overlap", overlap},
                        {"same_bits", same_bits}};
  for (const auto& promise : promises)
    if (promise.name == which) return promise.run(), verdict();
  return 2;
}
