// [sdcz]geqrf in every set of names.
#include "impl/qr/geqrf.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<GeqrfSignature<T>, geqrf<T>>)
#define GEQRF(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
