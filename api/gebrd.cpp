// sgebrd, dgebrd, cgebrd and zgebrd by all their names.
#include "impl/svd/gebrd.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<GebrdSignature<T>, gebrd<T>>)
#define GEBRD(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
