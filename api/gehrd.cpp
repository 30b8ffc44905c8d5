// sgehrd, dgehrd, cgehrd and zgehrd by all their names.
#include "impl/eigen/gehrd.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<GehrdSignature<T>, gehrd<T>>)
#define GEHRD(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
