// Least squares of full rank.
#include "tests/promises/suite/least_squares.hpp"

namespace suite {
namespace {

template <class T>
using Gels = LeastSquares<T, By::full_rank>;

JOIN(gels, Gels<float>, Gels<double>, Gels<std::complex<float>>, Gels<std::complex<double>>);

}  // namespace
}  // namespace suite
