// What is called where no library underneath has a function: the reference's loops, plain and slow.
#pragma once
#include "compat/symbols.hpp"

namespace blaslift {

/// The function that computes `symbol` without any library, with that symbol's arguments.
/// @param wide  64-bit integers, whatever the name says
void* builtin(Symbol symbol, bool wide);

}  // namespace blaslift
