// For the plugin made of caller.c that brings a BLAS of its own (marker.c).
#include <stdint.h>
const int64_t caller_one = 1, caller_large = 2;
const double caller_expected = 42;
const char* const caller_name = "the plugin with a BLAS of its own";
