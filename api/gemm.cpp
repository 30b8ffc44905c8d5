// [sdcz]gemm and [cz]gemm3m in every set of names.
#include "impl/product/gemm.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, BlasCall<GemmSignature<T>, gemm<T>>)
#define GEMM(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type) BLASLIFT_CBLAS_SYMBOLS(ENTRY, name, type)
// The same product, which may be computed by three real ones: here it is as accurate as the other.
#define GEMM3M(name, type) GEMM(name, type)
#include "api/routines.def"
