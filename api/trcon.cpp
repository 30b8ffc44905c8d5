// strcon, dtrcon, ctrcon and ztrcon by all their names.
#include "impl/solve/condition.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, LapackCall<TrconSignature<T>, condition<T>>)
#define TRCON(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
