void dgemm_(void) {}
