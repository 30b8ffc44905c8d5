// [sdcz]gemm_batch_strided in every set of names.
#include "api/entries.hpp"
#include "impl/product/batch.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, BlasCall<GemmBatchStridedSignature<T>, gemm_batch<T>>)
#define GEMM_BATCH_STRIDED(name, type) \
  BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type) BLASLIFT_CBLAS_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
