// The program around blas_checks, where it is not a plugin.
int blas_checks(void);
int main(void) { return blas_checks(); }
