#include "impl/plan/reduction.hpp"

namespace blaslift {

Plan plan_reduction(const PlannedOperation& operation, index rows, index cols, Part part,
                    std::initializer_list<std::pair<const char*, index>> columns, bool a_in_place, int given) {
  constexpr int operand_a = 0;
  const Block all{0, 0, rows, cols};
  Plan plan;
  plan.operands = {{"A", rows, cols, true, false, part}};
  const Plan::Origin a{a_in_place ? plan.add_own_area(operand_a) : plan.add_area("A", rows, cols), operand_a};
  plan.upload(a, all);
  std::vector<Plan::Access> accesses{Plan::update(a, all)};
  accesses[0].part = part;
  std::vector<std::pair<Plan::Origin, Block>> found;
  const auto add = [&](const char* name, index length) {
    const auto operand = static_cast<int>(plan.operands.size());
    const bool result = operand > given;
    const Plan::Origin at{plan.add_area(name, length, 1), operand};
    const Block column{0, 0, length, 1};
    plan.operands.push_back({name, length, 1, result, true});
    accesses.push_back(Plan::access(at, column, result ? AccessMode::write : AccessMode::read));
    if (result)
      found.push_back({at, column});
    else
      plan.upload(at, column);
  };
  for (const auto& [name, length] : columns) add(name, length);
  add("failed", 1);
  plan.compute(operation, std::move(accesses), Scalar::one);
  plan.download(a, all);
  for (const auto& [origin, block] : found) plan.download(origin, block);
  plan.after = order_of(plan);
  return plan;
}

}  // namespace blaslift
