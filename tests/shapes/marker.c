// A plugin's own BLAS, which can be told from any other.
void dgemm_(const char* transa, const char* transb, const void* m, const void* n, const void* k, const double* alpha,
            const double* A, const void* lda, const double* B, const void* ldb, const double* beta, double* C,
            const void* ldc) {
  (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)alpha, (void)A, (void)lda, (void)B, (void)ldb,
      (void)beta;
  (void)ldc;
  *C = 42;
}
