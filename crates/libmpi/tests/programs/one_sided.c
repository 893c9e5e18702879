/* Windows: puts and gets between fences, combinations under locks, posts and starts, gaps at the target. */

#include "check.h"

static int rank, size;

static void fences(void)
{
    int memory[8], got[4] = {-1, -1, -1, -1}, next = (rank + 1) % size, before = (rank + size - 1) % size;
    int values[2] = {10 * rank, 10 * rank + 1};
    MPI_Datatype spread;
    MPI_Win window;

    memset(memory, -1, sizeof memory);
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Type_vector(2, 1, 3, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    MPI_Win_fence(0, window);
    MPI_Put(values, 2, MPI_INT, next, 1, 1, spread, window);
    MPI_Win_fence(0, window);
    CHECK(memory[0] == -1 && memory[1] == 10 * before && memory[2] == -1 && memory[4] == 10 * before + 1);
    MPI_Get(got, 4, MPI_INT, next, 1, 4, MPI_INT, window);
    MPI_Win_fence(0, window);
    CHECK(got[0] == 10 * rank && got[1] == -1 && got[3] == 10 * rank + 1);
    MPI_Type_free(&spread);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    CHECK(MPI_Put(values, 2, MPI_INT, next, 7, 2, MPI_INT, window) == MPI_ERR_RMA_RANGE);
    CHECK(MPI_Put(values, 2, MPI_INT, size, 0, 2, MPI_INT, window) == MPI_ERR_RANK);
    CHECK(MPI_Win_unlock(0, window) == MPI_ERR_RMA_SYNC);
    MPI_Win_free(&window);
    CHECK(window == MPI_WIN_NULL);
}

static void locks(void)
{
    long *counter, one = 1, old, sum = 0, expected, *seen = calloc(size * 10, sizeof *seen), value;
    MPI_Win window;

    MPI_Win_allocate(sizeof *counter, sizeof *counter, MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &window);
    *counter = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 10; i++) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, window);
        MPI_Win_unlock(0, window);
        seen[old] = 1;
    }
    /* Each number was given once. */
    MPI_Allreduce(MPI_IN_PLACE, seen, size * 10, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < size * 10; i++)
        sum += seen[i] == 1;
    CHECK(sum == size * 10);
    /* An exclusive lock lets nothing come between the get and the put. */
    for (int i = 0; i < 10; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
        MPI_Win_flush(0, window);
        value++;
        MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank || *counter == size * 20);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Only the rank that finds the value changes it. */
    MPI_Win_lock_all(0, window);
    expected = size * 20;
    value = 1000 + rank;
    MPI_Compare_and_swap(&value, &expected, &old, MPI_LONG, 0, 0, window);
    MPI_Win_unlock_all(window);
    sum = old == expected;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == 1);
    MPI_Win_free(&window);
    free(seen);
}

static void posts(void)
{
    int memory = -1, value = 5 + rank, other[1] = {(rank + 1) % size}, from[1] = {(rank + size - 1) % size};
    MPI_Group world, targets, origins;
    MPI_Win window;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, other, &targets);
    MPI_Group_incl(world, 1, from, &origins);
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_post(origins, 0, window);
    MPI_Win_start(targets, 0, window);
    MPI_Accumulate(&value, 1, MPI_INT, other[0], 0, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
    CHECK(memory == 4 + from[0]);
    MPI_Win_free(&window);
    MPI_Group_free(&world);
    MPI_Group_free(&targets);
    MPI_Group_free(&origins);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    fences();
    locks();
    posts();
    MPI_Finalize();
    return wrong;
}
