// The precisions that typed tests are made for.
#pragma once
#include <gtest/gtest.h>

#include <complex>

namespace blaslift {

/// All four; with a sanitizer, which has the same templates to look at in each, one real and one complex.
#ifdef BLASLIFT_BRIEF_TESTS
using Precisions = testing::Types<float, std::complex<double>>;
#else
using Precisions = testing::Types<float, double, std::complex<float>, std::complex<double>>;
#endif

}  // namespace blaslift
