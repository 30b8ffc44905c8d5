#include <cmath>
#include <limits>
#include <memory>

#include "impl/core/library_call.hpp"
#include "impl/judge/bounds.hpp"
#include "impl/judge/judge.hpp"

namespace blaslift {
namespace {

using namespace judging;

/// LAPACK's threshold (dtest.in).  For the worst case there would have to be a factor of the
/// number of reflectors in it (Higham, Accuracy and Stability, 19.3: m k eps); a sum of m k roundings of either sign
/// stays below sqrt(m k) of them, and so below m, by more than the 30 allows for.
constexpr double most = 30;

/// Norms of vectors of any size: in a format that squares neither overflow nor underflow in.
class Norm {
 public:
  template <class T>
  void add(const T& x) {
    const long double re = std::real(x), im = std::imag(x);
    sum_ += re * re + im * im;
  }
  long double value() const { return std::sqrt(sum_); }

 private:
  long double sum_ = 0;
};

/// Keeps the worst of a result's distances from where it has to be.
template <class T>
class Worst {
 public:
  /// @param length  rows that a reflector may have
  explicit Worst(index length)
      : unit_(static_cast<double>(std::max<index>(1, length)) * std::numeric_limits<Real<T>>::epsilon()),
        underflow_(static_cast<double>(std::numeric_limits<Real<T>>::min()) * static_cast<double>(length + 2)) {}

  void add(long double distance, long double norm) {
    if (distance <= underflow_) return;
    raise(static_cast<double>(distance / (unit_ * norm)));
  }
  void raise(double ratio) {
    if (!(ratio <= ratio_)) ratio_ = std::isnan(ratio) ? HUGE_VAL : ratio;
  }
  Judgement judgement() const { return {ratio_, most}; }

 private:
  const double unit_, underflow_;
  double ratio_ = 0;
};

/// Where norms are that large, what is computed on the way may overflow in one order of the sums and not in another.
template <class T>
long double largest_norm(index k) {
  return static_cast<long double>(std::numeric_limits<Real<T>>::max()) / (16 * static_cast<long double>(k + 1));
}

/// Whether all reflectors are unitary, within many roundings: |1 - tau v^H v| = 1.
template <class T>
bool unitary(const OrmqrArgs<T>& x) {
  const index order = x.product.order();
  const double allowed = 30 * static_cast<double>(order + 8) * std::numeric_limits<Real<T>>::epsilon();
  for (index j = 0; j < x.product.k; ++j) {
    Norm v;
    v.add(T(1));
    const index first = x.product.reversed ? 0 : j + 1, end = x.product.reversed ? j : order;
    for (index i = first; i < end; ++i) v.add(x.A[x.product.rows ? j + i * x.lda : i + j * x.lda]);
    const long double re = std::real(x.tau[j]), im = std::imag(x.tau[j]), size = re * re + im * im;
    const long double off = std::fabs(size * v.value() * v.value() - 2 * re);
    if (!(off <= allowed * std::fmax(1.0L, size))) return false;
  }
  return true;
}

}  // namespace

template <class T>
std::vector<Routine> judged_with_qr() {
  std::vector<Routine> routines(4);
#define ORMQR(name, type) \
  if (std::is_same_v<T, type>) routines[by_ormqr] = Routine::name;
#define ORGQR(name, type) \
  if (std::is_same_v<T, type>) routines[by_orgqr] = Routine::name;
#define GEMM(name, type) \
  if (std::is_same_v<T, type>) routines[by_gemm] = Routine::name;
#define GEQRF(name, type) \
  if (std::is_same_v<T, type>) routines[by_geqrf] = Routine::name;
#include "api/routines.def"
  return routines;
}

template <class T>
std::optional<Routine> same_as(const GeqrfArgs<T>&) {
#define GEQRF(name, type) \
  if (std::is_same_v<T, type>) return Routine::name;
#include "api/routines.def"
  return std::nullopt;
}

template <class T>
std::optional<Routine> same_as(const OrmqrArgs<T>& x) {
#define ORMQR(name, type) \
  if (std::is_same_v<T, type> && !x.product.of_identity && !x.product.rows) return Routine::name;
#define ORMLQ(name, type) \
  if (std::is_same_v<T, type> && x.product.rows) return Routine::name;
#define ORGQR(name, type) \
  if (std::is_same_v<T, type> && x.product.of_identity) return Routine::name;
#include "api/routines.def"
  return std::nullopt;
}

template <class T>
Judgement judge(const JudgingLibrary& by, const GeqrfArgs<T>& before, const GeqrfArgs<T>& result) {
  const index m = before.m;
  Worst<T> worst(m);
  std::vector<long double> lengths;
  for (index j = 0; j < before.n; ++j) {
    Norm norm;
    for (index i = 0; i < m; ++i) norm.add(before.A[i + j * before.lda]);
    if (!std::isfinite(norm.value())) break;
    if (norm.value() >= largest_norm<T>(before.factored())) return worst.judgement();
    lengths.push_back(norm.value());
  }
  const index n = static_cast<index>(lengths.size()), k = std::min(m, n);
  if (n < before.n) {
    bool spreads = false;
    for (index i = 0; i < m; ++i) spreads = spreads || !is_finite(result.A[i + n * result.lda]);
    if (!spreads) worst.raise(HUGE_VAL);
  }
  if (n == 0) return worst.judgement();

  // Of their own: some versions of the library write to the reflectors while they use them.
  Packed<T> V(m, k), C(m, n);
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i) {
      const T& x = result.A[i + j * result.lda];
      if (!is_finite(x)) worst.raise(HUGE_VAL);
      if (j < k) V(i, j) = x;
      C(i, j) = i <= j ? x : T(0);
    }
  for (index j = 0; j < k; ++j)
    if (!is_finite(result.tau[j])) worst.raise(HUGE_VAL);
  if (worst.judgement().ratio > 0) return worst.judgement();

  call_with_own_workspaces(*by.beside[by_ormqr],
                           OrmqrArgs<T>{{true, false, m, n, k}, V.at.get(), m, result.tau, C.at.get(), m});
  for (index j = 0; j < n; ++j) {
    Norm off;
    for (index i = 0; i < m; ++i) off.add(C(i, j) - before.A[i + j * before.lda]);
    worst.add(off.value(), lengths[static_cast<std::size_t>(j)]);
  }

  call_with_own_workspaces(*by.beside[by_orgqr],
                           OrmqrArgs<T>{{true, false, m, k, k, true}, V.at.get(), m, result.tau, V.at.get(), m});
  Packed<T> gram(k, k);
  const T one(1), zero(0);
  call_product(*by.beside[by_gemm], {precision_of<T>, Op::conjugate, Op::none, k, k, m, &one, V.at.get(), m, V.at.get(),
                                     m, &zero, gram.at.get(), k});
  for (index j = 0; j < k; ++j) {
    long double sum = 0;
    for (index i = 0; i < k; ++i) sum += std::abs(gram(i, j) - T(i == j ? 1 : 0));
    worst.add(sum, 1);
  }
  return worst.judgement();
}

template <class T>
Judgement judge(const OrmqrArgs<T>& before, const T* result, const T* reference) {
  const QProduct& p = before.product;
  Worst<T> worst(p.order());
  if (!unitary(before)) return worst.judgement();
  const bool in_columns = p.left && !p.turned();
  const index length = p.length(), down = in_columns ? 1 : before.ldc, across = in_columns ? before.ldc : 1;
  for (index j = 0; j < length; ++j) {
    const auto at = [&](const T* C, index i) { return C[i * down + j * across]; };
    Norm norm, off;
    bool finite = true, as_finite = true;
    if (p.of_identity) norm.add(T(1));
    for (index i = 0; i < p.order(); ++i) {
      if (!p.of_identity) norm.add(at(before.C, i));
      off.add(at(result, i) - at(reference, i));
      finite = finite && is_finite(at(result, i));
      as_finite = as_finite && is_finite(at(reference, i));
    }
    if (norm.value() >= largest_norm<T>(p.k)) continue;
    if (finite && as_finite)
      worst.add(off.value(), norm.value());
    else if (finite || as_finite)
      worst.raise(HUGE_VAL);
  }
  return worst.judgement();
}

template <class T>
Judgement judge(const JudgingLibrary&, const ReductionQArgs<T>& before, const ReductionQArgs<T>& result,
                const ReductionQArgs<T>& reference, const Ending&) {
  const OrmqrArgs<T> part = result.part();
  Judgement judgement = judge(before.part(), part.C, reference.part().C);
  part.around([&](index row, index col, index rows, index cols) {
    for (index j = col; j < col + cols; ++j)
      for (index i = row; i < row + rows; ++i)
        if (part.C[i + j * part.ldc] != T(i == j ? 1 : 0)) judgement.ratio = HUGE_VAL;
  });
  return judgement;
}

#define GEQRF(name, type)                                          \
  template std::optional<Routine> same_as(const GeqrfArgs<type>&); \
  template std::vector<Routine> judged_with_qr<type>();            \
  template Judgement judge(const JudgingLibrary&, const GeqrfArgs<type>&, const GeqrfArgs<type>&);
#define ORMQR(name, type)                                                                                   \
  template std::optional<Routine> same_as(const OrmqrArgs<type>&);                                          \
  template Judgement judge(const OrmqrArgs<type>&, const type*, const type*);                               \
  template Judgement judge(const JudgingLibrary&, const ReductionQArgs<type>&, const ReductionQArgs<type>&, \
                           const ReductionQArgs<type>&, const Ending&);
#include "api/routines.def"

}  // namespace blaslift
