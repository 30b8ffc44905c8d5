// What a function's name says about BLAS and LAPACK.
#pragma once
#include <string_view>

namespace blaslift::cli {

enum class NameKind {
  none,
  intercepted,  ///< one of the library's symbols
  respelled,    ///< a routine that is intercepted, by a name that is not: dgemm, DGEMM_, cblas_dgemm_64, mkl_blas_dgemm
  other,        ///< a routine that is not intercepted
};

NameKind kind_of_name(std::string_view name);

/// Whether a library of this file name is a BLAS or LAPACK, rather than one that has some inside.
bool is_named_like_blas(std::string_view path);

}  // namespace blaslift::cli
