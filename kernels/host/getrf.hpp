// LU factors on the host: columns within a block, products between blocks.
#pragma once
#include "kernels/backend.hpp"

namespace blaslift {

/// Everything in host memory.  Products are asked of `underlying`, and nothing else is.
void factor_general(const Getrf& matrix, const UnderlyingBlas& underlying);

/// Likewise; takes no workspace.
void exchange_rows(const RowSwaps& swaps);

}  // namespace blaslift
