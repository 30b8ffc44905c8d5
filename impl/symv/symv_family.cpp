#include "impl/symv/symv_family.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "impl/vector/vector_family.hpp"

namespace blaslift {
namespace {

double bytes_of_triangle(const Problem& p) {
  return static_cast<double>(p.n) * static_cast<double>(p.n + 1) / 2 * static_cast<double>(element_size(p.element));
}

void count(Problem& p) {
  const double n = static_cast<double>(p.n);
  p.empty = p.n == 0;
  p.trivial = p.alpha_zero;
  p.too_large = p.n > INT32_MAX;
  p.flops = (is_complex(p.element) ? 8.0 : 2.0) * n * n;
  p.volume = symmetric_volume(n);
  p.bytes_out = n * static_cast<double>(element_size(p.element));
  p.bytes_in = bytes_of_triangle(p) + (p.beta_zero ? 1 : 2) * p.bytes_out;
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + " n=" + std::to_string(p.n) + (p.alpha_zero ? " alpha=0" : "") +
         (p.beta_zero ? " beta=0" : "");
}

double cpu_rate(const Problem& p, const Profile&) {
  constexpr double flops_a_pair = 4;  // as count() has it: each element of the triangle is used twice
  if (p.element == Element::w) return flops_a_pair * cpu_pair_rate;
  const double flops_a_byte = (is_complex(p.element) ? 16.0 : 4.0) / static_cast<double>(element_size(p.element));
  return flops_a_byte * cpu_reading_rate;
}

Cost cost(const Problem& p, const Facts& facts, const Policy&, double spared) {
  return cost_of_vector_product(p, facts, spared, bytes_of_triangle(p));
}

}  // namespace

constinit const Family symv_family{.count = count,
                                   .text = text,
                                   .cpu_rate = cpu_rate,
                                   .cost = cost,
                                   .needs = Operation::Kind::symv,
                                   .lives_on_copies = true};

}  // namespace blaslift
