// Where QR factorisations, and products with their Q, are computed.
#pragma once
#include <string>

#include "impl/core/args.hpp"
#include "impl/route/choice.hpp"

namespace blaslift {

/// What the gate compares for the QR of an m x n matrix, and for products with Q of k reflectors: about half of the
/// flops, as m * n * k of a product.
constexpr double reflectors_volume(double m, double n, double k) { return m * n * k; }

Decision decide(const Factorisation& factorisation, const Facts& facts, const Policy& policy);
Decision decide(const Application& application, const Facts& facts, const Policy& policy);

inline CallShape shape_of(const Factorisation& f) { return {f.m, f.n, 0}; }
inline CallShape shape_of(const Application& a) {
  return {a.product.m, a.product.n, a.product.k, false, a.product.left};
}

std::string to_string(const Factorisation& factorisation, const Decision& decision);
std::string to_string(const Application& application, const Decision& decision);

}  // namespace blaslift
