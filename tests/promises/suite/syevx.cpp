// Eigenvalues, all or some, and their vectors in another matrix: bisection.
#include "tests/promises/suite/eigen.hpp"

namespace suite {
namespace {

template <class T>
using Syevx = SomeEigenvalues<T, true>;

JOIN(syevx, Syevx<float>, Syevx<double>, Syevx<std::complex<float>>, Syevx<std::complex<double>>);

}  // namespace
}  // namespace suite
