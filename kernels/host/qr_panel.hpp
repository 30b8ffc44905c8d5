// QR of a tall panel on the host, in LAPACK's own format.
//
// The tile tree's factors are nothing that LAPACK's other routines could read.  So Q is multiplied out, m x n, and
// Householder vectors are found that give the same Q but for signs (Ballard, Demmel, Grigori, Jacquelin, Knight and
// Nguyen, Reconstructing Householder vectors from tall-skinny QR, 2014; LAPACK's orhr_col): with a sign d_i = -sign of
// what Gaussian elimination leaves on the diagonal, Q - [D; 0] = V U without pivoting, where |U's diagonal| >= 1, and
//
//     I - V T V^H has the first n columns Q D, with T = -U D V1^-H: A = Q R = (Q D) (D R), tau = -diag(U) D.
//
// What consumers of LAPACK's format do is to make T from V and tau alone (larft), so that is done here, too, and the
// reconstruction is believed only if this T is the one above: if |2 Re(1 / tau) - v^H v|, which says how far a
// reflector is from unitary, and |U + T V1^H D|, which says how far the first n rows of Q D are from what V and tau
// give, are all within roundings (the other rows are V2 U = Q2 as they were computed).  It holds whatever way Q came
// about.
#pragma once
#include <vector>

#include "kernels/qr_panel.hpp"

namespace blaslift {

/// How a panel was factored.
enum class QrPanelWay : std::uint8_t {
  householder,   ///< column by column, as LAPACK's geqr2
  reconstructed  ///< by a tree of tiles, and Householder vectors found for its Q
};

/// A (m x n, m >= n >= 1, n <= most_panel_columns) = Q R: R in A's upper triangle, n reflectors below it and in tau, t
/// (n x n) their triangular factor, of which nothing below the diagonal is written.
///
/// By the tree if there is more than one tile, unless the reconstruction is not to be trusted (what is not finite never
/// is), or the tree has left some column alone: there LAPACK's reflector is the identity, with tau = 0, which the
/// reconstruction cannot say; these go the Householder way.
///
/// The same bits for the same cut, whatever the number of threads.  Throws std::bad_alloc before A is touched.
template <class T>
QrPanelWay factor_panel(index m, index n, T* A, index lda, T* tau, T* t, index ldt, const QrPanelCut& cut, int threads);

/// As kernels/types.hpp describes it, cut as usual.  Throws std::bad_alloc before A is touched.
void factor_panel(const QrPanel& panel, int threads);

/// V (m x n) holds Q with orthonormal columns, and then V below a unit diagonal and U above; tau and t (n x n) as
/// above, and `sign` is D: the R of these reflectors is D times that of Q.  False: not to be trusted.
/// @param cut  only its tiles matter here
template <class T>
bool reconstruct(index m, index n, T* V, index ldv, T* tau, T* t, index ldt, std::vector<int>& sign,
                 const QrPanelCut& cut, int threads);

}  // namespace blaslift
