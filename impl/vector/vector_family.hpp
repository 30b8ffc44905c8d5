// What is the same of all products of a matrix with a vector.
#pragma once
#include "impl/route/family.hpp"

namespace blaslift {

/// Bytes/s that products with vectors read on the CPU, until measured.
inline constexpr double cpu_reading_rate = 5e10;

/// @param matrix  bytes that are read of the matrix, once
inline Cost cost_of_vector_product(const Problem& p, const Facts& facts, double spared, double matrix) {
  const double in = seconds_in(p, facts, spared), out = seconds_out(p, facts);
  // Vectors are moved by the calling thread, a matrix by the engine's, as gemm's are.
  const double latency = spared < matrix ? facts.profile->latency_seconds : facts.profile->symv_latency_seconds;
  return {.seconds = latency + in + matrix / facts.profile->pass_rate + out};
}

}  // namespace blaslift
