/* Calls a function that the library does not have, and its header does not declare. */

#include <mpi.h>

int MPI_Open_port(MPI_Info info, char *name);

int main(int argc, char **argv)
{
    char name[1024];
    MPI_Init(&argc, &argv);
    MPI_Open_port(MPI_INFO_NULL, name);
    MPI_Finalize();
    return 0;
}
