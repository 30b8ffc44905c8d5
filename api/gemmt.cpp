// [sdcz]gemmt and, by its other name, [sdcz]gemmtr in every set of names.
#include "api/entries.hpp"
#include "impl/product/gemm.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, BlasCall<GemmtSignature<T>, gemmt<T>>)
#define GEMMT(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type) BLASLIFT_CBLAS_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
