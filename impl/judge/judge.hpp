// What a correct result may differ by, and a routine's calls as verification takes them.
//
// A routine that verification is to look at has a judge() for its Args, which take_route finds by checkable().
#pragma once
#include <memory>
#include <optional>
#include <utility>

#include "impl/core/signatures.hpp"
#include "impl/route/replay.hpp"
#include "impl/route/verify.hpp"

namespace blaslift {

/// Factors are judged by what they give back: there is no reference.
template <class Args>
inline constexpr bool stands_alone = false;
template <class T>
inline constexpr bool stands_alone<GeqrfArgs<T>> = true;
template <class T>
inline constexpr bool stands_alone<PotrfArgs<T>> = true;
template <class T>
inline constexpr bool stands_alone<GetrfArgs<T>> = true;
template <class T>
inline constexpr bool stands_alone<SystemArgs<T>> = true;
template <class T>
inline constexpr bool stands_alone<GebrdArgs<T>> = true;
template <class T>
inline constexpr bool stands_alone<SytrdArgs<T>> = true;
template <class T>
inline constexpr bool stands_alone<GehrdArgs<T>> = true;
template <class T>
inline constexpr bool stands_alone<GeevArgs<T>> = true;

/// The same of one call.
template <class Args>
bool is_alone(const Args&) {
  return stands_alone<Args>;
}
template <class T>
bool is_alone(const SyevdArgs<T>& args) {
  return args.vectors && args.shape().all();
}

template <class T>
bool is_alone(const SygvArgs<T>& args) {
  return is_alone(args.eigen);
}
template <class T>
bool is_alone(const SvdArgs<T>& args) {
  return args.shape().both_sides();
}

/// The call by a library that has the routine's symbol, if its result is needed; false if its integers are too narrow
/// for the sizes.
template <class Args>
bool call_for_reference(const Site& library, const Args& args) {
  if (is_alone(args)) return library.wide || with_signature(args, [&](auto s) { return is_narrow<decltype(s)>(args); });
  return call_by(library, args);
}
/// By products of the library's gemm: not every library has this routine.
template <class T>
bool call_by_products(const Site& gemm, const GemmtArgs<T>& args);
template <class T>
bool call_by_products(const Site& gemm, const GemmBatchArgs<T>& args);
template <class T>
bool call_for_reference(const Site& gemm, const GemmtArgs<T>& args) {
  return call_by_products(gemm, args);
}
template <class T>
bool call_for_reference(const Site& gemm, const GemmBatchArgs<T>& args) {
  return call_by_products(gemm, args);
}
/// y := alpha * conj(A) * x + beta * y by the Fortran symbol, which does not say that: of conjugates, and conjugated.
template <class Args>
bool call_conjugated(const Site& library, Args args);
template <class T, template <class> class Args>
bool call_vector_product(const Site& library, const Args<T>& args) {
  if constexpr (is_complex(precision_of<T>))
    if (args.conjugated && info(library.symbol).interface == Interface::fortran) return call_conjugated(library, args);
  return call_by(library, args);
}
template <class T>
bool call_for_reference(const Site& library, const SymvArgs<T>& args) {
  return call_vector_product(library, args);
}
template <class T>
bool call_for_reference(const Site& library, const GemvArgs<T>& args) {
  return call_vector_product(library, args);
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

/// What a judgement takes besides the routine itself; in this order.
template <class Args>
std::vector<Routine> judged_with(const Args&) {
  return {};
}
/// A product of matrices.
template <class T>
std::vector<Routine> judged_with_products() {
  std::vector<Routine> routines;
#define GEMM(name, type) \
  if (std::is_same_v<T, type>) routines.push_back(Routine::name);
#include "api/routines.def"
  return routines;
}
enum { by_ormqr, by_orgqr, by_gemm };
template <class T>
std::vector<Routine> judged_with(const GeqrfArgs<T>&);
template <class T>
std::vector<Routine> judged_with(const GemmtArgs<T>&) {
  return judged_with_products<T>();
}

template <class T>
std::vector<Routine> judged_with(const GemmBatchArgs<T>&) {
  return judged_with_products<T>();
}

template <class T>
std::vector<Routine> judged_with(const SymmArgs<T>&) {
  return judged_with_products<T>();
}

template <class T>
std::vector<Routine> judged_with(const TrmmArgs<T>&) {
  return judged_with_products<T>();
}

/// The routine whose operands these are, where several have them.
template <class Args>
std::optional<Routine> same_as(const Args&) {
  return std::nullopt;
}
template <class T>
std::optional<Routine> same_as(const GeqrfArgs<T>&);
template <class T>
std::optional<Routine> same_as(const OrmqrArgs<T>&);

/// The routine by which an oracle makes the reference, where few libraries have the call's own.
template <class Args>
std::optional<Routine> of_oracle(const Args&) {
  return std::nullopt;
}
/// Also of gemm3m.
template <class T>
std::optional<Routine> of_oracle(const GemmArgs<T>&) {
  return judged_with_products<T>().front();
}
template <class T>
std::optional<Routine> of_oracle(const GemmtArgs<T>&) {
  return judged_with_products<T>().front();
}
template <class T>
std::optional<Routine> of_oracle(const GemmBatchArgs<T>&) {
  return judged_with_products<T>().front();
}

/// By whatever judge() there is for Args.
template <class Args>
Judgement judgement_of(const JudgingLibrary& by, const Args& before, const Args& result, const Args& reference,
                       const Ending& ending) {
  return judge(by, before, result, reference, ending);
}
template <class Args>
std::vector<Routine> judged_beside(const Args& args) {
  return judged_with(args);
}

template <class Args, class Repeat>
class CheckableCall final : public Checkable {
 public:
  CheckableCall(const Args& args, bool overlap, Replay replay, const Repeat& repeat)
      : args_(args), replay_(replay), repeat_(repeat) {
    operands = operands_of(args);
    arguments = to_words(args);
    overlaps = overlap;
    alone = is_alone(args);
    same_as = blaslift::same_as(args);
    of_oracle = blaslift::of_oracle(args);
    beside = judged_beside(args);
  }

  void underneath(void* const* at) const override { replay_.elsewhere(at); }
  bool by(const Site& oracle, void* const* at) const override {
    return call_for_reference(oracle, alone ? args_ : with_operands(args_, at));
  }
  Ending on_device(void* const* at, const Decision& decision) const override {
    return repeat_(with_operands(args_, at), decision);
  }
  Judgement judge(const JudgingLibrary& by, void* const* before, void* const* result, void* const* reference,
                  const Ending& ending) const override {
    return judgement_of(by, with_operands(args_, before), with_operands(args_, result),
                        alone ? args_ : with_operands(args_, reference), ending);
  }

 private:
  const Args& args_;
  const Replay replay_;
  const Repeat repeat_;
};

/// @param args    live as long as the call
/// @param replay  without other operands, if its results are not those that Args describe
/// @param repeat  Ending(const Args&, const Decision&): the call on the device, of other operands, as decided before;
///                nothing of it is counted, learned or kept
template <class Args, class Repeat>
std::unique_ptr<Checkable> checkable(const Args& args, bool overlaps, Replay replay, const Repeat& repeat) {
  return std::make_unique<CheckableCall<Args, Repeat>>(args, overlaps, replay, repeat);
}

}  // namespace blaslift
