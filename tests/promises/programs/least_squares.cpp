// Least squares by LAPACK's drivers that are the library's underneath: pivots of more columns than rows, norms that
// LAPACK scales, triangles with a zero on the diagonal, numbers that are none; a line for each with what it leaves.  Or
// such as verification is to look at: badly conditioned ones with more unknowns than equations, and those with A^H; or
// one whose R is large; or those of more columns than rows whose right singular vectors are to be in A.
//
//   least_squares wide|condition|adjoint|singular|scaled|not_finite|large|vectors gels|gelsy|gelsd|gelss
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "check.hpp"

using namespace promises;

#define DRIVERS(X, name) X(name, gels) X(name, gelsy) X(name, gelsd) X(name, gelss)
#define DECLARE(name, driver) extern "C" void name##driver##_(...);
DRIVERS(DECLARE, s)
DRIVERS(DECLARE, d)
DRIVERS(DECLARE, c)
DRIVERS(DECLARE, z)
#undef DECLARE

namespace {

std::map<std::string, int> calls;

using Function = void (*)(...);
template <class T>
Function function_of(const std::string& driver) {
  static const std::map<std::string, Function> all{
#define NAME(name, end) {#name #end, name##end##_},
      DRIVERS(NAME, s) DRIVERS(NAME, d) DRIVERS(NAME, c) DRIVERS(NAME, z)
#undef NAME
  };
  const std::string name = letter<T>() + driver;
  ++calls[name];
  return all.at(name);
}

unsigned long long hash_of(const void* at, std::size_t count, unsigned long long hash) {
  const auto* bytes = static_cast<const unsigned char*>(at);
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  return hash;
}

/// What a call is made with, and what it leaves.
template <class T>
struct Problem {
  int m, n, nrhs = 3, lda, ldb;
  std::vector<T> A{}, B{};
  bool adjoint = false;  ///< of gels
  std::vector<Real<T>> s{};

  Problem(int rows, int cols, std::mt19937& random) : m(rows), n(cols), lda(rows + 2), ldb(std::max(rows, cols) + 1) {
    const auto number = [&random] { return static_cast<double>(random() % 2001 + 1) / 1001 - 1; };
    for (int i = 0; i < lda * n; ++i) A.push_back(make<T>(number(), number()));
    for (int i = 0; i < ldb * nrhs; ++i) B.push_back(make<T>(number(), number()));
  }

  /// Instead, an A whose singular values fall to about `least` of the largest one; or whose last row is its first one.
  void condition(double least, std::mt19937& random) {
    const Problem left(m, m, random), right(m, n, random);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        T sum(0);
        for (int k = 0; k < m; ++k)
          sum += left.A[static_cast<std::size_t>(i + k * left.lda)] *
                 static_cast<Real<T>>(std::pow(least, static_cast<double>(k) / std::max(1, m - 1))) *
                 right.A[static_cast<std::size_t>(k + j * right.lda)];
        A[static_cast<std::size_t>(i + j * lda)] = sum;
      }
  }
  /// Instead, another one's A^H.
  void turn(const Problem& other) {
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        const T x = other.A[static_cast<std::size_t>(j + i * other.lda)];
        A[static_cast<std::size_t>(i + j * lda)] = make<T>(std::real(x), -std::imag(x));
      }
  }
  void repeat_a_row() {
    for (int j = 0; j < n; ++j) A[static_cast<std::size_t>(m - 1 + j * lda)] = A[static_cast<std::size_t>(j * lda)];
  }

  /// Whether A^H (b - A x) of what was is as small as that of a backward stable method.
  bool is_solution(const Problem& was) {
    using Number = std::complex<long double>;
    const auto number = [](const T& x) { return Number(std::real(x), std::imag(x)); };
    const auto a = [&](int i, int j) { return number(was.A[static_cast<std::size_t>(i + j * lda)]); };
    for (int q = 0; q < nrhs; ++q) {
      long double size = 0, of_x = 0, of_b = 0, off = 0;
      std::vector<Number> rest;
      for (int i = 0; i < m; ++i) {
        Number sum = number(was.B[static_cast<std::size_t>(i + q * ldb)]);
        of_b += std::norm(sum);
        for (int j = 0; j < n; ++j) sum -= a(i, j) * number(B[static_cast<std::size_t>(j + q * ldb)]);
        rest.push_back(sum);
      }
      for (int j = 0; j < n; ++j) {
        Number sum = 0;
        for (int i = 0; i < m; ++i)
          sum += std::conj(a(i, j)) * rest[static_cast<std::size_t>(i)], size += std::norm(a(i, j));
        off += std::norm(sum);
        of_x += std::norm(number(B[static_cast<std::size_t>(j + q * ldb)]));
      }
      const long double unit = static_cast<long double>(8 * m) * std::numeric_limits<Real<T>>::epsilon();
      if (!(std::sqrt(off) <= unit * std::sqrt(size) * (std::sqrt(size * of_x) + std::sqrt(of_b)))) return false;
    }
    return true;
  }

  /// Whether A's first rows are right singular vectors of what was there, of more columns than rows.
  bool has_vectors(const Problem& was) const {
    using Number = std::complex<long double>;
    const auto number = [](const Problem& p, int i, int j) {
      const T x = p.A[static_cast<std::size_t>(i + j * p.lda)];
      return Number(std::real(x), std::imag(x));
    };
    const long double unit = static_cast<long double>(8 * n) * std::numeric_limits<Real<T>>::epsilon();
    for (int q = 0; q < m; ++q) {
      for (int p = 0; p <= q; ++p) {
        Number sum = p == q ? -1 : 0;
        for (int j = 0; j < n; ++j) sum += number(*this, p, j) * std::conj(number(*this, q, j));
        if (!(std::abs(sum) <= unit)) return false;
      }
      long double squares = 0;
      for (int i = 0; i < m; ++i) {
        Number sum = 0;
        for (int j = 0; j < n; ++j) sum += number(was, i, j) * std::conj(number(*this, q, j));
        squares += std::norm(sum);
      }
      if (!(std::fabs(std::sqrt(squares) - s[static_cast<std::size_t>(q)]) <= unit * s[0])) return false;
    }
    return true;
  }

  void solve(const std::string& driver) {
    const auto count = static_cast<std::size_t>(std::min(m, n));
    const int least = 100000;
    const Real<T> rcond = std::numeric_limits<Real<T>>::epsilon();
    std::vector<T> work(static_cast<std::size_t>(least));
    std::vector<Real<T>> rwork(static_cast<std::size_t>(least));
    s.assign(count, Real<T>(5));
    std::vector<int> iwork(static_cast<std::size_t>(least)), jpvt(static_cast<std::size_t>(n));
    int rank = -7, info = -99;
    const Function f = function_of<T>(driver);
    const auto call = [&](void* values, auto... rest) {
      f(&m, &n, &nrhs, A.data(), &lda, B.data(), &ldb, values, &rcond, &rank, work.data(), &least, rest..., &info);
    };
    const char trans = !adjoint ? 'N' : Scalars<T>::is_complex ? 'C' : 'T';
    const auto with = [&](auto... rest) {
      if (driver == "gels")
        f(&trans, &m, &n, &nrhs, A.data(), &lda, B.data(), &ldb, work.data(), &least, &info, std::size_t{1});
      if (driver == "gelsy") call(jpvt.data(), rest...);
      if (driver == "gelsd") call(s.data(), rest..., iwork.data());
      if (driver == "gelss") call(s.data(), rest...);
    };
    if constexpr (Scalars<T>::is_complex)
      with(rwork.data());
    else
      with();
    unsigned long long hash = 14695981039346656037ULL;
    for (const auto* x : {&A, &B}) hash = hash_of(x->data(), x->size() * sizeof(T), hash);
    hash = hash_of(s.data(), s.size() * sizeof(Real<T>), hash);
    hash = hash_of(jpvt.data(), jpvt.size() * sizeof(int), hash);
    std::printf("%c%s %d x %d: info %d, rank %d, %llx\n", letter<T>(), driver.c_str(), m, n, info, rank, hash);
  }
};

/// By a condition: singular values that fall to that; 0: without full rank.
template <class T>
void solve_conditioned(const std::string& driver, int m, int n, bool adjoint, std::mt19937& random) {
  for (const double least : {1e-4, 1e-8, 1e-12, 0.0}) {
    Problem<T> wide(m, n, random);
    if (least > 0)
      wide.condition(least, random);
    else
      wide.repeat_a_row();
    if (!adjoint) {
      wide.solve(driver);
    } else {
      Problem<T> tall(n, m, random);
      tall.adjoint = true;
      tall.turn(wide);
      tall.solve(driver);
    }
  }
}

template <class T>
void solve_as_underneath(const std::string& what, const std::string& driver, int m, int n, bool adjoint,
                         std::mt19937& random) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto problem = [&] {
    Problem<T> made(m, n, random);
    made.adjoint = adjoint;
    return made;
  };
  if (what == "singular" && std::min(m, n) > 1) {
    Problem<T> p = problem();
    if (m < n)
      for (int j = 0; j < n; ++j) p.A[static_cast<std::size_t>(m / 2 + j * p.lda)] = T(0);
    else
      for (int i = 0; i < m; ++i) p.A[static_cast<std::size_t>(i + n / 2 * p.lda)] = T(0);
    p.solve(driver);
  }
  for (const bool of_a : {true, false}) {
    if (what == "scaled") {
      constexpr Real<T> tiny = std::numeric_limits<Real<T>>::min();
      // Zeros; far beyond what is not scaled; and just beyond it.
      constexpr Real<T> least = tiny / std::numeric_limits<Real<T>>::epsilon();
      for (const Real<T> factor : {Real<T>(0), tiny * 4, 1 / tiny / 64, least / 2, 16 / least}) {
        if (factor == 0 && !of_a) continue;  // a B of zeros is one like any other
        Problem<T> p = problem();
        for (T& x : of_a ? p.A : p.B) x *= factor;
        p.solve(driver);
      }
    }
    if (what == "not_finite")
      for (const double odd : {std::numeric_limits<double>::quiet_NaN(), infinity}) {
        Problem<T> p = problem();
        (of_a ? p.A : p.B)[static_cast<std::size_t>((adjoint && !of_a ? n : m) / 2)] = make<T>(odd, 0);
        p.solve(driver);
      }
  }
}

template <class T>
void run(const std::string& what, const std::string& driver) {
  std::mt19937 random(3);
  using Shapes = std::vector<std::pair<int, int>>;
  const Shapes conditioned{{60, 100}, {90, 91}, {37, 200}}, wide{{1, 2}, {7, 40}, {24, 25}},
      tall{{1, 1}, {30, 5}, {24, 24}, {70, 31}};
  if (what == "large") {
    Problem<T> p(400, 260, random);
    const Problem<T> was = p;
    p.solve(driver);
    if (!p.is_solution(was)) fail("400 x 260: x is none");
  } else if (what == "vectors") {
    for (const Shapes* const shapes : {&conditioned, &wide})
      for (const auto& [m, n] : *shapes) {
        Problem<T> p(m, n, random);
        const Problem<T> was = p;
        p.solve(driver);
        if (!p.has_vectors(was))
          fail("%c%s %d x %d: A has no right singular vectors", letter<T>(), driver.c_str(), m, n);
      }
  } else if (what == "wide") {
    for (const auto& [m, n] : wide) Problem<T>(m, n, random).solve(driver);
  } else if (what == "condition" || what == "adjoint") {
    const bool adjoint = what == "adjoint";
    for (const auto& [m, n] : conditioned) solve_conditioned<T>(driver, m, n, adjoint, random);
    for (const Shapes* const shapes : {&tall, &wide})
      for (const auto& [m, n] : *shapes) {
        if (!adjoint) continue;
        Problem<T> p(m, n, random);
        p.adjoint = true;
        p.solve(driver);
      }
  } else {
    for (const Shapes* const shapes : {&tall, &wide})
      for (const auto& [m, n] : *shapes)
        for (const bool adjoint : {false, true}) {
          if ((adjoint && driver != "gels") || (shapes == &wide && driver == "gelsy")) continue;
          solve_as_underneath<T>(what, driver, m, n, adjoint, random);
        }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string what = arguments[1], driver = arguments[2];
  run<double>(what, driver);
  if (what != "large") {
    run<float>(what, driver);
    run<std::complex<float>>(what, driver);
    run<std::complex<double>>(what, driver);
  }
  const char* between = "calls {";
  for (const auto& [name, number] : calls)
    std::printf("%s\"%s\": %d", std::exchange(between, ", "), name.c_str(), number);
  std::printf("}\nok\n");
}
