#include "impl/svd/gebrd_plan.hpp"

#include <algorithm>

namespace blaslift {
namespace {

enum { operand_a };

// Matrices of A's size beside A: what a device's library works in, and where it takes tall ones alone, A's adjoint.
constexpr double beside_tall = 1, beside_wide = 2;

}  // namespace

bool gebrd_fits(index m, index n, Precision precision, std::size_t memory) {
  const double bytes = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(element_size(precision));
  return bytes * (1 + (m >= n ? beside_tall : beside_wide)) <= static_cast<double>(memory);
}

Plan plan_gebrd(index m, index n, Precision precision, bool a_in_place) {
  const index count = std::min(m, n), reals = elements_of_reals(count, precision);
  const Block all{0, 0, m, n};
  Plan plan;
  plan.operands = {{"A", m, n, true}};
  const Plan::Origin a{a_in_place ? plan.add_own_area(operand_a) : plan.add_area("A", m, n), operand_a};
  plan.upload(a, all);
  std::vector<Plan::Access> accesses{Plan::update(a, all)};
  std::vector<std::pair<Plan::Origin, Block>> found;
  for (const auto& [name, rows] : {std::pair("d", reals), std::pair("e", reals), std::pair("tauq", count),
                                   std::pair("taup", count), std::pair("failed", index{1})}) {
    const auto operand = static_cast<int>(plan.operands.size());
    plan.operands.push_back({name, rows, 1, true, true});
    found.push_back({{plan.add_area(name, rows, 1), operand}, {0, 0, rows, 1}});
    accesses.push_back(Plan::access(found.back().first, found.back().second, AccessMode::write));
  }
  plan.compute(Gebrd{.precision = precision,
                     .m = m,
                     .n = n,
                     .A = nullptr,
                     .lda = 0,
                     .d = nullptr,
                     .e = nullptr,
                     .tauq = nullptr,
                     .taup = nullptr,
                     .failed = nullptr},
               std::move(accesses), Scalar::one);
  plan.download(a, all);
  for (const auto& [origin, block] : found) plan.download(origin, block);
  plan.after = order_of(plan);
  return plan;
}

}  // namespace blaslift
