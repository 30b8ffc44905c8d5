// What is called where no library underneath has a function: the reference's loops, plain and slow.  Batches of
// products call a library's gemm, if there is one.
#pragma once
#include "compat/symbols.hpp"

namespace blaslift {

/// A library's gemm with Fortran's interface; a null function: there is none.
struct LibraryGemm {
  void* function;
  bool wide;  ///< 64-bit integers
};
using FindGemm = LibraryGemm (*)(Symbol gemm);

/// The function that computes `symbol` without any library that has it, with that symbol's arguments.
/// @param wide  64-bit integers, whatever the name says
/// @param find  whom batches ask whenever one is called, the same for all of them; null: they are loops, too
void* builtin(Symbol symbol, bool wide, FindGemm find = nullptr);

}  // namespace blaslift
