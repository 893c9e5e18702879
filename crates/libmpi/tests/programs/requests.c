/* Requests between ranks 0 and 1: order, tests, persistent ones, probes, messages that are too long, generalised ones. */

#include "check.h"

static int rank;

static void order(void)
{
    int values[20], index, count, indices[20], flag;
    MPI_Request all[20];
    MPI_Status status, statuses[20];

    if (rank == 0) {
        for (int i = 0; i < 20; i++)
            MPI_Send(&i, 1, MPI_INT, 1, i % 2, MPI_COMM_WORLD);
    }
    if (rank == 1) {
        for (int i = 0; i < 10; i++) {
            MPI_Irecv(&values[i], 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &all[i]);
        }
        for (int i = 0; i < 10; i++) {
            MPI_Waitany(10, all, &index, &status);
            CHECK(index == i && values[i] == i && status.MPI_TAG == i % 2 && status.MPI_SOURCE == 0);
        }
        MPI_Waitany(10, all, &index, &status);
        CHECK(index == MPI_UNDEFINED);
        for (int i = 0; i < 10; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &all[i]);
        for (int done = 0; done < 10; done += count) {
            MPI_Waitsome(10, all, &count, indices, statuses);
            for (int i = 0; i < count; i++)
                CHECK(values[indices[i]] == 10 + indices[i]);
        }
        MPI_Testsome(10, all, &count, indices, statuses);
        CHECK(count == MPI_UNDEFINED);
        MPI_Testall(10, all, &flag, statuses);
        CHECK(flag);
    }
}

static void persistent(void)
{
    int value = -1, flag;
    MPI_Request request;
    MPI_Status status;

    if (rank == 0)
        MPI_Ssend_init(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);
    if (rank == 1)
        MPI_Recv_init(&value, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &request);
    for (int round = 0; rank < 2 && round < 3; round++) {
        if (rank == 0)
            value = round;
        MPI_Start(&request);
        do
            MPI_Request_get_status(request, &flag, &status);
        while (!flag);
        /* It is complete, and stays. */
        MPI_Wait(&request, &status);
        CHECK(value == round && request != MPI_REQUEST_NULL && (rank == 0 || status.MPI_SOURCE == 0));
    }
    if (rank < 2)
        MPI_Request_free(&request);
}

static void probes(void)
{
    int value = 9, got = 0, flag, count;
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;

    if (rank == 0) {
        MPI_Send(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        value = 10;
        MPI_Send(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    }
    if (rank == 1) {
        MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(count == 1 && status.MPI_TAG == 5);
        MPI_Recv(&got, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got == 10);
        MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        CHECK(got == 9 && message == MPI_MESSAGE_NULL);
        MPI_Iprobe(0, 5, MPI_COMM_WORLD, &flag, &status);
        CHECK(!flag);
        MPI_Irecv(&got, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &flag);
        CHECK(flag);
    }
    MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

static void too_long(void)
{
    int values[3] = {1, 2, 3}, got[3] = {0, 0, 0}, class, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Request all[2];
    MPI_Status statuses[2];

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) {
        for (int i = 0; i < 3; i++)
            MPI_Send(values, 3, MPI_INT, 1, 7, MPI_COMM_WORLD);
    }
    if (rank == 1) {
        MPI_Error_class(MPI_Recv(got, 2, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE), &class);
        CHECK(class == MPI_ERR_TRUNCATE);
        MPI_Error_string(class, text, &length);
        CHECK(length > 0);
        MPI_Irecv(got, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &all[0]);
        MPI_Irecv(got, 3, MPI_INT, 0, 7, MPI_COMM_WORLD, &all[1]);
        CHECK(MPI_Waitall(2, all, statuses) == MPI_ERR_IN_STATUS);
        CHECK(statuses[0].MPI_ERROR == MPI_ERR_TRUNCATE && statuses[1].MPI_ERROR == MPI_SUCCESS && got[2] == 3);
    }
    CHECK(MPI_Send(values, 1, MPI_INT, 99, 0, MPI_COMM_WORLD) == MPI_ERR_RANK);
    CHECK(MPI_Send(values, -1, MPI_INT, 0, 0, MPI_COMM_WORLD) == MPI_ERR_COUNT);
    CHECK(MPI_Send(values, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD) == MPI_ERR_TYPE);
    CHECK(MPI_Send(values, 1, MPI_INT, 0, -5, MPI_COMM_WORLD) == MPI_ERR_TAG);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static int queries, frees;

static int query(void *extra, MPI_Status *status)
{
    queries++;
    status->MPI_SOURCE = *(int *)extra;
    status->MPI_TAG = 8;
    MPI_Status_set_elements(status, MPI_INT, 4);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    (void)extra;
    frees++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void generalized(void)
{
    int source = 77, flag, count, value = rank, other = -1;
    MPI_Request all[3];
    MPI_Status statuses[3];

    MPI_Grequest_start(query, release, cancel, &source, &all[0]);
    MPI_Test(&all[0], &flag, &statuses[0]);
    CHECK(!flag);
    MPI_Isendrecv(&value, 1, MPI_INT, rank, 1, &other, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &all[1]);
    all[2] = MPI_REQUEST_NULL;
    MPI_Grequest_complete(all[0]);
    MPI_Waitall(3, all, statuses);
    MPI_Get_count(&statuses[0], MPI_INT, &count);
    CHECK(statuses[0].MPI_SOURCE == 77 && count == 4 && queries == 1 && frees == 1);
    CHECK(other == rank && statuses[1].MPI_SOURCE == rank && all[0] == MPI_REQUEST_NULL);
}

/* A receive from nobody needs no datatype. */
static void from_nobody(void)
{
    MPI_Status status;
    MPI_Request request;

    MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    order();
    persistent();
    probes();
    too_long();
    generalized();
    from_nobody();
    MPI_Finalize();
    return wrong;
}
