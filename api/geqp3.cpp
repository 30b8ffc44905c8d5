// sgeqp3, dgeqp3, cgeqp3 and zgeqp3 by all their names.
#include "impl/qr/geqp3.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<Geqp3Signature<T>, geqp3<T>>)
#define GEQP3(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
