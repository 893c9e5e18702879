/* Calls that time decides, as many as the argument says. Nothing ever arrives. */

#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int found;
    MPI_Init(&argc, &argv);
    for (int i = atoi(argv[1]); i > 0; i--)
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
