#include "impl/judge/judge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "impl/core/batch_call.hpp"
#include "impl/core/library_call.hpp"
#include "impl/judge/bounds.hpp"
#include "kernels/part.hpp"

namespace blaslift {
namespace {

using namespace judging;

/// Goes through a result and its reference.
template <class T>
class Comparison {
 public:
  /// @param length       of the sums
  /// @param magnification  what may multiply an error by underflow
  /// @param by_three       the reference is a complex product made of three real ones
  Comparison(index length, double magnification, bool by_three = false)
      : absolute_(static_cast<double>(std::numeric_limits<Real<T>>::min()) * static_cast<double>(length + 2) *
                  (1 + magnification)) {
    const double k = static_cast<double>(length), eps = std::numeric_limits<Real<T>>::epsilon();
    // Products of length k + 2 (2 k + 5 where complex) with u = eps / 2, twice; and the units' own rounding.
    // By three real products the reference's is of length 3 k + 8 (Higham, 23.2.4), which is half as long again.
    judgement_.limit = (k + 3) * (by_three ? 2.5 : complex_type<T> ? 2 : 1) * (1 + (k + 3) * eps);
  }

  double limit() const { return judgement_.limit; }

  /// @param terms        |alpha| |A| |B| + |beta| |C| of this element
  /// @param finite_terms whether all that it is made of is finite
  void add(const T& result, const T& reference, double terms, bool finite_terms) {
    constexpr double eps = std::numeric_limits<Real<T>>::epsilon();
    if (is_finite(result) && is_finite(reference)) {
      const double error = std::fabs(static_cast<double>(std::real(result)) - std::real(reference)) +
                           std::fabs(static_cast<double>(std::imag(result)) - std::imag(reference));
      if (error <= absolute_ || (finite_terms && !std::isfinite(terms))) return;
      raise(terms > 0 ? error / eps / terms : HUGE_VAL);
    } else if (!(finite_terms && overflows(terms)) && !alike(result, reference)) {
      raise(HUGE_VAL);
    }
  }

  Judgement judgement() const { return judgement_; }

 private:
  /// Partial sums may overflow in one order and not in another.
  static bool overflows(double terms) {
    return !(terms <= 0.5 * static_cast<double>(std::numeric_limits<Real<T>>::max()));
  }
  static bool alike(const T& x, const T& y) {
    if constexpr (complex_type<T>)
      return !is_finite(x) && !is_finite(y);  // which part of it is Inf, and which NaN, depends on the order
    else
      return (std::isnan(x) && std::isnan(y)) || x == y;
  }
  void raise(double ratio) {
    if (!(ratio <= judgement_.ratio)) judgement_.ratio = std::isnan(ratio) ? HUGE_VAL : ratio;
  }

  const double absolute_;
  Judgement judgement_{};
};

/// |re| + |im| of a stored matrix, packed.
template <class T>
struct Magnitudes {
  Magnitudes(const T* x, index rows, index cols, index ld)
      : packed(new T[static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols)]),
        row_finite(static_cast<std::size_t>(rows), true),
        col_finite(static_cast<std::size_t>(cols), true) {
    for (index j = 0; j < cols; ++j)
      for (index i = 0; i < rows; ++i) {
        const double size = size_of(x[i + j * ld]);
        packed[static_cast<std::size_t>(i + j * rows)] = static_cast<T>(static_cast<Real<T>>(size));
        if (is_finite(x[i + j * ld])) {
          largest = std::max(largest, size);
        } else {
          row_finite[static_cast<std::size_t>(i)] = false;
          col_finite[static_cast<std::size_t>(j)] = false;
        }
      }
  }

  /// The largest 2-norm of a row, or of a column, of the stored matrix; what is not finite does not count.
  double longest(bool of_rows) const {
    const std::size_t rows = row_finite.size(), cols = col_finite.size();
    std::vector<double> squares(of_rows ? rows : cols);
    for (std::size_t j = 0; j < cols && largest > 0; ++j)
      for (std::size_t i = 0; i < rows; ++i)
        // In units of the largest: squares neither overflow nor vanish.
        if (const double x = std::real(packed[i + j * rows]) / largest; x <= 1) squares[of_rows ? i : j] += x * x;
    return squares.empty() ? 0 : largest * std::sqrt(*std::max_element(squares.begin(), squares.end()));
  }

  std::unique_ptr<T[]> packed;
  std::vector<bool> row_finite, col_finite;  ///< of the stored matrix
  double largest = 0;                        ///< of the finite ones
};

/// What a product by levels may be off by besides, in any element, in the units that its own terms are in: the less of
/// two (docs/user/verify.md).  What is proven, of every tile's edge of k 18^l (n0^2 + 6 n0) u max|A| max|B| for l
/// levels over leaves of edge n0; complex products are of |re| + |im|, made of four real ones and twice the sums, which
/// eight times that covers.  And, since that soon is more than the result itself, the longest row of op(A) times the
/// longest column of op(B) as if they were this element's: no terms are larger.
/// @param a, b  op(A)'s and op(B)'s largest elements
/// @param row, col  2-norms
template <class T>
double levels_terms(const Ending& ending, index k, double limit, double a, double b, double row, double col) {
  const double n0 = static_cast<double>(ending.tile >> ending.levels),
               tiles = static_cast<double>((k + ending.tile - 1) / ending.tile);
  const double units = tiles * std::pow(18.0, ending.levels) * (n0 * n0 + 6 * n0) * (complex_type<T> ? 8 : 1) / 2;
  // In sums as short as these the levels' own growth, a factor of two to four for each, is what counts.
  constexpr index shortest = 512;
  const double as_if_longer = static_cast<double>(std::max(shortest, k)) / static_cast<double>(k);
  return std::fmin(units / limit * a * b, as_if_longer * row * col);  // of which one may have overflowed
}

/// Whether a finite result may come out as Inf or NaN: some multiply operands by alpha, some sums, and these overflow
/// however small alpha is, the former however small what they are multiplied with.
/// @param scaled  the largest of what is multiplied
/// @param sum     of magnitudes, without alpha
template <class T>
bool may_overflow(double scaled, double sum) {
  return !(std::max(scaled, sum) <= 0.5 * static_cast<double>(std::numeric_limits<Real<T>>::max()));
}

template <class T>
T conjugate_if(bool yes, T x) {
  if constexpr (complex_type<T>)
    if (yes) return std::conj(x);
  return x;
}

/// @param by_three  the reference is by three real products
template <class T>
Judgement judge_product(const Site& magnitudes, const GemmArgs<T>& x, const T* result, const T* reference,
                        const Ending& ending, bool by_three = false) {
  const bool multiplies = x.alpha != T(0) && x.k > 0, reads_c = x.beta != T(0), hermitian = as_gemm(x).hermitian();
  const double alpha = size_of(x.alpha), beta = size_of(x.beta);
  /// Calls visit(i, j, place in C, C's element as it is read) for all that is computed.
  const auto of_result = [&](const auto& visit) {
    for (index j = 0; j < x.n; ++j) {
      const Rows rows = rows_in(x.part, -j, x.m);
      for (index i = rows.first; i < rows.first + rows.count; ++i) {
        const index at = i + j * x.ldc;
        visit(i, j, at, !reads_c ? T(0) : hermitian && i == j ? T(std::real(x.C[at])) : x.C[at]);
      }
    }
  };
  if (!multiplies) {
    Comparison<T> comparison(0, beta);
    of_result([&](index, index, index at, const T& before) {
      comparison.add(result[at], reference[at], reads_c ? beta * size_of(before) : 0, !reads_c || is_finite(before));
    });
    return comparison.judgement();
  }

  const Magnitudes<T> a(x.A, x.rows_a(), x.cols_a(), x.lda);
  std::optional<Magnitudes<T>> other;
  if (x.own_b()) other.emplace(x.B, x.rows_b(), x.cols_b(), x.ldb);
  const Magnitudes<T>& b = other ? *other : a;
  std::unique_ptr<T[]> terms(new T[static_cast<std::size_t>(x.m) * static_cast<std::size_t>(x.n)]);
  const T one(1), zero(0);
  Gemm product{precision_of<T>, x.transa,   x.transb,       x.m,        x.n,   x.k,         &one,
               a.packed.get(),  x.rows_a(), b.packed.get(), x.rows_b(), &zero, terms.get(), x.m};
  product.part = x.part;
  product.update = x.update;
  call_product(magnitudes, product);
  // alpha * B may underflow before A makes it large again.
  const bool scaled = x.alpha != T(1) && x.alpha != T(-1);
  const bool twice = x.part != Part::whole && x.update == Update::rank_2k;
  Comparison<T> comparison(twice ? 2 * x.k : x.k, alpha + (scaled ? a.largest + b.largest : 0), by_three);
  const double levels = ending.levels == 0
                            ? 0
                            : alpha * levels_terms<T>(ending, x.k, comparison.limit(), a.largest, b.largest,
                                                      a.longest(x.transa == Op::none), b.longest(x.transb != Op::none));
  const auto& rows = x.transa == Op::none ? a.row_finite : a.col_finite;
  const auto& cols = x.transb == Op::none ? b.col_finite : b.row_finite;
  of_result([&](index i, index j, index at, const T& before) {
    double sum = alpha * size_of(terms[static_cast<std::size_t>(i + j * x.m)]);
    bool finite = rows[static_cast<std::size_t>(i)] && cols[static_cast<std::size_t>(j)] && is_finite(x.alpha);
    if (twice) finite = finite && rows[static_cast<std::size_t>(j)] && cols[static_cast<std::size_t>(i)];
    if (reads_c) {
      sum += beta * size_of(before);
      finite = finite && is_finite(before) && is_finite(x.beta);
    }
    if (finite && may_overflow<T>(alpha * std::max(a.largest, b.largest), 0) &&
        !(is_finite(result[at]) && is_finite(reference[at])))
      return;
    comparison.add(result[at], reference[at], sum + levels, finite);
  });
  return comparison.judgement();
}

}  // namespace

template <class T>
bool call_by_products(const Site& gemm, const GemmtArgs<T>& args) {
  if (!gemm.wide && !is_narrow<GemmtSignature<T>>(args)) return false;
  const GemmArgs<T> product = args.product();
  call_product(gemm, as_gemm(product));
  return true;
}

template <class T>
bool call_by_products(const Site& gemm, const GemmBatchArgs<T>& args) {
  if (!gemm.wide && !is_narrow<GemmSignature<T>>(args.product(0))) return false;
  for (index i = 0; i < args.count; ++i) {
    const GemmArgs<T> product = product_of(args, i);
    call_product(gemm, as_gemm(product));
  }
  return true;
}

template <class Args>
bool call_conjugated(const Site& library, Args args) {
  using T = decltype(args.alpha);
  std::vector<T> conjugated;
  if (args.alpha != T(0)) {
    conjugated.resize(static_cast<std::size_t>(args.terms()));
    const T* from = first_of(args.x, args.terms(), args.incx);
    for (index i = 0; i < args.terms(); ++i)
      conjugated[static_cast<std::size_t>(i)] = conjugate_if(true, from[i * args.incx]);
    args.x = conjugated.data();
    args.incx = 1;
  }
  const auto turn = [&args] {
    T* y = first_of(args.y, args.results(), args.incy);
    for (index i = 0; i < args.results(); ++i) y[i * args.incy] = conjugate_if(true, y[i * args.incy]);
  };
  args.alpha = conjugate_if(true, args.alpha);
  args.beta = conjugate_if(true, args.beta);
  args.conjugated = false;
  turn();
  const bool called = call_by(library, args);
  turn();
  return called;
}

template <class T>
Judgement judge(const Site& magnitudes, const GemmArgs<T>& x, const T* result, const T* reference,
                const Ending& ending) {
  const Routine routine = info(magnitudes.symbol).routine;
  const bool by_three = routine == Routine::cgemm3m || routine == Routine::zgemm3m;
  return judge_product(magnitudes, x, result, reference, ending, by_three);
}

template <class T>
Judgement judge(const Site& gemm, const GemmtArgs<T>& x, const T* result, const T* reference, const Ending& ending) {
  return judge_product(gemm, x.product(), result, reference, ending);
}

template <class T>
Judgement judge(const Site& gemm, const GemmBatchArgs<T>& x, const T* result, const T* reference,
                const Ending& ending) {
  Judgement worst{};
  for (index i = 0; i < x.count; ++i) {
    const index at = i * x.stride_c;
    const Judgement one = judge_product(gemm, x.product(i), result + at, reference + at, ending);
    if (i == 0 || one.ratio > worst.ratio) worst = one;
  }
  return worst;
}

template <class T>
Judgement judge(const Site& magnitudes, const Syr2kArgs<T>& x, const T* result, const T* reference,
                const Ending& ending) {
  return judge_product(magnitudes, x.product(), result, reference, ending);
}

template <class T>
Judgement judge(const Site& magnitudes, const SyrkArgs<T>& x, const T* result, const T* reference,
                const Ending& ending) {
  return judge_product(magnitudes, x.product(), result, reference, ending);
}

template <class T>
Judgement judge(const Site& gemm, const SymmArgs<T>& x, const T* result, const T* reference, const Ending& ending) {
  const index order = x.alpha != T(0) ? x.order() : 0;
  Packed<T> A(order, order);
  for_each_of(order, order, [&](index i, index j) {
    const bool stored = x.uplo == Uplo::upper ? i <= j : i >= j;
    A(i, j) = x.hermitian ? hermitian_element(x.uplo, x.A, x.lda, i, j) : x.A[stored ? i + j * x.lda : j + i * x.lda];
  });
  return judge_product(gemm, x.product(A.at.get(), std::max<index>(1, order)), result, reference, ending);
}

template <class T>
Judgement judge(const Site& gemm, const TrmmArgs<T>& x, const T* result, const T* reference, const Ending& ending) {
  const index m = x.m, n = x.n, order = x.alpha != T(0) ? x.order() : 0;
  bool finite = true;
  Packed<T> A = triangular(x, order, finite), B(m, n), judged(m, n), expected(m, n);
  if (!finite) return {};
  // Columns of B, or rows, do not know each other.  A zero of A beside the triangle is not multiplied with Inf or NaN.
  std::vector<bool> clean(static_cast<std::size_t>(x.left ? n : m), true);
  const auto line = [&](index i, index j) { return static_cast<std::size_t>(x.left ? j : i); };
  for_each_of(m, n, [&](index i, index j) {
    const index at = i + j * x.ldb;
    if (!is_finite(reference[at]) || (order > 0 && !is_finite(x.B[at]))) clean[line(i, j)] = false;
  });
  for_each_of(m, n, [&](index i, index j) {
    const index at = i + j * x.ldb;
    const bool counts = clean[line(i, j)];
    B(i, j) = counts && order > 0 ? x.B[at] : T(0);
    judged(i, j) = counts ? result[at] : T(0);
    expected(i, j) = counts ? reference[at] : T(0);
  });
  const index ld = std::max<index>(1, order);
  const Op none = Op::none;
  const GemmArgs<T> product =
      x.left
          ? GemmArgs<T>{x.trans, none, m, n, order, x.alpha, A.at.get(), ld, B.at.get(), m, T(0), judged.at.get(), m}
          : GemmArgs<T>{none, x.trans, m, n, order, x.alpha, B.at.get(), m, A.at.get(), ld, T(0), judged.at.get(), m};
  return judge_product(gemm, product, judged.at.get(), expected.at.get(), ending);
}

namespace {

/// What the results of a product with a vector are made of.
struct VectorTerms {
  explicit VectorTerms(index results) : sums(static_cast<std::size_t>(results), 0.0) {}

  std::vector<double> sums;  ///< |op(A)| |x|
  double largest = 0, largest_x = 0;
  bool finite = true;
};

/// |x|, where alpha is not zero.
template <class Args>
std::vector<double> sizes_of_x(const Args& args, VectorTerms& terms) {
  std::vector<double> sizes(static_cast<std::size_t>(args.terms()));
  const auto* x = first_of(args.x, args.terms(), args.incx);
  for (index i = 0; i < args.terms(); ++i) {
    sizes[static_cast<std::size_t>(i)] = size_of(x[i * args.incx]);
    terms.largest_x = std::max(terms.largest_x, sizes[static_cast<std::size_t>(i)]);
    terms.finite = terms.finite && is_finite(x[i * args.incx]);
  }
  return sizes;
}

template <class Args, class T>
Judgement judge_vector(const Args& args, const VectorTerms& terms, const T* result, const T* reference) {
  const index n = args.results();
  const bool multiplies = args.alpha != T(0), reads_y = args.beta != T(0);
  const double alpha = size_of(args.alpha), beta = size_of(args.beta);
  const bool finite = terms.finite && is_finite(args.alpha) && is_finite(args.beta);
  const bool scaled = args.alpha != T(1) && args.alpha != T(-1);
  Comparison<T> comparison(multiplies ? args.terms() : 0, alpha + beta + (scaled ? terms.largest : 0));
  const T* y = reads_y ? first_of(args.y, n, args.incy) : nullptr;
  const T *r = first_of(result, n, args.incy), *s = first_of(reference, n, args.incy);
  for (index i = 0; i < n; ++i) {
    const index at = i * args.incy;
    const double of_product = terms.sums[static_cast<std::size_t>(i)];
    double sum = alpha * of_product;
    if (reads_y) sum += beta * size_of(y[at]);
    const bool of_finite = finite && (!reads_y || is_finite(y[at]));
    if (of_finite && may_overflow<T>(alpha * terms.largest_x, of_product) && !(is_finite(r[at]) && is_finite(s[at])))
      continue;
    comparison.add(r[at], s[at], sum, of_finite);
  }
  return comparison.judgement();
}

}  // namespace

template <class T>
Judgement judge(const Site&, const SymvArgs<T>& args, const T* result, const T* reference, const Ending&) {
  const index n = args.n;
  VectorTerms terms(n);
  if (args.alpha != T(0)) {
    const std::vector<double> sizes = sizes_of_x(args, terms);
    const auto at = [](index i) { return static_cast<std::size_t>(i); };
    for (index j = 0; j < n; ++j) {
      const T* column = args.A + j * args.lda;
      double sum = 0;
      for (index i = args.uplo == Uplo::upper ? 0 : j + 1, end = args.uplo == Uplo::upper ? j : n; i < end; ++i) {
        const double size = size_of(column[i]);
        terms.finite = terms.finite && is_finite(column[i]);
        terms.largest = std::max(terms.largest, size);
        terms.sums[at(i)] += size * sizes[at(j)];
        sum += size * sizes[at(i)];
      }
      // Of a Hermitian matrix's diagonal, real parts are all of it.
      const T on_diagonal = args.hermitian ? T(std::real(column[j])) : column[j];
      const double diagonal = size_of(on_diagonal);
      terms.finite = terms.finite && is_finite(on_diagonal);
      terms.largest = std::max(terms.largest, diagonal);
      terms.sums[at(j)] += sum + diagonal * sizes[at(j)];
    }
  }
  return judge_vector(args, terms, result, reference);
}

template <class T>
Judgement judge(const Site&, const GemvArgs<T>& args, const T* result, const T* reference, const Ending&) {
  if (args.m == 0 || args.n == 0) return {};  // y stays as it is
  VectorTerms terms(args.results());
  if (args.alpha != T(0)) {
    const std::vector<double> sizes = sizes_of_x(args, terms);
    const auto at = [](index i) { return static_cast<std::size_t>(i); };
    const bool transposed = args.trans != Op::none;
    for (index j = 0; j < args.n; ++j)
      for (index i = 0; i < args.m; ++i) {
        const T& a = args.A[i + j * args.lda];
        const double size = size_of(a);
        terms.finite = terms.finite && is_finite(a);
        terms.largest = std::max(terms.largest, size);
        terms.sums[at(transposed ? j : i)] += size * sizes[at(transposed ? i : j)];
      }
  }
  return judge_vector(args, terms, result, reference);
}

#define FUNCTIONS(Args, type) \
  template Judgement judge(const Site&, const Args<type>&, const type*, const type*, const Ending&);
#define GEMM(name, type)                                               \
  FUNCTIONS(GemmArgs, type)                                            \
  FUNCTIONS(GemmtArgs, type)                                           \
  FUNCTIONS(GemmBatchArgs, type)                                       \
  FUNCTIONS(Syr2kArgs, type)                                           \
  template bool call_by_products(const Site&, const GemmtArgs<type>&); \
  template bool call_by_products(const Site&, const GemmBatchArgs<type>&);
#define SYRK(name, type) FUNCTIONS(SyrkArgs, type)
#define SYMM(name, type) FUNCTIONS(SymmArgs, type)
#define TRMM(name, type) FUNCTIONS(TrmmArgs, type)
#define SYMV(name, type) FUNCTIONS(SymvArgs, type)
#define HEMV(name, type)    \
  FUNCTIONS(SymvArgs, type) \
  template bool call_conjugated(const Site&, SymvArgs<type>);
#define GEMV(name, type)    \
  FUNCTIONS(GemvArgs, type) \
  template bool call_conjugated(const Site&, GemvArgs<type>);
#include "api/routines.def"

}  // namespace blaslift
