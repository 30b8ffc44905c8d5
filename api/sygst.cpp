// ssygst, dsygst, chegst and zhegst by all their names.
#include "impl/solve/sygst.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<SygstSignature<T>, sygst<T>>)
#define SYGST(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
