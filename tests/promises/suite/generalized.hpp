// What generalized eigenproblems by all of LAPACK's drivers have in common: the matrices, and what may be off.
#pragma once
#include "tests/promises/suite/eigen.hpp"
#include "tests/promises/suite/factors.hpp"

namespace suite {

/// Positive definite, of which a triangle is stored: its eigenvalues are between 2 and 4 (make_definite).
template <class T>
struct Definite : Matrix<T> {
  Definite(Draw& draw, char triangle, index n) : Matrix<T>(draw, "B", Role::output, n, n) {
    this->use([triangle](index i, index j) {
      return !in_triangle(triangle, i, j) ? unused : i == j ? static_cast<Use>(updated | real) : updated;
    });
  }
};

/// As judge_eigenvalues, of A x = w B x with such a B, or A B x = w x or B A x = w x: no eigenvalue of that is more
/// than half of |A|, or four times that, and the factor of B loses two units.  Eigenvalues by the standard problem in
/// higher precision.
/// @param was_a, was_b  as they were; B: its factor
template <class T>
void judge_generalized(Judge& judge, index itype, char uplo, const Hermitian<T>& was_a, const Matrix<T>& was_b,
                       const Matrix<T>& B, index first, index count, const Matrix<Real<T>>& w, const Matrix<T>* V) {
  judge_cholesky(judge, uplo, was_b, B);
  const index n = was_a.cols();
  const auto size = static_cast<std::size_t>(n * n);
  const auto place = [n](index i, index j) { return static_cast<std::size_t>(i + j * n); };
  const auto conjugate = [](Wide<T> x) { return promises::conjugate<T>(x); };
  std::vector<Wide<T>> a(size), b(size), l(size), c(size);
  long double squares = 0;
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < n; ++i) {
      a[place(i, j)] = c[place(i, j)] = was_a.full(i, j);
      squares += std::norm(a[place(i, j)]);
      b[place(i, j)] = i == j  ? Wide<T>(std::real(was_b(i, i)))
                       : i > j ? cholesky_l(uplo, was_b, i, j)
                               : conjugate(cholesky_l(uplo, was_b, j, i));
    }
  for (index j = 0; j < n; ++j)
    for (index i = j; i < n; ++i) {
      Wide<T> rest = b[place(i, j)];
      for (index k = 0; k < j; ++k) rest -= l[place(i, k)] * conjugate(l[place(j, k)]);
      l[place(i, j)] = i == j ? Wide<T>(std::sqrt(std::real(rest))) : rest / l[place(j, j)];
    }
  for (int side = 0; side < 2; ++side) {  // L^-1 C or L^H C, and of that the adjoint
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) {
        if (itype == 1) {
          for (index k = 0; k < i; ++k) c[place(i, j)] -= l[place(i, k)] * c[place(k, j)];
          c[place(i, j)] /= l[place(i, i)];
        } else {
          c[place(i, j)] *= conjugate(l[place(i, i)]);
          for (index k = i + 1; k < n; ++k) c[place(i, j)] += conjugate(l[place(k, i)]) * c[place(k, j)];
        }
      }
    std::vector<Wide<T>> adjoint(size);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < n; ++i) adjoint[place(i, j)] = conjugate(c[place(j, i)]);
    c = adjoint;
  }
  const long double few = 16 * unit<T>(n), norm = std::sqrt(squares) * (itype == 1 ? 1 : 4);
  const std::vector<long double> due = eigenvalues<T>(c, n);
  for (index i = 0; i < count; ++i) {
    judge.at_most(
        "an eigenvalue is off",
        static_cast<double>(std::fabs(static_cast<long double>(w(i, 0)) - due[static_cast<std::size_t>(first + i)])),
        static_cast<double>(few * norm));
    if (i > 0) judge.check("w does not ascend", w(i - 1, 0) <= w(i, 0));
  }
  const auto times = [&](const std::vector<Wide<T>>& M, const std::vector<Wide<T>>& x) {
    std::vector<Wide<T>> y;
    for (index i = 0; i < n; ++i) {
      Sum<T> product;
      for (index k = 0; k < n; ++k) product.add(M[place(i, k)], x[static_cast<std::size_t>(k)]);
      y.push_back(product.value);
    }
    return y;
  };
  for (index j = 0; V && j < count; ++j) {
    std::vector<Wide<T>> x;
    for (index i = 0; i < n; ++i) x.push_back(widen((*V)(i, j)));
    const std::vector<Wide<T>> left = itype == 1   ? times(a, x)
                                      : itype == 2 ? times(a, times(b, x))
                                                   : times(b, times(a, x)),
                               right = itype == 1 ? times(b, x) : x;
    long double off = 0;
    for (std::size_t i = 0; i < x.size(); ++i) off += std::norm(left[i] - Wide<T>(widen(w(j, 0))) * right[i]);
    judge.at_most("|A v - w B v|, |A B v - w v| or |B A v - w v|", static_cast<double>(std::sqrt(off)),
                  static_cast<double>(few * norm * (itype == 1 ? 1 : 2)));
    // What they are orthogonal by: B or its inverse.
    std::vector<Wide<T>> weighted = itype < 3 ? times(b, x) : x;
    for (index i = 0; itype == 3 && i < n; ++i) {
      for (index k = 0; k < i; ++k)
        weighted[static_cast<std::size_t>(i)] -= l[place(i, k)] * weighted[static_cast<std::size_t>(k)];
      weighted[static_cast<std::size_t>(i)] /= l[place(i, i)];
    }
    for (index i = n - 1; itype == 3 && i >= 0; --i) {
      for (index k = i + 1; k < n; ++k)
        weighted[static_cast<std::size_t>(i)] -= conjugate(l[place(k, i)]) * weighted[static_cast<std::size_t>(k)];
      weighted[static_cast<std::size_t>(i)] /= l[place(i, i)];
    }
    for (index i = 0; i <= j; ++i) {
      Sum<T> product;
      for (index k = 0; k < n; ++k) product.add(conjugate(widen((*V)(k, i))), weighted[static_cast<std::size_t>(k)]);
      judge.at_most("V^H B V or V^H B^-1 V is not I",
                    static_cast<double>(std::abs(product.value - Wide<T>(i == j ? 1 : 0))), static_cast<double>(few));
    }
  }
}

/// What all of them say of themselves.
template <class Self>
struct OfGeneralized : OfEigenvalues<Self> {
  static constexpr std::string_view mistake_of_device = "element:1e9";  // of B's factor; with zeros there is no result

  void prepare(Draw& draw) override {
    Call::prepare(draw);
    this->restore(draw);
  }
  void restore(Draw& draw) override {
    auto& self = static_cast<Self&>(*this);
    make_definite(draw, self.uplo, self.B);
  }
};

/// xSYGVD and xHEGVD, or xSYGV and xHEGV: all eigenvalues, and their vectors in A's place.
template <class T, bool halves>
struct AllGeneralized : OfGeneralized<AllGeneralized<T, halves>> {
  static std::string name() { return named<T>(std::string(is_complex<T> ? "hegv" : "sygv") + (halves ? "d" : "")); }

  index itype;
  char jobz, uplo;
  index n;
  Hermitian<T> A;
  Definite<T> B;
  Matrix<Real<T>> w;
  Matrix<T> work;
  Matrix<Real<T>> rwork;
  Integers iwork;
  Info info;

  explicit AllGeneralized(Draw& draw)
      : itype(1 + draw.pick(3)),
        jobz(draw.letter("VN")),
        uplo(draw.letter("UL")),
        n(draw.nothing(0) ? 0 : draw.size()),
        A(draw, uplo, n, jobz == 'V'),
        B(draw, uplo, n),
        w(draw, "w", Role::output, n, 1),
        // The least that there may be, or more.
        work(draw, "work", Role::workspace, least_work() * (draw.pick(2) ? 33 : 1), 1),
        rwork(draw, "rwork", Role::workspace, least_rwork(), 1),
        iwork(draw, "iwork", Role::workspace, least_iwork()) {
    w.use([](index, index) { return written; });
  }
  std::vector<Operand*> operands() override {
    std::vector<Operand*> all{&A, &B, &w, &work};
    if constexpr (is_complex<T>) all.push_back(&rwork);
    if constexpr (halves) all.push_back(&iwork);
    return all;
  }
  std::string describe() const override { return text(name(), "%ld%c%c n=%ld", long(itype), jobz, uplo, long(n)); }
  bool vectors() const { return jobz == 'V'; }
  index least_work() const {
    if (!halves) return std::max<index>(1, (is_complex<T> ? 2 : 3) * n - 1);
    if (n <= 1) return 1;
    if (is_complex<T>) return vectors() ? 2 * n + n * n : n + 1;
    return vectors() ? 1 + 6 * n + 2 * n * n : 2 * n + 1;
  }
  index least_rwork() const {
    if (!halves) return std::max<index>(1, 3 * n - 2);
    return n <= 1 ? 1 : vectors() ? 1 + 5 * n + 2 * n * n : n;
  }
  index least_iwork() const { return n <= 1 || !vectors() ? 1 : 3 + 5 * n; }

  void make() override {
    info = {};
    const auto call = [&](auto... rest) {
      fortran(name(), itype, jobz, uplo, n, A.data(), A.leading(), B.data(), B.leading(), w.data(), work.data(),
              work.leading(), rest..., info.address());
    };
    if constexpr (halves && is_complex<T>)
      call(rwork.data(), rwork.leading(), iwork.data(), iwork.leading());
    else if constexpr (halves)
      call(iwork.data(), iwork.leading());
    else if constexpr (is_complex<T>)
      call(rwork.data());
    else
      call();
  }

  void judge(const AllGeneralized& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (n == 0) return;
    if (!judge.in_device_memory) judge.check("work(1) is too small", std::real(work(0, 0)) >= Real<T>(least_work()));
    judge_generalized<T>(judge, itype, uplo, was.A, was.B, B, 0, n, w, vectors() ? &A : nullptr);
  }

  std::string query() override {
    const int which = halves ? static_cast<int>(n % 3) : 0;  // one of the lengths is enough
    if (which == 0)
      work.tell(-1);
    else if (which == 1 || !is_complex<T>)
      iwork.tell(-1);
    else
      rwork.tell(-1);
    make();
    if (info.value() != 0) return "info is not 0";
    const bool reals = !halves || !is_complex<T> || rwork(0, 0) >= Real<T>(least_rwork()),
               integers = !halves || iwork[0] >= least_iwork();
    return std::real(work(0, 0)) >= Real<T>(least_work()) && reals && integers ? "" : "a workspace is too small";
  }
  bool mistake(int which) override {
    switch (which) {
      case 0: return itype = 0, true;
      case 1: return itype = 4, true;
      case 2: return jobz = 'X', true;
      case 3: return uplo = 'X', true;
      case 4: return n = -1, true;
      case 5: return A.tell(n - 1), true;
      case 6: return B.tell(n - 1), true;
      case 7: return work.tell(least_work() - 1), true;
      case 8: return work.tell(-2), true;
      case 9: return n = -1, work.tell(-1), true;
      case 10: return halves ? iwork.tell(least_iwork() - 1) : B.tell(0), true;
      case 11: return halves && is_complex<T> ? rwork.tell(least_rwork() - 1) : A.tell(0), true;
      default: return false;
    }
  }
};

/// xSYGVX and xHEGVX: all eigenvalues or some by their numbers, and their vectors apart.
template <class T>
struct SomeGeneralized : OfGeneralized<SomeGeneralized<T>> {
  using Standard = SomeEigenvalues<T, true>;
  static constexpr index least_on_device = Standard::least_on_device, bytes_on_device = Standard::bytes_on_device;
  static std::string name() { return named<T>(is_complex<T> ? "hegvx" : "sygvx"); }

  index itype;
  char jobz, range, uplo;
  index n, il, iu;
  Hermitian<T> A;
  Definite<T> B;
  Integers m;
  Matrix<Real<T>> w;
  Matrix<T> Z;
  Integers ifail;
  Matrix<T> work;
  Matrix<Real<T>> rwork;
  Integers iwork;
  Real<T> limit = 1, abstol = 0;
  Info info;

  explicit SomeGeneralized(Draw& draw)
      : itype(1 + draw.pick(3)),
        jobz(draw.letter("VN")),
        range(draw.letter("AI")),
        uplo(draw.letter("UL")),
        n(draw.nothing(0) ? 0 : draw.size()),
        il(Standard::first_of(draw, n)),
        iu(Standard::last_of(draw, n, il)),
        A(draw, uplo, n, false),
        B(draw, uplo, n),
        m(draw, "m", Role::output, 1),
        w(draw, "w", Role::output, n, 1),
        Z(draw, "Z", Role::output, vectors() ? n : 0, vectors() ? count() : 0),
        ifail(draw, "ifail", Role::output, vectors() ? n : 0),
        // The least that there may be, or more.
        work(draw, "work", Role::workspace, least_work() * (draw.pick(2) ? 33 : 1), 1),
        rwork(draw, "rwork", Role::workspace, 7 * std::max<index>(1, n), 1),
        iwork(draw, "iwork", Role::workspace, 5 * std::max<index>(1, n)) {
    w.use([](index, index) { return written; });
    Z.use([](index, index) { return written; });
  }
  std::vector<Operand*> operands() override {
    std::vector<Operand*> all{&A, &B, &m, &w, &Z, &ifail, &work, &iwork};
    if constexpr (is_complex<T>) all.push_back(&rwork);
    return all;
  }
  std::string describe() const override {
    return text(name(), "%ld%c%c%c n=%ld il=%ld iu=%ld", long(itype), jobz, range, uplo, long(n), long(il), long(iu));
  }
  bool vectors() const { return jobz == 'V'; }
  index first() const { return range == 'I' ? il - 1 : 0; }
  index count() const { return range == 'I' ? iu - il + 1 : n; }
  index least_work() const { return std::max<index>(1, (is_complex<T> ? 2 : 8) * n); }

  void make() override {
    info = {};
    // What is not read need not be there.
    const Real<T>* const both = range == 'V' ? &limit : nullptr;
    index low = padded(il), high = padded(iu);
    const void *const from = range == 'I' ? &low : nullptr, *const to = range == 'I' ? &high : nullptr;
    const auto call = [&](auto... rest) {
      fortran(name(), itype, jobz, range, uplo, n, A.data(), A.leading(), B.data(), B.leading(), both, both, from, to,
              &abstol, m.data(), w.data(), Z.data(), Z.leading(), work.data(), work.leading(), rest..., iwork.data(),
              ifail.data(), info.address());
    };
    if constexpr (is_complex<T>)
      call(rwork.data());
    else
      call();
  }

  void judge(const SomeGeneralized& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    judge.check("m is wrong", m[0] == count());
    if (n == 0) return;
    if (!judge.in_device_memory) judge.check("work(1) is too small", std::real(work(0, 0)) >= Real<T>(least_work()));
    judge_generalized<T>(judge, itype, uplo, was.A, was.B, B, first(), count(), w, vectors() ? &Z : nullptr);
    for (index i = 0; vectors() && i < count(); ++i) judge.check("ifail is not 0", n == 1 || ifail[i] == 0);
  }

  std::string query() override {
    work.tell(-1);
    make();
    if (info.value() != 0) return "info is not 0";
    return std::real(work(0, 0)) >= Real<T>(least_work()) ? "" : "a workspace is too small";
  }
  bool mistake(int which) override {
    switch (which) {
      case 0: return itype = 0, true;
      case 1: return itype = 4, true;
      case 2: return jobz = 'X', true;
      case 3: return range = 'X', true;
      case 4: return uplo = 'X', true;
      case 5: return n = -1, true;
      case 6: return A.tell(n - 1), true;
      case 7: return B.tell(n - 1), true;
      case 8: return range = 'V', true;  // between two limits that are the same
      case 9: return range = 'I', il = 0, true;
      case 10: return range = 'I', il = n + 1, true;
      case 11: return range = 'I', il = 2, iu = 1, true;
      case 12: return range = 'I', il = 1, iu = n + 1, true;
      case 13: return Z.tell(0), true;
      case 14: return jobz = 'V', Z.tell(n - 1), true;
      case 15: return work.tell(least_work() - 1), true;
      case 16: return work.tell(-2), true;
      case 17: return n = -1, work.tell(-1), true;
      default: return false;
    }
  }
};

}  // namespace suite
