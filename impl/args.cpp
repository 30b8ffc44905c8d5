#include "impl/args.hpp"

namespace blaslift {

std::string to_string(const Product& p) {
  return std::string(name_of(p.routine)) + " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n) +
         " k=" + std::to_string(p.k) + (p.alpha_zero ? " alpha=0" : "") + (p.beta_zero ? " beta=0" : "");
}

}  // namespace blaslift
