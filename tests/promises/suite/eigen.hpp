// What eigenproblems by all of LAPACK's drivers have in common: the matrix, and what may be off.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/promises/suite/values.hpp"

namespace suite {

/// What all of them say of themselves.
template <class Self>
struct OfEigenvalues : Routine<Self> {
  static constexpr int ways_to_nothing = 1;
  static constexpr bool poison = false;
  static constexpr bool moves_outputs = false;  // of A nothing moves without vectors, and of w nothing is counted
  static constexpr bool calls_others = true;
  static constexpr index largest = 32;
};

/// A symmetric or Hermitian matrix of which a triangle is stored.
template <class T>
struct Hermitian : Matrix<T> {
  /// @param whole  of what is not in the triangle, all may be written
  Hermitian(Draw& draw, char triangle, index n, bool whole) : Matrix<T>(draw, "A", Role::output, n, n), uplo(triangle) {
    this->use([&](index i, index j) {
      const Use of_triangle = i == j ? static_cast<Use>(updated | real) : updated;
      return in_triangle(i, j) ? of_triangle : whole ? written : unused;
    });
  }
  const char uplo;
  bool in_triangle(index i, index j) const { return uplo == 'U' ? i <= j : i >= j; }
  Wide<T> full(index i, index j) const {
    const bool there = in_triangle(i, j);
    const Wide<T> a = widen(there ? (*this)(i, j) : (*this)(j, i));
    if (i == j) return Wide<T>(std::real(a));
    return there ? a : promises::conjugate<T>(a);
  }
};

/// Backward stable: everything within a few n eps of |A|, by Frobenius's norm (LAPACK Users' Guide, 4.7).
/// @param first       w's first one, and count: of A's eigenvalues, in ascending order
/// @param V           count vectors; or null
/// @param orthogonal  how many units these may be from being so
template <class T>
void judge_eigenvalues(Judge& judge, const Hermitian<T>& was, index first, index count, const Matrix<Real<T>>& w,
                       const Matrix<T>* V, long double orthogonal = 8) {
  const index n = was.cols();
  std::vector<Wide<T>> matrix(static_cast<std::size_t>(n * n));
  long double squares = 0;
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < n; ++i) {
      const Wide<T> a = matrix[static_cast<std::size_t>(i + j * n)] = was.full(i, j);
      squares += std::norm(a);
    }
  const long double few = 8 * unit<T>(n), size = std::sqrt(squares);
  // All vectors, with what is judged of them, leave no choice of values.
  std::vector<long double> due;
  if (!V || count < n) due = eigenvalues<T>(matrix, n);
  for (index i = 0; i < count; ++i) {
    if (!due.empty())
      judge.at_most(
          "an eigenvalue is off",
          static_cast<double>(std::fabs(static_cast<long double>(w(i, 0)) - due[static_cast<std::size_t>(first + i)])),
          static_cast<double>(few * size));
    if (i > 0) judge.check("w does not ascend", w(i - 1, 0) <= w(i, 0));
  }
  for (index j = 0; V && j < count; ++j) {
    long double off = 0;
    for (index i = 0; i < n; ++i) {
      Sum<T> rest;
      for (index k = 0; k < n; ++k) rest.add(matrix[static_cast<std::size_t>(i + k * n)], widen((*V)(k, j)));
      rest.add(Wide<T>(-widen(w(j, 0))), widen((*V)(i, j)));
      off += std::norm(rest.value);
    }
    judge.at_most("|A v - w v|", static_cast<double>(std::sqrt(off)), static_cast<double>(few * size));
    for (index i = 0; i <= j; ++i) {
      Sum<T> product;
      for (index k = 0; k < n; ++k) product.add(promises::conjugate<T>(widen((*V)(k, i))), widen((*V)(k, j)));
      judge.at_most("V^H V is not I", static_cast<double>(std::abs(product.value - Wide<T>(i == j ? 1 : 0))),
                    static_cast<double>(orthogonal * unit<T>(n)));
    }
  }
}

/// xSYEVR and xHEEVR, or xSYEVX and xHEEVX: all eigenvalues or some by their numbers, and their vectors apart.
template <class T, bool is_x>
struct SomeEigenvalues : OfEigenvalues<SomeEigenvalues<T, is_x>> {
  // In device memory integers are not, so all matrices are larger than these.
  static constexpr index least_on_device = 17, bytes_on_device = 600;
  static std::string name() { return named<T>(std::string(is_complex<T> ? "heev" : "syev") + (is_x ? "x" : "r")); }

  char jobz, range, uplo;
  index n, il, iu;
  Hermitian<T> A;
  Integers m;
  Matrix<Real<T>> w;
  Matrix<T> Z;
  Integers of_vectors;
  Matrix<T> work;
  Matrix<Real<T>> rwork;
  Integers iwork;
  Real<T> limit = 1, abstol = 0;
  Info info;

  explicit SomeEigenvalues(Draw& draw)
      : jobz(draw.letter("VN")),
        range(draw.letter("AI")),
        uplo(draw.letter("UL")),
        n(draw.nothing(0) ? 0 : draw.size()),
        il(first_of(draw, n)),
        iu(last_of(draw, n, il)),
        A(draw, uplo, n, false),
        m(draw, "m", Role::output, 1),
        w(draw, "w", Role::output, n, 1),
        Z(draw, "Z", Role::output, vectors() ? n : 0, vectors() ? count() : 0),
        of_vectors(draw, is_x ? "ifail" : "isuppz", Role::output,
                   !vectors() ? 0
                   : is_x     ? n
                   : all()    ? 2 * n
                              : 0),
        // The least that there may be, or more.
        work(draw, "work", Role::workspace, least_work() * (draw.pick(2) ? 33 : 1), 1),
        rwork(draw, "rwork", Role::workspace, is_complex<T> ? (is_x ? 7 : 24) * std::max<index>(1, n) : 1, 1),
        iwork(draw, "iwork", Role::workspace, least_iwork()) {
    w.use([](index, index) { return written; });
    Z.use([](index, index) { return written; });
  }
  std::vector<Operand*> operands() override {
    std::vector<Operand*> all{&A, &m, &w, &Z, &of_vectors, &work, &iwork};
    if constexpr (is_complex<T>) all.push_back(&rwork);
    return all;
  }
  std::string describe() const override {
    return text(name(), "%c%c%c n=%ld il=%ld iu=%ld", jobz, range, uplo, long(n), long(il), long(iu));
  }
  bool vectors() const { return jobz == 'V'; }
  bool all() const { return count() == n; }
  index first() const { return range == 'I' ? il - 1 : 0; }
  index count() const { return range == 'I' ? iu - il + 1 : n; }
  index least_work() const {
    if (is_x) return n <= 1 ? 1 : (is_complex<T> ? 2 : 8) * n;
    return std::max<index>(1, (is_complex<T> ? 2 : 26) * n);
  }
  index least_iwork() const { return is_x ? std::max<index>(1, 5 * n) : std::max<index>(1, 10 * n); }
  /// From 1 on.  In device memory there are many, so that Z is no small matrix.
  static index first_of(Draw& draw, index n) {
    const index most = std::getenv("INJECTED_DEVICE_MEMORY") ? n / 4 : n;
    return 1 + draw.below(static_cast<int>(std::max<index>(1, most)));
  }
  static index last_of(Draw& draw, index n, index first) {
    const index least = std::getenv("INJECTED_DEVICE_MEMORY") ? n - n / 4 : std::min(first, n);
    return least + draw.below(static_cast<int>(n - least + 1));
  }

  void make() override {
    info = {};
    // What is not read need not be there.
    const Real<T>* const both = range == 'V' ? &limit : nullptr;
    index low = padded(il), high = padded(iu);
    const void *const from = range == 'I' ? &low : nullptr, *const to = range == 'I' ? &high : nullptr;
    const auto call = [&](auto... rest) {
      fortran(name(), jobz, range, uplo, n, A.data(), A.leading(), both, both, from, to, &abstol, m.data(), w.data(),
              Z.data(), Z.leading(), rest...);
    };
    if constexpr (is_x && is_complex<T>)
      call(work.data(), work.leading(), rwork.data(), iwork.data(), of_vectors.data(), info.address());
    else if constexpr (is_x)
      call(work.data(), work.leading(), iwork.data(), of_vectors.data(), info.address());
    else if constexpr (is_complex<T>)
      call(of_vectors.data(), work.data(), work.leading(), rwork.data(), rwork.leading(), iwork.data(), iwork.leading(),
           info.address());
    else
      call(of_vectors.data(), work.data(), work.leading(), iwork.data(), iwork.leading(), info.address());
  }

  void judge(const SomeEigenvalues& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    judge.check("m is wrong", m[0] == count());
    if (n == 0) return;
    // Of one element some versions of LAPACK want less.
    if (!judge.in_device_memory && n > 1)
      judge.check("work(1) is too small", std::real(work(0, 0)) >= Real<T>(least_work()));
    // By robust representations as far as LAPACK's testers let them be (sep.in).
    judge_eigenvalues<T>(judge, was.A, first(), count(), w, vectors() ? &Z : nullptr, is_x ? 8 : 50);
    for (index i = 0; is_x && vectors() && i < count(); ++i)
      judge.check("ifail is not 0", n == 1 || of_vectors[i] == 0);
    for (index i = 0; !is_x && vectors() && all() && i < n; ++i)
      judge.check("isuppz is none",
                  of_vectors[2 * i] >= 1 && of_vectors[2 * i + 1] <= n && of_vectors[2 * i] <= of_vectors[2 * i + 1]);
  }

  std::string query() override {
    const int which = is_x ? 0 : static_cast<int>(n % 3);  // one of the lengths is enough
    if (which == 0)
      work.tell(-1);
    else if (which == 1 || !is_complex<T>)
      iwork.tell(-1);
    else
      rwork.tell(-1);
    make();
    if (info.value() != 0) return "info is not 0";
    const bool reals = !is_complex<T> || is_x || rwork(0, 0) >= Real<T>(24 * n),
               integers = is_x || iwork[0] >= least_iwork();
    return std::real(work(0, 0)) >= Real<T>(least_work()) && reals && integers ? "" : "a workspace is too small";
  }
  bool mistake(int which) override {
    switch (which) {
      case 0: return jobz = 'X', true;
      case 1: return range = 'X', true;
      case 2: return uplo = 'X', true;
      case 3: return n = -1, true;
      case 4: return A.tell(n - 1), true;
      case 5: return range = 'V', true;  // between two limits that are the same
      case 6: return range = 'I', il = 0, true;
      case 7: return range = 'I', il = n + 1, true;
      case 8: return range = 'I', il = 2, iu = 1, true;
      case 9: return range = 'I', il = 1, iu = n + 1, true;
      case 10: return Z.tell(0), true;
      case 11: return jobz = 'V', Z.tell(n - 1), true;
      case 12: return work.tell(least_work() - 1), true;
      case 13: return work.tell(-2), true;
      case 14: return is_x ? A.tell(0) : iwork.tell(least_iwork() - 1), true;
      case 15: return n = -1, work.tell(-1), true;
      case 16: return is_x || !is_complex<T> ? work.tell(0) : rwork.tell(24 * n - 1), true;
      default: return false;
    }
  }
};

}  // namespace suite
