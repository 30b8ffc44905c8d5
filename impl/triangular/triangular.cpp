#include "impl/triangular/triangular.hpp"

namespace blaslift {

TriangularShape triangular_shape(const Problem& p) {
  return {p.left, p.part == Part::upper ? Uplo::upper : Uplo::lower, p.adjoint ? Op::transpose : Op::none, false, p.m,
          p.n};
}

void count_triangular(Problem& p) {
  const double order = static_cast<double>(p.left ? p.m : p.n), others = static_cast<double>(p.left ? p.n : p.m),
               element = static_cast<double>(element_size(p.element));
  p.empty = p.m == 0 || p.n == 0;
  p.trivial = p.alpha_zero;
  p.flops = (is_complex(p.element) ? 4.0 : 1.0) * order * order * others;
  p.volume = order * order * others / 2;
  p.bytes_out = order * others * element;
  p.bytes_in = p.alpha_zero ? 0 : p.bytes_out + order * (order + 1) / 2 * element;
}

std::string text_of_triangular(const Problem& p) {
  return std::string(name_of(p.routine)) + (p.left ? " L" : " R") + (p.part == Part::upper ? "U" : "L") +
         (p.adjoint ? "T" : "N") + " m=" + std::to_string(p.m) + " n=" + std::to_string(p.n) +
         (p.alpha_zero ? " alpha=0" : "");
}

}  // namespace blaslift
