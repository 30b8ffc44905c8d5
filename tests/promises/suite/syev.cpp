// As syevd, by another algorithm: other workspaces.
#include "tests/promises/suite/eigen.hpp"

namespace suite {
namespace {

template <class T>
struct Syev : OfEigenvalues<Syev<T>> {
  static std::string name() { return named<T>(is_complex<T> ? "heev" : "syev"); }

  char jobz, uplo;
  index n;
  Hermitian<T> A;
  Matrix<Real<T>> w;
  Matrix<T> work;
  Matrix<Real<T>> rwork;
  Info info;

  explicit Syev(Draw& draw)
      : jobz(draw.letter("VN")),
        uplo(draw.letter("UL")),
        n(draw.nothing(0) ? 0 : draw.size()),
        A(draw, uplo, n, jobz == 'V'),
        w(draw, "w", Role::output, n, 1),
        // The least that there may be, or more.
        work(draw, "work", Role::workspace, least_work() * (draw.pick(2) ? 33 : 1), 1),
        rwork(draw, "rwork", Role::workspace, std::max<index>(1, 3 * n - 2), 1) {
    w.use([](index, index) { return written; });
  }
  std::vector<Operand*> operands() override {
    if constexpr (is_complex<T>) return {&A, &w, &work, &rwork};
    return {&A, &w, &work};
  }
  std::string describe() const override { return text(name(), "%c%c n=%ld", jobz, uplo, long(n)); }
  index least_work() const { return std::max<index>(1, (is_complex<T> ? 2 : 3) * n - 1); }

  void make() override {
    info = {};
    if constexpr (is_complex<T>)
      fortran(name(), jobz, uplo, n, A.data(), A.leading(), w.data(), work.data(), work.leading(), rwork.data(),
              info.address());
    else
      fortran(name(), jobz, uplo, n, A.data(), A.leading(), w.data(), work.data(), work.leading(), info.address());
  }
  void judge(const Syev& was, Judge& judge) const {
    judge.check("info is not 0", info.value() == 0);
    if (n == 0) return;
    if (!judge.in_device_memory) judge.check("work(1) is too small", std::real(work(0, 0)) >= Real<T>(least_work()));
    judge_eigenvalues<T>(judge, was.A, 0, n, w, jobz == 'V' ? &A : nullptr);
  }

  std::string query() override {
    work.tell(-1);
    make();
    if (info.value() != 0) return "info is not 0";
    return std::real(work(0, 0)) >= Real<T>(least_work()) ? "" : "the workspace is too small";
  }
  bool mistake(int which) override {
    switch (which) {
      case 0: return jobz = 'X', true;
      case 1: return uplo = 'X', true;
      case 2: return n = -1, true;
      case 3: return A.tell(n - 1), true;
      case 4: return work.tell(least_work() - 1), true;
      case 5: return work.tell(-2), true;
      case 6: return n = -1, work.tell(-1), true;
      default: return false;
    }
  }
};

JOIN(syev, Syev<float>, Syev<double>, Syev<std::complex<float>>, Syev<std::complex<double>>);

}  // namespace
}  // namespace suite
