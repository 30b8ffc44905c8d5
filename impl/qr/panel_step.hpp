// The operation of a plan's step that factors a panel of columns by itself.
#pragma once
#include "kernels/types.hpp"

namespace blaslift {

/// @param factored  the panel and tau hold the factors already, and V and T are made from them
inline QrPanel panel_step(Precision precision, index rows, index cols, bool factored = false) {
  return {.precision = precision,
          .m = rows,
          .n = cols,
          .A = nullptr,
          .lda = 0,
          .tau = nullptr,
          .above = 0,
          .block = cols,
          .V = nullptr,
          .ldv = 0,
          .T = nullptr,
          .ldt = 0,
          .factored = factored};
}

}  // namespace blaslift
