// What a correct result may differ by, and a routine's calls as verification takes them.
//
// A routine that verification is to look at has the functions below for its Args, and passes checkable(...) to
// take_route.
#pragma once
#include <memory>
#include <utility>

#include "impl/args.hpp"
#include "impl/replay.hpp"
#include "impl/verify.hpp"

namespace blaslift {

/// Operands in Args's order.
template <class T>
std::vector<CheckedOperand> operands_of(const GemmArgs<T>& args);
template <class T>
std::vector<CheckedOperand> operands_of(const SyrkArgs<T>& args);
template <class T>
std::vector<CheckedOperand> operands_of(const SymvArgs<T>& args);

/// The call with operands at other addresses.
template <class T>
GemmArgs<T> with_operands(GemmArgs<T> args, void* const* at);
template <class T>
SyrkArgs<T> with_operands(SyrkArgs<T> args, void* const* at);
template <class T>
SymvArgs<T> with_operands(SymvArgs<T> args, void* const* at);

/// Everything but the addresses, in words of name=value, numbers to the last digit.
template <class T>
std::string to_words(const GemmArgs<T>& args);
template <class T>
std::string to_words(const SyrkArgs<T>& args);
template <class T>
std::string to_words(const SymvArgs<T>& args);

/// The call by a library that has the routine's Fortran symbol; false if its integers are too narrow for the sizes.
template <class T>
bool call_by(const Site& library, const GemmArgs<T>& args);
template <class T>
bool call_by(const Site& library, const SyrkArgs<T>& args);
template <class T>
bool call_by(const Site& library, const SymvArgs<T>& args);

/// BLAS's own test ratio: the largest of |result - reference| / (eps (|alpha| |op(A)| |op(B)| + |beta| |C|)), element
/// by element (dblat3's DMMCH).  However they order their sums, two classical products differ by at most k + 2 of these
/// units, complex ones (of |re| + |im|) by 2 k + 5 (Higham, Accuracy and Stability, 3.5).  For a product by levels the
/// unit contains what these may be off by (docs/levels.md).  Inf and NaN have to be where the reference has them.
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

/// What of Args is written.
template <class T>
const T* output_of(const GemmArgs<T>& args) {
  return args.C;
}
template <class T>
const T* output_of(const SyrkArgs<T>& args) {
  return args.C;
}
template <class T>
const T* output_of(const SymvArgs<T>& args) {
  return args.y;
}

template <class Args, class Repeat>
class CheckableCall final : public Checkable {
 public:
  CheckableCall(const Args& args, bool overlap, Replay replay, const Repeat& repeat)
      : args_(args), replay_(replay), repeat_(repeat) {
    operands = operands_of(args);
    arguments = to_words(args);
    overlaps = overlap;
  }

  void underneath(void* const* at) const override { replay_.elsewhere(at); }
  bool by(const Site& oracle, void* const* at) const override { return call_by(oracle, with_operands(args_, at)); }
  Ending on_device(void* const* at, const Decision& decision) const override {
    return repeat_(with_operands(args_, at), decision);
  }
  Judgement judge(const Site& by, void* const* before, const void* result, const void* reference,
                  const Ending& ending) const override {
    using Element = decltype(output_of(args_));
    return blaslift::judge(by, with_operands(args_, before), static_cast<Element>(result),
                           static_cast<Element>(reference), ending);
  }

 private:
  const Args& args_;
  const Replay replay_;
  const Repeat repeat_;
};

/// @param args    live as long as the call
/// @param repeat  Ending(const Args&, const Decision&): the call on the device, of other operands, as decided before;
///                nothing of it is counted, learned or kept
template <class Args, class Repeat>
std::unique_ptr<Checkable> checkable(const Args& args, bool overlaps, Replay replay, const Repeat& repeat) {
  return std::make_unique<CheckableCall<Args, Repeat>>(args, overlaps, replay, repeat);
}

}  // namespace blaslift
