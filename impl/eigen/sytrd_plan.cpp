#include "impl/eigen/sytrd_plan.hpp"

#include <utility>
#include <vector>

namespace blaslift {
namespace {

enum { operand_a };

// Matrices of A's size: A, what a device's library has in its place, and what that works in.
constexpr double matrices = 3;

}  // namespace

bool sytrd_fits(index n, Precision precision, std::size_t memory) {
  const double order = static_cast<double>(n);
  return matrices * order * order * static_cast<double>(element_size(precision)) <= static_cast<double>(memory);
}

Plan plan_sytrd(Uplo uplo, index n, Precision precision, bool a_in_place) {
  const index reals = elements_of_reals(n, precision);
  const Block all{0, 0, n, n};
  const Part part = part_of(uplo);
  Plan plan;
  plan.operands = {{"A", n, n, true, false, part}};
  const Plan::Origin a{a_in_place ? plan.add_own_area(operand_a) : plan.add_area("A", n, n), operand_a};
  plan.upload(a, all);
  std::vector<Plan::Access> accesses{Plan::update(a, all)};
  accesses[0].part = part;
  std::vector<std::pair<Plan::Origin, Block>> found;
  for (const auto& [name, rows] :
       {std::pair("d", reals), std::pair("e", reals), std::pair("tau", n), std::pair("failed", index{1})}) {
    const auto operand = static_cast<int>(plan.operands.size());
    plan.operands.push_back({name, rows, 1, true, true});
    found.push_back({{plan.add_area(name, rows, 1), operand}, {0, 0, rows, 1}});
    accesses.push_back(Plan::access(found.back().first, found.back().second, AccessMode::write));
  }
  plan.compute(Sytrd{.precision = precision,
                     .uplo = uplo,
                     .n = n,
                     .A = nullptr,
                     .lda = 0,
                     .d = nullptr,
                     .e = nullptr,
                     .tau = nullptr,
                     .failed = nullptr},
               std::move(accesses), Scalar::one);
  plan.download(a, all);
  for (const auto& [origin, block] : found) plan.download(origin, block);
  plan.after = order_of(plan);
  return plan;
}

}  // namespace blaslift
