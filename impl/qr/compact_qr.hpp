// LAPACK's compact format of a QR (geqr, gemqr): what is in A and T is for the implementation to say.
//
// In the reference's, T(1) is the size that T should have, T(2) and T(3) are the rows and columns of a block, and the
// factors of the blocks begin at T(6).  Ours is geqrf's: the reflectors in A, and tau from T(6) on.  To tell them
// apart, T(2) and T(3) are then numbers that no block has as many rows or columns as, and that every precision has.
#pragma once
#include "kernels/types.hpp"

namespace blaslift {

/// Of T, what is in front of the factors.
inline constexpr index compact_head = 5;

inline constexpr int compact_mark[] = {-5731, -2021};  // T(2), T(3)

/// @param t  T, of whose three first elements LAPACK's own gemqr reads the last two
template <class T>
bool holds_tau(const T* t) {
  return t[1] == T(compact_mark[0]) && t[2] == T(compact_mark[1]);
}

template <class T>
void mark_tau(T* t) {
  t[1] = T(compact_mark[0]);
  t[2] = T(compact_mark[1]);
}

/// What T has to have room for at least, for an m x n matrix: in LAPACK's documents, for either format.
inline constexpr index compact_least(index n) { return n + compact_head; }

}  // namespace blaslift
