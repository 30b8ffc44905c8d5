// sgelsy, dgelsy, cgelsy and zgelsy by all their names.
#include "impl/solve/least_squares.hpp"

#include "api/entries.hpp"

using namespace blaslift;

#define ENTRY(symbol, name, T, interface, width, prefix) \
  BLASLIFT_ENTRY(symbol, LapackCall<GelsySignature<T>, least_squares<T>>)
#define GELSY(name, type) BLASLIFT_FORTRAN_SYMBOLS(ENTRY, name, type)
#include "api/routines.def"
