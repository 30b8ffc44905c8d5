// Singular value decompositions by polar ones, for any backend: almost all of it is products, Cholesky factors and
// triangular systems, and one symmetric eigenproblem.
//
// A square S = X H, with X unitary and H definite, has S = (X V) diag(w) V^H with H = V diag(w) V^H (Higham and
// Papadimitriou, A parallel algorithm for computing the polar decomposition, 1994).  X is the limit of rational
// functions of S that take singular values from [lowest, 1] to 1 in a few steps (Nakatsukasa, Bai and Gygi, Optimizing
// Halley's iteration for computing the matrix polar decomposition, SIMAX 31, 2010; Nakatsukasa and Higham, Stable and
// efficient spectral divide and conquer algorithms, SISC 35, 2013).  Their weights are c = 10^9 and more in the first
// step, where a Cholesky factor of I + c X^H X alone would lose as many digits; there Q of [sqrt(c) X; I] is made by
// two Cholesky factors, one of Q's own Gram matrix (Yamamoto et al., Roundoff error analysis of the CholeskyQR2
// algorithm, ETNA 44, 2015).
//
// What is ours: singular values below `lowest` are not asked to converge, which takes weights of 10^23 and is not
// stable for a matrix that has no full rank.  X V's columns of the others are U's; an orthonormal basis Q of what is
// orthogonal to these makes Q^H S V of V's other columns a smaller matrix, of norm about `lowest` |S|, which is
// decomposed likewise.  So |S - U diag(s) V^H| stays within a few n eps |S|, and U and V as near to unitary, whatever
// the rank; three stages reach eps.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/operation.hpp"
#include "kernels/trsm.hpp"

namespace blaslift {

/// Decomposes as Svd has it.  What it works in, and the order of additions, depend on sizes and contents alone.
///
/// `Means` is how the backend does it; each of these is false where it fails, and the backend then knows why:
///   bool ask(const Operation&)                       what a lane computes, one after the other
///   bool read(const void* from, index ld, index n, T* to)    n elements, ld apart, into host memory: waits
///   bool reflect(index m, index n, T* A, T* tau)     LAPACK's GEQRF of an m x n matrix without gaps, m >= n
///   bool form(index m, index n, index k, T* Q, const T* tau) ORGQR: n of Q's columns from k reflectors
///   void* take(std::size_t bytes)                    memory, aligned to 256 bytes; null where there is none
///   void give_back(void*)                            what has been asked for may still use it
template <class T, class Means>
class PolarSvd {
  using R = Real<T>;

 public:
  PolarSvd(const Svd& p, Means& means)
      : p_(p),
        means_(means),
        wide_(p.m < p.n),
        vectors_(p.u_cols > 0 || p.vt_rows > 0),
        rows_(std::max(p.m, p.n)),
        cols_(p.count()) {}

  /// False: the backend has failed, and of the caller's nothing but s may have been written.  Waits until most of it
  /// has been done.
  bool run() {
    if (cols_ == 0) return say(false);
    const index made = rows_ == cols_ || !vectors_ ? cols_ : std::max(cols_, wide_ ? p_.vt_rows : p_.u_cols);
    Room room(means_);
    T *Q = nullptr, *tau = nullptr, *S = nullptr, *U = nullptr, *V = nullptr;
    if (rows_ > cols_ && !(room.part(rows_ * made, Q) && room.part(cols_, tau))) return false;
    if (!room.part(cols_ * cols_, S) || !room.part(cols_ * cols_, U) || !room.part(cols_ * cols_, V)) return false;
    if (!take_matrix(rows_ > cols_ ? Q : S)) return false;
    if (rows_ > cols_ && !(means_.reflect(rows_, cols_, Q, tau) && set_to_zero(precision, cols_, cols_, S, cols_) &&
                           assign(Part::upper, cols_, cols_, Q, rows_, S, cols_)))
      return false;
    R* const s = static_cast<R*>(p_.s);
    if (!decompose(cols_, S, s, U, V, R(-1))) return false;
    if (!found_ || !vectors_) return say(!found_);
    if (rows_ > cols_ && !means_.form(rows_, made, cols_, Q, tau)) return false;
    return give(Q, U, V, made) && say(false);
  }

 private:
  static constexpr bool single = sizeof(R) == 4;
  static constexpr R epsilon = std::numeric_limits<R>::epsilon();
  static constexpr R lowest = single ? R(1e-5) : R(1e-7);
  static constexpr R steepest = single ? R(1e-4) : R(1e-7);  ///< a step that begins below has a weight of 0.03 / eps
  static constexpr R most_weight = 1000;  ///< of a step by one Cholesky factor: about as many eps are lost
  static constexpr int most_steps = 8, most_stages = 8, flags = 32;
  static constexpr Precision precision = precision_of<T>;

  struct Step {
    R a, b, c;
  };

  /// x (a + b x^2) / (1 + c x^2) maps [low, 1] to as small an interval below 1 as there is.
  static Step step_of(double low) {
    const double square = low * low, d = std::cbrt(4 * (1 - square) / (square * square)), root = std::sqrt(1 + d),
                 a = root + std::sqrt(8 - 4 * d + 8 * (2 - square) / (square * root)) / 2, b = (a - 1) * (a - 1) / 4;
    return {R(a), R(b), R(a + b - 1)};
  }

  /// Memory that is given back in the end.
  class Room {
   public:
    explicit Room(Means& means) : means_(means) {}
    ~Room() {
      for (void* const part : parts_) means_.give_back(part);
    }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    template <class X>
    bool part(index count, X*& at) {
      parts_.reserve(parts_.size() + 1);
      at = static_cast<X*>(means_.take(static_cast<std::size_t>(count) * sizeof(X)));
      if (at) parts_.push_back(at);
      return at;
    }

   private:
    Means& means_;
    std::vector<void*> parts_;
  };

  bool multiply(Op of_a, Op of_b, index m, index n, index k, R alpha, const T* A, index lda, const T* B, index ldb,
                R beta, T* C, index ldc) {
    const T by(alpha), times(beta);
    return means_.ask(Gemm{.precision = precision,
                           .transa = of_a,
                           .transb = of_b,
                           .m = m,
                           .n = n,
                           .k = k,
                           .alpha = &by,
                           .A = A,
                           .lda = lda,
                           .B = B,
                           .ldb = ldb,
                           .beta = &times,
                           .C = C,
                           .ldc = ldc});
  }
  /// The lower triangle of C := A^H A + beta C, where A is m x n, and all have leading dimension m.
  bool multiply_by_itself(index m, index n, const T* A, R beta, T* C) {
    const T one(1), times(beta);
    return means_.ask(Gemm{.precision = precision,
                           .transa = adjoint,
                           .transb = Op::none,
                           .m = n,
                           .n = n,
                           .k = m,
                           .alpha = &one,
                           .A = A,
                           .lda = m,
                           .B = A,
                           .ldb = m,
                           .beta = &times,
                           .C = C,
                           .ldc = m,
                           .part = Part::lower});
  }
  bool assign(Part part, index m, index n, const T* A, index lda, void* C, index ldc, bool turned = false,
              index below = 0) {
    return means_.ask(Assign{.precision = precision,
                             .part = part,
                             .strict = false,
                             .transposed = turned,
                             .m = m,
                             .n = n,
                             .below = below,
                             .A = A,
                             .lda = lda,
                             .C = C,
                             .ldc = ldc,
                             .conjugated = turned});
  }
  bool set_to_identity(index n, T* C) { return assign(Part::whole, n, n, nullptr, 1, C, n); }
  /// What an identity has far from its diagonal.
  bool set_to_zero(Precision of, index m, index n, void* C, index ldc) {
    return means_.ask(Assign{.precision = of,
                             .part = Part::whole,
                             .strict = false,
                             .transposed = false,
                             .m = m,
                             .n = n,
                             .below = m + n,
                             .A = nullptr,
                             .lda = 1,
                             .C = C,
                             .ldc = ldc});
  }
  /// to := by * x + y, of n x n
  bool combine(index n, R by, const T* x, const T* y, T* to) {
    const T scale(by);
    return means_.ask(Combination{.precision = precision,
                                  .rows = n,
                                  .cols = n,
                                  .sources = 2,
                                  .targets = 1,
                                  .source = {{x, n, true}, {y, n, false}},
                                  .target = {{to, n, {1, 1}}},
                                  .scale = &scale});
  }
  /// Reals of a vector.
  bool change_signs(index n, R* x) {
    return means_.ask(Combination{.precision = precision_of<R>,
                                  .rows = n,
                                  .cols = 1,
                                  .sources = 1,
                                  .targets = 1,
                                  .source = {{x, n, false}},
                                  .target = {{x, n, {-1}}},
                                  .scale = nullptr});
  }

  bool say(bool failed) { return assign(Part::whole, 1, 1, nullptr, 1, p_.failed, 1, false, failed ? 0 : 1); }

  /// The tall one, without gaps.
  bool take_matrix(T* to) {
    return assign(Part::whole, rows_, cols_, static_cast<const T*>(p_.A), p_.lda, to, rows_, wide_);
  }

  /// U is cols x cols; behind Q's columns there may be others that are U's own.
  bool give(const T* Q, const T* U, const T* V, index made) {
    const bool left = wide_ ? p_.vt_rows > 0 : p_.u_cols > 0, right = wide_ ? p_.u_cols > 0 : p_.vt_rows > 0;
    T* const to_left = static_cast<T*>(wide_ ? p_.VT : p_.U);
    const index ld = wide_ ? p_.ldvt : p_.ldu;
    if (right && !(wide_ ? assign(Part::whole, cols_, cols_, V, cols_, p_.U, p_.ldu)
                         : assign(Part::whole, cols_, cols_, V, cols_, p_.VT, p_.ldvt, true)))
      return false;
    if (!left) return true;
    if (!Q) return assign(Part::whole, cols_, cols_, U, cols_, to_left, ld, wide_);
    const bool multiplied =
        wide_ ? multiply(adjoint, adjoint, cols_, rows_, cols_, 1, U, cols_, Q, rows_, 0, to_left, ld)
              : multiply(Op::none, Op::none, rows_, cols_, cols_, 1, Q, rows_, U, cols_, 0, to_left, ld);
    if (!multiplied || made == cols_) return multiplied;
    return wide_ ? assign(Part::whole, made - cols_, rows_, Q + cols_ * rows_, rows_, to_left + cols_, ld, true)
                 : assign(Part::whole, rows_, made - cols_, Q + cols_ * rows_, rows_, to_left + cols_ * ld, ld);
  }

  /// S = U diag(s) V^H of order n, all without gaps; S is clobbered.  Without vectors U and V are, too.
  /// @param scale  |A| in Frobenius's norm; negative: S is A
  bool decompose(index n, T* S, R* s, T* U, T* V, R scale, int stage = 0) {
    Room room(means_);
    Stage own{.n = n};
    T* spare = nullptr;
    own.solving = trsm_way(precision, n, n);
    char* workspace = nullptr;
    if (!room.part(n * n, own.X) || !room.part(n * n, spare) || !room.part(flags, own.said)) return false;
    if (own.solving == TrsmWay::blocks &&
        !room.part(static_cast<index>(trsm_workspace(system(own, Op::none, spare, spare))), workspace))
      return false;
    own.workspace = workspace;

    R length = 0, size = 0;
    if (!multiply_by_itself(n, n, S, 0, U) || !length_by(n, U, length)) return false;
    if (scale < 0) {
      scale = length;
      found_ = is_bearable(length);
      if (!found_) return true;
    }
    if (!std::isfinite(length)) return found_ = false, true;
    if (length <= epsilon / 4 * scale)
      return set_to_zero(precision_of<R>, n, 1, s, n) && set_to_identity(n, U) && set_to_identity(n, V);
    if (stage == most_stages) return found_ = false, true;
    if (!measure(n, U, length, V, spare, size) || !assign(Part::whole, n, n, S, n, own.X, n) ||
        !converge(own, size, U, V, spare))
      return false;

    std::vector<R> values(static_cast<std::size_t>(n));
    index large = n;
    if (!find_values(own, S, s, V, vectors_ || stage > 0, values, size, large)) return false;
    if (found_ && large < n && !vectors_ && stage == 0 && !find_values(own, S, s, V, true, values, size, large))
      return false;
    if (!found_) return true;
    if (!change_signs(n, s)) return false;
    if (large == n && !vectors_ && stage == 0) return true;
    if (!multiply(Op::none, Op::none, n, n, n, own.factor, own.X, n, V, n, 0, U, n)) return false;
    // V's columns of small singular values have eps / lowest of those of smaller ones in them, which X does not take to
    // length 1: the square of that is what U's are off by.
    if (single && !orthonormalize(own, large, U, spare)) return false;
    if (!found_) return true;
    return large == n || decompose_rest(own, S, s, U, V, spare, large, scale, stage);
  }

  struct Stage {
    index n;
    T* X = nullptr;  ///< what converges to a unitary matrix, over `factor`
    R factor = 1;
    T* said = nullptr;  ///< what operations say
    int asked = 0;
    TrsmWay solving{};
    void* workspace = nullptr;
  };

  /// V's columns from `large` on, and what is orthogonal to U's before.
  bool decompose_rest(Stage& own, T* S, R* s, T* U, T* V, T* spare, index large, R scale, int stage) {
    const index n = own.n, rest = n - large;
    Room room(means_);
    T *tau = nullptr, *left = nullptr, *right = nullptr;
    if (!room.part(large, tau) || !room.part(rest * rest, left) || !room.part(rest * rest, right)) return false;
    T *const Q = own.X, *const basis = Q + large * n, *const others = V + large * n;
    return assign(Part::whole, n, large, U, n, Q, n) && means_.reflect(n, large, Q, tau) &&
           means_.form(n, n, large, Q, tau) &&
           multiply(Op::none, Op::none, n, rest, n, 1, S, n, others, n, 0, spare, n) &&
           multiply(adjoint, Op::none, rest, rest, n, 1, basis, n, spare, n, 0, S, rest) &&
           decompose(rest, S, s + large, left, right, scale, stage + 1) && limit_to_first(rest, s + large - 1) &&
           multiply(Op::none, Op::none, n, rest, rest, 1, basis, n, left, rest, 0, U + large * n, n) &&
           multiply(Op::none, Op::none, n, rest, rest, 1, others, n, right, rest, 0, spare, n) &&
           assign(Part::whole, n, rest, spare, n, others, n);
  }

  /// s[1] to s[n], which descend, become s[0] where they are more: by roundings, as each stage has its own.
  bool limit_to_first(index n, R* s) {
    if (!found_) return true;
    std::vector<R> values(static_cast<std::size_t>(n + 1));
    if (!means_.read(s, 1, n + 1, values.data())) return false;
    index same = 1;  // as s[0], from the beginning on
    while (same <= n && values[static_cast<std::size_t>(same)] > values[0]) ++same;
    for (index made = 1; made < same;) {
      const index more = std::min(made, same - made);
      if (!means_.ask(Combination{.precision = precision_of<R>,
                                  .rows = more,
                                  .cols = 1,
                                  .sources = 1,
                                  .targets = 1,
                                  .source = {{s, more, false}},
                                  .target = {{s + made, more, {1}}},
                                  .scale = nullptr}))
        return false;
      made += more;
    }
    return true;
  }

  static constexpr Op adjoint = std::is_same_v<T, R> ? Op::transpose : Op::conjugate;

  static bool is_bearable(R length) {
    constexpr int exponent = single ? 39 : 458;  // beyond, LAPACK's drivers would scale it: sqrt(safe minimum) / eps
    return std::isfinite(length) && length > 0 && std::abs(std::ilogb(length)) <= exponent;
  }

  /// The square root of the sum of a diagonal, which says how large the matrix is that this one is a Gram matrix of.
  bool length_by(index n, const T* gram, R& length) {
    std::vector<T> squares(static_cast<std::size_t>(n));
    if (!means_.read(gram, n + 1, n, squares.data())) return false;
    R sum = 0;
    for (const T& square : squares) sum += std::real(square);
    length = std::sqrt(sum);
    return true;
  }

  /// At least |S|, and rarely four times as much: |S^H S|^(1/2) in Frobenius's norm, where that of S would be sqrt(n) /
  /// 2 times as much for random numbers, and as many more singular values seem to be small.
  /// @param gram    S^H S
  /// @param length  Frobenius's norm of S
  bool measure(index n, const T* gram, R length, T* scaled, T* spare, R& size) {
    R relative = 0;
    const bool done = combine_scaled(n, 1 / (length * length), gram, scaled) && mirror(n, scaled) &&
                      multiply_by_itself(n, n, scaled, 0, spare) && length_by(n, spare, relative);
    size = length * std::sqrt(relative) * R(1.001);
    return done;
  }
  bool mirror(index n, T* A) {
    return means_.ask(Mirror{.precision = precision, .uplo = Uplo::lower, .n = n, .A = A, .lda = n});
  }

  T* flag(Stage& own) { return own.said + own.asked++; }

  /// Of so many columns of U, which nearly are; lets what they span be.
  bool orthonormalize(Stage& own, index cols, T* U, T* gram) {
    Trsm solve = system(own, adjoint, gram, U);
    solve.n = cols;
    return multiply_by_itself(own.n, cols, U, 0, gram) && factor(own, cols, gram) && means_.ask(solve) && hear(own);
  }

  Trsm system(const Stage& own, Op op, const T* L, T* B, bool prepared = false) const {
    return {.precision = precision,
            .side = Side::right,
            .uplo = Uplo::lower,
            .trans = op,
            .unit = false,
            .m = own.n,
            .n = own.n,
            .alpha = &one_,
            .A = L,
            .lda = own.n,
            .B = B,
            .ldb = own.n,
            .way = own.solving,
            .workspace = own.workspace,
            .prepared = prepared};
  }
  bool factor(Stage& own, index n, T* Z) {
    return means_.ask(
        Potrf{.precision = precision, .uplo = Uplo::lower, .n = n, .A = Z, .lda = own.n, .failed = flag(own)});
  }

  /// X becomes S's unitary factor, of singular values from lowest * size on.
  /// @param gram  S^H S, of X = S; clobbered, as the others
  bool converge(Stage& own, R size, T* gram, T* other, T* spare) {
    const index n = own.n;
    own.factor = 1 / size;
    double low = static_cast<double>(lowest);
    for (int i = 0; i < most_steps && low < 1 - static_cast<double>(epsilon); ++i) {
      const Step step = step_of(std::max(low, static_cast<double>(steepest)));
      low = std::min(1.0, low * (step.a + step.b * low * low) / (1 + step.c * low * low));
      const R weight = step.c * own.factor * own.factor, rest = step.b / step.c;
      if (i > 0 && !multiply_by_itself(n, n, own.X, 0, gram)) return false;
      if (!set_to_identity(n, spare) || !combine(n, weight, gram, spare, gram) || !factor(own, n, gram)) return false;
      if (step.c > most_weight) {
        // Q = [other; spare] of [sqrt(c) X; I]
        const R root = std::sqrt(step.c), of_product = (step.a - rest) / root;
        if (!combine_scaled(n, root * own.factor, own.X, other) || !means_.ask(system(own, adjoint, gram, other)) ||
            !means_.ask(system(own, adjoint, gram, spare, true)) || !multiply_by_itself(n, n, other, 0, gram) ||
            !multiply_by_itself(n, n, spare, 1, gram) || !factor(own, n, gram) ||
            !means_.ask(system(own, adjoint, gram, other)) || !means_.ask(system(own, adjoint, gram, spare, true)) ||
            !multiply(Op::none, adjoint, n, n, n, of_product, other, n, spare, n, rest * own.factor, own.X, n))
          return false;
        own.factor = 1;
        continue;
      }
      const R of_solution = step.a - rest;
      if (!assign(Part::whole, n, n, own.X, n, other, n) || !means_.ask(system(own, adjoint, gram, other)) ||
          !means_.ask(system(own, Op::none, gram, other, true)) || !combine(n, rest / of_solution, own.X, other, own.X))
        return false;
      own.factor *= of_solution;
    }
    return true;
  }
  /// to := by * x
  bool combine_scaled(index n, R by, const T* x, T* to) {
    const T scale(by);
    return means_.ask(Combination{.precision = precision,
                                  .rows = n,
                                  .cols = n,
                                  .sources = 1,
                                  .targets = 1,
                                  .source = {{x, n, true}},
                                  .target = {{to, n, {1}}},
                                  .scale = &scale});
  }

  /// Of -H, whose eigenvalues ascend where singular values descend.
  bool find_values(Stage& own, const T* S, R* s, T* V, bool vectors, std::vector<R>& values, R size, index& large) {
    const index n = own.n;
    if (!multiply(adjoint, Op::none, n, n, n, -own.factor, own.X, n, S, n, 0, V, n) ||
        !means_.ask(Syevd{.precision = precision,
                          .vectors = vectors,
                          .uplo = Uplo::lower,
                          .n = n,
                          .first = 0,
                          .count = n,
                          .A = V,
                          .lda = n,
                          .V = vectors ? V : nullptr,
                          .ldv = n,
                          .w = s,
                          .failed = flag(own)}))
      return false;
    if (!hear(own) || !means_.read(s, 1, n, values.data())) return false;
    for (const R value : values) found_ = found_ && std::isfinite(value);
    large = std::find_if(values.begin(), values.end(), [&](R value) { return !(-value >= R(1.25) * lowest * size); }) -
            values.begin();
    found_ = found_ && large > 0;
    return true;
  }
  /// What operations have said so far.
  bool hear(const Stage& own) {
    std::vector<T> said(static_cast<std::size_t>(own.asked));
    if (!means_.read(own.said, 1, own.asked, said.data())) return false;
    for (const T& x : said) found_ = found_ && std::real(x) == 0;
    return true;
  }

  const Svd& p_;
  Means& means_;
  const bool wide_, vectors_;
  const index rows_, cols_;  ///< of the tall matrix
  const T one_ = T(1);
  bool found_ = true;  ///< so far
};

}  // namespace blaslift
