// Least squares, by a QR with pivoting.
#include "tests/promises/suite/least_squares.hpp"

namespace suite {
namespace {

template <class T>
using Gelsy = LeastSquares<T, By::pivots>;

JOIN(gelsy, Gelsy<float>, Gelsy<double>, Gelsy<std::complex<float>>, Gelsy<std::complex<double>>);

}  // namespace
}  // namespace suite
