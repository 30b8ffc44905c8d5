// Least squares, by singular values, found by QR iteration.
#include "tests/promises/suite/least_squares.hpp"

namespace suite {
namespace {

template <class T>
using Gelss = LeastSquares<T, By::iterations>;

JOIN(gelss, Gelss<float>, Gelss<double>, Gelss<std::complex<float>>, Gelss<std::complex<double>>);

}  // namespace
}  // namespace suite
