// What a correct result may differ by, and a routine's calls as verification takes them.
//
// A routine that verification is to look at has a Judging in its Way, with a judge() for its Args.
#pragma once
#include <memory>
#include <optional>
#include <utility>

#include "impl/core/signatures.hpp"
#include "impl/route/replay.hpp"
#include "impl/route/verify.hpp"

namespace blaslift {

// A Judging's reference.
/// By products of the library's gemm: not every library has this routine.
template <class T>
bool call_by_products(const Site& gemm, const GemmtArgs<T>& args);
template <class T>
bool call_by_products(const Site& gemm, const GemmBatchArgs<T>& args);
/// y := alpha * conj(A) * x + beta * y by the Fortran symbol, which does not say that: of conjugates, and conjugated.
template <class Args>
bool call_conjugated(const Site& library, Args args);
template <class Args>
bool call_vector_product(const Site& library, const Args& args) {
  if constexpr (is_complex(precision_of<decltype(args.alpha)>))
    if (args.conjugated && info(library.symbol).interface == Interface::fortran) return call_conjugated(library, args);
  return call_by(library, args);
}

/// BLAS's own test ratio: the largest of |result - reference| / (eps (|alpha| |op(A)| |op(B)| + |beta| |C|)), element
/// by element (dblat3's DMMCH).  However they order their sums, two classical products differ by at most k + 2 of these
/// units, complex ones (of |re| + |im|) by 2 k + 5 (Higham, Accuracy and Stability, 3.5).  For a product by levels the
/// unit contains what these may be off by (docs/developer/levels.md).  Inf and NaN have to be where the reference has
/// them.
/// @param before     C as it was
/// @param magnitudes multiplies |op(A)| and |op(B)|
template <class T>
Judgement judge(const Site& magnitudes, const GemmArgs<T>& before, const T* result, const T* reference,
                const Ending& ending);
/// The same of one triangle.
template <class T>
Judgement judge(const Site& magnitudes, const SyrkArgs<T>& before, const T* result, const T* reference,
                const Ending& ending);
/// The same for a product of n x n with a vector; `result` and `reference` have incy as before.y has.
template <class T>
Judgement judge(const Site& magnitudes, const SymvArgs<T>& before, const T* result, const T* reference,
                const Ending& ending);

/// The same with as many terms as x has elements.
template <class T>
Judgement judge(const Site& magnitudes, const GemvArgs<T>& before, const T* result, const T* reference,
                const Ending& ending);

/// The same of two products.
template <class T>
Judgement judge(const Site& magnitudes, const Syr2kArgs<T>& before, const T* result, const T* reference,
                const Ending& ending);
/// The same of one triangle of a product.
/// @param gemm  multiplies
template <class T>
Judgement judge(const Site& gemm, const GemmtArgs<T>& before, const T* result, const T* reference,
                const Ending& ending);

/// The same of all products.
/// @param gemm  multiplies
template <class T>
Judgement judge(const Site& gemm, const GemmBatchArgs<T>& before, const T* result, const T* reference,
                const Ending& ending);

/// The same of a product with a symmetric or Hermitian matrix, all of which is made for it.
/// @param gemm  multiplies
template <class T>
Judgement judge(const Site& gemm, const SymmArgs<T>& before, const T* result, const T* reference, const Ending& ending);

/// The same of a product with a triangular matrix, in B's place, where A, and this column of B or row with A on the
/// right, is finite, and the reference is.
/// @param gemm  multiplies
template <class T>
Judgement judge(const Site& gemm, const TrmmArgs<T>& before, const T* result, const T* reference, const Ending& ending);

/// LAPACK's own test ratios of a QR (dqrt01), column by column: |a_j - Q r_j| / (m eps |a_j|), with Q from the factors
/// by the library's ormqr; and |I - Q^H Q| / (m eps), 1-norm, with Q by its orgqr.  What is behind the first column
/// that is not finite follows from that.
/// @param before  A as it was
template <class T>
Judgement judge(const JudgingLibrary& by, const GeqrfArgs<T>& before, const GeqrfArgs<T>& result);
/// Of a product with Q, with q the order of Q (dqrt03, dqrt02): |result - reference| / (q eps |C|), by columns of C, or
/// rows with Q on its right.  Reflectors that are not unitary, or not finite, are no Q: any C will do.
/// @param before  A, tau and C as they were
template <class T>
Judgement judge(const OrmqrArgs<T>& before, const T* result, const T* reference);

/// The same of the part of a reduction's Q that is not an identity's; around it are that's elements.
template <class T>
Judgement judge(const JudgingLibrary&, const ReductionQArgs<T>& before, const ReductionQArgs<T>& result,
                const ReductionQArgs<T>& reference, const Ending&);

// The same with all operands.
template <class T>
Judgement judge(const JudgingLibrary& by, const GemmArgs<T>& before, const GemmArgs<T>& result,
                const GemmArgs<T>& reference, const Ending& ending) {
  return judge(by.site, before, result.C, reference.C, ending);
}
template <class T>
Judgement judge(const JudgingLibrary& by, const SyrkArgs<T>& before, const SyrkArgs<T>& result,
                const SyrkArgs<T>& reference, const Ending& ending) {
  return judge(by.site, before, result.C, reference.C, ending);
}
template <class T>
Judgement judge(const JudgingLibrary& by, const Syr2kArgs<T>& before, const Syr2kArgs<T>& result,
                const Syr2kArgs<T>& reference, const Ending& ending) {
  return judge(by.site, before, result.C, reference.C, ending);
}
template <class T>
Judgement judge(const JudgingLibrary& by, const GemmtArgs<T>& before, const GemmtArgs<T>& result,
                const GemmtArgs<T>& reference, const Ending& ending) {
  return judge(*by.beside[0], before, result.C, reference.C, ending);
}
template <class T>
Judgement judge(const JudgingLibrary& by, const GemmBatchArgs<T>& before, const GemmBatchArgs<T>& result,
                const GemmBatchArgs<T>& reference, const Ending& ending) {
  return judge(*by.beside[0], before, result.C, reference.C, ending);
}
template <class T>
Judgement judge(const JudgingLibrary& by, const SymmArgs<T>& before, const SymmArgs<T>& result,
                const SymmArgs<T>& reference, const Ending& ending) {
  return judge(*by.beside[0], before, result.C, reference.C, ending);
}
template <class T>
Judgement judge(const JudgingLibrary& by, const TrmmArgs<T>& before, const TrmmArgs<T>& result,
                const TrmmArgs<T>& reference, const Ending& ending) {
  return judge(*by.beside[0], before, result.B, reference.B, ending);
}
template <class T>
Judgement judge(const JudgingLibrary& by, const SymvArgs<T>& before, const SymvArgs<T>& result,
                const SymvArgs<T>& reference, const Ending& ending) {
  return judge(by.site, before, result.y, reference.y, ending);
}
template <class T>
Judgement judge(const JudgingLibrary& by, const GemvArgs<T>& before, const GemvArgs<T>& result,
                const GemvArgs<T>& reference, const Ending& ending) {
  return judge(by.site, before, result.y, reference.y, ending);
}
template <class T>
Judgement judge(const JudgingLibrary& by, const GeqrfArgs<T>& before, const GeqrfArgs<T>& result, const GeqrfArgs<T>&,
                const Ending&) {
  return judge(by, before, result);
}
template <class T>
Judgement judge(const JudgingLibrary&, const OrmqrArgs<T>& before, const OrmqrArgs<T>& result,
                const OrmqrArgs<T>& reference, const Ending&) {
  return judge(before, result.C, reference.C);
}

// A Judging's with.
/// A product of matrices.
template <class T>
std::vector<Routine> judged_with_products() {
  std::vector<Routine> routines;
#define GEMM(name, type) \
  if (std::is_same_v<T, type>) routines.push_back(Routine::name);
#include "api/routines.def"
  return routines;
}
enum { by_ormqr, by_orgqr, by_gemm, by_geqrf };
template <class T>
std::vector<Routine> judged_with_qr();

/// A Judging's of_oracle.
template <class T>
Routine product_of_oracle() {
  return judged_with_products<T>().front();
}

// A Judging's same_as.
template <class T>
std::optional<Routine> same_as(const GeqrfArgs<T>&);
template <class T>
std::optional<Routine> same_as(const OrmqrArgs<T>&);

template <class Args, class Repeat>
class CheckableCall final : public Checkable {
 public:
  CheckableCall(const Args& args, bool overlap, Replay replay, const Judging<Args>& judging, const Repeat& repeat)
      : args_(args), replay_(replay), judging_(judging), repeat_(repeat) {
    operands = operands_of(args);
    arguments = to_words(args);
    overlaps = overlap;
    if (judging.alone) alone = judging.alone(args);
    if (judging.same_as) same_as = judging.same_as(args);
    if (judging.of_oracle) of_oracle = judging.of_oracle();
    if (judging.with) beside = judging.with();
  }

  void underneath(void* const* at) const override { replay_.elsewhere(at); }
  bool by(const Site& oracle, void* const* at) const override {
    if (alone) return oracle.wide || signatures::is_narrow(described(args_));
    const Args args = with_operands(args_, at);
    return judging_.reference ? judging_.reference(oracle, args) : call_by(oracle, args);
  }
  Ending on_device(void* const* at, const Decision& decision) const override {
    return repeat_(with_operands(args_, at), decision);
  }
  Judgement judge(const JudgingLibrary& by, void* const* before, void* const* result, void* const* reference,
                  const Ending& ending) const override {
    return judging_.judge(by, with_operands(args_, before), with_operands(args_, result),
                          alone ? args_ : with_operands(args_, reference), ending);
  }

 private:
  const Args& args_;
  const Replay replay_;
  const Judging<Args> judging_;
  const Repeat repeat_;
};

/// What take_route asks for; some families have their own.
/// @param args    live as long as the call
/// @param replay  without other operands, if its results are not those that Args describe
/// @param repeat  Ending(const Args&, const Decision&): the call on the device, of other operands, as decided before;
///                nothing of it is counted, learned or kept
template <class Args, class Repeat>
std::unique_ptr<Checkable> checkable(const Args& args, bool overlaps, Replay replay, const Judging<Args>& judging,
                                     const Repeat& repeat) {
  return std::make_unique<CheckableCall<Args, Repeat>>(args, overlaps, replay, judging, repeat);
}

}  // namespace blaslift
