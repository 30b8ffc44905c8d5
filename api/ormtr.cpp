// [sd]ormtr, [sd]orgtr, [sd]ormhr, [sd]orghr, [sd]ormbr, [sd]orgbr, and [cz]unmtr and so on, in every set of names.
#include "api/entries.hpp"
#include "impl/qr/ormqr.hpp"

using namespace blaslift;

#define OF_ORMTR(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, LapackCall<OrmtrSignature<T>, ormtr<T>>)
#define OF_ORGTR(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, LapackCall<OrgtrSignature<T>, ormtr<T>>)
#define OF_ORMHR(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, LapackCall<OrmhrSignature<T>, ormtr<T>>)
#define OF_ORGHR(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, LapackCall<OrghrSignature<T>, ormtr<T>>)
#define OF_ORMBR(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, LapackCall<OrmbrSignature<T>, ormtr<T>>)
#define OF_ORGBR(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, LapackCall<OrgbrSignature<T>, ormtr<T>>)
#define ORMTR(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_ORMTR, name, type)
#define ORGTR(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_ORGTR, name, type)
#define ORMHR(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_ORMHR, name, type)
#define ORGHR(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_ORGHR, name, type)
#define ORMBR(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_ORMBR, name, type)
#define ORGBR(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_ORGBR, name, type)
#include "api/routines.def"
