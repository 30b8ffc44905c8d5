#include "impl/copy/copy_family.hpp"

#include <limits>
#include <string>

namespace blaslift {
namespace {

/// No flops: nothing is predicted of it, and nothing learned.
void count(Problem& p) {
  const std::size_t size = element_size(p.element);
  p.empty = p.n <= 0;
  p.volume = copy_volume(static_cast<double>(p.n), static_cast<double>(p.m), static_cast<double>(p.k), size);
  p.bytes_in = p.bytes_out = p.empty ? 0 : static_cast<double>(p.n) * static_cast<double>(size);
}

std::string text(const Problem& p) {
  return std::string(name_of(p.routine)) + " n=" + std::to_string(p.n) + " incx=" + std::to_string(p.m) +
         " incy=" + std::to_string(p.k);
}

double cpu_rate(const Problem&, const Profile&) { return 1; }

Cost cost(const Problem&, const Facts&, const Policy&, double) { return {std::numeric_limits<double>::max()}; }

}  // namespace

constinit const Family copy_family{.count = count,
                                   .text = text,
                                   .cpu_rate = cpu_rate,
                                   .cost = cost,
                                   .needs = Operation::Kind::gemm,  // of none: it is never asked for
                                   .of_host = true};

}  // namespace blaslift
