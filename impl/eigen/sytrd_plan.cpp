#include "impl/eigen/sytrd_plan.hpp"

#include "impl/plan/reduction.hpp"

namespace blaslift {
namespace {

// Matrices of A's size: A, what a device's library has in its place, and what that works in.
constexpr double matrices = 3;

}  // namespace

bool sytrd_fits(index n, Precision precision, std::size_t memory) {
  const double order = static_cast<double>(n);
  return matrices * order * order * static_cast<double>(element_size(precision)) <= static_cast<double>(memory);
}

Plan plan_sytrd(Uplo uplo, index n, Precision precision, bool a_in_place) {
  const index reals = elements_of_reals(n, precision);
  return plan_reduction(Sytrd{.precision = precision,
                              .uplo = uplo,
                              .n = n,
                              .A = nullptr,
                              .lda = 0,
                              .d = nullptr,
                              .e = nullptr,
                              .tau = nullptr,
                              .failed = nullptr},
                        n, n, part_of(uplo), {{"d", reals}, {"e", reals}, {"tau", n}}, a_in_place);
}

}  // namespace blaslift
