// [sd]symv and [cz]hemv in every set of names.
#include "impl/symv/symv.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, BlasCall<SymvSignature<T>, symv<T>>)
#define SYMV(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type) BLASLIFT_CBLAS_SYMBOLS(ENTRY, name, type)
#define HEMV(name, type) SYMV(name, type)
#include "api/routines.def"
