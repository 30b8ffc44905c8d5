// Fortran's letters and CBLAS's numbers.  False: neither is what the reference knows.
#pragma once
#include "kernels/types.hpp"

namespace blaslift {

inline constexpr int row_major = 101, column_major = 102;

inline bool parse_op(char c, Op& op) {
  switch (c) {
    case 'N':
    case 'n': return op = Op::none, true;
    case 'T':
    case 't': return op = Op::transpose, true;
    case 'C':
    case 'c': return op = Op::conjugate, true;
    default: return false;
  }
}

inline bool parse_op(int code, Op& op) {
  switch (code) {
    case 111: return op = Op::none, true;
    case 112: return op = Op::transpose, true;
    case 113: return op = Op::conjugate, true;
    default: return false;
  }
}

inline bool parse_uplo(char c, Uplo& uplo) {
  switch (c) {
    case 'U':
    case 'u': return uplo = Uplo::upper, true;
    case 'L':
    case 'l': return uplo = Uplo::lower, true;
    default: return false;
  }
}

inline bool parse_uplo(int code, Uplo& uplo) {
  switch (code) {
    case 121: return uplo = Uplo::upper, true;
    case 122: return uplo = Uplo::lower, true;
    default: return false;
  }
}

/// One of two letters, of either case.
inline bool parse_either(char c, char no, char yes, bool& is) {
  const char upper = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  is = upper == yes;
  return is || upper == no;
}

inline Uplo other(Uplo uplo) { return uplo == Uplo::upper ? Uplo::lower : Uplo::upper; }

}  // namespace blaslift
