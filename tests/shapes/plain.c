// What tells the plugins made of caller.c apart: the width of their integers.  A 32-bit integer is followed by garbage,
// which makes an impossible size of it for a library that reads 64 bits; the leading dimension with 64 bits is one that
// reads 0 in 32 bits, which no BLAS accepts.
#include <stdint.h>
#ifdef WIDE
const int64_t caller_one = 1, caller_large = 0x100000000;
const char* const caller_name = "the plugin with 64-bit integers";
#else
const int64_t caller_one = 0x7ffffff000000001, caller_large = 0x7ffffff000000002;
const char* const caller_name = "the plugin with 32-bit integers";
#endif
const double caller_expected = 6;
