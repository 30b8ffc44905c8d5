// levels_in_turns for a machine without a GPU: see there.
#include "bench/levels_in_turns.cu"
