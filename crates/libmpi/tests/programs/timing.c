/* What simulated time decides: receives from any source, tests, probes, matched probes, cancelled receives. Rank 0 gets
   a message from each other rank in each of these ways and adds up what they have. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

static void expect(int right, const char *what)
{
    if (!right) {
        fprintf(stderr, "rank %d: %s\n", rank, what);
        exit(9);
    }
}

int main(int argc, char **argv)
{
    int value, flag, index, count, found[64], sum = 0;
    MPI_Request request, requests[64];
    MPI_Status status;
    MPI_Message message;
    MPI_Comm half;
    double start;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    value = rank;
    if (rank > 0) {
        int late = 0;

        for (int way = 0; way < 6; way++)
            MPI_Send(&value, 1, MPI_INT, 0, way, MPI_COMM_WORLD);
        MPI_Sendrecv(&value, 1, MPI_INT, 0, 6, &late, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(late == rank, "the answer of rank 0");
    } else {
        for (int peer = 1; peer < size; peer++) {
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
            expect(status.MPI_SOURCE == value, "any source");
            sum += value;
        }
        for (int peer = 1; peer < size; peer++)
            MPI_Irecv(&found[peer], 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &requests[peer - 1]);
        for (int peer = 1; peer < size; peer++) {
            MPI_Waitany(size - 1, requests, &index, &status);
            expect(found[index + 1] == status.MPI_SOURCE, "MPI_Waitany");
            sum += found[index + 1];
        }
        for (int peer = 1; peer < size; peer++) {
            do
                MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, &status);
            while (!flag);
            MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += value;
        }
        for (int peer = 1; peer < size; peer++) {
            MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request);
            do
                MPI_Test(&request, &flag, &status);
            while (!flag);
            sum += value;
        }
        for (int peer = 1; peer < size; peer++) {
            if (peer % 2)
                MPI_Mprobe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &message, &status);
            else
                do
                    MPI_Improbe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &flag, &message, &status);
                while (!flag);
            MPI_Get_count(&status, MPI_INT, &count);
            expect(count == 1, "MPI_Get_count");
            MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
            sum += value;
        }
        for (int peer = 1; peer < size; peer++)
            MPI_Irecv(&found[peer], 1, MPI_INT, peer, 5, MPI_COMM_WORLD, &requests[peer - 1]);
        for (int left = size - 1; left > 0; left -= count) {
            int places[64];

            MPI_Waitsome(size - 1, requests, &count, places, MPI_STATUSES_IGNORE);
            for (int place = 0; place < count; place++)
                sum += found[places[place] + 1];
        }
        MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &flag);
        expect(flag, "MPI_Cancel");
        for (int peer = 1; peer < size; peer++) {
            MPI_Recv(&value, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&value, 1, MPI_INT, peer, 6, MPI_COMM_WORLD);
        }
        expect(sum == 6 * size * (size - 1) / 2, "the sum of all messages");
        start = MPI_Wtime();
        while (MPI_Wtime() < start + 1e-6)
            ;
    }
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
    MPI_Comm_free(&half);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
