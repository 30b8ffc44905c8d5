// [sdcz]copy in every set of names.
#include "impl/copy/copy.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, BlasCall<CopySignature<T>, blaslift::copy<T>>)
#define COPY(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type) BLASLIFT_CBLAS_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
