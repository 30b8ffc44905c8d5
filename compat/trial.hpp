// Whether a function that we are about to call is one, or goes on to us: switches between libraries, wrappers and
// profilers do, by whatever name and way.  Told by what it does with a product of no size.
#pragma once
#include <cstdint>

#include "compat/symbols.hpp"

namespace blaslift {

/// Calls `function`, which stands under the name of `symbol`, with sizes of zero.
/// @return whether that has called us by the same name
bool comes_back(Symbol symbol, void* function);

/// For whoever resolves a call: whether it belongs to a trial of this thread's, and is to do nothing.  Notes it.
bool answers_trial(Symbol symbol);

/// A function that goes on to us.
/// @param start, end  its object
/// @param always  by a tail call, or from elsewhere: nobody's call may reach it, or it would not return.  False: from
/// its
///     own body, where its call has a site of its own.
void note_goes_on(const void* function, std::uintptr_t start, std::uintptr_t end, bool always);

/// Whether a call from `caller` must not reach `function`, because it goes on to us.
bool goes_on(const void* function, const void* caller);

/// It does not, after all.
void forget_goes_on(const void* function);

/// What is noted of functions in an object that is unloaded.
void forget_goes_on(std::uintptr_t start, std::uintptr_t end);

/// The latest first calls of each thread, as far as they are remembered.
struct FirstCall {
  Symbol symbol;
  const void* function;
  const void* caller;
  std::uintptr_t frame;  ///< where it stands on the stack
};
void note_first_call(const FirstCall& call);
/// Whether one to this function may have led to this one: it stands deeper on the same thread's stack.
bool may_be_inside(const FirstCall& call);
/// Whether there was this one before, and it has returned.
bool seen_before(const FirstCall& call);

}  // namespace blaslift
