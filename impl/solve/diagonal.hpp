// Zeros on a matrix' diagonal, for which LAPACK's triangular routines look before they begin.
#pragma once
#include <vector>

#include "impl/solve/bring_home.hpp"

namespace blaslift {

/// Where the first one is.
struct FirstZero {
  Outcome outcome{Status::done};  ///< of the diagonal's way home
  index number = 0;               ///< from 1 on; 0: there is none
};

/// Of A, n x n, that is located: in the host's memory, or in device memory of the program's, from which it comes home.
template <class T>
FirstZero first_zero(const Site& site, Backend& backend, const Operand& A) {
  const Stored& x = A.stored;
  const index n = x.rows;
  const T* at = static_cast<const T*>(x.at);
  index step = x.ld + 1;
  FirstZero found;
  std::vector<T> diagonal;
  if (A.out_of_reach()) {
    diagonal.resize(static_cast<std::size_t>(n));
    // A row of a matrix whose columns are one element further down each.
    found.outcome = bring_home(site, backend, at, step, 1, n, diagonal.data());
    at = diagonal.data();
    step = 1;
  }
  for (index i = 0; found.outcome.status == Status::done && i < n && found.number == 0; ++i)
    if (at[i * step] == T(0)) found.number = i + 1;
  return found;
}

/// How a call ends on whose matrix' diagonal there is a zero: the library underneath says so, or where that cannot look
/// there, info does.  Nothing is written.
inline Ending ended_by_zero(index number, const Operands& operands, const Decision& decision) {
  Ending ending{Reason::singular};
  if (operands.in_device_memory()) {
    ending.reason = decision.reason;
    ending.computed = true;
    ending.info = number;
  }
  return ending;
}

}  // namespace blaslift
