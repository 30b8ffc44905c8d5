// ssyevd, dsyevd, cheevd and zheevd by all their names.
#include "impl/eigen/syevd.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<SyevdSignature<T>, syevd<T>>)
#define SYEVD(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
