// A x = w B x with a positive definite B. By QR iteration.
#include "tests/promises/suite/generalized.hpp"

namespace suite {
namespace {

template <class T>
using Sygv = AllGeneralized<T, false>;

JOIN(sygv, Sygv<float>, Sygv<double>, Sygv<std::complex<float>>, Sygv<std::complex<double>>);

}  // namespace
}  // namespace suite
