#include "impl/eigen/syevd_plan.hpp"

namespace blaslift {
namespace {

enum { operand_a, operand_w, operand_failed };

// Matrices of A's size beside A: those that a device's library works in (cuSOLVER 12.0 in 4.2 at an order of 1,024, in
// 4.0 at 16,384 and above), and without vectors a copy, since that library destroys it.
constexpr double beside_with_vectors = 4.2, beside = 5.2;

}  // namespace

bool syevd_fits(index n, Precision precision, bool vectors, std::size_t memory) {
  const double order = static_cast<double>(n), bytes = order * order * static_cast<double>(element_size(precision));
  return bytes * (1 + (vectors ? beside_with_vectors : beside)) <= static_cast<double>(memory);
}

Plan plan_syevd(bool vectors, Uplo uplo, index n, Precision precision, bool a_in_place, bool w_in_place) {
  const index count = elements_of_reals(n, precision);
  const Part part = part_of(uplo);
  Plan plan;
  plan.operands = {{"A", n, n, vectors, false, vectors ? Part::whole : part},
                   {"w", count, 1, true, true},
                   {"failed", 1, 1, true, true}};
  const Plan::Origin a{a_in_place ? plan.add_own_area(operand_a) : plan.add_area("A", n, n), operand_a},
      w{w_in_place ? plan.add_own_area(operand_w) : plan.add_area("w", count, 1), operand_w},
      failed{plan.add_area("failed", 1, 1), operand_failed};
  const Block all{0, 0, n, n}, values{0, 0, count, 1}, one{0, 0, 1, 1};
  plan.upload(a, all);
  plan.compute(Syevd{.precision = precision,
                     .vectors = vectors,
                     .uplo = uplo,
                     .n = n,
                     .A = nullptr,
                     .lda = 0,
                     .w = nullptr,
                     .failed = nullptr},
               {vectors ? Plan::update(a, all) : Plan::read(a, all, part), Plan::access(w, values, AccessMode::write),
                Plan::access(failed, one, AccessMode::write)},
               Scalar::one);
  if (vectors) plan.download(a, all);
  plan.download(w, values);
  plan.download(failed, one);
  plan.after = order_of(plan);
  return plan;
}

}  // namespace blaslift
