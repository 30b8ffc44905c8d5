// ssygvx, dsygvx, chegvx and zhegvx by all their names.
#include "impl/solve/sygv.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<SygvxSignature<T>, sygv<T>>)
#define SYGVX(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
