// [sdcz]potrf in every set of names.
#include "impl/cholesky/potrf.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<PotrfSignature<T>, potrf<T>>)
#define POTRF(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
