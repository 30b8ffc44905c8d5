// BLAS semantics to the letter, one promise per first argument.  Every product is checked against plain loops.
#include <cstdlib>
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

/// Calls `f(problem, via)` for every precision, shape, op and interface.
template <class F>
void for_each_problem(double alpha, double beta, F f) {
  std::uint32_t seed = 1;
  for_each_precision([&]<class T>(T*) {
    for (const Shape& s : shapes)
      for_each_op(Scalars<T>::is_complex, [&](char ta, char tb) {
        const double imaginary = alpha == 0 ? 0 : 0.25, imaginary_beta = beta == 0 || beta == 1 ? 0 : -0.5;
        const Problem<T> p(ta, tb, s.m, s.n, s.k, make<T>(alpha, imaginary), make<T>(beta, imaginary_beta), seed += 3);
        for (const Via via : every_via) f(p, via);
      });
  });
}

/// Only m x n of C is written, whatever lies between m and ldc, before and behind; A and B are never written.
void canaries_ldc() {
  for_each_problem(0.75, -0.5, [](const auto& p, Via via) { run_and_check(p, Expected(p), via); });
}

/// beta = 0 does not read C: NaN there leaves no trace.
void beta_zero_nan() {
  for_each_problem(-1.25, 0, []<class T>(Problem<T> p, Via via) {
    p.C.fill(make<T>(not_a_number, not_a_number));
    run_and_check(p, Expected(p), via);
    p.C.fill(make<T>(infinity, -infinity));
    run_and_check(p, Expected(p), via);
  });
}

/// alpha = 0 reads neither A nor B, and k = 0 has none: C := beta C, exactly for these beta.  OpenBLAS keeps NaN in C alive
/// where beta = 0, too, so a hash of all results lets the runner compare with a run without blaslift.
void alpha_zero_nan() {
  std::uint64_t hash = 0;
  for (const double beta : {0.0, 1.0, -2.0})
    for (const bool no_k : {false, true})
      for_each_problem(no_k ? 1.0 : 0.0, beta, [&]<class T>(Problem<T> p, Via via) {
        p.beta = make<T>(beta, 0);
        p.A.fill(make<T>(not_a_number, infinity));
        p.B.fill(make<T>(infinity, not_a_number));
        if (no_k) p.k = 0;  // the operands' leading dimensions stay valid
        Matrix<T> wanted = p.C;
        if (beta == 0) p.C.fill(make<T>(not_a_number, infinity));
        Matrix<T> out = p.C;
        p.run(via, out);
        hash = hash * 31 + out.hash();
        if (!out.guarded()) fail("%s: storage outside of C was written", p.name().c_str());
        for (int j = 0; j < p.n; ++j)
          for (int i = 0; i < p.m; ++i)
            if (!(out.at(i, j) == make<T>(beta, 0) * wanted.at(i, j)))
              return fail("%s by %s, beta %g: C(%d, %d)", p.name().c_str(), via_names[static_cast<int>(via)], beta, i, j);
      });
  std::printf("bits %016llx\n", static_cast<unsigned long long>(hash));
}

/// One Inf or NaN in op(A)'s row i, or op(B)'s column j, poisons that row or column of C, and nothing else.
void poison_only_classical() {
  for_each_problem(0.75, -0.5, []<class T>(const Problem<T>& p, Via via) {
    const Expected<T> expected(p);
    for (const double value : {infinity, not_a_number})
      for (const bool in_a : {true, false}) {
        Problem<T> poisoned = p;
        const int row = p.m / 2, col = p.n / 2, q = p.k / 2;
        Matrix<T>& matrix = in_a ? poisoned.A : poisoned.B;
        const bool plain = (in_a ? p.ta : p.tb) == 'N';
        const int at = in_a ? row : q, other = in_a ? q : col;
        (plain ? matrix.at(at, other) : matrix.at(other, at)) = make<T>(value, 0);
        Matrix<T> out = p.C;
        poisoned.run(via, out);
        for (int j = 0; j < p.n; ++j)
          for (int i = 0; i < p.m; ++i) {
            const bool hit = in_a ? i == row : j == col;
            if (hit ? finite(out.at(i, j)) : !expected.near(i, j, out.at(i, j)))
              return fail("%s by %s, %g in %c: C(%d, %d) is %s", p.name().c_str(), via_names[static_cast<int>(via)], value,
                          in_a ? 'A' : 'B', i, j, hit ? "finite" : "wrong");
          }
      }
    // In C it poisons its own element.
    for (const double value : {infinity, not_a_number}) {
      Matrix<T> out = p.C;
      const int row = p.m / 2, col = p.n / 2;
      out.at(row, col) = make<T>(value, 0);
      p.run(via, out);
      for (int j = 0; j < p.n; ++j)
        for (int i = 0; i < p.m; ++i) {
          const bool hit = i == row && j == col;
          if (hit ? finite(out.at(i, j)) : !expected.near(i, j, out.at(i, j)))
            return fail("%s by %s, %g in C: C(%d, %d)", p.name().c_str(), via_names[static_cast<int>(via)], value, i, j);
        }
    }
  });
}

/// Outputs that share storage with an input: what the library underneath makes of them, bit for bit.  Prints a hash of all
/// the results; the runner compares with a run without blaslift.
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
                        {"beta_zero_nan", beta_zero_nan},
                        {"alpha_zero_nan", alpha_zero_nan},
                        {"poison_only_classical", poison_only_classical},
                        {"overlap", overlap},
                        {"same_bits", same_bits}};
  for (const auto& promise : promises)
    if (promise.name == which) return promise.run(), verdict();
  return 2;
}
