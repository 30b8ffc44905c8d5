// A plugin that is linked to a BLAS.
extern void dgemm_(void);
void (*const needed)(void) = dgemm_;
