// The precisions that typed tests are made for.
#pragma once
#include <gtest/gtest.h>

#include <complex>

namespace blaslift {

/// A real one and a complex one: what is tested by types is the same template in all four.  The other two have their
/// turn with sanitizers, and in the long run, for which this takes a third longer to compile.
#if defined(BLASLIFT_ALL_PRECISIONS)
using Precisions = testing::Types<float, double, std::complex<float>, std::complex<double>>;
#elif defined(BLASLIFT_BRIEF_TESTS)
using Precisions = testing::Types<float, std::complex<double>>;
#else
using Precisions = testing::Types<double, std::complex<float>>;
#endif

}  // namespace blaslift
