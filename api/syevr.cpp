// ssyevr, dsyevr, cheevr and zheevr by all their names.
#include "impl/eigen/syevd.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<SyevrSignature<T>, syevd<T>>)
#define SYEVR(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
