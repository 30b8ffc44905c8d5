// LU factors on the device: the vendor's, and what LAPACK says besides; and exchanges of rows.
#pragma once
#include "kernels/cuda/core/solver.hpp"

namespace blaslift {

/// Starts a Getrf on the solver's stream.
cudaError_t getrf(const Getrf& p, Solver& solver, cudaStream_t stream);

cudaError_t exchange_rows(const RowSwaps& p, cudaStream_t stream);

}  // namespace blaslift
