// sgesdd, dgesdd, cgesdd and zgesdd by all their names.
#include "impl/svd/gesdd.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<GesddSignature<T>, svd<T>>)
#define GESDD(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
