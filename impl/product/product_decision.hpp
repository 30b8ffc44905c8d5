// Where products are computed: gemm, and syrk and herk as products of a triangle.
#pragma once
#include <string>

#include "impl/core/args.hpp"
#include "impl/route/choice.hpp"

namespace blaslift {

/// Steps of a schedule by levels, about: beyond, planning would take longer than it could save.
inline constexpr double most_leaves = 50000;
double leaves_of(const Product& product, int level, index tile);

/// What the gate compares for a triangle of an n x n product.
constexpr double triangle_volume(double n, double k) { return n * n * k / 2; }

Decision decide(const Product& product, const Facts& facts, const Policy& policy);

inline CallShape shape_of(const Product& p) { return {p.m, p.n, p.k, p.beta_zero}; }

std::string to_string(const Product& product, const Decision& decision);

}  // namespace blaslift
