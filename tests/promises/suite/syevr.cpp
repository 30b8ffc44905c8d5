// Eigenvalues, all or some, and their vectors in another matrix: robust representations.
#include "tests/promises/suite/eigen.hpp"

namespace suite {
namespace {

template <class T>
using Syevr = SomeEigenvalues<T, false>;

JOIN(syevr, Syevr<float>, Syevr<double>, Syevr<std::complex<float>>, Syevr<std::complex<double>>);

}  // namespace
}  // namespace suite
