// A x = w B x with a positive definite B. Some, and their vectors in another matrix: by bisection.
#include "tests/promises/suite/generalized.hpp"

namespace suite {
namespace {

template <class T>
using Sygvx = SomeGeneralized<T>;

JOIN(sygvx, Sygvx<float>, Sygvx<double>, Sygvx<std::complex<float>>, Sygvx<std::complex<double>>);

}  // namespace
}  // namespace suite
