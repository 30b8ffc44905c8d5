// sgels, dgels, cgels and zgels by all their names.
#include "impl/solve/least_squares.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, LapackCall<GelsSignature<T>, least_squares<T>>)
#define GELS(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
