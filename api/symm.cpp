// [sdcz]symm and [cz]hemm in every set of names.
#include "impl/product/symm.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define OF_SYMM(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, BlasCall<SymmSignature<T>, symm<T>>)
#define OF_HEMM(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, BlasCall<HemmSignature<T>, symm<T>>)
#define SYMM(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_SYMM, name, type) BLASLIFT_CBLAS_SYMBOLS(OF_SYMM, name, type)
#define HEMM(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_HEMM, name, type) BLASLIFT_CBLAS_SYMBOLS(OF_HEMM, name, type)
#include "api/routines.def"
