// levels_time for a machine without a GPU: see there.
#include "bench/levels_time.cu"
