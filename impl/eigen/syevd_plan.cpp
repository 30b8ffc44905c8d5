#include "impl/eigen/syevd_plan.hpp"

#include <utility>
#include <vector>

namespace blaslift {
namespace {

// Matrices of A's size beside A: those that a device's library works in (cuSOLVER 12.0 in 4.2 at an order of 1,024, in
// 4.0 at 16,384 and above), and unless the vectors take A's place a copy, since that library destroys it.
constexpr double beside_in_place = 4.2, beside = 5.2;

}  // namespace

double syevd_beside(const EigenShape& shape) { return shape.vectors && !shape.apart ? beside_in_place : beside; }

bool syevd_fits(const EigenShape& shape, Precision precision, std::size_t memory) {
  const double order = static_cast<double>(shape.n),
               bytes = order * order * static_cast<double>(element_size(precision)),
               of_z = shape.apart ? static_cast<double>(shape.count) / order : 0;
  return bytes * (1 + of_z + syevd_beside(shape)) <= static_cast<double>(memory);
}

Plan plan_syevd(const EigenShape& shape, Precision precision, bool a_in_place, bool z_in_place, bool w_in_place) {
  const auto [vectors, apart, uplo, n, first, count] = shape;
  const bool replaced = vectors && !apart;  // A, by the vectors
  const index elements = elements_of_reals(count, precision);
  const Part part = part_of(uplo);
  Plan plan;
  plan.operands = {{"A", n, n, replaced, false, replaced ? Part::whole : part}};
  if (apart) plan.operands.push_back({"Z", n, count, true});
  const int operand_w = static_cast<int>(plan.operands.size()), operand_failed = operand_w + 1;
  plan.operands.push_back({"w", elements, 1, true, true});
  plan.operands.push_back({"failed", 1, 1, true, true});
  const auto origin = [&](int operand, bool in_place) {
    const Plan::Operand& x = plan.operands[static_cast<std::size_t>(operand)];
    return Plan::Origin{in_place ? plan.add_own_area(operand) : plan.add_area(x.name, x.rows, x.cols), operand};
  };
  const Block all{0, 0, n, n}, columns{0, 0, n, count}, values{0, 0, elements, 1}, one{0, 0, 1, 1};
  const Plan::Origin a = origin(0, a_in_place), z = apart ? origin(1, z_in_place) : a,
                     w = origin(operand_w, w_in_place), failed = origin(operand_failed, false);
  std::vector<Plan::Access> accesses{replaced ? Plan::update(a, all) : Plan::read(a, all, part)};
  if (apart) accesses.push_back(Plan::written(z, columns));
  accesses.push_back(Plan::written(w, values));
  accesses.push_back(Plan::written(failed, one));
  plan.upload(a, all);
  plan.compute(Syevd{.precision = precision,
                     .vectors = vectors,
                     .uplo = uplo,
                     .n = n,
                     .first = first,
                     .count = count,
                     .A = nullptr,
                     .lda = 0,
                     .V = nullptr,
                     .ldv = 0,
                     .w = nullptr,
                     .failed = nullptr},
               std::move(accesses), Scalar::one);
  if (vectors) plan.download(z, columns);
  plan.download(w, values);
  plan.download(failed, one);
  plan.after = order_of(plan);
  return plan;
}

}  // namespace blaslift
