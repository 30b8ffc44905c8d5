// [sdcz]trmm in every set of names.
#include "impl/product/trmm.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, BlasCall<TrmmSignature<T>, trmm<T>>)
#define TRMM(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type) BLASLIFT_CBLAS_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
