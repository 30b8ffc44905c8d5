// Least squares, by singular values, found by division into halves.
#include "tests/promises/suite/least_squares.hpp"

namespace suite {
namespace {

template <class T>
using Gelsd = LeastSquares<T, By::halves>;

JOIN(gelsd, Gelsd<float>, Gelsd<double>, Gelsd<std::complex<float>>, Gelsd<std::complex<double>>);

}  // namespace
}  // namespace suite
