// [sdcz]syr2k and [cz]her2k in every set of names.
#include "api/entries.hpp"
#include "impl/product/gemm.hpp"

using namespace blaslift;

#define OF_SYR2K(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, BlasCall<Syr2kSignature<T>, syr2k<T>>)
#define OF_HER2K(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, BlasCall<Her2kSignature<T>, syr2k<T>>)
#define SYR2K(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_SYR2K, name, type) BLASLIFT_CBLAS_SYMBOLS(OF_SYR2K, name, type)
#define HER2K(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_HER2K, name, type) BLASLIFT_CBLAS_SYMBOLS(OF_HER2K, name, type)
#include "api/routines.def"
