// [sd]ormqr, [cz]unmqr, [sd]ormlq, [cz]unmlq, [sd]orgqr and [cz]ungqr in every set of names.
#include "impl/qr/ormqr.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define OF_ORMQR(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, LapackCall<OrmqrSignature<T>, ormqr<T>>)
#define OF_ORMLQ(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, LapackCall<OrmlqSignature<T>, ormqr<T>>)
#define OF_ORGQR(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, LapackCall<OrgqrSignature<T>, ormqr<T>>)
#define ORMQR(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_ORMQR, name, type)
#define ORMLQ(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_ORMLQ, name, type)
#define ORGQR(name, type) BLASLIFT_FORTRAN_SYMBOLS(OF_ORGQR, name, type)
#include "api/routines.def"
