// Singular values and vectors, by QR iteration.
#include "tests/promises/suite/svd.hpp"

namespace suite {
namespace {

template <class T>
using Gesvd = SingularValues<T, false>;

JOIN(gesvd, Gesvd<float>, Gesvd<double>, Gesvd<std::complex<float>>, Gesvd<std::complex<double>>);

}  // namespace
}  // namespace suite
