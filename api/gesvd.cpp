// sgesvd, dgesvd, cgesvd and zgesvd by all their names.
#include "impl/svd/gesdd.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<GesvdSignature<T>, svd<T>>)
#define GESVD(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
