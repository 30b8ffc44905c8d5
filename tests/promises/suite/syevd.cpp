// A = V diag(w) V^H of a symmetric or Hermitian A, V in its place; or w alone.
#include "tests/promises/suite/eigen.hpp"

namespace suite {
namespace {

template <class T>
struct Syevd : OfEigenvalues<Syevd<T>> {
  static std::string name() { return named<T>(is_complex<T> ? "heevd" : "syevd"); }

  char jobz, uplo;
  index n;
  Hermitian<T> A;
  Matrix<Real<T>> w;
  Matrix<T> work;
  Matrix<Real<T>> rwork;
  Integers iwork;
  Info info;

  explicit Syevd(Draw& draw)
      : jobz(draw.letter("VN")),
        uplo(draw.letter("UL")),
        n(draw.nothing(0) ? 0 : draw.size()),
        A(draw, uplo, n, jobz == 'V'),
        w(draw, "w", Role::output, n, 1),
        // The least that there may be, or more.
        work(draw, "work", Role::workspace, least_work() * (draw.pick(2) ? 33 : 1), 1),
        rwork(draw, "rwork", Role::workspace, least_rwork(), 1),
        iwork(draw, "iwork", Role::workspace, least_iwork()) {
    w.use([](index, index) { return written; });
  }
  std::vector<Operand*> operands() override {
    if constexpr (is_complex<T>) return {&A, &w, &work, &rwork, &iwork};
    return {&A, &w, &work, &iwork};
  }
  std::string describe() const override { return text(name(), "%c%c n=%ld", jobz, uplo, long(n)); }
  bool vectors() const { return jobz == 'V'; }
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

  void judge(const Syevd& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (n == 0) return;
    if (!judge.in_device_memory) judge.check("work(1) is too small", std::real(work(0, 0)) >= Real<T>(least_work()));
    judge_eigenvalues<T>(judge, was.A, 0, n, w, vectors() ? &A : nullptr);
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
    return std::real(work(0, 0)) >= Real<T>(least_work()) && reals && iwork[0] >= least_iwork()
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
