// strtrs, dtrtrs, ctrtrs and ztrtrs by all their names.
#include "impl/solve/trsm.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<TrtrsSignature<T>, trsm<T>>)
#define TRTRS(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
