/* Rank 1 ends in the way that the argument names; the others wait for it in a barrier. */

#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *how = argv[1];
    int rank, value = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        if (!strcmp(how, "exit"))
            exit(3);
        if (!strcmp(how, "crash")) {
            signal(SIGSEGV, SIG_DFL);
            raise(SIGSEGV);
        }
        if (!strcmp(how, "abort"))
            MPI_Abort(MPI_COMM_WORLD, 5);
        if (!strcmp(how, "error"))
            MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    }
    if (rank == 0 && !strcmp(how, "wait"))
        MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(how, "wait"))
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return rank == 1 && !strcmp(how, "late") ? 4 : argc - 2;
}
