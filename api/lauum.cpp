// slauum, dlauum, clauum and zlauum by all their names.
#include "impl/solve/inverse.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, LapackCall<LauumSignature<T>, invert<T>>)
#define LAUUM(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
