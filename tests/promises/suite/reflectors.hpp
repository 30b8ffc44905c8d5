// What the routines of QR are judged by: Q as the product of its reflectors as they are defined, in higher precision.
#pragma once
#include "tests/promises/suite/suite.hpp"
#include "tests/unit/qr/qr_reference.hpp"

namespace suite {

namespace reference = blaslift::reference;
template <class T>
using Dense = reference::Wide<T>;

template <class T>
Dense<T> wide(const Matrix<T>& A) {
  return Dense<T>::of(A.rows(), A.cols(), A.data(), A.ld());
}

template <class T>
inline constexpr char adjoint = is_complex<T> ? 'C' : 'T';

/// Rows, some of them more than one of the tiles that panels are made of (kernels/qr_panel.hpp).
inline index tall(Draw& draw) { return draw.size() + (draw.pick(4) == 3 && draw.tall ? 257 : 0); }

/// (m + k) eps, twice that for complex numbers: a small multiple of what is seen, and far below the bounds of theory,
/// gamma(m k) (Higham, Accuracy and Stability, 19.3).
template <class T>
double of_reflectors(index m, index k) {
  return static_cast<double>(m + k) * reference::eps<T>() * (is_complex<T> ? 2 : 1);
}

/// ||Q^H A - R|| against ||A||, and ||Q^H Q - I||.
template <class T>
void judge_factors(Judge& judge, Dense<T> A, const T* factors, index ld, const T* tau) {
  const index m = A.rows(), n = A.cols(), k = std::min(m, n);
  const double allowed = of_reflectors<T>(m, k), norm = A.norm();
  reference::apply_lapack_q(true, m, k, factors, ld, tau, A);
  judge.at_most("||Q^H A - R||", (A - reference::upper_part(m, n, factors, ld)).norm(), allowed * norm);
  Dense<T> Q(m, k);
  for (index j = 0; j < k; ++j) Q(j, j) = 1;
  reference::apply_lapack_q(false, m, k, factors, ld, tau, Q);
  judge.at_most("||Q^H Q - I||", reference::orthogonality(Q), allowed * std::sqrt(static_cast<double>(k)));
}

template <class T>
void judge_factors(Judge& judge, Dense<T> A, const Matrix<T>& factors, const T* tau) {
  judge_factors<T>(judge, std::move(A), factors.data(), factors.ld(), tau);
}

/// Reflectors in a matrix of our own as a QR leaves them: of rows the adjoint.  Its leading dimension is the
/// reflectors' length.
template <class T>
std::vector<T> as_columns(const Matrix<T>& A, bool rows) {
  std::vector<T> columns;
  const auto conjugate = [](const T& x) {
    if constexpr (is_complex<T>)
      return std::conj(x);
    else
      return x;
  };
  for (index j = 0; j < (rows ? A.rows() : A.cols()); ++j)
    for (index i = 0; i < (rows ? A.cols() : A.rows()); ++i) columns.push_back(rows ? conjugate(A(j, i)) : A(i, j));
  return columns;
}

/// Makes reflectors of whatever is below A's diagonal, or with rows right of it: H = I - tau v v^H is unitary if 2
/// Re(tau) = |tau|^2 v^H v. Every eighth is an identity.
/// @param beyond  A's last columns are none of the matrix's
template <class T>
void make_tau(Draw& draw, const Matrix<T>& A, Matrix<T>& tau, bool rows = false, index beyond = 0) {
  for (index j = 0; j < tau.rows(); ++j) {
    Real<T> sum = 1;
    for (index i = j + 1; i < (rows ? A.cols() - beyond : A.rows()); ++i) sum += std::norm(rows ? A(j, i) : A(i, j));
    const double angle = 3 * draw.number();
    tau(j, 0) = draw.below(8) == 0 ? T(0)
                : is_complex<T>    ? promises::make<T>((1 + std::cos(angle)) / static_cast<double>(sum),
                                                    std::sin(angle) / static_cast<double>(sum))
                                   : T(2 / sum);
  }
}

}  // namespace suite
