// Singular values and vectors, by division into halves.
#include "tests/promises/suite/svd.hpp"

namespace suite {
namespace {

template <class T>
using Gesdd = SingularValues<T, true>;

JOIN(gesdd, Gesdd<float>, Gesdd<double>, Gesdd<std::complex<float>>, Gesdd<std::complex<double>>);

}  // namespace
}  // namespace suite
