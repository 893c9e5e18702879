/* All collectives on integers that tell their sender, blocking, non-blocking and persistent, with MPI_IN_PLACE, and
   all reductions. */

#include "check.h"

static int rank, size;

static void take_first(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] = ((int *)in)[i] * 10 + ((int *)inout)[i];
}

static void take_first_large(void *in, void *inout, MPI_Count *count, MPI_Datatype *type)
{
    int small = *count;
    take_first(in, inout, &small, type);
}

static void reductions(void)
{
    int value, all, sum = size * (size + 1) / 2;
    struct { double value; int place; } own = {rank % 2, rank}, found;
    long double wide = rank + 1, wide_sum;
    MPI_Op ordered;
    int number = 0, scanned = 0;

    value = rank + 1;
    MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == sum);
    all = value;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(all == size);
    MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    CHECK(all == 1);
    value = 1 << rank;
    MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
    CHECK(all == (1 << size) - 1);
    MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_BXOR, MPI_COMM_WORLD);
    CHECK(all == (1 << size) - 1);
    MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_BAND, MPI_COMM_WORLD);
    CHECK(all == (size == 1));
    value = rank;
    MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    CHECK(all == 0);
    MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    CHECK(all == (size > 1));
    MPI_Allreduce(&own, &found, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    CHECK(found.value == (size > 1) && found.place == (size > 1));
    MPI_Allreduce(&own, &found, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    CHECK(found.value == 0 && found.place == 0);
    MPI_Allreduce(&wide, &wide_sum, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(wide_sum == sum);
    MPI_Allreduce(&wide, &wide_sum, 1, MPI_LONG_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    CHECK(wide_sum == size);

    /* A function that does not commute sees the ranks in their order. */
    for (int r = 0; r < size; r++)
        number = number * 10 + r + 1;
    for (int r = 0; r <= rank; r++)
        scanned = scanned * 10 + r + 1;
    value = rank + 1;
    MPI_Op_create(take_first, 0, &ordered);
    for (int root = 0; root < size; root++) {
        all = -1;
        MPI_Reduce(&value, &all, 1, MPI_INT, ordered, root, MPI_COMM_WORLD);
        CHECK(all == (rank == root ? number : -1));
    }
    MPI_Scan(&value, &all, 1, MPI_INT, ordered, MPI_COMM_WORLD);
    CHECK(all == scanned);
    all = -1;
    MPI_Exscan(&value, &all, 1, MPI_INT, ordered, MPI_COMM_WORLD);
    CHECK(all == (rank ? scanned / 10 : -1));
    MPI_Op_free(&ordered);
    CHECK(ordered == MPI_OP_NULL);
    MPI_Op_create_c(take_first_large, 0, &ordered);
    MPI_Allreduce_c(&value, &all, 1, MPI_INT, ordered, MPI_COMM_WORLD);
    CHECK(all == number);
    all = 2;
    MPI_Reduce_local(&value, &all, 1, MPI_INT, ordered);
    CHECK(all == value * 10 + 2);
    MPI_Op_free(&ordered);
}

static void data(void)
{
    int *sent = malloc(size * size * sizeof *sent), *got = malloc(size * size * sizeof *got);
    int *counts = malloc(size * sizeof *counts), *places = malloc(size * sizeof *places);
    int value, total = 0;

    for (int root = 0; root < size; root++) {
        value = rank == root ? 100 + root : -1;
        MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
        CHECK(value == 100 + root);
    }
    value = 7 * rank;
    MPI_Gather(&value, 1, MPI_INT, got, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
    for (int r = 0; rank == size - 1 && r < size; r++)
        CHECK(got[r] == 7 * r);
    if (rank == size - 1)
        MPI_Scatter(got, 1, MPI_INT, MPI_IN_PLACE, 0, MPI_INT, size - 1, MPI_COMM_WORLD);
    else
        MPI_Scatter(NULL, 0, MPI_INT, &value, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
    CHECK(value == 7 * rank);
    got[rank] = value;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++)
        CHECK(got[r] == 7 * r);

    /* Rank r brings r + 1 elements, with one between the blocks of neighbours. */
    for (int r = 0; r < size; r++) {
        counts[r] = r + 1;
        places[r] = total;
        total += r + 2;
    }
    free(got);
    got = malloc(total * sizeof *got);
    memset(got, -1, total * sizeof *got);
    for (int i = 0; i <= rank; i++)
        sent[i] = 10 * rank + i;
    MPI_Allgatherv(sent, rank + 1, MPI_INT, got, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++) {
        for (int i = 0; i <= r; i++)
            CHECK(got[places[r] + i] == 10 * r + i);
        CHECK(got[places[r] + r + 1] == -1);
    }
    memset(sent, -1, size * sizeof *sent);
    MPI_Scatterv(got, counts, places, MPI_INT, sent, rank + 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i <= rank; i++)
        CHECK(sent[i] == 10 * rank + i);

    for (int r = 0; r < size; r++) {
        sent[r] = 100 * rank + r;
        counts[r] = 1;
    }
    MPI_Alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++)
        CHECK(got[r] == 100 * r + rank);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, sent, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++)
        CHECK(sent[r] == 100 * r + rank);
    /* Back, in blocks from the last to the first. */
    for (int r = 0; r < size; r++)
        places[r] = r;
    MPI_Alltoallv(got, counts, places, MPI_INT, sent, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++)
        CHECK(sent[r] == 100 * rank + r);
    MPI_Datatype *types = malloc(size * sizeof *types);
    for (int r = 0; r < size; r++) {
        places[r] = r * (int)sizeof(int);
        types[r] = MPI_INT;
    }
    MPI_Alltoallw(sent, counts, places, types, got, counts, places, types, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++)
        CHECK(got[r] == 100 * r + rank);

    for (int r = 0; r < size; r++)
        sent[r] = r + 1;
    MPI_Reduce_scatter(sent, &value, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(value == size * (rank + 1));
    MPI_Reduce_scatter_block(sent, &value, 1, MPI_INT, MPI_PROD, MPI_COMM_WORLD);
    total = 1;
    for (int r = 0; r < size; r++)
        total *= rank + 1;
    CHECK(value == total);
    free(sent), free(got), free(counts), free(places), free(types);
}

static void requests(void)
{
    int values[10], sums[10], root, of_all = 0;
    MPI_Request all[11], persistent[2];
    MPI_Status status;

    for (int i = 0; i < 10; i++) {
        values[i] = i + rank;
        MPI_Iallreduce(&values[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &all[i]);
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &all[10]);
    MPI_Waitall(11, all, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 10; i++)
        CHECK(sums[i] == i * size + size * (size - 1) / 2 && all[i] == MPI_REQUEST_NULL);

    MPI_Allreduce_init(&values[0], &of_all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &persistent[0]);
    MPI_Bcast_init(&root, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &persistent[1]);
    for (int round = 0; round < 3; round++) {
        values[0] = round;
        root = rank == 0 ? 50 + round : -1;
        MPI_Startall(2, persistent);
        MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE);
        CHECK(of_all == round * size && root == 50 + round);
        CHECK(persistent[0] != MPI_REQUEST_NULL);
    }
    MPI_Wait(&persistent[0], &status);
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
    MPI_Request_free(&persistent[0]);
    MPI_Request_free(&persistent[1]);
    CHECK(persistent[0] == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    reductions();
    data();
    requests();
    MPI_Finalize();
    return wrong;
}
