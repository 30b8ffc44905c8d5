// The reciprocal condition number by A's factors by LU.
#include "tests/promises/suite/condition.hpp"

namespace suite {
namespace {

template <class T>
struct Gecon : Condition<Gecon<T>, T, true> {
  using Condition<Gecon<T>, T, true>::Condition;
};

JOIN(gecon, Gecon<float>, Gecon<double>, Gecon<std::complex<float>>, Gecon<std::complex<double>>);

}  // namespace
}  // namespace suite
