// gemm in four precisions and three interfaces, declared as programs declare them, behind one name.
#pragma once
#include <complex>
#include <cstddef>

#define GEMM(name, T)                                                                                       \
  extern "C" void name##_(const char*, const char*, const int*, const int*, const int*, const T*, const T*, \
                          const int*, const T*, const int*, const T*, T*, const int*, std::size_t, std::size_t);
#include "api/routines.def"

#define REAL_CBLAS(name, T) \
  extern "C" void cblas_##name(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);
#define COMPLEX_CBLAS(name)                                                                                   \
  extern "C" void cblas_##name(int, int, int, int, int, int, const void*, const void*, int, const void*, int, \
                               const void*, void*, int);
REAL_CBLAS(sgemm, float)
REAL_CBLAS(dgemm, double)
COMPLEX_CBLAS(cgemm)
COMPLEX_CBLAS(zgemm)

extern "C" void dgeqrf_(const int*, const int*, double*, const int*, double*, double*, const int*, int*);
extern "C" void dgeqr_(const int*, const int*, double*, const int*, double*, const int*, double*, const int*, int*);
extern "C" void dsymv_(const char*, const int*, const double*, const double*, const int*, const double*, const int*,
                       const double*, double*, const int*, std::size_t);

namespace promises {

enum class Via { fortran, column_major, row_major };
inline constexpr Via every_via[] = {Via::fortran, Via::column_major, Via::row_major};
constexpr const char* name_of(Via via) {
  constexpr const char* names[] = {"fortran", "cblas column-major", "cblas row-major"};
  return names[static_cast<int>(via)];
}

constexpr int cblas_op(char op) { return op == 'N' ? 111 : op == 'T' ? 112 : 113; }

inline float scalar(const float& x) { return x; }
inline double scalar(const double& x) { return x; }
template <class R>
const void* scalar(const std::complex<R>& x) {
  return &x;
}

#define GEMM(name, T)                                                                                              \
  inline void raw_gemm(Via via, char ta, char tb, int m, int n, int k, const T& alpha, const T* A, int lda,        \
                       const T* B, int ldb, const T& beta, T* C, int ldc) {                                        \
    if (via == Via::fortran)                                                                                       \
      name##_(&ta, &tb, &m, &n, &k, &alpha, A, &lda, B, &ldb, &beta, C, &ldc, 1, 1);                               \
    else if (via == Via::column_major)                                                                             \
      cblas_##name(102, cblas_op(ta), cblas_op(tb), m, n, k, scalar(alpha), A, lda, B, ldb, scalar(beta), C, ldc); \
    else /* the same storage is the transposed product's, in row-major */                                          \
      cblas_##name(101, cblas_op(tb), cblas_op(ta), n, m, k, scalar(alpha), B, ldb, A, lda, scalar(beta), C, ldc); \
  }
#include "api/routines.def"

}  // namespace promises
