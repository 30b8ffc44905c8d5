// A = V diag(w) V^H of a symmetric or Hermitian A, V in its place; or w alone.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/promises/suite/integers.hpp"

namespace suite {
namespace {

/// Eigenvalues in ascending order, by Jacobi's rotations in higher precision.
template <class T>
std::vector<long double> eigenvalues(std::vector<Wide<T>> A, index n) {
  const auto at = [&](index i, index j) -> Wide<T>& { return A[static_cast<std::size_t>(i + j * n)]; };
  const auto conjugate = [](Wide<T> x) { return promises::conjugate<T>(x); };
  for (bool rotated = true; rotated;) {
    rotated = false;
    for (index q = 1; q < n; ++q)
      for (index p = 0; p < q; ++p) {
        const long double off = std::abs(at(p, q)), a = std::real(at(p, p)), b = std::real(at(q, q));
        if (off <= 1e-19L * (std::fabs(a) + std::fabs(b))) continue;
        rotated = true;
        const long double slope = (b - a) / (2 * off),
                          tangent = 1 / (slope + std::copysign(std::hypot(slope, 1.0L), slope)),
                          cosine = 1 / std::hypot(tangent, 1.0L);
        const Wide<T> sine = at(p, q) / off * (tangent * cosine);
        for (index k = 0; k < n; ++k) {
          const Wide<T> x = at(k, p), y = at(k, q);
          at(k, p) = x * cosine - y * conjugate(sine);
          at(k, q) = x * sine + y * cosine;
        }
        for (index k = 0; k < n; ++k) {
          const Wide<T> x = at(p, k), y = at(q, k);
          at(p, k) = x * cosine - y * sine;
          at(q, k) = x * conjugate(sine) + y * cosine;
        }
        at(p, q) = at(q, p) = Wide<T>{};
      }
  }
  std::vector<long double> w;
  for (index i = 0; i < n; ++i) w.push_back(std::real(at(i, i)));
  std::sort(w.begin(), w.end());
  return w;
}

template <class T>
struct Syevd : Routine<Syevd<T>> {
  static constexpr int ways_to_nothing = 1;
  static constexpr bool poison = false;
  static constexpr bool moves_outputs = false;  // of A nothing moves without vectors, and of w nothing is counted
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
  static std::string name() { return named<T>(is_complex<T> ? "heevd" : "syevd"); }

  char jobz, uplo;
  index n;
  Matrix<T> A;
  Matrix<Real<T>> w;
  Matrix<T> work;
  Matrix<Real<T>> rwork;
  IntegerWorkspace iwork;
  Info info;

  explicit Syevd(Draw& draw)
      : jobz(draw.letter("VN")),
        uplo(draw.letter("UL")),
        n(draw.nothing(0) ? 0 : draw.size()),
        A(draw, "A", Role::output, n, n),
        w(draw, "w", Role::output, n, 1),
        // The least that there may be, or more.
        work(draw, "work", Role::workspace, least_work() * (draw.pick(2) ? 33 : 1), 1),
        rwork(draw, "rwork", Role::workspace, least_rwork(), 1),
        iwork(draw, "iwork", least_iwork()) {
    A.use([&](index i, index j) {
      const Use of_triangle = i == j ? static_cast<Use>(updated | real) : updated;
      return in_triangle(i, j) ? of_triangle : vectors() ? written : unused;
    });
    w.use([](index, index) { return written; });
  }
  std::vector<Operand*> operands() override {
    if constexpr (is_complex<T>) return {&A, &w, &work, &rwork, &iwork};
    return {&A, &w, &work, &iwork};
  }
  std::string describe() const override { return text(name(), "%c%c n=%ld", jobz, uplo, long(n)); }
  bool vectors() const { return jobz == 'V'; }
  bool in_triangle(index i, index j) const { return uplo == 'U' ? i <= j : i >= j; }
  index least_work() const {
    if (n <= 1) return 1;
    if (is_complex<T>) return vectors() ? 2 * n + n * n : n + 1;
    return vectors() ? 1 + 6 * n + 2 * n * n : 2 * n + 1;
  }
  index least_rwork() const { return n <= 1 ? 1 : vectors() ? 1 + 5 * n + 2 * n * n : n; }
  index least_iwork() const { return n <= 1 || !vectors() ? 1 : 3 + 5 * n; }

  void make() override {
    info = {};
    if constexpr (is_complex<T>)
      fortran(name(), jobz, uplo, n, A.data(), A.leading(), w.data(), work.data(), work.leading(), rwork.data(),
              rwork.leading(), iwork.data(), iwork.leading(), info.address());
    else
      fortran(name(), jobz, uplo, n, A.data(), A.leading(), w.data(), work.data(), work.leading(), iwork.data(),
              iwork.leading(), info.address());
  }

  /// All of the matrix.
  static Wide<T> full(const Syevd& x, index i, index j) {
    const bool there = x.in_triangle(i, j);
    const Wide<T> a = widen(there ? x.A(i, j) : x.A(j, i));
    if (i == j) return Wide<T>(std::real(a));
    return there ? a : promises::conjugate<T>(a);
  }
  /// Backward stable: everything within a few n eps of |A|, by Frobenius's norm (LAPACK Users' Guide, 4.7).
  void judge(const Syevd& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (n == 0) return;
    if (!judge.in_device_memory) judge.check("work(1) is too small", std::real(work(0, 0)) >= Real<T>(least_work()));
    std::vector<Wide<T>> matrix(static_cast<std::size_t>(n * n));
    long double squares = 0;
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        const Wide<T> a = matrix[static_cast<std::size_t>(i + j * n)] = full(was, i, j);
        squares += std::norm(a);
      }
    const long double few = 8 * unit<T>(n), size = std::sqrt(squares);
    const std::vector<long double> due = eigenvalues<T>(matrix, n);
    for (index i = 0; i < n; ++i) {
      judge.at_most(
          "an eigenvalue is off",
          static_cast<double>(std::fabs(static_cast<long double>(w(i, 0)) - due[static_cast<std::size_t>(i)])),
          static_cast<double>(few * size));
      if (i > 0) judge.check("w does not ascend", w(i - 1, 0) <= w(i, 0));
    }
    for (index j = 0; vectors() && j < n; ++j) {
      long double off = 0;
      for (index i = 0; i < n; ++i) {
        Sum<T> rest;
        for (index k = 0; k < n; ++k) rest.add(matrix[static_cast<std::size_t>(i + k * n)], widen(A(k, j)));
        rest.add(Wide<T>(-static_cast<long double>(w(j, 0))), widen(A(i, j)));
        off += std::norm(rest.value);
      }
      judge.at_most("|A v - w v|", static_cast<double>(std::sqrt(off)), static_cast<double>(few * size));
      for (index i = 0; i <= j; ++i) {
        Sum<T> product;
        for (index k = 0; k < n; ++k) product.add(promises::conjugate<T>(widen(A(k, i))), widen(A(k, j)));
        judge.at_most("V^H V is not I", static_cast<double>(std::abs(product.value - Wide<T>(i == j ? 1 : 0))),
                      static_cast<double>(few));
      }
    }
  }

  std::string query() override {
    const int which = static_cast<int>(n % 3);  // one of the lengths is enough
    if (which == 0)
      work.tell(-1);
    else if (which == 1 || !is_complex<T>)
      iwork.tell(-1);
    else
      rwork.tell(-1);
    make();
    if (info.value() != 0) return "info is not 0";
    const bool reals = !is_complex<T> || rwork(0, 0) >= Real<T>(least_rwork());
    return std::real(work(0, 0)) >= Real<T>(least_work()) && reals && iwork.first() >= least_iwork()
               ? ""
               : "a workspace is too small";
  }
  bool mistake(int which) override {
    switch (which) {
      case 0: return jobz = 'X', true;
      case 1: return uplo = 'X', true;
      case 2: return n = -1, true;
      case 3: return A.tell(n - 1), true;
      case 4: return work.tell(least_work() - 1), true;
      case 5: return work.tell(-2), true;
      case 6: return iwork.tell(least_iwork() - 1), true;
      case 7: return n = -1, work.tell(-1), true;
      case 8: return is_complex<T> ? rwork.tell(least_rwork() - 1) : iwork.tell(0), true;
      default: return false;
    }
  }
};

JOIN(syevd, Syevd<float>, Syevd<double>, Syevd<std::complex<float>>, Syevd<std::complex<double>>);

}  // namespace
}  // namespace suite
