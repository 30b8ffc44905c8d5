// Ranks of one job on one node, all multiplying at once.  Each rank checks its own products; rank 0 prints "ok" when
// every rank was right.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

extern void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                   const int*, const double*, const int*, const double*, double*, const int*, size_t, size_t);

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int n = 1200 + 13 * rank, rounds = 10;
  double *A = malloc(sizeof(double) * n * n), *B = malloc(sizeof(double) * n * n), *C = malloc(sizeof(double) * n * n);
  if (!A || !B || !C) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int round = 0; round < rounds; ++round) {
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        A[i + (size_t)j * n] = (i + j + rank + round) % 7;
        B[i + (size_t)j * n] = (i * (long)j + round) % 5;
        C[i + (size_t)j * n] = 0.0 / 0.0;
      }
    const double one = 1, zero = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    dgemm_("N", "N", &n, &n, &n, &one, A, &n, B, &n, &zero, C, &n, 1, 1);
    for (int j = 0; j < n; j += 97)
      for (int i = 0; i < n; i += 89) {
        double sum = 0;  // small integers: exact in any order
        for (int p = 0; p < n; ++p) sum += A[i + (size_t)p * n] * B[p + (size_t)j * n];
        if (!(C[i + (size_t)j * n] == sum)) ++wrong;
      }
  }
  int total = 0;
  MPI_Reduce(&wrong, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d wrong entries%s\n", size, total, total ? "" : ": ok");
  MPI_Bcast(&total, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return total ? 1 : 0;
}
