#include "impl/eigen/geev_plan.hpp"

#include <utility>
#include <vector>

namespace blaslift {
namespace {

// Matrices of A's size beside A and the vectors: the copy that a device's library destroys, and what it works in.
constexpr double beside = 6, beside_without_vectors = 5;

}  // namespace

bool geev_fits(index n, bool vectors, Precision precision, std::size_t memory) {
  const double all = vectors ? 2 + beside : 1 + beside_without_vectors, order = static_cast<double>(n);
  return all * order * order * static_cast<double>(element_size(precision)) <= static_cast<double>(memory);
}

Plan plan_geev(index n, bool vectors, Precision precision, bool a_in_place, bool vr_in_place, bool w_in_place,
               bool wi_in_place) {
  const index parts = is_complex(precision) ? 0 : n, cols = vectors ? n : 0;
  Plan plan;
  plan.operands = {{"A", n, n, false},
                   {"VR", cols, cols, vectors},
                   {"w", n, 1, true, true},
                   {"wi", parts, parts > 0, parts > 0, true},
                   {"failed", 1, 1, true, true}};
  std::vector<Plan::Access> accesses;
  const auto all_of = [&](int operand) {
    const Plan::Operand& x = plan.operands[static_cast<std::size_t>(operand)];
    return Block{0, 0, x.rows, x.cols};
  };
  const auto origin = [&](int operand, bool in_place) {
    const Plan::Operand& x = plan.operands[static_cast<std::size_t>(operand)];
    return Plan::Origin{in_place ? plan.add_own_area(operand) : plan.add_area(x.name, x.rows, x.cols), operand};
  };
  const Plan::Origin a = origin(0, a_in_place);
  accesses.push_back(Plan::read(a, all_of(0)));
  std::vector<Plan::Origin> results;
  for (const auto& [operand, in_place] :
       {std::pair(1, vr_in_place), std::pair(2, w_in_place), std::pair(3, wi_in_place), std::pair(4, false)}) {
    if (plan.operands[static_cast<std::size_t>(operand)].rows == 0) continue;
    results.push_back(origin(operand, in_place));
    accesses.push_back(Plan::written(results.back(), all_of(operand)));
  }
  plan.upload(a, all_of(0));
  plan.compute(Geev{.precision = precision,
                    .vectors = vectors,
                    .n = n,
                    .A = nullptr,
                    .lda = 0,
                    .VR = nullptr,
                    .ldvr = 0,
                    .w = nullptr,
                    .wi = nullptr,
                    .failed = nullptr},
               std::move(accesses), Scalar::one);
  for (const Plan::Origin& x : results) plan.download(x, all_of(x.operand));
  plan.after = order_of(plan);
  return plan;
}

}  // namespace blaslift
