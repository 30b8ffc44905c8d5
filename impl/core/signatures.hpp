// The signatures of all routines: what impl/core/signature.hpp says a signature is.
#pragma once
#include <algorithm>

#include "impl/core/args.hpp"
#include "impl/core/letters.hpp"
#include "impl/core/signature.hpp"

namespace blaslift {

template <class T>
struct GemmSignature {
  using Args = GemmArgs<T>;
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    const auto multiplies = [&x] { return x.alpha != T(0) && x.k > 0; };
    see.letter("transa", transposes, x.transa);
    see.letter("transb", transposes, x.transb);
    see.integer("m", x.m);
    see.integer("n", x.n);
    see.integer("k", x.k);
    see.scalar("alpha", x.alpha);
    see.operand("A", x.A, [&] { return Use{x.rows_a(), x.cols_a(), x.lda, multiplies(), false}; });
    see.integer("lda", x.lda);
    see.operand("B", x.B, [&] { return Use{x.rows_b(), x.cols_b(), x.ldb, multiplies(), false}; });
    see.integer("ldb", x.ldb);
    see.scalar("beta", x.beta);
    see.operand("C", x.C, [&] { return Use{x.m, x.n, x.ldc, x.beta != T(0), true}; });
    see.integer("ldc", x.ldc);
  }
  static bool complete(Args&) { return true; }
  /// Row-major C = op(A) op(B) is column-major C' = op(B)' op(A)' over the same storage.
  static void fold(Args& x) {
    std::swap(x.transa, x.transb);
    std::swap(x.m, x.n);
    std::swap(x.A, x.B);
    std::swap(x.lda, x.ldb);
  }
  static constexpr double volume(const auto& at) { return at.integer(0) * at.integer(1) * at.integer(2); }
};

template <class T>
struct GemmBatchStridedSignature {
  using Args = GemmBatchArgs<T>;
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    const auto use = [&x](const BatchLayout& of, bool reads, bool writes) {
      return Use{of.rows, of.cols, of.ld, reads, writes};
    };
    const auto multiplies = [&x] { return x.alpha != T(0) && x.k > 0; };
    see.letter("transa", transposes, x.transa);
    see.letter("transb", transposes, x.transb);
    see.integer("m", x.m);
    see.integer("n", x.n);
    see.integer("k", x.k);
    see.scalar("alpha", x.alpha);
    see.operand("A", x.A, [&] { return use(x.a(), multiplies(), false); });
    see.integer("lda", x.lda);
    see.integer("stridea", x.stride_a);
    see.operand("B", x.B, [&] { return use(x.b(), multiplies(), false); });
    see.integer("ldb", x.ldb);
    see.integer("strideb", x.stride_b);
    see.scalar("beta", x.beta);
    see.operand("C", x.C, [&] { return use(x.c(), x.beta != T(0), true); });
    see.integer("ldc", x.ldc);
    see.integer("stridec", x.stride_c);
    see.integer("batch_size", x.count);
  }
  static bool complete(Args&) { return true; }
  /// As GemmSignature's, product by product.
  static void fold(Args& x) {
    std::swap(x.transa, x.transb);
    std::swap(x.m, x.n);
    std::swap(x.A, x.B);
    std::swap(x.lda, x.ldb);
    std::swap(x.stride_a, x.stride_b);
  }
  static constexpr double volume(const auto& at) {
    return at.integer(0) * at.integer(1) * at.integer(2) * at.integer(9);
  }
};

/// @tparam hermitian  xHERK: alpha and beta are real
template <class T, bool hermitian>
struct RankKSignature {
  using Args = SyrkArgs<T>;
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    const auto scalar = [&see](const char* name, auto& value) {
      if constexpr (hermitian)
        see.real_scalar(name, value);
      else
        see.scalar(name, value);
    };
    see.letter("uplo", triangles, x.uplo);
    see.letter("trans", transposes, x.trans);
    see.integer("n", x.n);
    see.integer("k", x.k);
    scalar("alpha", x.alpha);
    see.operand("A", x.A, [&] { return Use{x.rows_a(), x.cols_a(), x.lda, x.alpha != T(0) && x.k > 0, false}; });
    see.integer("lda", x.lda);
    scalar("beta", x.beta);
    see.operand("C", x.C, [&] { return Use{x.n, x.n, x.ldc, x.beta != T(0), true, part_of(x.uplo)}; });
    see.integer("ldc", x.ldc);
  }
  /// Of real matrices a conjugate transpose is a transpose.
  static bool complete(Args& x) {
    x.hermitian = hermitian;
    if (!is_complex(precision_of<T>) && x.trans == Op::conjugate) x.trans = Op::transpose;
    return x.trans == Op::none || x.trans == transposed;
  }
  /// Row-major storage is the transposed matrix's in column-major: op(A) op(A)' of it is that of the other op.
  static void fold(Args& x) {
    x.uplo = other(x.uplo);
    x.trans = x.trans != Op::none ? Op::none : transposed;
  }
  static constexpr double volume(const auto& at) { return triangle_volume(at.integer(0), at.integer(1)); }

 private:
  static constexpr Op transposed = hermitian ? Op::conjugate : Op::transpose;
};
template <class T>
using SyrkSignature = RankKSignature<T, false>;
template <class T>
using HerkSignature = RankKSignature<T, true>;

template <class T>
struct GemmtSignature {
  using Args = GemmtArgs<T>;
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    const auto multiplies = [&x] { return x.alpha != T(0) && x.k > 0; };
    see.letter("uplo", triangles, x.uplo);
    see.letter("transa", transposes, x.transa);
    see.letter("transb", transposes, x.transb);
    see.integer("n", x.n);
    see.integer("k", x.k);
    see.scalar("alpha", x.alpha);
    see.operand("A", x.A, [&] { return Use{x.rows_a(), x.cols_a(), x.lda, multiplies(), false}; });
    see.integer("lda", x.lda);
    see.operand("B", x.B, [&] { return Use{x.rows_b(), x.cols_b(), x.ldb, multiplies(), false}; });
    see.integer("ldb", x.ldb);
    see.scalar("beta", x.beta);
    see.operand("C", x.C, [&] { return Use{x.n, x.n, x.ldc, x.beta != T(0), true, part_of(x.uplo)}; });
    see.integer("ldc", x.ldc);
  }
  static bool complete(Args&) { return true; }
  /// Row-major C = op(A) op(B) is column-major C' = op(B)' op(A)' over the same storage, and its other triangle.
  static void fold(Args& x) {
    x.uplo = other(x.uplo);
    std::swap(x.transa, x.transb);
    std::swap(x.A, x.B);
    std::swap(x.lda, x.ldb);
  }
  static constexpr double volume(const auto& at) { return triangle_volume(at.integer(0), at.integer(1)); }
};

/// @tparam hermitian  xHER2K: beta is real
template <class T, bool hermitian>
struct Rank2KSignature {
  using Args = Syr2kArgs<T>;
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    const auto multiplies = [&x] { return x.alpha != T(0) && x.k > 0; };
    see.letter("uplo", triangles, x.uplo);
    see.letter("trans", transposes, x.trans);
    see.integer("n", x.n);
    see.integer("k", x.k);
    see.scalar("alpha", x.alpha);
    see.operand("A", x.A, [&] { return Use{x.rows(), x.cols(), x.lda, multiplies(), false}; });
    see.integer("lda", x.lda);
    see.operand("B", x.B, [&] { return Use{x.rows(), x.cols(), x.ldb, multiplies(), false}; });
    see.integer("ldb", x.ldb);
    if constexpr (hermitian)
      see.real_scalar("beta", x.beta);
    else
      see.scalar("beta", x.beta);
    see.operand("C", x.C, [&] { return Use{x.n, x.n, x.ldc, x.beta != T(0), true, part_of(x.uplo)}; });
    see.integer("ldc", x.ldc);
  }
  /// Of real matrices a conjugate transpose is a transpose.
  static bool complete(Args& x) {
    x.hermitian = hermitian;
    if (!is_complex(precision_of<T>) && x.trans == Op::conjugate) x.trans = Op::transpose;
    return x.trans == Op::none || x.trans == transposed;
  }
  /// Row-major storage is the transposed matrices' in column-major.  Transposed, a Hermitian sum is its own conjugate,
  /// so alpha is conjugated.
  static void fold(Args& x) {
    x.uplo = other(x.uplo);
    x.trans = x.trans != Op::none ? Op::none : transposed;
    if constexpr (hermitian) x.alpha = std::conj(x.alpha);
  }
  static constexpr double volume(const auto& at) { return 2 * triangle_volume(at.integer(0), at.integer(1)); }

 private:
  static constexpr Op transposed = hermitian ? Op::conjugate : Op::transpose;
};
template <class T>
using Syr2kSignature = Rank2KSignature<T, false>;
template <class T>
using Her2kSignature = Rank2KSignature<T, true>;

/// @tparam hermitian  xHEMM
template <class T, bool hermitian>
struct SymmetricProductSignature {
  using Args = SymmArgs<T>;
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.letter("side", sides, x.left, 'L');
    see.letter("uplo", triangles, x.uplo);
    see.integer("m", x.m);
    see.integer("n", x.n);
    see.scalar("alpha", x.alpha);
    see.operand("A", x.A, [&] { return Use{x.order(), x.order(), x.lda, x.alpha != T(0), false, part_of(x.uplo)}; });
    see.integer("lda", x.lda);
    see.operand("B", x.B, [&] { return Use{x.m, x.n, x.ldb, x.alpha != T(0), false}; });
    see.integer("ldb", x.ldb);
    see.scalar("beta", x.beta);
    see.operand("C", x.C, [&] { return Use{x.m, x.n, x.ldc, x.beta != T(0), true}; });
    see.integer("ldc", x.ldc);
  }
  static bool complete(Args& x) {
    x.hermitian = hermitian;
    return true;
  }
  /// Row-major C = A B is column-major C' = B' A' over the same storage, in which A' is symmetric or Hermitian as A is.
  static void fold(Args& x) {
    x.left = !x.left;
    x.uplo = other(x.uplo);
    std::swap(x.m, x.n);
  }
  static constexpr double volume(const auto& at) {
    const double m = at.integer(0), n = at.integer(1);
    return m * n * (at.letter(0, sides[0]) ? m : n);
  }
};
template <class T>
using SymmSignature = SymmetricProductSignature<T, false>;
template <class T>
using HemmSignature = SymmetricProductSignature<T, true>;

/// xTRMM and xTRSM, whose arguments are called the same.
template <class T, class Arguments>
struct TriangularSignature {
  using Args = Arguments;
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.letter("side", sides, x.left, 'L');
    see.letter("uplo", triangles, x.uplo);
    see.letter("transa", transposes, x.trans);
    see.letter("diag", diagonals, x.unit, 'U');
    see.integer("m", x.m);
    see.integer("n", x.n);
    see.scalar("alpha", x.alpha);
    see.operand("A", x.A, [&] { return Use{x.order(), x.order(), x.lda, x.alpha != T(0), false, part_of(x.uplo)}; });
    see.integer("lda", x.lda);
    see.operand("B", x.B, [&] { return Use{x.m, x.n, x.ldb, x.alpha != T(0), true}; });
    see.integer("ldb", x.ldb);
  }
  static bool complete(Args&) { return true; }
  /// Row-major storage is the transposed matrices' in column-major: B' op(A)', or X' op(A)' = alpha B'.
  static void fold(Args& x) {
    x.left = !x.left;
    x.uplo = other(x.uplo);
    std::swap(x.m, x.n);
  }
  static constexpr double volume(const auto& at) {
    const double m = at.integer(0), n = at.integer(1);
    return m * n * (at.letter(0, sides[0]) ? m : n) / 2;
  }
};
template <class T>
using TrmmSignature = TriangularSignature<T, TrmmArgs<T>>;
template <class T>
using TrsmSignature = TriangularSignature<T, TrsmArgs<T>>;

/// @tparam hermitian  xHEMV
template <class T, bool hermitian>
struct SymmetricVectorSignature {
  using Args = SymvArgs<T>;
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    const auto vector = [&x](const T* at, index inc, bool reads, bool writes) {
      const StoredVector v = stored_vector(at, x.n, inc, std::max<index>(1, x.n));
      return Use{v.rows, v.cols, v.ld, reads, writes};
    };
    see.letter("uplo", triangles, x.uplo);
    see.integer("n", x.n);
    see.scalar("alpha", x.alpha);
    see.operand("A", x.A, [&] { return Use{x.n, x.n, x.lda, x.alpha != T(0), false, part_of(x.uplo)}; });
    see.integer("lda", x.lda);
    see.operand("x", x.x, [&] { return vector(x.x, x.incx, x.alpha != T(0), false); });
    see.integer("incx", x.incx);
    see.scalar("beta", x.beta);
    see.operand("y", x.y, [&] { return vector(x.y, x.incy, x.beta != T(0), true); });
    see.integer("incy", x.incy);
    see.recorded("conjugated", x.conjugated);
  }
  static bool complete(Args& x) {
    x.hermitian = hermitian;
    return true;
  }
  /// Row-major storage is the transposed matrix's in column-major: the same if symmetric, conjugated if Hermitian.
  static void fold(Args& x) {
    x.uplo = other(x.uplo);
    if (hermitian) x.conjugated = !x.conjugated;
  }
  static constexpr double volume(const auto& at) { return symmetric_volume(at.integer(0)); }
};
/// xSYMV of reals, xHEMV of complex elements.
template <class T>
using SymvSignature = SymmetricVectorSignature<T, is_complex(element_of<T>)>;
/// LAPACK's CSYMV and ZSYMV.
template <class T>
using CsymvSignature = SymmetricVectorSignature<T, false>;

template <class T>
struct GemvSignature {
  using Args = GemvArgs<T>;
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    // Where there are no results y is neither read nor written, whatever beta is.
    const auto works = [&x] { return x.m > 0 && x.n > 0; };
    const auto vector = [](const T* at, index n, index inc, bool reads, bool writes) {
      const StoredVector v = stored_vector(at, n, inc, std::max<index>(1, n));
      return Use{v.rows, v.cols, v.ld, reads, writes};
    };
    see.letter("trans", transposes, x.trans);
    see.integer("m", x.m);
    see.integer("n", x.n);
    see.scalar("alpha", x.alpha);
    see.operand("A", x.A, [&] { return Use{x.m, x.n, x.lda, x.alpha != T(0), false}; });
    see.integer("lda", x.lda);
    see.operand("x", x.x, [&] { return vector(x.x, x.terms(), x.incx, works() && x.alpha != T(0), false); });
    see.integer("incx", x.incx);
    see.scalar("beta", x.beta);
    see.operand("y", x.y, [&] { return vector(x.y, x.results(), x.incy, works() && x.beta != T(0), works()); });
    see.integer("incy", x.incy);
    see.recorded("conjugated", x.conjugated);
  }
  /// Of real matrices a conjugate transpose is a transpose.
  static bool complete(Args& x) {
    if (!is_complex(precision_of<T>) && x.trans == Op::conjugate) x.trans = Op::transpose;
    return true;
  }
  /// Row-major storage is the transposed matrix's in column-major, which is conjugated, and not transposed, where that
  /// is conjugate-transposed.
  static void fold(Args& x) {
    std::swap(x.m, x.n);
    const bool conjugated = x.trans == Op::conjugate;
    x.trans = x.trans != Op::none ? Op::none : x.conjugated ? Op::conjugate : Op::transpose;
    x.conjugated = conjugated;
  }
  static constexpr double volume(const auto& at) { return vector_volume(at.integer(0), at.integer(1)); }
};

template <class T>
struct CopySignature {
  using Args = CopyArgs<T>;
  static constexpr bool without_layout = true;
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    // Of an increment of 0 there is one element.
    const auto vector = [&x](const T* at, index inc, bool reads) {
      const StoredVector v =
          stored_vector(at, std::max<index>(0, inc == 0 ? std::min<index>(1, x.n) : x.n), inc, std::max<index>(1, x.n));
      return Use{v.rows, v.cols, v.ld, reads, !reads};
    };
    see.integer("n", x.n);
    see.operand("x", x.x, [&] { return vector(x.x, x.incx, true); });
    see.integer("incx", x.incx);
    see.operand("y", x.y, [&] { return vector(x.y, x.incy, false); });
    see.integer("incy", x.incy);
  }
  static bool complete(Args&) { return true; }
  static void fold(Args&) {}
  static constexpr double volume(const auto& at) {
    return copy_volume(at.integer(0), at.integer(1), at.integer(2), sizeof(T));
  }
};

/// What LAPACK's routines here have in common: only column-major.
template <class Arguments>
struct LapackSignature {
  using Args = Arguments;
  static bool complete(Args&) { return true; }
  static void fold(Args&) {}
};

template <class T>
struct PotrfSignature : LapackSignature<PotrfArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.letter("uplo", triangles, x.uplo);
    see.integer("n", x.n);
    see.operand("A", x.A, [&] { return Use{x.n, x.n, x.lda, true, true, part_of(x.uplo)}; });
    see.integer("lda", x.lda);
    see.info();
  }
  static constexpr double volume(const auto& at) {
    const double n = at.integer(0);
    return n * n * n / 6;
  }
};

template <class T>
struct TrtrsSignature : LapackSignature<TrsmArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.letter("uplo", triangles, x.uplo);
    see.letter("trans", transposes, x.trans);
    see.letter("diag", diagonals, x.unit, 'U');
    see.integer("n", x.m);
    see.integer("nrhs", x.n);
    see.operand("A", x.A, [&] { return Use{x.m, x.m, x.lda, true, false, part_of(x.uplo)}; });
    see.integer("lda", x.lda);
    see.operand("B", x.B, [&] { return Use{x.m, x.n, x.ldb, true, true}; });
    see.integer("ldb", x.ldb);
    see.info();
  }
  static bool complete(TrsmArgs<T>& x) {
    x.left = x.checked = true;
    x.alpha = T(1);
    return true;
  }
  static constexpr double volume(const auto& at) {
    const double n = at.integer(0), others = at.integer(1);
    return n * n * others / 2;
  }
};

template <class T>
struct GetrfSignature : LapackSignature<GetrfArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.integer("m", x.m);
    see.integer("n", x.n);
    see.operand("A", x.A, [&] { return Use{x.m, x.n, x.lda, true, true}; });
    see.integer("lda", x.lda);
    see.operand("ipiv", x.ipiv, [&] { return Use{x.factored(), 1, std::max<index>(1, x.factored()), false, true}; });
    see.info();
  }
  static constexpr double volume(const auto& at) {
    const double m = at.integer(0), n = at.integer(1), k = std::min(m, n);
    return k * (m * n - k * (m + n) / 2 + k * k / 3);
  }
};

/// xGETRS, xGESV, xPOTRS and xPOSV.
template <class T, bool lu, bool factored>
struct SystemSignature : LapackSignature<SystemArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    auto& s = x.shape;
    if constexpr (lu && factored) see.letter("trans", transposes, s.trans);
    if constexpr (!lu) see.letter("uplo", triangles, s.uplo);
    see.integer("n", s.n);
    see.integer("nrhs", s.nrhs);
    see.operand("A", x.A, [&] { return Use{s.n, s.n, x.lda, true, !factored, s.part()}; });
    see.integer("lda", x.lda);
    if constexpr (lu)
      see.operand("ipiv", x.ipiv, [&] { return Use{s.n, 1, std::max<index>(1, s.n), factored, !factored}; });
    see.operand("B", x.B, [&] { return Use{s.n, s.nrhs, x.ldb, true, true}; });
    see.integer("ldb", x.ldb);
    see.info();
  }
  static bool complete(SystemArgs<T>& x) {
    x.shape.lu = lu;
    x.shape.factored = factored;
    if constexpr (!lu || !factored) x.shape.trans = Op::none;
    if constexpr (lu) x.shape.uplo = Uplo::lower;
    return true;
  }
  /// The factors' beside the solutions', each of them as much as a call of its own.
  static constexpr double volume(const auto& at) {
    const double n = at.integer(0), others = at.integer(1), factors = factored ? 0 : (lu ? 2 : 1) * n * n * n / 6;
    return n * n * others + factors;
  }
};
template <class T>
using GetrsSignature = SystemSignature<T, true, true>;
template <class T>
using GesvSignature = SystemSignature<T, true, false>;
template <class T>
using PotrsSignature = SystemSignature<T, false, true>;
template <class T>
using PosvSignature = SystemSignature<T, false, false>;

/// xGETRI, xPOTRI, xTRTRI and xLAUUM.
template <class T, InverseOf of>
struct InverseSignature : LapackSignature<InverseArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    auto& s = x.shape;
    if constexpr (of != InverseOf::lu) see.letter("uplo", triangles, s.uplo);
    if constexpr (of == InverseOf::triangle) see.letter("diag", diagonals, s.unit, 'U');
    see.integer("n", s.n);
    see.operand("A", x.A, [&] { return Use{s.n, s.n, x.lda, true, true, s.part()}; });
    see.integer("lda", x.lda);
    if constexpr (of == InverseOf::lu) {
      see.operand("ipiv", x.ipiv, [&] { return Use{s.n, 1, std::max<index>(1, s.n), true, false}; });
      see.workspace("work", x.work, x.lwork, [&] { return x.least_workspace(); });
    }
    see.info();
  }
  static bool complete(InverseArgs<T>& x) {
    x.shape.of = of;
    if constexpr (of == InverseOf::lu) x.shape.uplo = Uplo::lower;
    if constexpr (of != InverseOf::triangle) x.shape.unit = false;
    return true;
  }
  static constexpr double volume(const auto& at) {
    const double n = at.integer(0), factor = of == InverseOf::lu ? 4 : of == InverseOf::cholesky ? 2 : 1;
    return factor * n * n * n / 6;
  }
};
template <class T>
using GetriSignature = InverseSignature<T, InverseOf::lu>;
template <class T>
using PotriSignature = InverseSignature<T, InverseOf::cholesky>;
template <class T>
using TrtriSignature = InverseSignature<T, InverseOf::triangle>;
template <class T>
using LauumSignature = InverseSignature<T, InverseOf::none>;

/// xGECON, xPOCON and xTRCON.
template <class T, InverseOf of>
struct ConditionSignature : LapackSignature<ConditionArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    constexpr bool triangle = of == InverseOf::triangle;
    if constexpr (of != InverseOf::cholesky) see.letter("norm", norms, x.by_rows, 'I');
    if constexpr (of != InverseOf::lu) see.letter("uplo", triangles, x.uplo);
    if constexpr (triangle) see.letter("diag", diagonals, x.unit, 'U');
    see.integer("n", x.n);
    see.operand("A", x.A, [&] { return Use{x.n, x.n, x.lda, true, false, x.part()}; });
    see.integer("lda", x.lda);
    if constexpr (!triangle) see.real_scalar("anorm", x.anorm);
    see.operand("rcond", x.rcond, [&] { return Use{1, 1, 1, false, true}; });
    see.scratch("work", x.work, [&] { return x.work_size(); });
    if constexpr (is_complex(precision_of<T>))
      see.scratch("rwork", x.rwork, [&] { return x.rwork_size(); });
    else
      see.scratch("iwork", x.iwork, [&] { return x.n; });
    see.info();
  }
  static bool complete(ConditionArgs<T>& x) {
    x.of = of;
    if constexpr (of == InverseOf::lu) x.uplo = Uplo::lower;
    if constexpr (of == InverseOf::cholesky) x.by_rows = false;
    if constexpr (of == InverseOf::triangle)
      x.anorm = T(1);
    else
      x.unit = false;
    return true;
  }
  /// Five solutions with each of two triangles, or one.
  static constexpr double volume(const auto& at) {
    const double n = at.integer(0);
    return 5 * n * n / (of == InverseOf::triangle ? 2 : 1);
  }
};
template <class T>
using GeconSignature = ConditionSignature<T, InverseOf::lu>;
template <class T>
using PoconSignature = ConditionSignature<T, InverseOf::cholesky>;
template <class T>
using TrconSignature = ConditionSignature<T, InverseOf::triangle>;

/// Of symmetric eigenproblems, what stands behind the matrices.
/// @tparam kept  LAPACK may leave the results as they were: they count as read
template <class T, EigenDriver driver, bool kept>
struct EigenResults {
  static constexpr bool is_complex_type = is_complex(precision_of<T>), is_evx = driver == EigenDriver::evx,
                        chooses = driver == EigenDriver::evr || is_evx,
                        says_sizes = driver == EigenDriver::evd || driver == EigenDriver::evr;

  template <class X, class See>
  static constexpr void describe(X& x, See& see, const auto& least_work) {
    // Of an interval nobody knows before how many there are, and LAPACK leaves the others as they were.
    const auto column = [&x](index rows) {
      return Use{rows, 1, std::max<index>(1, rows), kept || x.range == EigenRange::interval, true};
    };
    if constexpr (chooses) {
      see.real_scalar("vl", x.vl, x.range == EigenRange::interval);
      see.real_scalar("vu", x.vu, x.range == EigenRange::interval);
      see.integer("il", x.il, x.range == EigenRange::indices);
      see.integer("iu", x.iu, x.range == EigenRange::indices);
      see.real_scalar("abstol", x.abstol, x.n > 1);
      see.operand("m", x.m, [&] { return column(1); });
    }
    see.operand("w", x.w, [&] { return column(x.n); });
    if constexpr (chooses) {
      // Nor for how many vectors there is room.
      see.operand("Z", x.Z, [&] {
        const bool is_known = x.vectors && x.range != EigenRange::interval;
        return Use{.rows = x.vector_rows(),
                   .cols = x.shape().count,
                   .ld = x.ldz,
                   .reads = kept && is_known,
                   .writes = is_known,
                   .aside = !is_known};
      });
      see.integer("ldz", x.ldz);
      if constexpr (!is_evx) see.operand("isuppz", x.of_vectors, [&] { return column(x.count_of_vectors()); });
    }
    see.workspace("work", x.work, x.lwork, least_work);
    const auto real_work = [&] { return x.least_rwork(); };
    const auto integer_work = [&] { return x.least_iwork(); };
    if constexpr (says_sizes) {
      if constexpr (is_complex_type) see.workspace("rwork", x.rwork, x.lrwork, real_work);
      see.workspace("iwork", x.iwork, x.liwork, integer_work);
    } else {
      if constexpr (is_complex_type) see.scratch("rwork", x.rwork, real_work);
      if constexpr (is_evx) see.scratch("iwork", x.iwork, integer_work);
      if constexpr (is_evx) see.operand("ifail", x.of_vectors, [&] { return column(x.count_of_vectors()); });
    }
    see.info();
  }
};

/// xSYEVD, xSYEV, xSYEVR and xSYEVX of reals, xHEEVD and so on of complex elements.
template <class T, EigenDriver driver>
struct EigenSignature : LapackSignature<SyevdArgs<T>> {
  using Results = EigenResults<T, driver, false>;
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.letter("jobz", vector_jobs, x.vectors, 'V');
    if constexpr (Results::chooses) see.letter("range", eigenvalue_ranges, x.range);
    see.letter("uplo", triangles, x.uplo);
    see.integer("n", x.n);
    see.operand("A", x.A, [&] { return Use{x.n, x.n, x.lda, true, true, x.written()}; });
    see.integer("lda", x.lda);
    Results::describe(x, see, [&] { return x.least_work(); });
  }
  static bool complete(SyevdArgs<T>& x) {
    x.driver = driver;
    return true;
  }
  static constexpr double volume(const auto& at) {
    const double n = at.integer(0);
    return n * n * n;
  }
};
template <class T>
using SyevdSignature = EigenSignature<T, EigenDriver::evd>;
template <class T>
using SyevSignature = EigenSignature<T, EigenDriver::ev>;
template <class T>
using SyevrSignature = EigenSignature<T, EigenDriver::evr>;
template <class T>
using SyevxSignature = EigenSignature<T, EigenDriver::evx>;

/// xSYGVD, xSYGV and xSYGVX of reals, xHEGVD and so on of complex elements.
template <class T, EigenDriver driver>
struct GeneralizedEigenSignature : LapackSignature<SygvArgs<T>> {
  using Results = EigenResults<T, driver, true>;  // with a B that is not definite
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    auto& e = x.eigen;
    see.integer("itype", x.itype);
    see.letter("jobz", vector_jobs, e.vectors, 'V');
    if constexpr (Results::chooses) see.letter("range", eigenvalue_ranges, e.range);
    see.letter("uplo", triangles, e.uplo);
    see.integer("n", e.n);
    see.operand("A", e.A, [&] { return Use{e.n, e.n, e.lda, true, true, e.written()}; });
    see.integer("lda", e.lda);
    see.operand("B", x.B, [&] { return Use{e.n, e.n, x.ldb, true, true, part_of(e.uplo)}; });
    see.integer("ldb", x.ldb);
    Results::describe(e, see, [&] { return x.least_work(); });
  }
  static bool complete(SygvArgs<T>& x) {
    x.eigen.driver = driver;
    return true;
  }
  static constexpr double volume(const auto& at) {
    const double n = at.integer(1);
    return n * n * n;
  }
};
template <class T>
using SygvdSignature = GeneralizedEigenSignature<T, EigenDriver::evd>;
template <class T>
using SygvSignature = GeneralizedEigenSignature<T, EigenDriver::ev>;
template <class T>
using SygvxSignature = GeneralizedEigenSignature<T, EigenDriver::evx>;

/// xSYGST of reals, xHEGST of complex elements.
template <class T>
struct SygstSignature : LapackSignature<SygstArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.integer("itype", x.itype);
    see.letter("uplo", triangles, x.uplo);
    see.integer("n", x.n);
    see.operand("A", x.A, [&] { return Use{x.n, x.n, x.lda, true, true, part_of(x.uplo)}; });
    see.integer("lda", x.lda);
    see.operand("B", x.B, [&] { return Use{x.n, x.n, x.ldb, true, false, part_of(x.uplo)}; });
    see.integer("ldb", x.ldb);
    see.info();
  }
  static constexpr double volume(const auto& at) {
    const double n = at.integer(1);
    return n * n * n / 2;
  }
};

/// xSYTRD of reals, xHETRD of complex elements.
template <class T>
struct SytrdSignature : LapackSignature<SytrdArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.letter("uplo", triangles, x.uplo);
    see.integer("n", x.n);
    see.operand("A", x.A, [&] { return Use{x.n, x.n, x.lda, true, true, part_of(x.uplo)}; });
    see.integer("lda", x.lda);
    const auto written = [](index count) { return Use{count, 1, std::max<index>(1, count), false, true}; };
    see.operand("d", x.d, [&] { return written(x.n); });
    see.operand("e", x.e, [&] { return written(x.beside()); });
    see.operand("tau", x.tau, [&] { return written(x.beside()); });
    see.workspace("work", x.work, x.lwork, [&] { return x.least_workspace(); });
    see.info();
  }
  static constexpr double volume(const auto& at) {
    const double n = at.integer(0);
    return 2 * n * n * n / 3;
  }
};

template <class T>
struct GehrdSignature : LapackSignature<GehrdArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.integer("n", x.n);
    see.integer("ilo", x.ilo);
    see.integer("ihi", x.ihi);
    see.operand("A", x.A, [&] { return Use{x.n, x.n, x.lda, true, true}; });
    see.integer("lda", x.lda);
    see.operand("tau", x.tau, [&] { return Use{x.beside(), 1, std::max<index>(1, x.beside()), false, true}; });
    see.workspace("work", x.work, x.lwork, [&] { return x.least_workspace(); });
    see.info();
  }
  static constexpr double volume(const auto& at) {
    const double n = at.integer(0), k = at.integer(2) - at.integer(1);
    return k * k * (n + 2 * k / 3);
  }
};

template <class T>
struct GebrdSignature : LapackSignature<GebrdArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.integer("m", x.m);
    see.integer("n", x.n);
    see.operand("A", x.A, [&] { return Use{x.m, x.n, x.lda, true, true}; });
    see.integer("lda", x.lda);
    const auto written = [](index count) { return Use{count, 1, std::max<index>(1, count), false, true}; };
    see.operand("d", x.d, [&] { return written(x.factored()); });
    see.operand("e", x.e, [&] { return written(std::max<index>(0, x.factored() - 1)); });
    see.operand("tauq", x.tauq, [&] { return written(x.factored()); });
    see.operand("taup", x.taup, [&] { return written(x.factored()); });
    see.workspace("work", x.work, x.lwork, [&] { return x.least_workspace(); });
    see.info();
  }
  static constexpr double volume(const auto& at) {
    const double m = at.integer(0), n = at.integer(1), k = std::min(m, n);
    return 2 * k * k * (std::max(m, n) - k / 3);
  }
};

/// xGESDD and xGESVD.
template <class T, SvdDriver driver>
struct SvdSignature : LapackSignature<SvdArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    constexpr bool halves = driver == SvdDriver::gesdd;
    // s, U and VT count as read: LAPACK leaves them as they were where A has a NaN.
    const auto vectors = [](index rows, index cols, index ld) {
      const bool any = rows > 0 && cols > 0;  // otherwise there need be no memory
      return Use{any ? rows : 0, any ? cols : 0, ld, any, any};
    };
    see.letter(halves ? "jobz" : "jobu", svd_jobs, x.jobu);
    if constexpr (!halves) see.letter("jobvt", svd_jobs, x.jobvt);
    see.integer("m", x.m);
    see.integer("n", x.n);
    see.operand("A", x.A, [&] { return Use{x.m, x.n, x.lda, true, true}; });
    see.integer("lda", x.lda);
    see.operand("s", x.s, [&] { return Use{x.count(), 1, std::max<index>(1, x.count()), true, true}; });
    see.operand("U", x.U, [&] { return vectors(x.m, x.shape().cols_of_u(), x.ldu); });
    see.integer("ldu", x.ldu);
    see.operand("VT", x.VT, [&] { return vectors(x.shape().rows_of_vt(), x.n, x.ldvt); });
    see.integer("ldvt", x.ldvt);
    see.workspace("work", x.work, x.lwork, [&] { return x.least_work(); });
    if constexpr (is_complex(precision_of<T>)) see.scratch("rwork", x.rwork, [&] { return x.rwork_size(); });
    if constexpr (halves) see.scratch("iwork", x.iwork, [&] { return x.iwork_size(); });
    see.info();
  }
  static bool complete(SvdArgs<T>& x) {
    x.driver = driver;
    if constexpr (driver == SvdDriver::gesdd) x.jobvt = x.jobu;
    return true;
  }
  static constexpr double volume(const auto& at) {
    const double m = at.integer(0), n = at.integer(1), k = std::min(m, n);
    return 2 * k * k * (std::max(m, n) - k / 3);
  }
};
template <class T>
using GesddSignature = SvdSignature<T, SvdDriver::gesdd>;
template <class T>
using GesvdSignature = SvdSignature<T, SvdDriver::gesvd>;

template <class T>
struct GeevSignature : LapackSignature<GeevArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    constexpr bool complex = is_complex(precision_of<T>);
    const auto column = [&] { return Use{x.n, 1, std::max<index>(1, x.n), false, true}; };
    const auto vectors = [&](bool any, index ld) { return Use{any ? x.n : 0, any ? x.n : 0, ld, false, any}; };
    see.letter("jobvl", vector_jobs, x.left, 'V');
    see.letter("jobvr", vector_jobs, x.right, 'V');
    see.integer("n", x.n);
    see.operand("A", x.A, [&] { return Use{x.n, x.n, x.lda, true, true}; });
    see.integer("lda", x.lda);
    see.operand(complex ? "w" : "wr", x.w, column);
    if constexpr (!complex) see.operand("wi", x.wi, column);
    see.operand("VL", x.VL, [&] { return vectors(x.left, x.ldvl); });
    see.integer("ldvl", x.ldvl);
    see.operand("VR", x.VR, [&] { return vectors(x.right, x.ldvr); });
    see.integer("ldvr", x.ldvr);
    see.workspace("work", x.work, x.lwork, [&] { return x.least_work(); });
    if constexpr (complex) see.scratch("rwork", x.rwork, [&] { return x.rwork_size(); });
    see.info();
  }
  static constexpr double volume(const auto& at) {
    const double n = at.integer(0);
    return n * n * n;
  }
};

/// xGELSY, xGELSD, xGELSS and xGELS.
template <class T, LeastSquaresDriver driver>
struct LeastSquaresSignature : LapackSignature<LeastSquaresArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    constexpr bool pivots = driver == LeastSquaresDriver::gelsy, of_full_rank = driver == LeastSquaresDriver::gels;
    // These count as read: where iterations do not converge LAPACK leaves them as they were.
    const auto column = [](index rows) { return Use{rows, 1, std::max<index>(1, rows), true, true}; };
    if constexpr (of_full_rank) see.letter("trans", adjoints<T>(), x.adjoint, adjoint_letter<T>);
    see.integer("m", x.m);
    see.integer("n", x.n);
    see.integer("nrhs", x.nrhs);
    see.operand("A", x.A, [&] { return Use{x.m, x.n, x.lda, true, true}; });
    see.integer("lda", x.lda);
    see.operand("B", x.B, [&] { return Use{x.longer(), x.nrhs, x.ldb, true, true}; });
    see.integer("ldb", x.ldb);
    if constexpr (pivots)
      see.operand("jpvt", x.jpvt, [&] { return column(x.n); });
    else if constexpr (!of_full_rank)
      see.operand("s", x.s, [&] { return column(x.count()); });
    if constexpr (!of_full_rank) {
      see.real_scalar("rcond", x.rcond);
      see.operand("rank", x.rank, [&] { return column(1); });
    }
    see.workspace("work", x.work, x.lwork, [&] { return x.least_work(); });
    if constexpr (is_complex(precision_of<T>) && !of_full_rank)
      see.scratch("rwork", x.rwork, [&] { return x.rwork_size(); });
    if constexpr (driver == LeastSquaresDriver::gelsd) see.scratch("iwork", x.iwork, [&] { return x.iwork_size(); });
    see.info();
  }
  static bool complete(LeastSquaresArgs<T>& x) {
    x.driver = driver;
    return true;
  }
  static constexpr double volume(const auto& at) {
    const double m = at.integer(0), n = at.integer(1);
    return reflectors_volume(m, n, std::min(m, n));
  }
};
template <class T>
using GelsySignature = LeastSquaresSignature<T, LeastSquaresDriver::gelsy>;
template <class T>
using GelsdSignature = LeastSquaresSignature<T, LeastSquaresDriver::gelsd>;
template <class T>
using GelssSignature = LeastSquaresSignature<T, LeastSquaresDriver::gelss>;
template <class T>
using GelsSignature = LeastSquaresSignature<T, LeastSquaresDriver::gels>;

template <class T>
struct GeqrfSignature : LapackSignature<GeqrfArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.integer("m", x.m);
    see.integer("n", x.n);
    see.operand("A", x.A, [&] { return Use{x.m, x.n, x.lda, true, true}; });
    see.integer("lda", x.lda);
    see.operand("tau", x.tau, [&] { return Use{x.factored(), 1, std::max<index>(1, x.factored()), false, true}; });
    see.workspace("work", x.work, x.lwork, [&] { return x.least_workspace(); });
    see.info();
  }
  static constexpr double volume(const auto& at) {
    return reflectors_volume(at.integer(0), at.integer(1), std::min(at.integer(0), at.integer(1)));
  }
};

template <class T>
struct Geqp3Signature : LapackSignature<Geqp3Args<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.integer("m", x.m);
    see.integer("n", x.n);
    see.operand("A", x.A, [&] { return Use{x.m, x.n, x.lda, true, true}; });
    see.integer("lda", x.lda);
    see.operand("jpvt", x.jpvt, [&] { return Use{x.n, 1, std::max<index>(1, x.n), true, true}; });
    see.operand("tau", x.tau, [&] { return Use{x.factored(), 1, std::max<index>(1, x.factored()), false, true}; });
    see.workspace("work", x.work, x.lwork, [&] { return x.least_workspace(); });
    if constexpr (is_complex(precision_of<T>)) see.scratch("rwork", x.rwork, [&] { return x.rwork_size(); });
    see.info();
  }
  static constexpr double volume(const auto& at) { return GeqrfSignature<T>::volume(at); }
};

/// xGELQF, and xORGLQ of reals, xUNGLQ of complex elements.
template <class T, bool makes_q>
struct LqSignature : LapackSignature<LqArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    see.integer("m", x.m);
    see.integer("n", x.n);
    if constexpr (makes_q) see.integer("k", x.k);
    see.operand("A", x.A, [&] { return Use{x.m, x.n, x.lda, true, true}; });
    see.integer("lda", x.lda);
    see.operand("tau", x.tau, [&] {
      return Use{x.reflectors(), 1, std::max<index>(1, x.reflectors()), makes_q && x.k > 0, !makes_q};
    });
    see.workspace("work", x.work, x.lwork, [&] { return x.least_workspace(); });
    see.info();
  }
  static bool complete(LqArgs<T>& x) {
    x.makes_q = makes_q;
    return true;
  }
  static constexpr double volume(const auto& at) {
    const double m = at.integer(0), n = at.integer(1);
    return reflectors_volume(m, n, makes_q ? at.integer(2) : std::min(m, n));
  }
};
template <class T>
using GelqfSignature = LqSignature<T, false>;
template <class T>
using OrglqSignature = LqSignature<T, true>;

template <class T>
struct OrmqrSignature : LapackSignature<OrmqrArgs<T>> {
  /// @param adjointly   the letter that means Q^H
  /// @param reflectors  their Use
  template <class X, class See>
  static constexpr void describe_product(X& x, See& see, char adjointly, const auto& reflectors) {
    auto& p = x.product;
    see.letter("side", sides, p.left, 'L');
    see.letter("trans", adjoints<T>(), p.adjoint, adjointly);
    see.integer("m", p.m);
    see.integer("n", p.n);
    see.integer("k", p.k);
    see.operand("A", x.A, reflectors);
    see.integer("lda", x.lda);
    see.operand("tau", x.tau, [&] { return Use{p.k, 1, std::max<index>(1, p.k), p.k > 0, false}; });
    see.operand("C", x.C, [&] { return Use{p.m, p.n, x.ldc, true, true}; });
    see.integer("ldc", x.ldc);
    see.workspace("work", x.work, x.lwork, [&] { return x.least_workspace(); });
    see.info();
  }
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    describe_product(x, see, adjoint_letter<T>, [&] {
      const auto& p = x.product;
      return Use{p.order(), p.k, x.lda, p.k > 0, false, Part::lower};  // above the diagonal there is R as a rule
    });
  }
  static constexpr double volume(const auto& at) {
    return reflectors_volume(at.integer(0), at.integer(1), at.integer(2));
  }
};

/// Its Q is the adjoint of what a QR with these reflectors has.
template <class T>
struct OrmlqSignature : LapackSignature<OrmqrArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    OrmqrSignature<T>::describe_product(x, see, 'N', [&] {
      const auto& p = x.product;
      return Use{p.k, p.order(), x.lda, p.k > 0, false, Part::upper};  // below the diagonal there is L as a rule
    });
  }
  static bool complete(OrmqrArgs<T>& x) { return x.product.rows = true; }
  static constexpr double volume(const auto& at) { return OrmqrSignature<T>::volume(at); }
};

template <class T>
struct OrgqrSignature : LapackSignature<OrmqrArgs<T>> {
  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    auto& p = x.product;
    see.integer("m", p.m);
    see.integer("n", p.n);
    see.integer("k", p.k);
    see.operand("A", x.C, [&] { return Use{p.m, p.n, x.ldc, true, true}; });
    see.integer("lda", x.lda);
    see.operand("tau", x.tau, [&] { return Use{p.k, 1, std::max<index>(1, p.k), p.k > 0, false}; });
    see.workspace("work", x.work, x.lwork, [&] { return x.least_workspace(); });
    see.info();
  }
  static bool complete(OrmqrArgs<T>& x) {
    x.product.left = x.product.of_identity = true;
    x.A = x.C;
    x.ldc = x.lda;
    return true;
  }
  static constexpr double volume(const auto& at) { return OrmqrSignature<T>::volume(at); }
};

/// ormtr, ormhr and ormbr, and orgtr, orghr and orgbr.
template <class T, Reduction reduction, bool made>
struct ReductionQSignature : LapackSignature<ReductionQArgs<T>> {
  static constexpr bool tridiagonal = reduction == Reduction::tridiagonal,
                        hessenberg = reduction == Reduction::hessenberg,
                        bidiagonal = reduction == Reduction::bidiagonal;

  template <class X, class See>
  static constexpr void describe(X& x, See& see) {
    if constexpr (bidiagonal) see.letter("vect", bidiagonal_factors, x.rows, 'P');
    if constexpr (!made) see.letter("side", sides, x.left, 'L');
    if constexpr (tridiagonal) see.letter("uplo", triangles, x.uplo);
    if constexpr (!made) see.letter("trans", adjoints<T>(), x.adjoint, adjoint_letter<T>);
    if constexpr (!made || bidiagonal) see.integer("m", x.m);
    see.integer("n", x.n);
    if constexpr (bidiagonal) see.integer("k", x.k);
    if constexpr (hessenberg) {
      see.integer("ilo", x.ilo);
      see.integer("ihi", x.ihi);
    }
    const auto tau = [&] { return Use{x.reflectors(), 1, std::max<index>(1, x.reflectors()), true, false}; };
    if constexpr (made) {
      see.operand("A", x.C, [&] { return Use{x.m, x.n, x.lda, true, true}; });
      see.integer("lda", x.lda);
      see.operand("tau", x.tau, tau);
    } else {
      // On the other side of the diagonal there is what the matrix was reduced to.
      see.operand("A", x.A, [&] {
        const index order = x.order(), count = bidiagonal ? x.reflectors() : order;
        const bool upper = bidiagonal ? x.rows : tridiagonal && x.uplo == Uplo::upper;
        return Use{bidiagonal && x.rows ? count : order,
                   bidiagonal && x.rows ? order : count,
                   x.lda,
                   x.reflectors() > 0,
                   false,
                   upper ? Part::upper : Part::lower};
      });
      see.integer("lda", x.lda);
      see.operand("tau", x.tau, tau);
      see.operand("C", x.C, [&] { return Use{x.m, x.n, x.ldc, true, true}; });
      see.integer("ldc", x.ldc);
    }
    see.workspace("work", x.work, x.lwork, [&] { return x.least_workspace(); });
    see.info();
  }
  static bool complete(ReductionQArgs<T>& x) {
    x.of = reduction;
    x.of_identity = made;
    if constexpr (made) {
      x.left = true;
      if (!bidiagonal) x.m = x.n;
      x.A = x.C;
      x.ldc = x.lda;
    }
    return true;
  }
  /// A product's with as many reflectors as there may be on either side: the decision knows which it is.
  static constexpr double volume(const auto& at) {
    if constexpr (made && !bidiagonal) {
      const double order = hessenberg ? at.integer(2) - at.integer(1) : at.integer(0);
      return reflectors_volume(order, order, order);
    } else {
      const double m = at.integer(0), n = at.integer(1);
      return reflectors_volume(m, n,
                               bidiagonal   ? at.integer(2)
                               : hessenberg ? at.integer(3) - at.integer(2)
                                            : std::max(m, n));
    }
  }
};
template <class T>
using OrmtrSignature = ReductionQSignature<T, Reduction::tridiagonal, false>;
template <class T>
using OrgtrSignature = ReductionQSignature<T, Reduction::tridiagonal, true>;
template <class T>
using OrmhrSignature = ReductionQSignature<T, Reduction::hessenberg, false>;
template <class T>
using OrghrSignature = ReductionQSignature<T, Reduction::hessenberg, true>;
template <class T>
using OrmbrSignature = ReductionQSignature<T, Reduction::bidiagonal, false>;
template <class T>
using OrgbrSignature = ReductionQSignature<T, Reduction::bidiagonal, true>;

/// The signatures by the kinds of api/routines.def, of those whose records are of Args with one.
namespace signature_of {
#define SIGNATURE(kind, name) \
  template <class T>          \
  using kind = name<T>;
SIGNATURE(gemm, GemmSignature)
SIGNATURE(gemm_batch_strided, GemmBatchStridedSignature)
SIGNATURE(gemm3m, GemmSignature)
SIGNATURE(gemmt, GemmtSignature)
SIGNATURE(syrk, SyrkSignature)
SIGNATURE(herk, HerkSignature)
SIGNATURE(syr2k, Syr2kSignature)
SIGNATURE(her2k, Her2kSignature)
SIGNATURE(symm, SymmSignature)
SIGNATURE(hemm, HemmSignature)
SIGNATURE(trmm, TrmmSignature)
SIGNATURE(trsm, TrsmSignature)
SIGNATURE(trtrs, TrtrsSignature)
SIGNATURE(trtri, TrtriSignature)
SIGNATURE(potri, PotriSignature)
SIGNATURE(lauum, LauumSignature)
SIGNATURE(getri, GetriSignature)
SIGNATURE(potrf, PotrfSignature)
SIGNATURE(potrs, PotrsSignature)
SIGNATURE(posv, PosvSignature)
SIGNATURE(getrf, GetrfSignature)
SIGNATURE(getrs, GetrsSignature)
SIGNATURE(gesv, GesvSignature)
SIGNATURE(gecon, GeconSignature)
SIGNATURE(pocon, PoconSignature)
SIGNATURE(trcon, TrconSignature)
SIGNATURE(syevd, SyevdSignature)
SIGNATURE(gebrd, GebrdSignature)
SIGNATURE(gesdd, GesddSignature)
SIGNATURE(gesvd, GesvdSignature)
SIGNATURE(geev, GeevSignature)
SIGNATURE(gels, GelsSignature)
SIGNATURE(gelsy, GelsySignature)
SIGNATURE(gelsd, GelsdSignature)
SIGNATURE(gelss, GelssSignature)
SIGNATURE(syev, SyevSignature)
SIGNATURE(syevr, SyevrSignature)
SIGNATURE(syevx, SyevxSignature)
SIGNATURE(sygvd, SygvdSignature)
SIGNATURE(sygv, SygvSignature)
SIGNATURE(sygvx, SygvxSignature)
SIGNATURE(sygst, SygstSignature)
SIGNATURE(sytrd, SytrdSignature)
SIGNATURE(gehrd, GehrdSignature)
SIGNATURE(symv, SymvSignature)
SIGNATURE(hemv, SymvSignature)
SIGNATURE(csymv, CsymvSignature)
SIGNATURE(gemv, GemvSignature)
SIGNATURE(geqrf, GeqrfSignature)
SIGNATURE(geqp3, Geqp3Signature)
SIGNATURE(gelqf, GelqfSignature)
SIGNATURE(orglq, OrglqSignature)
SIGNATURE(ormqr, OrmqrSignature)
SIGNATURE(ormlq, OrmlqSignature)
SIGNATURE(orgqr, OrgqrSignature)
SIGNATURE(ormtr, OrmtrSignature)
SIGNATURE(orgtr, OrgtrSignature)
SIGNATURE(ormhr, OrmhrSignature)
SIGNATURE(orghr, OrghrSignature)
SIGNATURE(ormbr, OrmbrSignature)
SIGNATURE(orgbr, OrgbrSignature)
#undef SIGNATURE
}  // namespace signature_of

// Their descriptions are compiled in one place: signatures.cpp, which leaves out kinds whose signature another one has.
namespace signatures {
#define GEMM_BATCH(name, type)
#define COPY(name, type)
#define GEQR(name, type)
#define GEMQR(name, type)
#define WSYMV(name, type)
#define ROUTINE(kind, name, type) extern template const Description& description_of<signature_of::kind<type>>();
#include "api/routines.def"
}  // namespace signatures

/// Calls `with` with the signature that Args came by.
template <class T, class With>
decltype(auto) with_signature(const GemmArgs<T>&, With with) {
  return with(GemmSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const SyrkArgs<T>& x, With with) {
  return x.hermitian ? with(HerkSignature<T>()) : with(SyrkSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const GemmBatchArgs<T>&, With with) {
  return with(GemmBatchStridedSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const GemmtArgs<T>&, With with) {
  return with(GemmtSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const Syr2kArgs<T>& x, With with) {
  if constexpr (is_complex(precision_of<T>))
    if (x.hermitian) return with(Her2kSignature<T>());
  return with(Syr2kSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const SymmArgs<T>& x, With with) {
  if constexpr (is_complex(precision_of<T>))
    if (x.hermitian) return with(HemmSignature<T>());
  return with(SymmSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const TrmmArgs<T>&, With with) {
  return with(TrmmSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const TrsmArgs<T>& x, With with) {
  return x.checked ? with(TrtrsSignature<T>()) : with(TrsmSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const PotrfArgs<T>&, With with) {
  return with(PotrfSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const GetrfArgs<T>&, With with) {
  return with(GetrfSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const SystemArgs<T>& x, With with) {
  if (x.shape.lu) return x.shape.factored ? with(GetrsSignature<T>()) : with(GesvSignature<T>());
  return x.shape.factored ? with(PotrsSignature<T>()) : with(PosvSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const InverseArgs<T>& x, With with) {
  switch (x.shape.of) {
    case InverseOf::lu: return with(GetriSignature<T>());
    case InverseOf::cholesky: return with(PotriSignature<T>());
    case InverseOf::none: return with(LauumSignature<T>());
    case InverseOf::triangle: break;
  }
  return with(TrtriSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const ConditionArgs<T>& x, With with) {
  if (x.of == InverseOf::triangle) return with(TrconSignature<T>());
  return x.lu() ? with(GeconSignature<T>()) : with(PoconSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const SyevdArgs<T>& x, With with) {
  switch (x.driver) {
    case EigenDriver::ev: return with(SyevSignature<T>());
    case EigenDriver::evr: return with(SyevrSignature<T>());
    case EigenDriver::evx: return with(SyevxSignature<T>());
    case EigenDriver::evd: break;
  }
  return with(SyevdSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const SygvArgs<T>& x, With with) {
  switch (x.eigen.driver) {
    case EigenDriver::ev: return with(SygvSignature<T>());
    case EigenDriver::evx: return with(SygvxSignature<T>());
    case EigenDriver::evr:
    case EigenDriver::evd: break;
  }
  return with(SygvdSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const SygstArgs<T>&, With with) {
  return with(SygstSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const SytrdArgs<T>&, With with) {
  return with(SytrdSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const GehrdArgs<T>&, With with) {
  return with(GehrdSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const GebrdArgs<T>&, With with) {
  return with(GebrdSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const SvdArgs<T>& x, With with) {
  return x.driver == SvdDriver::gesdd ? with(GesddSignature<T>()) : with(GesvdSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const GeevArgs<T>&, With with) {
  return with(GeevSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const LeastSquaresArgs<T>& x, With with) {
  switch (x.driver) {
    case LeastSquaresDriver::gelsd: return with(GelsdSignature<T>());
    case LeastSquaresDriver::gelss: return with(GelssSignature<T>());
    case LeastSquaresDriver::gels: return with(GelsSignature<T>());
    case LeastSquaresDriver::gelsy: break;
  }
  return with(GelsySignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const SymvArgs<T>& x, With with) {
  if constexpr (is_complex(element_of<T>))
    if (!x.hermitian) return with(CsymvSignature<T>());
  return with(SymvSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const GemvArgs<T>&, With with) {
  return with(GemvSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const CopyArgs<T>&, With with) {
  return with(CopySignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const GeqrfArgs<T>&, With with) {
  return with(GeqrfSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const Geqp3Args<T>&, With with) {
  return with(Geqp3Signature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const LqArgs<T>& x, With with) {
  return x.makes_q ? with(OrglqSignature<T>()) : with(GelqfSignature<T>());
}
template <class T, class With>
decltype(auto) with_signature(const OrmqrArgs<T>& x, With with) {
  return x.product.of_identity ? with(OrgqrSignature<T>())
         : x.product.rows      ? with(OrmlqSignature<T>())
                               : with(OrmqrSignature<T>());
}

template <class T, class With>
decltype(auto) with_signature(const ReductionQArgs<T>& x, With with) {
  switch (x.of) {
    case Reduction::hessenberg: return x.of_identity ? with(OrghrSignature<T>()) : with(OrmhrSignature<T>());
    case Reduction::bidiagonal: return x.of_identity ? with(OrgbrSignature<T>()) : with(OrmbrSignature<T>());
    case Reduction::tridiagonal: break;
  }
  return x.of_identity ? with(OrgtrSignature<T>()) : with(OrmtrSignature<T>());
}

/// The call as what is the same for all routines takes it.
template <class Args>
signatures::Described described(Args& args) {
  return with_signature(args, [&](auto s) { return signatures::described<decltype(s)>(args); });
}

/// The call's operands, in Args's order.
template <class Args>
std::vector<CheckedOperand> operands_of(const Args& args) {
  return signatures::list_operands(described(args));
}

/// The call with operands at other addresses.
template <class Args>
Args with_operands(Args args, void* const* at) {
  signatures::set_operands(described(args), at);
  return args;
}

/// Everything but the addresses, in words of name=value, numbers to the last digit.
template <class Args>
std::string to_words(const Args& args) {
  return signatures::write_words(described(args));
}

/// The call by what a site has led to; false if its integers are too narrow for the sizes.
template <class Args>
bool call_by(const Site& library, Args args) {
  if (!library.wide && !signatures::is_narrow(described(args))) return false;
  signatures::call(described(args), library);
  return true;
}

}  // namespace blaslift
