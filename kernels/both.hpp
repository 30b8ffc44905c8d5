// What host and device share.
#pragma once

#ifdef __CUDACC__
#define BLASLIFT_BOTH __host__ __device__
#else
#define BLASLIFT_BOTH
#endif
