// [sdcz]syrk and [cz]herk in every set of names.
#include "api/entries.hpp"
#include "impl/product/gemm.hpp"

using namespace blaslift;

#define OF_SYRK(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, BlasCall<SyrkSignature<T>, syrk<T>>)
#define OF_HERK(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, BlasCall<HerkSignature<T>, syrk<T>>)
#define SYRK(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_SYRK, name, type) BLASLIFT_CBLAS_SYMBOLS(OF_SYRK, name, type)
#define HERK(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_HERK, name, type) BLASLIFT_CBLAS_SYMBOLS(OF_HERK, name, type)
#include "api/routines.def"
