// The names under which one routine is called in the wild.  X(symbol, name, type, interface, width, prefix):
//   interface  fortran: every argument by address; cblas: sizes and real scalars by value, the layout of matrices
//              first; own: as blaslift.h has it, with no library underneath
//   width      probed: the name is used by 32- and 64-bit-integer libraries alike, so the library underneath is asked;
//              wide: the name itself promises 64-bit integers
//   prefix     what the library's other symbols (isamax) begin with
#pragma once

#define BLASLIFT_FORTRAN_SYMBOLS(X, name, type)             \
  X(name##_, name, type, fortran, probed, "")               \
  X(name##_64_, name, type, fortran, wide, "")              \
  X(scipy_##name##_, name, type, fortran, probed, "scipy_") \
  X(scipy_##name##_64_, name, type, fortran, wide, "scipy_")

#define BLASLIFT_CBLAS_SYMBOLS(X, name, type)                \
  X(cblas_##name, name, type, cblas, probed, "")             \
  X(cblas_##name##64_, name, type, cblas, wide, "")          \
  X(cblas_##name##_64, name, type, cblas, wide, "")          \
  X(scipy_cblas_##name, name, type, cblas, probed, "scipy_") \
  X(scipy_cblas_##name##64_, name, type, cblas, wide, "scipy_")

#define BLASLIFT_OWN_SYMBOLS(X, name, type) X(blaslift_##name, name, type, own, wide, "")
