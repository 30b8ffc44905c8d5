// The tile kernels of QR on the host (Takayanagi, Tile CAQR, 2021, table 4.1; Buttari et al., 2009): LAPACK's
// elementary reflectors in blocks of ib, on one tile or a pair of them.
//
//     geqrt        tsqrt         ttqrt           . untouched and unread
//     R R R R      R R R R       R R R R         R the triangle that is left; above the diagonal, with it
//     V R R R      . R R R       . R R R         V reflectors: LAPACK's, with a unit each on R's diagonal
//     V V R R      . . R R       . . R R
//     V V V R      . . . R       . . . R
//     V V V V      V V V V       V V V V
//                  V V V V       . V V V
//
// k reflectors are kept with t, ib x k: each block of w columns holds its triangular factor T, w x w, above the
// diagonal, such that the block's product of reflectors is I - V T V^H, and T's diagonal is tau.  Below it nothing is
// touched.
//
// All matrices are column-major and share nothing.  Every sum is made in one order that depends on sizes alone.  A NaN
// or an infinity spreads as in LAPACK's; nothing is tested for.  Nothing is allocated, nothing fails.  1 <= ib <=
// most_ib.
#pragma once
#include "kernels/types.hpp"

namespace blaslift {

inline constexpr index most_ib = 128;

/// A (m x n) = Q R; min(m, n) reflectors.
template <class T>
void geqrt(index m, index n, index ib, T* A, index lda, T* t, index ldt);

/// C (m x n) := Q C, or Q^H C with Op::conjugate, with k reflectors of geqrt's in V (m x k).
template <class T>
void larfb(Op op, index m, index n, index k, index ib, const T* V, index ldv, const T* t, index ldt, T* C, index ldc);

/// R (n x n, a triangle) above A (m x n) = Q R; n reflectors.
template <class T>
void tsqrt(index m, index n, index ib, T* R, index ldr, T* A, index lda, T* t, index ldt);

/// The same with a triangle A; with m < n what is left of one, its first m rows.
template <class T>
void ttqrt(index m, index n, index ib, T* R, index ldr, T* A, index lda, T* t, index ldt);

/// C1's first k rows, above C2 (m x n): multiplied by Q or Q^H of tsqrt's k reflectors V (m x k).
template <class T>
void ssrfb(Op op, index m, index n, index k, index ib, const T* V, index ldv, const T* t, index ldt, T* C1, index ldc1,
           T* C2, index ldc2);

/// The same with ttqrt's.
template <class T>
void ttmqr(Op op, index m, index n, index k, index ib, const T* V, index ldv, const T* t, index ldt, T* C1, index ldc1,
           T* C2, index ldc2);

}  // namespace blaslift
