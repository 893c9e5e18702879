/* A message goes around a ring of ranks some times, each adds one. Every rank writes what it has received last and the
   time that the rounds took into a file of its own, PREFIX.RANK. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, rounds, bytes;
    char path[4096];
    long *value;
    double start, took;
    FILE *out;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rounds = atoi(argv[2]);
    bytes = atoi(argv[3]);
    value = calloc(bytes, 1);
    start = MPI_Wtime();
    for (int round = 0; round < rounds; round++) {
        if (rank == 0) {
            *value += 1;
            MPI_Send(value, bytes, MPI_BYTE, 1 % size, round, MPI_COMM_WORLD);
            MPI_Recv(value, bytes, MPI_BYTE, size - 1, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(value, bytes, MPI_BYTE, rank - 1, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            *value += 1;
            MPI_Send(value, bytes, MPI_BYTE, (rank + 1) % size, round, MPI_COMM_WORLD);
        }
    }
    took = MPI_Wtime() - start;
    snprintf(path, sizeof path, "%s.%d", argv[1], rank);
    out = fopen(path, "w");
    fprintf(out, "%ld %.0f\n", *value, took * 1e12);
    fclose(out);
    free(value);
    MPI_Finalize();
    return 0;
}
