// ssytrd, dsytrd, chetrd and zhetrd by all their names.
#include "impl/eigen/sytrd.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<SytrdSignature<T>, sytrd<T>>)
#define SYTRD(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
