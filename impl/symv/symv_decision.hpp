// Where products of a symmetric or Hermitian matrix with a vector are computed.
#pragma once
#include <string>

#include "impl/core/args.hpp"
#include "impl/route/choice.hpp"

namespace blaslift {

/// Matrices below n = 512 stay on the CPU unseen, whose caches hold them: here this is below small_product, with which
/// the gate compares.
constexpr double symmetric_volume(double n) { return 64 * n * n; }

/// Bytes/s that products with vectors read on the CPU, until measured.
inline constexpr double cpu_reading_rate = 5e10;

/// Pairs of doubles a second that our own loops multiply (kernels/host/symv.cpp), until measured.
inline constexpr double cpu_pair_rate = 1e8;

/// The matrix moves for a product that reads it once, so the device gains only with a copy, or in device memory.  While
/// no device is open, `facts.reusable` are the bytes of a matrix that earlier calls have used, too.
Decision decide(const SymmetricProduct& product, const Facts& facts, const Policy& policy);

/// flop/s of the CPU that follow from cpu_reading_rate.
double cpu_rate_until_measured(const SymmetricProduct& product);

inline CallShape shape_of(const SymmetricProduct& p) { return {0, p.n, 0, p.beta_zero}; }

std::string to_string(const SymmetricProduct& product, const Decision& decision);

}  // namespace blaslift
