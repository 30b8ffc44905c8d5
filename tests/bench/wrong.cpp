// A dgemm that is wrong in the way that WRONG names, for levels_time, levels_in_turns and tile_caqr to notice: "entry",
// "nan", "input", "bits".
#include <dlfcn.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

extern "C" void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                       const double* alpha, const double* A, const int* lda, const double* B, const int* ldb,
                       const double* beta, double* C, const int* ldc, std::size_t one, std::size_t other) {
  using Function = decltype(&dgemm_);
  // Where it is opened, and not preloaded, nobody comes next.
  static void* const next = dlsym(RTLD_NEXT, "dgemm_");
  static const auto right =
      reinterpret_cast<Function>(next ? next : dlsym(dlopen("libblas.so.3", RTLD_NOW | RTLD_LOCAL), "dgemm_"));
  right(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, one, other);
  const char* wrong = std::getenv("WRONG");
  if (!wrong || *m < 1 || *n < 1) return;  // LAPACK asks for empty ones, too
  static int calls = 0;
  ++calls;
  // The last row is looked at, whatever the size; and this is neither the first column nor the last.
  double& entry = C[*m - 1 + static_cast<std::ptrdiff_t>(*ldc) * (*n / 2)];
  if (!std::strcmp(wrong, "entry")) entry += 1e-6;
  if (!std::strcmp(wrong, "nan")) C[*m / 2 + 1] = NAN;
  if (!std::strcmp(wrong, "input")) const_cast<double&>(A[*lda + 1]) = 0;
  if (!std::strcmp(wrong, "bits") && calls % 2) entry = std::nextafter(entry, 1e9);
}
