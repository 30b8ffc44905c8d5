// A x = w B x with a positive definite B. By division into halves.
#include "tests/promises/suite/generalized.hpp"

namespace suite {
namespace {

template <class T>
using Sygvd = AllGeneralized<T, true>;

JOIN(sygvd, Sygvd<float>, Sygvd<double>, Sygvd<std::complex<float>>, Sygvd<std::complex<double>>);

}  // namespace
}  // namespace suite
