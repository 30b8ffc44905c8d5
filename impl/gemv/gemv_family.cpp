#include "impl/gemv/gemv_family.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "impl/vector/vector_family.hpp"

namespace blaslift {
namespace {

double size_of(const Problem& p) { return static_cast<double>(element_size(p.element)); }
double elements_of(const Problem& p) { return static_cast<double>(p.m) * static_cast<double>(p.n); }

void count(Problem& p) {
  const double x = static_cast<double>(p.adjoint ? p.m : p.n), y = static_cast<double>(p.adjoint ? p.n : p.m);
  p.empty = p.m == 0 || p.n == 0;
  p.trivial = p.alpha_zero;
  p.too_large = std::max(p.m, p.n) > INT32_MAX;
  p.flops = (is_complex(p.element) ? 8.0 : 2.0) * elements_of(p);
  p.volume = vector_volume(static_cast<double>(p.m), static_cast<double>(p.n));
  p.bytes_out = y * size_of(p);
  p.bytes_in = (elements_of(p) + x) * size_of(p) + (p.beta_zero ? 0 : p.bytes_out);
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + (p.adjoint ? " T" : " N") + " m=" + std::to_string(p.m) +
         " n=" + std::to_string(p.n) + (p.alpha_zero ? " alpha=0" : "") + (p.beta_zero ? " beta=0" : "");
}

double cpu_rate(const Problem& p, const Profile&) {
  return (is_complex(p.element) ? 8.0 : 2.0) / size_of(p) * cpu_reading_rate;
}

Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  return cost_of_vector_product(p, facts, spared, elements_of(p) * size_of(p));
}

}  // namespace

constinit const Family gemv_family{.count = count,
                                   .text = text,
                                   .cpu_rate = cpu_rate,
                                   .cost = cost,
                                   .needs = Operation::Kind::gemv,
                                   .lives_on_copies = true};

}  // namespace blaslift
