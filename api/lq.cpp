// [sdcz]gelqf, [sd]orglq and [cz]unglq by all their names.
#include "impl/qr/lq.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define OF_GELQF(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<GelqfSignature<T>, lq<T>>)
#define OF_ORGLQ(symbol, name, T, interface, width, prefix) BLASLIFT_ENTRY(symbol, LapackCall<OrglqSignature<T>, lq<T>>)
#define GELQF(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_GELQF, name, type)
#define ORGLQ(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_ORGLQ, name, type)
#include "api/routines.def"
