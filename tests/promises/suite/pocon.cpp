// The reciprocal condition number by A's factor by Cholesky.
#include "tests/promises/suite/condition.hpp"

namespace suite {
namespace {

template <class T>
struct Pocon : Condition<Pocon<T>, T, false> {
  using Condition<Pocon<T>, T, false>::Condition;
};

JOIN(pocon, Pocon<float>, Pocon<double>, Pocon<std::complex<float>>, Pocon<std::complex<double>>);

}  // namespace
}  // namespace suite
