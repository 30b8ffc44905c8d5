// [sd]symv and [cz]hemv in every set of names, and LAPACK's [cz]symv.
#include "impl/symv/symv.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, BlasCall<SymvSignature<T>, symv<T>>)
#define SYMV(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type) BLASLIFT_CBLAS_SYMBOLS(ENTRY, name, type)
#define HEMV(name, type) SYMV(name, type)
#define CSYMV_ENTRY(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, BlasCall<CsymvSignature<T>, symv<T>>)
#define CSYMV(name, type) BLASLIFT_FORTRAN_SYMBOLS(CSYMV_ENTRY, name, type)
#include "api/routines.def"
