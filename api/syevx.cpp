// ssyevx, dsyevx, cheevx and zheevx by all their names.
#include "impl/eigen/syevd.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<SyevxSignature<T>, syevd<T>>)
#define SYEVX(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
