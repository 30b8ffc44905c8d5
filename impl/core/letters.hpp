// Choices that callers make by a letter (Fortran) or a number (CBLAS).
#pragma once
#include <span>

#include "kernels/types.hpp"

namespace blaslift {

inline constexpr int row_major = 101, column_major = 102;

/// @param letter  upper case; lower case is as good
/// @param number  CBLAS's; 0 where CBLAS has no such routine
struct Choice {
  char letter;
  int number;
};
using Choices = std::span<const Choice>;

inline constexpr Choice transposes[] = {{'N', 111}, {'T', 112}, {'C', 113}};  // Op
inline constexpr Choice triangles[] = {{'U', 121}, {'L', 122}};               // Uplo
inline constexpr Choice diagonals[] = {{'N', 131}, {'U', 132}};
inline constexpr Choice sides[] = {{'L', 141}, {'R', 142}};
inline constexpr Choice norms[] = {{'1', 0}, {'O', 0}, {'I', 0}};               // the first two are the same
inline constexpr Choice vector_jobs[] = {{'N', 0}, {'V', 0}};                   // whether eigenvectors are computed
inline constexpr Choice eigenvalue_ranges[] = {{'A', 0}, {'V', 0}, {'I', 0}};   // EigenRange
inline constexpr Choice svd_jobs[] = {{'A', 0}, {'S', 0}, {'O', 0}, {'N', 0}};  // SvdJob
inline constexpr Choice bidiagonal_factors[] = {{'Q', 0}, {'P', 0}};            // of A = Q B P^H
/// What LAPACK's products with Q take for its adjoint, and besides it N.
template <class T>
inline constexpr char adjoint_letter = is_complex(precision_of<T>) ? 'C' : 'T';
inline constexpr Choice adjoints_of_real[] = {{'N', 0}, {'T', 0}}, adjoints_of_complex[] = {{'N', 0}, {'C', 0}};
template <class T>
constexpr Choices adjoints() {
  return is_complex(precision_of<T>) ? Choices(adjoints_of_complex) : Choices(adjoints_of_real);
}

/// Null: it is none of them.
constexpr const Choice* chosen(Choices among, char letter) {
  if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  for (const Choice& x : among)
    if (x.letter == letter) return &x;
  return nullptr;
}
constexpr const Choice* chosen(Choices among, int number) {
  for (const Choice& x : among)
    if (x.number == number) return &x;
  return nullptr;
}

constexpr Uplo other(Uplo uplo) { return uplo == Uplo::upper ? Uplo::lower : Uplo::upper; }

}  // namespace blaslift
