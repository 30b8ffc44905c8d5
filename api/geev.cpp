// sgeev, dgeev, cgeev and zgeev by all their names.
#include "impl/eigen/geev.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<GeevSignature<T>, geev<T>>)
#define GEEV(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
